"""Budgets: how much money may be spent in a window, and under which accounts a start is counted.

A budget is a rule, an account is one amount that it bounds: "each user $10 a day" is one budget
and an account for every user and day. Whose budget it is decides how far it counts:

* The operator's counts everywhere. `installation` is all that this Squadron does; with a name, the
  repositories of that GitHub account.
* A repository's own counts what happens inside that repository, whatever its scope: "role
  feat-dev, $20 a day" in octo/demo leaves feat-dev in octo/other alone.

A budget without a name holds for each role, user, team, issue or repository on its own. Names
compare as GitHub compares them: case aside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from app.core.limits import BUDGETED_COST_USD, Action, LimitName, Limits


class Scope(StrEnum):
    """What a budget bounds the spending of."""

    INSTALLATION = "installation"
    REPOSITORY = "repository"
    TEAM = "team"
    ROLE = "role"
    ISSUE = "issue"
    USER = "user"


class Window(StrEnum):
    """For how long a budget counts; in UTC, weeks from Monday."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    TOTAL = "total"
    """Never starts again."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A bound on money, from the operator's file or from a repository's."""

    scope: Scope
    window: Window
    max_nanousd: int
    name: str | None = None
    """None: each one of the scope on its own."""
    repository: str | None = None
    """Whose file it stands in (`owner/name`); None: the operator's."""


@dataclass(frozen=True, slots=True)
class Started:
    """An agent's start, as far as budgets look at it."""

    repository: str
    issue: int
    role: str
    user: str
    """Login of whoever started the agent."""
    teams: tuple[str, ...] = ()
    """The user's teams: `org/slug`."""


@dataclass(frozen=True, slots=True)
class Account:
    """One bounded amount: what is spent under `key` in the window that began at `since`."""

    key: str
    """`role:octo/demo:feat-dev`."""
    window: Window
    since: datetime | None
    """None: the window has no beginning."""
    max_nanousd: int

    @property
    def id(self) -> str:
        """Tells the account from all others; its maximum, which a person may change, is no part
        of it."""
        since = "" if self.since is None else f"{self.since:%Y-%m-%d}"
        return f"{self.window}:{since}:{self.key}"

    @property
    def renews_at(self) -> datetime | None:
        """When the next window begins; None: never."""
        return None if self.since is None else renews_at(self.window, self.since)

    def is_over(self, at: datetime) -> bool:
        """Whether the window has ended: nobody is counted in it any more."""
        return self.renews_at is not None and self.renews_at <= at

    def in_window_of(self, at: datetime) -> "Account":
        """The same budget's account for the window that `at` lies in; a window that has not ended
        yet stays, whatever another machine's clock says."""
        return replace(self, since=window_start(self.window, at)) if self.is_over(at) else self


def window_start(window: Window, at: datetime) -> datetime | None:
    """The beginning of the window that `at` (aware) lies in; None for `TOTAL`."""
    day = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    match window:
        case Window.DAY:
            return day
        case Window.WEEK:
            return day - timedelta(days=day.weekday())
        case Window.MONTH:
            return day.replace(day=1)
        case Window.TOTAL:
            return None


def renews_at(window: Window, at: datetime) -> datetime | None:
    """The beginning of the window after the one that `at` (aware) lies in; None for `TOTAL`."""
    start = window_start(window, at)
    if start is None:
        return None
    match window:
        case Window.DAY:
            return start + timedelta(days=1)
        case Window.WEEK:
            return start + timedelta(weeks=1)
        case _:
            return window_start(window, start + timedelta(days=31))


def keys(budget: Budget, started: Started) -> tuple[str, ...]:
    """Under which keys the budget counts this start; none: it does not apply.

    More than one only for a user who is in several teams.
    """
    here = started.repository.casefold()
    if budget.repository is not None and budget.repository.casefold() != here:
        return ()
    wanted = None if budget.name is None else _full_name(budget, budget.name.casefold(), here)
    subjects = _subjects(budget.scope, started, here)
    return tuple(
        _key(budget, subject, here) for subject in subjects if wanted is None or wanted == subject
    )


def accounts(budgets: Sequence[Budget], started: Started, at: datetime) -> tuple[Account, ...]:
    """What has to have money left for this start, each account once, with its least maximum."""
    found: dict[str, Account] = {}
    for budget in budgets:
        for key in keys(budget, started):
            since = window_start(budget.window, at)
            account = Account(key, budget.window, since, budget.max_nanousd)
            known = found.get(account.id)
            if known is None or account.max_nanousd < known.max_nanousd:
                found[account.id] = account
    return tuple(found.values())


def counts_every_start(budget: Budget, role: str) -> bool:
    """Whether the budget counts whoever starts the role, wherever it lies and for any issue.

    One that names a team, a user, an issue or (the operator's) a repository may count some of the
    role's agents; which, only their start can tell.
    """
    if budget.scope is Scope.ROLE:
        return budget.name is None or budget.name.casefold() == role.casefold()
    return budget.scope is not Scope.TEAM and budget.name is None


def within_budget(limits: Limits, *, is_unbounded: bool) -> Limits:
    """The limits of an agent whose money is reserved in a budget: what it reserves stops it.

    `is_unbounded`: nobody has set `max_cost_usd`; at most the operator's ceiling stands there.
    """
    name = LimitName.MAX_COST_USD
    most = limits.max_cost_usd
    if most is None or is_unbounded:
        most = BUDGETED_COST_USD if most is None else min(most, BUDGETED_COST_USD)
    actions = dict(limits.actions)
    if limits.action(name) is Action.WARN:
        actions[name] = Action.ESCALATE
    return replace(limits, max_cost_usd=most, actions=actions, shadow=limits.shadow - {name})


def _subjects(scope: Scope, started: Started, here: str) -> tuple[str, ...]:
    """What the start is counted as, by its full name."""
    match scope:
        case Scope.INSTALLATION:
            return (_owner(here),)
        case Scope.REPOSITORY:
            return (here,)
        case Scope.TEAM:
            return tuple(dict.fromkeys(team.casefold() for team in started.teams))
        case Scope.ROLE:
            return (started.role.casefold(),)
        case Scope.ISSUE:
            return (f"{here}#{started.issue}",)
        case Scope.USER:
            return (started.user.casefold(),)


def _full_name(budget: Budget, name: str, here: str) -> str:
    """In a repository's own file `12` is its issue, `leads` a team of its owner."""
    if budget.repository is None or "/" in name:
        return name
    match budget.scope:
        case Scope.ISSUE:
            return f"{here}#{name.removeprefix('#')}"
        case Scope.TEAM | Scope.REPOSITORY:
            return f"{_owner(here)}/{name}"
        case _:
            return name


def _key(budget: Budget, subject: str, here: str) -> str:
    is_operators = budget.repository is None
    match budget.scope:
        case Scope.INSTALLATION if not is_operators:
            return f"{Scope.REPOSITORY}:{here}"
        case Scope.INSTALLATION:
            return budget.scope if budget.name is None else f"{budget.scope}:{subject}"
        case Scope.REPOSITORY | Scope.ISSUE:
            return f"{budget.scope}:{subject}"
        case _:
            return (
                f"{budget.scope}:{subject}" if is_operators else f"{budget.scope}:{here}:{subject}"
            )


def _owner(repository: str) -> str:
    return repository.partition("/")[0]
