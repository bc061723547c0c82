"""What calls people: an agent waits for them."""

from datetime import timedelta
from typing import Final

from inline_snapshot import snapshot

from app.core.agents.events import ClosingTool, Waits, Woken
from app.core.agents.lifecycle import State
from app.core.limits import Action
from app.core.words.calls import call_comment
from app.core.words.report import Report
from tests.core.life import Life
from tests.texts.agents import asleep, paused, seen, worked
from tests.texts.text import Text

QUESTION: Final = "Which colour shall the button have?"


def _called(view: Report, hours: float = 0) -> str:
    said_at = view.agent.updated_at + timedelta(hours=hours)
    return call_comment(view, view.calls[-1], said_at)


def _paused(life: Life) -> Report:
    return seen(State.PAUSED, life, waits_for=Waits.RAISE)


def _asleep(tool: ClosingTool | None, reason: str = QUESTION) -> Report:
    return seen(State.SLEEPING, asleep(worked(), reason, tool), waits_for=Waits.ANSWER)


def _answered() -> Report:
    life = asleep(worked(), QUESTION)
    life.happens(Woken(at=life.now, why="a comment", by="mona"))
    return seen(State.ACTIVE, life)


_CANNOT: Final = (
    "GitHub refuses the pull request of `squadron/bug-fix/issue-12`: 422, not enough history."
)
_ASKS: Final = paused(action=Action.REQUEST_INCREASE, amount=20, claim="Half of it is done.")

WHERE: Final = "New comment that calls people"

TEXTS: Final = (
    Text(
        WHERE,
        "A limit pauses it",
        lambda: _called(_paused(paused())),
        snapshot("""\
<!-- squadron:call:octo/demo#12/bug-fix/1:2026-03-01T09:00:00.000+00:00 -->

[squadron:bug-fix] @mona this agent is paused: max_tool_calls reached: 5 of 5 tool calls.

To let the agent go on, write this line in a comment here by **2026-03-02 09:00 UTC** (within 24 hours):

```
/squadron resume bug-fix
```

That grants 5 tool calls more. `/squadron raise max_tool_calls +AMOUNT bug-fix` grants as much as you say. Who may start agents here may write it.

Squadron keeps session, branch and work. Otherwise Squadron stops the agent for good then; its work stays on its branch.

Since the work began:

- Changes on the branch: 1 file, +2 −3 lines.
- Test runs: 1, of which 0 passed.

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |\
"""),
    ),
    Text(
        WHERE,
        "It asks for more of a limit",
        lambda: _called(_paused(_ASKS)),
        snapshot("""\
<!-- squadron:call:octo/demo#12/bug-fix/1:2026-03-01T09:00:00.000+00:00 -->

[squadron:bug-fix] @mona this agent is paused: max_tool_calls reached: 5 of 5 tool calls.

To let the agent go on, write this line in a comment here by **2026-03-02 09:00 UTC** (within 24 hours):

```
/squadron raise max_tool_calls +20 bug-fix
```

That grants 20 tool calls more. `/squadron resume bug-fix` grants 5 tool calls more, and any other amount may stand behind `raise`. Who may start agents here may write it.

**The agent asks for 20 tool calls more.** Squadron keeps session, branch and work. Otherwise Squadron stops the agent for good then; its work stays on its branch.

The agent says:

> Half of it is done.

Since the work began:

- Changes on the branch: 1 file, +2 −3 lines.
- Test runs: 1, of which 0 passed.

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |\
"""),
    ),
    Text(
        WHERE,
        "It asks a question",
        lambda: _called(_asleep(ClosingTool.REPORT_BLOCKED)),
        snapshot("""\
<!-- squadron:call:octo/demo#12/bug-fix/1:2026-03-01T09:00:00.000+00:00 -->

[squadron:bug-fix] @mona this agent asks a question, and waits for your answer:

> Which colour shall the button have?

Answer in a comment here by **2026-03-02 09:00 UTC** (within 24 hours); one line in your own words is enough. The agent reads it and goes on. Otherwise Squadron stops the agent for good then; its work stays on its branch.\
"""),
    ),
    Text(
        WHERE,
        "A day later nobody has answered",
        lambda: _called(_asleep(ClosingTool.REPORT_BLOCKED), 22),
        snapshot("""\
<!-- squadron:call:octo/demo#12/bug-fix/1:2026-03-01T09:00:00.000+00:00 -->

[squadron:bug-fix] @mona reminder, it has waited since 2026-03-01 09:00 UTC: this agent asks a question, and waits for your answer:

> Which colour shall the button have?

Answer in a comment here by **2026-03-02 09:00 UTC** (within 2 hours); one line in your own words is enough. The agent reads it and goes on. Otherwise Squadron stops the agent for good then; its work stays on its branch.\
"""),
    ),
    Text(
        WHERE,
        "It ended its turn without a question or a report",
        lambda: _called(_asleep(None, "I am at a loss.")),
        snapshot("""\
<!-- squadron:call:octo/demo#12/bug-fix/1:2026-03-01T09:00:00.000+00:00 -->

[squadron:bug-fix] @mona this agent has stopped without a question or a report, and waits for a word of yours. These are its last words:

> I am at a loss.

Answer in a comment here by **2026-03-02 09:00 UTC** (within 24 hours); one line in your own words is enough. The agent reads it and goes on. Otherwise Squadron stops the agent for good then; its work stays on its branch.\
"""),
    ),
    Text(
        WHERE,
        "It is done, and its work cannot be handed over",
        lambda: _called(_asleep(ClosingTool.REPORT_COMPLETE, _CANNOT)),
        snapshot("""\
<!-- squadron:call:octo/demo#12/bug-fix/1:2026-03-01T09:00:00.000+00:00 -->

[squadron:bug-fix] @mona this agent has done its work, and Squadron cannot hand it over:

> GitHub refuses the pull request of `squadron/bug-fix/issue-12`: 422, not enough history.

To let the agent try once more, when what is in the way is gone, write this line in a comment here by **2026-03-02 09:00 UTC** (within 24 hours):

```
/squadron wake bug-fix
```

Or say in your own words what the agent shall do. Otherwise Squadron stops the agent for good then; its work stays on its branch.\
"""),
    ),
    Text(
        WHERE,
        "Somebody has answered",
        lambda: _called(_answered()),
        snapshot("""\
<!-- squadron:call:octo/demo#12/bug-fix/1:2026-03-01T09:00:00.000+00:00 -->

[squadron:bug-fix] This agent waited for an answer to its question:

> Which colour shall the button have?

Since 2026-03-01 09:00 UTC nobody has to answer any more.\
"""),
    ),
)
