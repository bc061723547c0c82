"""Why an agent has not started, or may not go on: the comment instead of the agent's own."""

from dataclasses import replace
from typing import Final

from inline_snapshot import snapshot

from app.core.agents.events import Braked, HeldUp, Waits
from app.core.agents.lifecycle import State
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Insufficient
from app.core.rules.brakes import Brake, Place, Scope
from app.core.rules.caps import Full
from app.core.rules.outages import ProviderFailure
from app.core.rules.plan import ConfigProblem
from app.core.words.config_review import trouble_body, trouble_title
from app.core.words.messages import cannot_start, state_sentence
from app.core.words.refusals import (
    CLOSED,
    ESCALATED_BEFORE,
    OLDER,
    STOPPING,
    budget_refused,
    budget_spent,
    budget_unseen,
    cap_reached,
    github_away,
    never,
    no_room,
    not_yet,
    paused_words,
    provider_away,
    rate_refused,
    text_changed,
)
from tests.core.strategies import START
from tests.texts.agents import seen
from tests.texts.text import Text

MISTAKES: Final = (
    ConfigProblem(".squadron/config.yaml", 3, 5, "unknown key `max_tool_cals`"),
    ConfigProblem(".squadron/agents/docs.md", 2, 1, "`runtime` is missing"),
)
BY_MONA: Final = Brake(
    Place(Scope.REPOSITORY, "octo/demo"), by="mona", reason="the release", since=START
)
CENT: Final = 10_000_000


def _short(most: int, left: int, asked: int) -> Insufficient:
    account = Account("role:octo/demo:bug-fix", Window.DAY, START, most * CENT)
    return Insufficient(account, left_nanousd=left * CENT, asked_nanousd=asked * CENT)


def _never_renews(short: Insufficient) -> Insufficient:
    assert short.account is not None
    return replace(short, account=replace(short.account, window=Window.TOTAL, since=None))


def _held_up(why: str, waits_for: Waits) -> str:
    view = seen(State.QUEUED)
    return state_sentence(replace(view, held_up=HeldUp(at=START, why=why, waits_for=waits_for)))


def _braked() -> str:
    why = "mona paused all agents of octo/demo at 2026-03-01 09:00 UTC (the release)"
    brake = Braked(at=START, why=why, scope="repository", since=START)
    return state_sentence(replace(seen(State.QUEUED), brake=brake))


WHERE: Final = "Comment of an agent that has not started"
HELD: Final = "First line of an agent that may not go on"
TROUBLE: Final = "Issue about the configuration: title and text"

TEXTS: Final = (
    Text(
        WHERE,
        "A budget has too little left",
        lambda: budget_refused("bug-fix", _short(2000, 150, 500)),
        snapshot("""\
[squadron:bug-fix] The agent has not started yet: the budget `role:octo/demo:bug-fix` ($20.00 a day) has $1.50 left, and the agent may need up to $5.00. The budget renews at 2026-03-02 00:00 UTC.

The agent starts by itself as soon as there is enough, also when other agents return what they did not need. To withdraw it, remove the label or close the issue.\
"""),
    ),
    Text(
        WHERE,
        "A budget is smaller than what the role may need",
        lambda: budget_refused("bug-fix", _short(200, 150, 500)),
        snapshot("""\
[squadron:bug-fix] The agent has not started yet: the budget `role:octo/demo:bug-fix` ($2.00 a day) has $1.50 left, and the agent may need up to $5.00. That is more than all of it: lower the role's `max_cost_usd`, or raise the budget.

The agent starts by itself as soon as there is enough, also when other agents return what they did not need. To withdraw it, remove the label or close the issue.\
"""),
    ),
    Text(
        WHERE,
        "Somebody has paused all agents",
        lambda: paused_words("bug-fix", BY_MONA),
        snapshot(
            "[squadron:bug-fix] The agent has not started yet: mona paused all agents of octo/demo at 2026-03-01 09:00 UTC (the release). It starts by itself when that is over, unless somebody takes the label or the assignment away that asked for it."
        ),
    ),
    Text(
        WHERE,
        "The one before still stops",
        lambda: not_yet("bug-fix", STOPPING),
        snapshot(
            "[squadron:bug-fix] The agent has not started yet: the agent before it is still being stopped. It starts by itself."
        ),
    ),
    Text(
        WHERE,
        "The one before was stopped, and nobody has decided yet",
        lambda: never("bug-fix", ESCALATED_BEFORE, 13),
        snapshot(
            "[squadron:bug-fix] The agent has not started: the needs-human issue of the agent before is still open. Close #13, and set the label again; or write `/squadron retry`."
        ),
    ),
    Text(
        WHERE,
        "The issue is closed",
        lambda: never("bug-fix", CLOSED, None),
        snapshot(
            "[squadron:bug-fix] The agent has not started: the issue is closed. To start an agent, open it, take the label off and set it again."
        ),
    ),
    Text(
        WHERE,
        "The label is older than the role",
        lambda: never("bug-fix", OLDER, None),
        snapshot(
            "[squadron:bug-fix] The agent has not started: the label was set before it started agents here. To start an agent, take it off and set it again."
        ),
    ),
    Text(
        WHERE,
        "Somebody without permission has changed the issue",
        lambda: text_changed("bug-fix", "mona", "mallory"),
        snapshot(
            "[squadron:bug-fix] The agent has not started: @\u200bmallory, who may not start agents, has changed this issue after @\u200bmona asked for one. Read the issue again. To start an agent on the text as it is now, take the label off and set it again."
        ),
    ),
    Text(
        WHERE,
        "One person has started many",
        lambda: rate_refused("mona", 20, START),
        snapshot(
            "[squadron] @\u200bmona started or steered agents 20 times within an hour, which is the limit. Squadron starts nothing more for them until 2026-03-01 09:00 UTC, and says so once."
        ),
    ),
    Text(
        WHERE,
        "Its role has mistakes",
        lambda: cannot_start("bug-fix", MISTAKES, "its configuration has mistakes."),
        snapshot("""\
[squadron:bug-fix] The agent cannot start: its configuration has mistakes.

- `.squadron/config.yaml:3:5: unknown key 'max_tool_cals'`
- `.squadron/agents/docs.md:2:1: 'runtime' is missing`

Correct this on the default branch, then set the label again. `squadron config check` shows the same.\
"""),
    ),
    Text(
        WHERE,
        "There is no such role",
        lambda: cannot_start("bug-fix", (), "there is no such role."),
        snapshot("""\
[squadron:bug-fix] The agent cannot start: there is no such role.

Correct this on the default branch, then set the label again.\
"""),
    ),
    Text(
        HELD,
        "Somebody has paused all agents",
        _braked,
        snapshot(
            "The agent is held: mona paused all agents of octo/demo at 2026-03-01 09:00 UTC (the release). Squadron keeps its work, and the agent goes on by itself when that is over."
        ),
    ),
    Text(
        HELD,
        "The model's provider does not answer",
        lambda: _held_up(
            provider_away(ProviderFailure("anthropic", "anthropic does not answer (503)")),
            Waits.PROVIDER,
        ),
        snapshot(
            "The agent waits for the model's provider: anthropic does not answer (503). Nothing is lost: the agent goes on by itself as soon as there is an answer."
        ),
    ),
    Text(
        HELD,
        "GitHub does not answer",
        lambda: _held_up(github_away("502 Bad Gateway"), Waits.GIT),
        snapshot(
            "The agent waits for GitHub: GitHub does not answer (502 Bad Gateway). Nothing is lost: the agent goes on by itself as soon as there is an answer."
        ),
    ),
    Text(
        HELD,
        "A budget has too little left when the agent is to go on",
        lambda: _held_up(budget_spent(_short(2_000, 250, 1_150)), Waits.BUDGET),
        snapshot(
            "The agent waits for money: the budget `role:octo/demo:bug-fix` ($20.00 a day) has $2.50 left, and the agent may need up to $11.50 more. The budget renews at 2026-03-02 00:00 UTC. Nothing is lost: the agent goes on by itself as soon as there is enough."
        ),
    ),
    Text(
        HELD,
        "The same, and the budget never renews",
        lambda: _held_up(budget_spent(_never_renews(_short(2_000, 250, 1_150))), Waits.BUDGET),
        snapshot(
            "The agent waits for money: the budget `role:octo/demo:bug-fix` ($20.00 in all) has $2.50 left, and the agent may need up to $11.50 more. The budget never renews. Nothing is lost: the agent goes on by itself as soon as there is enough."
        ),
    ),
    Text(
        HELD,
        "Whose budget it is cannot be seen",
        lambda: _held_up(
            budget_unseen(
                "there is a budget of the team octo/leads, and GitHub does not say who is in it."
                " Grant the App the organization permission `members: read`, or remove the budget."
            ),
            Waits.BUDGET,
        ),
        snapshot(
            "The agent waits for money: there is a budget of the team octo/leads, and GitHub does not say who is in it. Grant the App the organization permission `members: read`, or remove the budget. Nothing is lost: the agent goes on by itself after that."
        ),
    ),
    Text(
        HELD,
        "As many of the repository are at work as may be",
        lambda: _held_up(cap_reached(Full(2, None)), Waits.CAP),
        snapshot(
            "The agent waits until another one stops working: no more than 2 agents of this repository may be at work at once (`workers.per_repository`, of whoever runs Squadron). It goes on by itself."
        ),
    ),
    Text(
        HELD,
        "As many of the role are at work as may be",
        lambda: _held_up(cap_reached(Full(1, "docs")), Waits.CAP),
        snapshot(
            "The agent waits until another one stops working: no more than one agent of the role `docs` may be at work at once (`workers.per_role.docs`, of whoever runs Squadron). It goes on by itself."
        ),
    ),
    Text(
        HELD,
        "The disk is nearly full",
        lambda: _held_up(no_room(2048), Waits.ROOM),
        snapshot(
            "The agent waits for room: Squadron's disk has less than 2,048 MiB free (`min_free_mib`): no agent begins. Whoever runs Squadron has to make room; then agents go on by themselves."
        ),
    ),
    Text(
        TROUBLE,
        "The last sound one stays in force",
        lambda: f"{trouble_title(MISTAKES)}\n\n{trouble_body(MISTAKES, is_sound_before=True)}",
        snapshot("""\
Squadron: 2 mistakes in the configuration

<!-- squadron:config-trouble -->

The configuration on the default branch has mistakes:

- `.squadron/config.yaml:3:5: unknown key 'max_tool_cals'`
- `.squadron/agents/docs.md:2:1: 'runtime' is missing`

What is not concerned works on; for what is, a role or all of it, the last sound one stays in force.

Correct them on the default branch; this issue then closes itself. `squadron config check` shows the same.\
"""),
    ),
    Text(
        TROUBLE,
        "There was no sound one yet",
        lambda: (
            f"{trouble_title(MISTAKES[:1])}\n\n{trouble_body(MISTAKES[:1], is_sound_before=False)}"
        ),
        snapshot("""\
Squadron: 1 mistake in the configuration

<!-- squadron:config-trouble -->

The configuration on the default branch has mistakes:

- `.squadron/config.yaml:3:5: unknown key 'max_tool_cals'`

No agent starts here until this is corrected.

Correct them on the default branch; this issue then closes itself. `squadron config check` shows the same.\
"""),
    ),
)
