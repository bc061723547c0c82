"""The needs-human issue, and the comment that leads to it."""

from typing import Final

from inline_snapshot import snapshot

from app.core.agents.lifecycle import State
from app.core.effects.opened_issues import asks_body, asks_section, asks_title, too_many
from app.core.rules.plan import RoleKind
from app.core.words.messages import progress_comment
from app.core.words.needs_human import closed_with_original, escalation_body, escalation_title
from app.core.words.report import Links, Report
from tests.texts.agents import CALLS, SETUP, an_agent, seen, worked
from tests.texts.text import Text


def _issue(report: Report) -> str:
    return f"{escalation_title(report.agent)}\n\n{escalation_body(report)}"


def _stopped() -> Report:
    summary = "I tried.\nTwice."
    return seen(State.ESCALATED, worked(), stop=CALLS, summary=summary, pull_request=9)


def _failed() -> Report:
    return seen(State.ESCALATED, None, stop=SETUP, sha=None, links=Links())


def _reviewer() -> Report:
    kind = RoleKind.REVIEW
    return seen(State.ESCALATED, None, kind=kind, stop=CALLS, sha="c" * 40)


def _asks() -> str:
    agent = an_agent(State.ACTIVE)
    words = asks_section(agent, "Sessions leak", "They are never closed.", too_many(10))
    return f"{asks_title(agent)}\n\n{asks_body(agent)}\n\n{words}"


ISSUE: Final = "Needs-human issue: title and text"
COMMENT: Final = "Comment on the issue of an agent that was stopped"

TEXTS: Final = (
    Text(
        ISSUE,
        "A limit stopped an agent whose work is pushed",
        lambda: _issue(_stopped()),
        snapshot("""\
[needs-human] Login fails (#12, bug-fix): stopped by max_tool_calls

<!-- squadron:escalation:1296269#12 -->

<!-- squadron:effect:octo/demo#12/bug-fix/1:issue -->

@mona

**What to do**

1. Write `/squadron retry bug-fix` in a comment here, and a fresh agent goes on. `/squadron retry bug-fix raise max_tool_calls +5` gives that agent 5 tool calls more than its role has.
2. Or go on yourself:

   ```sh
   git fetch origin squadron/bug-fix/issue-12
   git switch --create pick-up-12 FETCH_HEAD
   git log --stat origin/main..HEAD
   ```

3. Or leave it: close #12, and this issue closes by itself.

**What happened**

mona started the agent `bug-fix` on #12 (label squadron:bug-fix). Squadron stopped the agent at 2026-03-01 09:00 UTC: max_tool_calls reached: 5 of 5 tool calls.

The agent says:

> I tried.
> Twice.

What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **no**.
- Changes: 1 file, +2 −3 lines.

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` — work preserved for human pickup (verified on GitHub).

Its last test run, `pytest`: failed.

```text
    def test_login() -> None:
>       assert login("mona").status == 200
E       assert 500 == 200

1 failed, 11 passed in 0.31s
```

Where to look: issue #12, pull request #9, [check](https://github.com/octo/demo/runs/8), [comparison](https://github.com/octo/demo/compare/main...squadron/bug-fix/issue-12).

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_tool_calls` | 5 | 5 | tool calls |

<details><summary>Other limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

</details>

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |

</details>

<details><summary>Commits</summary>

- Fix the login

</details>

<sub>Agent `octo/demo#12/bug-fix/1`. `squadron session export octo/demo#12/bug-fix/1`, where Squadron runs, shows what it did, for 30 days.</sub>\
"""),
    ),
    Text(
        ISSUE,
        "Its setup failed, so that there is no work",
        lambda: _issue(_failed()),
        snapshot("""\
[needs-human] Login fails (#12, bug-fix): stopped, setup failed

<!-- squadron:escalation:1296269#12 -->

<!-- squadron:effect:octo/demo#12/bug-fix/1:issue -->

@mona

**What to do**

1. Write `/squadron retry bug-fix` in a comment here, and a fresh agent works on it.
2. Or work on #12 yourself.
3. Or leave it: close #12, and this issue closes by itself.

**What happened**

mona started the agent `bug-fix` on #12 (label squadron:bug-fix). Squadron stopped the agent at 2026-03-01 09:00 UTC: `make install` ended with 2: no rule to make it.

The agent left no summary.

Branch: `squadron/bug-fix/issue-12` (not created yet).

Where to look: issue #12.

<details><summary>Other limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 0 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.00 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/bug-fix/1`. `squadron session export octo/demo#12/bug-fix/1`, where Squadron runs, shows what it did, for 30 days.</sub>\
"""),
    ),
    Text(
        ISSUE,
        "A limit stopped a reviewer",
        lambda: _issue(_reviewer()),
        snapshot("""\
[needs-human] Login fails (#12, reviewer): stopped by max_tool_calls

<!-- squadron:escalation:1296269#12 -->

<!-- squadron:effect:octo/demo#12/reviewer/1:issue -->

@mona

**What to do**

1. Write `/squadron retry reviewer` in a comment here, and a fresh agent reviews it. `/squadron retry reviewer raise max_tool_calls +5` gives that agent 5 tool calls more than its role has.
2. Or review #12 yourself, and close this issue.

**What happened**

mona started the agent `reviewer` on #12 (label squadron:bug-fix). Squadron stopped the agent at 2026-03-01 09:00 UTC: max_tool_calls reached: 5 of 5 tool calls.

The agent left no summary.

The agent reads #12 at `cccccccccccc`, and changes nothing.

Where to look: pull request #12, [check](https://github.com/octo/demo/runs/8).

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_tool_calls` | 5 | 5 | tool calls |

<details><summary>Other limits</summary>

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.00 | $1.50 | USD |

</details>

<sub>Agent `octo/demo#12/reviewer/1`. `squadron session export octo/demo#12/reviewer/1`, where Squadron runs, shows what it did, for 30 days.</sub>\
"""),
    ),
    Text(
        ISSUE,
        "An agent may not open an issue",
        _asks,
        snapshot("""\
[needs-human] Login fails (#12, bug-fix): it asks to open an issue

<!-- squadron:escalation:1296269#12 -->

@mona

<!-- squadron:effect:octo/demo#12/bug-fix/1:asks-to-open -->

**What to do**

Open the issue below yourself if it is worth it; then close this one. The agent goes on without it.

**What happened**

The agent `bug-fix` of #12 wanted to open an issue, and Squadron did not let it: agents have opened as many issues in this repository within a day as `escalation.max_issues_per_day` allows: 10. This is what it wanted to say:

**Sessions leak**

> They are never closed.

<sub>Agent `octo/demo#12/bug-fix/1`.</sub>\
"""),
    ),
    Text(
        ISSUE,
        "The original issue was closed",
        lambda: closed_with_original(12),
        snapshot("""\
<!-- squadron:closed:with-original -->
[squadron] #12 was closed, so nobody has to decide any more.\
"""),
    ),
    Text(
        COMMENT,
        "A limit stopped it",
        lambda: progress_comment(_stopped()),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] ⚠️ Circuit breaker: max_tool_calls reached: 5 of 5 tool calls.

To go on, write `/squadron retry bug-fix` in a comment here, and a fresh agent goes on. `/squadron retry bug-fix raise max_tool_calls +5` gives that agent 5 tool calls more than its role has. All ways on, and what happened: [the needs-human issue](https://github.com/octo/demo/issues/13).

What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **no**.
- Changes: 1 file, +2 −3 lines.

The agent says:

> I tried.
> Twice.

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` — work preserved for human pickup (verified on GitHub).

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
        "Its setup failed",
        lambda: progress_comment(_failed()),
        snapshot("""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] ⚠️ Squadron stopped the agent: `make install` ended with 2: no rule to make it.

To go on, write `/squadron retry bug-fix` in a comment here, and a fresh agent works on it.

The agent left no summary.

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

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix).</sub>\
"""),
    ),
)
