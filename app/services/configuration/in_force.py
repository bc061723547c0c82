"""What repositories' configurations come to, for people to look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.core.rules.brakes import Brake
from app.core.rules.plan import ConfigProblem, RepositoryPlan
from app.ports import GitHubFailed, Repository, StartRefused
from app.services.configuration.plans import Plans
from app.services.plan_views import plans_json
from app.services.views import REFUSED_SHOWN_FOR, Json, brake_json, not_started_json
from app.services.world import World


@dataclass(frozen=True, slots=True)
class ConfigurationSeen:
    """Of one repository."""

    repository: str
    plan: RepositoryPlan | None
    """What is in force, as agents start; None: nothing ever was."""
    problems: Sequence[ConfigProblem]
    """Of the files as they are now."""
    unread: str
    """Why the files could not be read now, and only what was in force before is known; empty: they
    were."""
    brakes: Sequence[Brake]
    """What keeps agents of this repository from working."""
    not_started: Sequence[StartRefused]
    """What was asked for there and not made, the newest first."""


class InForce:
    """Looks at configurations; changes none."""

    def __init__(self, world: World, plans: Plans) -> None:
        self._world = world
        self._plans = plans

    async def repositories(self) -> Sequence[str]:
        """All that are known, in the order of their names. Raises `StoreUnavailable`."""
        places = await self._world.store.places()
        return sorted((each.full_name for each in places.values()), key=str.casefold)

    async def of(self, full_name: str, now: datetime) -> ConfigurationSeen | None:
        """As of half a minute ago at most, while GitHub answers; None: nobody knows the repository.
        Raises `StoreUnavailable`."""
        repository = await self._known(full_name)
        if repository is None:
            return None
        store, name = self._world.store, repository.full_name
        problems: Sequence[ConfigProblem] = ()
        unread = ""
        try:
            reading = await self._plans.of(repository)
            plan, problems = reading.plan, reading.problems
        except GitHubFailed as failed:
            plan, unread = await self._plans.last(name), str(failed)
        if plan is not None:
            plan = plan.budgeted(self._world.house.budgets)
        refused = await store.refused_starts(now - REFUSED_SHOWN_FOR)
        braking = [
            brake
            for brake in await store.brakes()
            if brake.place.holds(name, repository.installation_id)
        ]
        here = [start for start in refused if start.repository.casefold() == name.casefold()]
        return ConfigurationSeen(name, plan, problems, unread, braking, here)

    async def _known(self, full_name: str) -> Repository | None:
        wanted = full_name.casefold()
        places = (await self._world.store.places()).values()
        return next((each for each in places if each.full_name.casefold() == wanted), None)


def configuration_json(seen: ConfigurationSeen) -> Json:
    """As `config check --json`, and what else there is to know of the repository."""
    roles = {} if seen.plan is None else seen.plan.roles
    return {
        "repository": seen.repository,
        **plans_json(roles, seen.problems),
        "unread": seen.unread or None,
        "brakes": [*map(brake_json, seen.brakes)],
        "not_started": [*map(not_started_json, seen.not_started)],
    }
