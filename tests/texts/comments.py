"""The one comment of an agent on its issue, in each state, and the check beside it."""

from dataclasses import replace
from typing import Final

from inline_snapshot import snapshot

from app.core.agents.events import FilesMoved, Finished, Lost, Waits
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace
from app.core.rules.plan import RoleKind
from app.core.words.messages import check_summary, check_title, progress_comment
from app.core.words.report import Report
from app.testruns import Outcome
from tests.core.life import begun
from tests.core.strategies import START
from tests.texts.agents import LIMITS, asleep, paused, seen, worked
from tests.texts.text import Text

DONE: Final = "Login works again."


def _check(view: Report) -> str:
    return f"{check_title(view)}\n\n{check_summary(view)}"


def _queued() -> Report:
    view = seen(State.QUEUED, sha=None, predecessor="octo/demo#12/bug-fix/0")
    return replace(view, queue=QueuePlace(3, 0))


def _working() -> Report:
    life = begun(LIMITS)
    life.asks_turn()
    life.asks_tool()
    return seen(State.ACTIVE, life)


def _paused() -> Report:
    return seen(State.PAUSED, paused(), waits_for=Waits.RAISE)


def _asking() -> Report:
    life = asleep(worked(), "Which colour?")
    return seen(State.SLEEPING, life, waits_for=Waits.ANSWER, summary="Which colour?")


def _blocked() -> Report:
    return seen(State.SLEEPING, worked(), waits_for=Waits.BLOCKER, blocked_by=(3, 4))


def _handed_over(outcome: Outcome) -> Report:
    life, asked = worked(outcome), Waits.REVIEW
    return seen(State.SLEEPING, life, waits_for=asked, pull_request=9, summary=DONE)


def _moved() -> Report:
    life = worked()
    life.happens(FilesMoved(at=life.now, lost=(Lost.LATEST_WORDS, Lost.WORK)))
    return seen(State.ACTIVE, life)


def _merged() -> Report:
    life = worked(Outcome.PASSED)
    life.happens(Finished(at=life.now, why="#9 was merged.", since=START))
    view = seen(State.COMPLETED, life, pull_request=9, summary=DONE)
    return replace(view, is_branch_deleted=True)


def _reviewed() -> Report:
    return seen(State.COMPLETED, None, kind=RoleKind.REVIEW, summary="It is sound.")


def _cancelled() -> Report:
    life = worked()
    life.happens(Finished(at=life.now, why="mona closed #12."))
    return seen(State.CANCELLED, life)


COMMENT: Final = "The agent's one comment"
CHECK: Final = "Check: title and text"

TEXTS: Final = (
    Text(
        COMMENT,
        "It waits for a worker",
        lambda: progress_comment(_queued()),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] The agent waits for a worker; 2 agents are ahead of it.

- [ ] workspace ready
- [ ] at work (0 tool calls)
- [ ] tests run (0)
- [ ] work pushed
- [ ] pull request opened
- [ ] finished

Branch: `squadron/bug-fix/issue-12` (not created yet).

<details><summary>Limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 0 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.00 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix), successor of `octo/demo#12/bug-fix/0`.</sub>\
"""),
    ),
    Text(
        COMMENT,
        "It works, on another machine than before",
        lambda: progress_comment(_moved()),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] The agent works.

- [x] workspace ready
- [x] at work (3 tool calls)
- [x] tests run (1)
- [x] work pushed
- [ ] pull request opened
- [ ] finished

On 2026-03-01 at 09:00 UTC the agent began on a machine that did not have its files. Gone with them: the latest part of its conversation and what it did after its work was pushed last.

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |

</details>

<details><summary>Limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 3 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix).</sub>\
"""),
    ),
    Text(
        COMMENT,
        "It works",
        lambda: progress_comment(_working()),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] The agent works.

- [x] workspace ready
- [x] at work (1 tool call)
- [ ] tests run (0)
- [ ] work pushed
- [ ] pull request opened
- [ ] finished

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.

<details><summary>Limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 1 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.00 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix).</sub>\
"""),
    ),
    Text(
        COMMENT,
        "A limit pauses it",
        lambda: progress_comment(_paused()),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] The agent is paused: max_tool_calls reached: 5 of 5 tool calls. See [what it asks of you](https://github.com/octo/demo/issues/12#issuecomment-7).

- [x] workspace ready
- [x] at work (3 tool calls)
- [x] tests run (1)
- [x] work pushed
- [ ] pull request opened
- [ ] finished

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |

</details>

<details><summary>Limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 5 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix).</sub>\
"""),
    ),
    Text(
        COMMENT,
        "It asks a question",
        lambda: progress_comment(_asking()),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] The agent waits for an answer on this issue: Which colour? See [what it asks of you](https://github.com/octo/demo/issues/12#issuecomment-7).

- [x] workspace ready
- [x] at work (3 tool calls)
- [x] tests run (1)
- [x] work pushed
- [ ] pull request opened
- [ ] finished

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |

</details>

<details><summary>Limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 3 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix).</sub>\
"""),
    ),
    Text(
        COMMENT,
        "It waits for other issues",
        lambda: progress_comment(_blocked()),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] The agent sleeps until #3 and #4 are closed.

- [x] workspace ready
- [x] at work (3 tool calls)
- [x] tests run (1)
- [x] work pushed
- [ ] pull request opened
- [ ] finished

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |

</details>

<details><summary>Limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 3 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix).</sub>\
"""),
    ),
    Text(
        COMMENT,
        "Its work is handed over, and its tests passed",
        lambda: progress_comment(_handed_over(Outcome.PASSED)),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] The agent handed its work over as #9, and waits for a review.

- [x] workspace ready
- [x] at work (3 tool calls)
- [x] tests run (1)
- [x] work pushed
- [x] pull request opened
- [ ] finished

What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **yes**.
- Changes: 1 file, +2 −3 lines.

The agent says:

> Login works again.

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | passed |  | no |

</details>

<details><summary>Limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 3 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix).</sub>\
"""),
    ),
    Text(
        COMMENT,
        "Its work is handed over, and its tests failed",
        lambda: progress_comment(_handed_over(Outcome.FAILED)),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] The agent handed its work over as #9, and waits for a review.

- [x] workspace ready
- [x] at work (3 tool calls)
- [x] tests run (1)
- [x] work pushed
- [x] pull request opened
- [ ] finished

What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **no**.
- Changes: 1 file, +2 −3 lines.

The agent says:

> Login works again.

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |

</details>

<details><summary>Limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 3 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix).</sub>\
"""),
    ),
    Text(
        COMMENT,
        "Its work is merged",
        lambda: progress_comment(_merged()),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] The agent is done: #9 was merged.

- [x] workspace ready
- [x] at work (3 tool calls)
- [x] tests run (1)
- [x] work pushed
- [x] pull request opened
- [x] finished

What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **yes**.
- Changes: 1 file, +2 −3 lines.

The agent says:

> Login works again.

The branch `squadron/bug-fix/issue-12` is deleted.

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | passed |  | no |

</details>

<details><summary>Limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 3 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix).</sub>\
"""),
    ),
    Text(
        COMMENT,
        "Its review is written",
        lambda: progress_comment(_reviewed()),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/reviewer/1:comment -->

[squadron:reviewer] The agent is done: it has written its review.

- [ ] workspace ready
- [ ] at work (0 tool calls)
- [x] review submitted

The agent reads #12 at `aaaaaaaaaaaa`, and changes nothing.

<details><summary>Limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 0 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.00 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/reviewer/1`, started by mona (label squadron:bug-fix).</sub>\
"""),
    ),
    Text(
        COMMENT,
        "Somebody took the work away",
        lambda: progress_comment(_cancelled()),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] The agent is cancelled: mona c\u200blosed #12.

- [x] workspace ready
- [x] at work (3 tool calls)
- [x] tests run (1)
- [x] work pushed
- [ ] pull request opened
- [ ] finished

What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **no**.
- Changes: 1 file, +2 −3 lines.

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |

</details>

<details><summary>Limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 3 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix).</sub>\
"""),
    ),
    Text(
        CHECK,
        "It works",
        lambda: _check(_working()),
        snapshot("""\
The agent works.

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 1 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.00 | $1.50 | USD |

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.\
"""),
    ),
    Text(
        CHECK,
        "A limit pauses it",
        lambda: _check(_paused()),
        snapshot("""\
The agent is paused: max_tool_calls reached: 5 of 5 tool calls.

To let the agent go on, write this line in a comment on #12 by 2026-03-02 09:00 UTC:

```
/squadron resume bug-fix
```

That grants 5 tool calls more. `/squadron raise max_tool_calls +AMOUNT bug-fix` grants as much as you say. Who may start agents here may write it.

Squadron keeps session, branch and work. Otherwise Squadron stops the agent for good then (`max_sleep_duration`); the agent does nothing until then, and no other time counts.

Since the work began:

- Changes on the branch: 1 file, +2 −3 lines.
- Test runs: 1, of which 0 passed.

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 5 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.\
"""),
    ),
    Text(
        CHECK,
        "Its work is handed over, and its tests failed",
        lambda: _check(_handed_over(Outcome.FAILED)),
        snapshot("""\
The agent handed its work over as #9, and waits for a review. Squadron saw tests fail after the last edit.

What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **no**.
- Changes: 1 file, +2 −3 lines.

The agent says:

> Login works again.

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 3 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.\
"""),
    ),
)
