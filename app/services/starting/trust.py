"""Whom and what an agent may be started by: the sender, and the text that the sender has seen."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from app.core.agents.agent import Task
from app.core.rules.plan import RepositoryPlan
from app.core.rules.trust import (
    Permission,
    Sender,
    TrustRules,
    listed_logins,
    may_ask,
    teams_to_ask,
    trusted,
    without,
)
from app.core.words.refusals import distrust_words
from app.ports import Issue, Refused, Repository
from app.services.configuration.plans import Plans
from app.services.world import World

KEPT_FOR: Final = timedelta(seconds=5)
"""How long an answer counts: one click on GitHub brings several deliveries at once."""
MOST_KEPT: Final = 1_000

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

log = logging.getLogger("squadron.trust")


@dataclass(frozen=True, slots=True)
class _Answer:
    distrust: str
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class ChangedBy:
    """That somebody who may not has changed what an agent was asked for."""

    login: str


class Trusting:
    """Decides by the sender's permission, as of at most `KEPT_FOR` ago."""

    def __init__(self, world: World, plans: Plans) -> None:
        self._world = world
        self._plans = plans
        self._kept: dict[tuple[Repository, Sender, TrustRules], _Answer] = {}
        self._listed_in: dict[str, Mapping[str, int | None]] = {}
        """By repository."""

    async def is_trusted(self, repository: Repository, sender: Sender) -> bool:
        """Whether the sender may start, wake and steer. May raise `GitHubFailed`."""
        return not await self.distrust(repository, sender)

    async def trusts(self, repository: Repository, permission: Permission) -> bool:
        """Whether whoever has that permission may start, wake and steer. May raise
        `GitHubFailed`."""
        return permission >= (await self._rules(repository)).start

    async def distrust(self, repository: Repository, sender: Sender) -> str:
        """Why the sender may not; empty: they may. May raise `GitHubFailed`."""
        rules = await self._rules(repository)
        listed = await self._listed(repository, rules)
        if not may_ask(rules, sender):
            return distrust_words(rules, sender, None)
        question, now = (repository, sender, rules), self._world.clock.now()
        known = self._kept.get(question)
        if known is not None and now - known.asked_at < KEPT_FOR:
            return known.distrust
        if await self._is_successor(repository, sender, listed):
            rules = without(rules, sender.login)
        answer = await self._distrust(repository, sender, rules)
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[question] = _Answer(answer, now)
        return answer

    async def _distrust(self, repository: Repository, sender: Sender, rules: TrustRules) -> str:
        if not may_ask(rules, sender):
            return distrust_words(rules, sender, None)
        permission = await self._world.github.permission(repository, sender.login)
        is_trusted = trusted(rules, sender, permission) or await self._is_in_a_team(
            repository, sender, rules
        )
        return "" if is_trusted else distrust_words(rules, sender, permission)

    async def _listed(self, repository: Repository, rules: TrustRules) -> Mapping[str, int | None]:
        """Who had each login that the rules name when it was named. May raise `GitHubFailed`."""
        logins, name = listed_logins(rules), repository.full_name
        known = self._listed_in.get(name, {})
        if known.keys() == logins:
            return known
        store, github = self._world.store, self._world.github
        known = await store.listed_accounts(name)
        if known.keys() != logins:
            new = {
                login: await github.account(repository, login) for login in logins - known.keys()
            }
            await store.list_accounts(name, logins, new)
            known = await store.listed_accounts(name)
        if len(self._listed_in) >= MOST_KEPT:
            self._listed_in.clear()
        self._listed_in[name] = known
        return known

    async def _is_successor(
        self, repository: Repository, sender: Sender, listed: Mapping[str, int | None]
    ) -> bool:
        """Whether the sender has a listed login that was another's, or nobody's, when it was
        listed: GitHub lets people give logins up. May raise `GitHubFailed`."""
        login = sender.login.casefold()
        if login not in listed:
            return False
        account = await self._world.github.account(repository, sender.login)
        if account is not None and account == listed[login]:
            return False
        log.warning(
            "trust: `%s` was another account's login, or nobody's, when it was listed, so the list"
            " does not count for it. Take it out, and list it anew if you know who it is",
            sender.login,
            extra={"repository": repository.full_name},
        )
        return True

    async def _rules(self, repository: Repository) -> TrustRules:
        return ((await self._plans.of(repository)).plan or RepositoryPlan()).trust

    async def task(
        self, repository: Repository, present: Issue, asked: Task | None, at: datetime | None
    ) -> Task | ChangedBy:
        """What an agent works on that was asked for at `at`: the text as it stood then.

        `asked` is that text, as the signed delivery says; None where only the present one is
        known. Then, and where they differ, everybody has to be trusted who has changed it since.
        May raise `GitHubFailed`.
        """
        shown = Task(present.title, present.body)
        if asked == shown:
            return shown
        since = (at or _LONG_AGO).replace(microsecond=0)
        ourselves = await self._world.github.bot_login()
        for edit in await self._world.github.edits(repository, present.number):
            sender = Sender(edit.by, edit.is_bot)
            is_late = edit.at >= since and edit.by != ourselves
            if is_late and not await self.is_trusted(repository, sender):
                return ChangedBy(edit.by)
        return asked or shown

    async def _is_in_a_team(
        self, repository: Repository, sender: Sender, rules: TrustRules
    ) -> bool:
        """A team that cannot be looked into lets nobody in."""
        for team in teams_to_ask(rules, sender):
            try:
                if await self._world.github.is_team_member(repository, team, sender.login):
                    return True
            except Refused as error:
                log.warning(
                    "trust.teams: who is in %s cannot be seen, so it lets nobody in. Grant the App"
                    " the organization permission `members: read`: %s",
                    team,
                    error,
                    extra={"repository": repository.full_name},
                )
        return False
