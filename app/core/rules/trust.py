"""Who may start, wake and steer an agent: the sender's permission decides (promise 6).

A label proves nothing, `author_association` says who wrote a text, not who set it in motion
(GitHub: `GET /repos/{owner}/{repo}/collaborators/{username}/permission`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum


class Permission(IntEnum):
    """A person's permission on a repository, ordered."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5

    @classmethod
    def parse(cls, role_name: str | None, legacy: str | None) -> "Permission":
        """From GitHub's `role_name` and `permission`.

        A custom role has a name of its own; the legacy field then holds its base, in which
        maintain reads as write and triage as read, so the base is never more than the truth.
        """
        for name in (role_name, legacy):
            if name is not None and name.upper() in cls.__members__:
                return cls[name.upper()]
        return cls.NONE


@dataclass(frozen=True, slots=True)
class TrustRules:
    """The repository's `trust:` block."""

    start: Permission = Permission.WRITE
    logins: tuple[str, ...] = ()
    """Further people, by login. As on GitHub, case tells no two logins apart."""
    bots: tuple[str, ...] = ()
    """Whole logins of Apps that may set things in motion; their permission is still checked."""
    teams: tuple[str, ...] = ()
    """Teams (`org/slug`) whose members count as people who are listed."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who set an event in motion, as the signed delivery says."""

    login: str
    is_bot: bool


def may_ask(rules: TrustRules, sender: Sender) -> bool:
    """Whether it is worth asking GitHub for the sender's permission: unlisted bots never pass."""
    return not sender.is_bot or _is_listed(sender, rules.bots)


def trusted(rules: TrustRules, sender: Sender, permission: Permission) -> bool:
    """Whether the sender may start, wake and steer agents, teams aside."""
    if not may_ask(rules, sender):
        return False
    return permission >= rules.start or (not sender.is_bot and _is_listed(sender, rules.logins))


def teams_to_ask(rules: TrustRules, sender: Sender) -> tuple[str, ...]:
    """Teams of which one membership is enough for a sender who is not trusted without. None for
    bots, which are in no team."""
    return () if sender.is_bot else rules.teams


def listed_logins(rules: TrustRules) -> frozenset[str]:
    """All logins that the rules name, people's and bots', in small letters."""
    return frozenset(login.casefold() for login in (*rules.logins, *rules.bots))


def without(rules: TrustRules, login: str) -> TrustRules:
    """The rules as if they did not name that login: it has passed to somebody else."""

    def others(logins: Sequence[str]) -> tuple[str, ...]:
        return tuple(each for each in logins if each.casefold() != login.casefold())

    return replace(rules, logins=others(rules.logins), bots=others(rules.bots))


def _is_listed(sender: Sender, logins: Sequence[str]) -> bool:
    return sender.login.casefold() in (login.casefold() for login in logins)
