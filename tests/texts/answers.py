"""What Squadron answers to a command that it does not obey to the letter, or that asks something."""

from typing import Any, Final

from inline_snapshot import snapshot

from app.core.agents.events import Held, Waits
from app.core.agents.lifecycle import State
from app.core.breaker.raises import Grant
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Insufficient
from app.core.commands.grammar import Misread, commands
from app.core.limits import CATALOGUE, LimitName
from app.core.rules.plan import RoleKind
from app.core.words.answers import (
    has_ended_words,
    help_words,
    interrupted_words,
    never_begins_words,
    not_asleep_words,
    not_ended_words,
    not_retried_words,
    status_words,
    which_of_words,
)
from app.core.words.messages import state_sentence
from app.core.words.pauses import (
    asks_back_words,
    capped_words,
    command_answer,
    held_by_another,
    misread_words,
    not_paused_words,
    unfunded_words,
    unknown_agent_words,
    which_agent_words,
    written_before_words,
)
from app.core.words.refusals import CLOSED
from tests.core.strategies import START
from tests.texts.agents import an_agent, paused, seen, worked
from tests.texts.text import Text

WORKS: Final = an_agent(State.ACTIVE)
WHERE: Final = "Answer to a command"
CENT: Final = 10_000_000
CALLS: Final = LimitName.MAX_TOOL_CALLS


def _misread(line: str) -> str:
    [asked] = commands([line])
    assert isinstance(asked, Misread)
    return misread_words(asked)


def _waiting(**changes: Any) -> str:
    return not_paused_words(seen(State.SLEEPING, worked(), **changes).agent)


def _unfunded() -> str:
    account = Account("role:octo/demo:bug-fix", Window.DAY, START, 2_000 * CENT)
    return unfunded_words(Insufficient(account, left_nanousd=150 * CENT, asked_nanousd=500 * CENT))


def _status() -> str:
    view = seen(State.PAUSED, paused(), waits_for=Waits.RAISE)
    return status_words([view], [state_sentence(view)], {"docs": "the budget is spent"})


def _held() -> str:
    event = paused().log[-1]
    assert isinstance(event, Held)
    return held_by_another(WORKS, event.hold)


TEXTS: Final = (
    Text(
        WHERE,
        "Two lines, one of them not obeyed",
        lambda: command_answer(
            7, "k", [_misread("/squadron rase max_turns +5 bug-fix"), written_before_words(WORKS)]
        ),
        snapshot("""\
<!-- squadron:answer:7 -->
<!-- squadron:answered:k -->
[squadron] \n\
- `/squadron rase max_turns +5 bug-fix` was not understood. Did you mean `raise`? It is written `/squadron raise LIMIT +AMOUNT [ROLE]`. Nothing was changed.
- `bug-fix` has paused after this was written. Write it again if it is still meant.\
"""),
    ),
    Text(
        WHERE,
        "A verb that there is not",
        lambda: _misread("/squadron frobnicate"),
        snapshot(
            "`/squadron frobnicate` was not understood; expected one of `/squadron raise LIMIT +AMOUNT [ROLE]`, `/squadron resume [ROLE]`, `/squadron stop [ROLE]`, `/squadron wake [ROLE]`, `/squadron retry [ROLE] [raise LIMIT +AMOUNT]`, `/squadron status`, `/squadron explain [ROLE]`, `/squadron help`. Nothing was changed."
        ),
    ),
    Text(
        WHERE,
        "An amount that may be meant in two ways",
        lambda: _misread("/squadron raise max_tool_calls 3"),
        snapshot(
            "`/squadron raise max_tool_calls 3` was not understood; expected `/squadron raise max_tool_calls +3`, which adds 3, or `/squadron resume`, which adds the limit's own amount once more. Nothing was changed."
        ),
    ),
    Text(
        WHERE,
        "`raise` by very much",
        lambda: asks_back_words(CATALOGUE[CALLS], 500, 5),
        snapshot(
            "500 tool calls is more than 10 times the agent's `max_tool_calls` of 5 tool calls. If it is meant, write the same line once more, in a new comment. Nothing was changed."
        ),
    ),
    Text(
        WHERE,
        "`raise` beyond the ceiling",
        lambda: capped_words(Grant(CATALOGUE[CALLS], 50, 250, 100)),
        snapshot(
            "Squadron raised `max_tool_calls` by 50 tool calls only, to 250 tool calls: that is its ceiling."
        ),
    ),
    Text(
        WHERE,
        "`raise` that the budget cannot pay",
        _unfunded,
        snapshot(
            "The budget `role:octo/demo:bug-fix` has $1.50 left, and this takes $5.00. The budget renews at 2026-03-02 00:00 UTC. Nothing was changed."
        ),
    ),
    Text(
        WHERE,
        "`raise` of what does not hold the agent",
        _held,
        snapshot(
            "`bug-fix` is held by `max_tool_calls`, so this alone would not let it go on. Add a line `/squadron resume`, or raise `max_tool_calls` as well. Nothing was changed."
        ),
    ),
    Text(
        WHERE,
        "`resume`, and the agent works",
        lambda: not_paused_words(WORKS),
        snapshot(
            "`bug-fix` is at work. Its limits can be raised when it pauses at one of them. Nothing was changed."
        ),
    ),
    Text(
        WHERE,
        "`resume`, and the agent asks a question",
        lambda: _waiting(waits_for=Waits.ANSWER),
        snapshot(
            "`bug-fix` waits for an answer: write it as an ordinary comment. Nothing was changed."
        ),
    ),
    Text(
        WHERE,
        "`resume`, and the agent waits for issues",
        lambda: _waiting(waits_for=Waits.BLOCKER, blocked_by=(3, 4)),
        snapshot(
            "`bug-fix` sleeps until #3 and #4 are closed; it goes on by itself then. Nothing was changed."
        ),
    ),
    Text(
        WHERE,
        "`resume`, and its work waits for a review",
        lambda: _waiting(waits_for=Waits.REVIEW, pull_request=9),
        snapshot("`bug-fix` waits for a review of #9. Nothing was changed."),
    ),
    Text(
        WHERE,
        "`resume`, and the agent was stopped",
        lambda: not_paused_words(an_agent(State.ESCALATED)),
        snapshot(
            "`bug-fix` was stopped for good. Comment `/squadron retry bug-fix` on #12: a fresh agent takes over its branch, with its limits anew; `/squadron retry bug-fix raise LIMIT +AMOUNT` gives it more. Nothing was changed."
        ),
    ),
    Text(
        WHERE,
        "`resume`, and two are paused",
        lambda: which_agent_words(
            [an_agent(State.PAUSED), an_agent(State.PAUSED, RoleKind.REVIEW)]
        ),
        snapshot(
            "Several agents are paused here; say which one, as in `/squadron resume bug-fix` or `/squadron resume reviewer`. Nothing was changed."
        ),
    ),
    Text(
        WHERE,
        "`stop`, and two are there",
        lambda: which_of_words("stop", ["bug-fix", "docs"]),
        snapshot(
            "Several agents are here; say which one, as in `/squadron stop bug-fix` or `/squadron stop docs`. Nothing was changed."
        ),
    ),
    Text(
        WHERE,
        "`stop`, and the agent has ended",
        lambda: has_ended_words(an_agent(State.COMPLETED)),
        snapshot("`bug-fix` has ended (completed) already. Nothing was changed."),
    ),
    Text(
        WHERE,
        "`stop` of a start that waits",
        lambda: never_begins_words("bug-fix"),
        snapshot(
            "`bug-fix` had not begun: the agent waited to start, and does not start any more."
        ),
    ),
    Text(
        WHERE,
        "`wake`, and the agent does not sleep",
        lambda: not_asleep_words(WORKS),
        snapshot("`bug-fix` does not sleep, it is active. Nothing was changed."),
    ),
    Text(
        WHERE,
        "`retry`, and the agent works",
        lambda: not_ended_words(WORKS),
        snapshot("`bug-fix` has not ended, it is active. Nothing was changed."),
    ),
    Text(
        WHERE,
        "`retry`, and the agent still stops",
        lambda: not_ended_words(an_agent(State.STOPPING)),
        snapshot(
            "`bug-fix` stops, and Squadron still keeps its work. Nothing was changed: say it again when the agent has ended."
        ),
    ),
    Text(
        WHERE,
        "`retry`, and the issue is closed",
        lambda: not_retried_words(WORKS, CLOSED),
        snapshot(
            "No fresh `bug-fix` has started on #12: the issue is closed. Open #12, and write this again."
        ),
    ),
    Text(
        WHERE,
        "`retry`, and the budget is spent",
        lambda: not_retried_words(WORKS, "the budget is spent", waits=True),
        snapshot(
            "No fresh `bug-fix` has started on #12 yet: the budget is spent. It starts by itself."
        ),
    ),
    Text(
        WHERE,
        "No agent has that name",
        lambda: unknown_agent_words("dosc", [WORKS]),
        snapshot("No agent `dosc` works on this issue; there is `bug-fix`. Nothing was changed."),
    ),
    Text(
        WHERE,
        "There is no agent",
        lambda: unknown_agent_words(None, []),
        snapshot("No agent works on this issue. The label `squadron:<role>` starts one."),
    ),
    Text(
        WHERE,
        "Squadron was interrupted",
        lambda: interrupted_words("/squadron wake"),
        snapshot(
            "Squadron could not obey `/squadron wake` when its turn came, and was interrupted before it could say why. Nothing was changed by that line."
        ),
    ),
    Text(
        WHERE,
        "`status`",
        _status,
        snapshot("""\
**`bug-fix`**: The agent is paused: max_tool_calls reached: 5 of 5 tool calls.

| limit | used | maximum | unit |
| --- | ---: | ---: | --- |
| `max_iterations` | 0 | 3 | fix cycles |
| `max_tool_calls` | 5 | 5 | tool calls |
| `max_active_duration` | 0 | 7200 | seconds |
| `max_sleep_duration` | 0 | 86400 | seconds |
| `max_cost_usd` | $0.021 | $1.50 | USD |

**`docs`**: The agent waits to start: the budget is spent.\
"""),
    ),
    Text(
        WHERE,
        "`help`",
        help_words,
        snapshot("""\
Write one of these at the start of a line:

- `/squadron raise LIMIT +AMOUNT [ROLE]`: grant a paused agent more of a limit
- `/squadron resume [ROLE]`: let a paused agent go on: its limit's own amount once more
- `/squadron stop [ROLE]`: take the work away; it is kept and pushed
- `/squadron wake [ROLE]`: let a sleeping agent go on now
- `/squadron retry [ROLE] [raise LIMIT +AMOUNT]`: start a fresh agent on the branch of one that has ended, with more of a limit if you say so
- `/squadron status`: say what the agents here do and what they have used
- `/squadron explain [ROLE]`: tell the story of an agent
- `/squadron help`: show these commands\
"""),
    ),
)
