"""What people read when an agent does not start, or may not go on."""

from datetime import datetime
from typing import Final

from app.core.agents.events import Braked
from app.core.breaker.verdict import money
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Insufficient
from app.core.money import usd
from app.core.rules.brakes import Brake, Place, Scope
from app.core.rules.caps import Full
from app.core.rules.outages import ProviderFailure
from app.core.rules.trust import Permission, Sender, TrustRules
from app.core.text.markdown import cut, in_one_line, instant

_PER: Final = {
    Window.DAY: "a day",
    Window.WEEK: "a week",
    Window.MONTH: "a month",
    Window.TOTAL: "in all",
}


def account_words(account: Account) -> str:
    """`` `role:octo/demo:feat-dev` ($20.00 a day)``."""
    return f"`{account.key}` ({money(usd(account.max_nanousd))} {_PER[account.window]})"


def rate_refused(login: str, most: int, until: datetime) -> str:
    """Too many starts and commands of one user; said once, then silence until the hour is over."""
    times = "once" if most == 1 else f"{most} times"
    return (
        f"[squadron] @\u200b{login} started or steered agents {times} within an hour, which"
        f" is the limit. Squadron starts nothing more for them until {instant(until)}, and says so"
        " once."
    )


def not_started_marker(role: str) -> str:
    """The hidden mark of the one comment that says why no agent of the role works yet; the agent
    makes the comment its own when it starts."""
    return f"<!-- squadron:not-started:{role} -->"


def text_changed(role: str, asked_by: str, changed_by: str) -> str:
    """Somebody without permission edited the issue after an agent was asked for."""
    return (
        f"[squadron:{role}] The agent has not started: @\u200b{changed_by}, who may not start"
        f" agents, has changed this issue after @\u200b{asked_by} asked for one. Read the issue"
        " again. To start an agent on the text as it is now, take the label off and set it again."
    )


def budget_refused(role: str, short: Insufficient) -> str:
    """A budget has too little left: which, how much, and what happens next."""
    account = short.account
    assert account is not None, "an agent without a parent is paid from accounts"
    left, asked = money(usd(short.left_nanousd)), money(usd(short.asked_nanousd))
    if short.asked_nanousd > account.max_nanousd:
        then = "That is more than all of it: lower the role's `max_cost_usd`, or raise the budget."
    elif account.renews_at is None:
        then = "The budget never renews."
    else:
        then = f"The budget renews at {instant(account.renews_at)}."
    return (
        f"[squadron:{role}] The agent has not started yet: the budget {account_words(account)} has"
        f" {left} left, and the agent may need up to {asked}. {then}\n\nThe agent starts by itself"
        " as soon as there is enough, also when other agents return what they did not need. To"
        " withdraw it, remove the label or close the issue."
    )


CLOSED: Final = "the issue is closed"
CLOSED_SINCE: Final = (
    "the issue was closed after that, and opening it again asks for nothing: label it anew"
)
GONE: Final = (
    "there is no such issue any more: it was deleted or transferred, or issues are switched off"
)
ARCHIVED: Final = "the repository is archived"
AT_WORK: Final = "one is at work already"
BEFORE_THE_END: Final = "it was asked for before the last one ended"
TAKEN_BACK: Final = "it was taken back"
WITHDRAWN: Final = "the label or the assignment that asked for it was taken away"
SWITCHED_OFF: Final = "the repository's configuration says `enabled: false`"
ESCALATED_BEFORE: Final = "the needs-human issue of the agent before is still open"
STOPPING: Final = "the agent before it is still being stopped"
TRIED_AGAIN: Final = "it could not start, and is tried again"


def many_found(most: int) -> str:
    """More starts were found than one pass makes."""
    return (
        f"more starts were found at once than are made at a time: {most} a pass"
        " (`max_starts_per_pass`), and this one has its turn later"
    )


REVIEWS_ONLY: Final = "the role reviews pull requests, and this is an issue"
WORKS_ONLY: Final = "the role works on issues, and this is a pull request"
OLDER: Final = "the label was set before it started agents here"


def not_yet(role: str, why: str) -> str:
    """A trusted start that waits, and starts by itself."""
    return f"[squadron:{role}] The agent has not started yet: {why}. It starts by itself."


def never(role: str, why: str, escalation: int | None) -> str:
    """A trusted start that is refused for good, and what to do to have an agent. `escalation`: the
    needs-human issue that the agent before has opened."""
    then = {
        CLOSED: "To start an agent, open it, take the label off and set it again.",
        ESCALATED_BEFORE: f"Close {f'#{escalation}' if escalation else 'that'}, and set the label"
        " again; or write `/squadron retry`.",
        OLDER: "To start an agent, take it off and set it again.",
    }
    return f"[squadron:{role}] The agent has not started: {why}. {then.get(why, '')}".rstrip()


def taken_back_words(login: str) -> str:
    """Of a start that waited: a person does not want it any more."""
    return f"{login} stopped it before it began"


def distrust_words(rules: TrustRules, sender: Sender, permission: Permission | None) -> str:
    """Why a sender may start nothing; `permission` None: it was not worth asking for."""
    if permission is None:
        return f"{sender.login} is a bot that `trust.bots` does not list"
    return (
        f"{sender.login} has the permission {permission.name.lower()}, and"
        f" {rules.start.name.lower()} is needed"
    )


def rate_words(login: str, until: datetime) -> str:
    """As `rate_refused`, for the list of what did not start."""
    return (
        f"{login} has started or steered as much as is allowed in an hour, until {instant(until)}"
    )


def budget_words(short: Insufficient) -> str:
    """As `budget_refused`, for the list of what did not start."""
    account = short.account
    assert account is not None, "an agent without a parent is paid from accounts"
    return (
        f"the budget {account_words(account)} has {money(usd(short.left_nanousd))} left, and up"
        f" to {money(usd(short.asked_nanousd))} may be needed"
    )


def place_words(place: Place) -> str:
    """What a brake is on."""
    match place.scope:
        case Scope.ALL:
            return "all agents"
        case Scope.INSTALLATION:
            return f"all agents of installation {place.name}"
        case Scope.REPOSITORY:
            return f"all agents of {place.name}"
        case Scope.CONFIGURATION:
            return f"all agents of {place.name}, which switches itself off"


def brake_words(brake: Brake) -> str:
    """Who put it on what, and when, as one clause."""
    if brake.place.scope is Scope.CONFIGURATION:
        return SWITCHED_OFF
    because = f" ({in_one_line(brake.reason)})" if brake.reason else ""
    by = in_one_line(brake.by)
    return f"{by} paused {place_words(brake.place)} at {instant(brake.since)}{because}"


def standing_words(brake: Brake) -> str:
    """A brake among others, with what lifts it."""
    return f"{brake_words(brake)} ({_lifted_by(brake.place)})"


def _lifted_by(place: Place) -> str:
    if place.scope is Scope.CONFIGURATION:
        return f"{place.name}: set `enabled: true` on its default branch"
    return f"squadron resume {place_option(place)}"


def place_option(place: Place) -> str:
    """The option of `squadron pause` and `squadron resume` that names it."""
    match place.scope:
        case Scope.REPOSITORY | Scope.CONFIGURATION:
            return f"--repo {place.name}"
        case Scope.INSTALLATION:
            return f"--installation {place.name}"
        case Scope.ALL:
            return "--all"


def braked_words(place: Place) -> str:
    """A brake was put on."""
    return f"Paused: {place_words(place)}."


def released_words(place: Place) -> str:
    """A brake was lifted."""
    return f"Resumed: {place_words(place)}. What was held goes on within seconds."


def held_words(braked: Braked) -> str:
    """An agent that works only after a brake was lifted."""
    return (
        f"The agent is held: {in_one_line(braked.why)}. Squadron keeps its work, and the agent goes"
        " on by itself when that is over."
    )


def no_room(least_mib: int) -> str:
    """No agent begins, for the disk is as good as full."""
    return (
        f"Squadron's disk has less than {least_mib:,} MiB free (`min_free_mib`): no agent begins."
        " Whoever runs Squadron has to make room; then agents go on by themselves."
    )


def cap_reached(full: Full) -> str:
    """As many agents are at work as may be."""
    agents = "one agent" if full.most == 1 else f"{full.most} agents"
    of = "this repository" if full.role is None else f"the role `{full.role}`"
    key = "per_repository" if full.role is None else f"per_role.{full.role}"
    return (
        f"no more than {agents} of {of} may be at work at once (`workers.{key}`, of whoever runs"
        " Squadron). It goes on by itself."
    )


def provider_away(failure: ProviderFailure) -> str:
    """No agent of that provider works, for it does not answer."""
    return (
        f"{in_one_line(failure.reason)}. Nothing is lost: the agent goes on by itself as soon as"
        " there is an answer."
    )


def github_away(reason: str) -> str:
    """The work cannot begin, for GitHub or its git does not answer."""
    return (
        f"GitHub does not answer ({in_one_line(cut(reason, 500))}). Nothing is lost: the agent goes"
        " on by itself as soon as there is an answer."
    )


def budget_spent(short: Insufficient) -> str:
    """A budget has too little left for an agent that is to go on: which, how much, and when."""
    account = short.account
    assert account is not None, "who is told this has no parent"
    left, asked = money(usd(short.left_nanousd)), money(usd(short.asked_nanousd))
    if account.renews_at is None:
        then = "The budget never renews"
    else:
        then = f"The budget renews at {instant(account.renews_at)}"
    return (
        f"the budget {account_words(account)} has {left} left, and the agent may need up to {asked}"
        f" more. {then}. Nothing is lost: the agent goes on by itself as soon as there is enough."
    )


def budget_unseen(reason: str) -> str:
    """Nobody can tell whose budget counts an agent that is to go on."""
    return f"{in_one_line(reason)} Nothing is lost: the agent goes on by itself after that."


def paused_words(role: str, brake: Brake) -> str:
    """Somebody asked for an agent while a person has paused everything there."""
    return (
        f"[squadron:{role}] The agent has not started yet: {brake_words(brake)}. It starts by"
        " itself when that is over, unless somebody takes the label or the assignment away that"
        " asked for it."
    )
