"""From when on what starts agents counts: labels and events of a repository's configuration."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from app.core.rules.plan import RepositoryPlan
from app.core.steering.asks import Trigger, in_force, label_trigger
from app.ports import Look, Repository
from app.services.world import World

OVERLAP: Final = timedelta(minutes=2)
"""How much of what was seen is looked at again: GitHub's lists may lag, and what was under way
here was not seen by the look before."""
NEW_WITHIN: Final = timedelta(minutes=10)
"""What was written before a repository was seen for the first time is not meant for us."""


class Triggers:
    """Tells what is in force, and since when."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def of(
        self, repository: Repository, plan: RepositoryPlan | None, before: Look | None
    ) -> Mapping[str, Trigger]:
        """The triggers of a plan. One that is new since the look `before` counts from that look on,
        and not before the commit that brought it: what people labelled earlier asks for nothing.
        A configuration with errors (None) ends none. May raise `GitHubFailed`."""
        known = {} if before is None else before.triggers
        if plan is None:
            return known
        now = self._world.clock.now()
        since = now - NEW_WITHIN if before is None else before.looked_at - OVERLAP
        events, labels = plan.events, plan.starting_labels()
        found = in_force(known, events, labels, since)
        if found.items() <= known.items():
            return found
        changed_at = await self._world.github.configuration_changed_at(repository)
        if changed_at is not None and changed_at <= now:  # else the committer's clock is wrong
            since = max(since, changed_at)
        return in_force(known, events, labels, since)

    async def since(
        self, repository: Repository, plan: RepositoryPlan, label: str
    ) -> datetime | None:
        """From when on a label starts its role, for somebody who was told that it was set; None: as
        long as anybody knows."""
        before = await self._world.store.look_at(repository.full_name)
        if before is None:
            return None
        labels, new_since = plan.starting_labels(), before.looked_at - OVERLAP
        trigger = in_force(before.triggers, {}, labels, new_since).get(label_trigger(label))
        return None if trigger is None else trigger.since
