"""Brakes: what keeps every agent of a scope from working, until somebody lifts it.

While a brake is on nothing starts, who works stops with its work kept, and no clock runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from app.core.text.markdown import cut
from app.core.text.redact import redact

MOST_WORDS: Final = 300
"""Characters of a reason, and of a name."""


class Scope(StrEnum):
    """What a brake is on; the widest first."""

    ALL = "all"
    INSTALLATION = "installation"
    """Of the App: an account or an organisation with its repositories."""
    REPOSITORY = "repository"
    CONFIGURATION = "configuration"
    """A repository whose own `.squadron/config.yaml` says `enabled: false`."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a brake is on."""

    scope: Scope
    name: str = ""
    """Id of the installation, or `owner/name` in small letters; empty for `ALL`."""

    @classmethod
    def everything(cls) -> "Place":
        """All agents of this Squadron."""
        return cls(Scope.ALL)

    @classmethod
    def installation(cls, number: int) -> "Place":
        """Agents of one installation."""
        return cls(Scope.INSTALLATION, str(number))

    @classmethod
    def repository(cls, full_name: str) -> "Place":
        """Agents of one repository."""
        return cls(Scope.REPOSITORY, full_name.casefold())

    @classmethod
    def configuration(cls, full_name: str) -> "Place":
        """A repository that switches itself off."""
        return cls(Scope.CONFIGURATION, full_name.casefold())

    def holds(self, full_name: str, installation_id: int) -> bool:
        """Whether agents of that repository are in it."""
        match self.scope:
            case Scope.ALL:
                return True
            case Scope.INSTALLATION:
                return self.name == str(installation_id)
            case Scope.REPOSITORY | Scope.CONFIGURATION:
                return self.name == full_name.casefold()


@dataclass(frozen=True, slots=True)
class Brake:
    """One brake, from when it was put on."""

    place: Place
    by: str
    """Who put it on, for people."""
    since: datetime
    reason: str = ""
    """In the words of who put it on."""
    lifted_at: datetime | None = None
    """None: it is on."""
    lifted_by: str = ""

    @classmethod
    def by_hand(cls, place: Place, by: str, since: datetime, reason: str) -> "Brake":
        """Of a person, whose reason may hold anything."""
        return cls(place, by, since, cut(redact(reason.strip()), MOST_WORDS))

    @property
    def is_on(self) -> bool:
        """Whether nobody has lifted it."""
        return self.lifted_at is None


def brake_on(brakes: Iterable[Brake], full_name: str, installation_id: int) -> Brake | None:
    """The widest brake that is on there, or None."""
    order = list(Scope)
    found = [each for each in brakes if each.is_on and each.place.holds(full_name, installation_id)]
    return min(found, key=lambda each: order.index(each.place.scope), default=None)


def time_under(
    brakes: Iterable[Brake], full_name: str, installation_id: int, since: datetime, until: datetime
) -> timedelta:
    """How long of a time at least one brake was on there."""
    spans = sorted(
        (max(each.since, since), min(each.lifted_at or until, until))
        for each in brakes
        if each.place.holds(full_name, installation_id)
    )
    total, counted = timedelta(), since
    for start, end in spans:
        total += max(end - max(start, counted), timedelta())
        counted = max(counted, end)
    return total
