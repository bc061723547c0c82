"""The configuration of each repository, from its default branch, cached for seconds."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from app.core.history.adapting import adapted_plan
from app.core.rules.brakes import Brake, Place
from app.core.rules.plan import ConfigProblem, RepositoryPlan
from app.ports import Refused, Repository, StoreUnavailable, Unreadable
from app.services.configuration.moved_repositories import Moving
from app.services.world import PlanReading, World

KEPT_FOR: Final = timedelta(seconds=30)
"""Also how long GitHub's list of repositories may lag behind a push."""
BELIEVED_FOR: Final = timedelta(hours=1)
"""How long GitHub's word that nobody has pushed takes the place of a look."""
MOST_READINGS: Final = 5
"""Of one configuration in a row, while other processes put further ones in force."""
MOST_CACHED: Final = 1_000
LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
CONFIGURATION: Final = "`.squadron/config.yaml`"
"""Who put a brake on, or lifted it, when nobody but the configuration did."""

_Readable = Mapping[str, bytes]
_Files = _Readable | ConfigProblem
"""What `.squadron/` holds, by path; or why it cannot be read."""

log = logging.getLogger("squadron.config")


@dataclass(frozen=True, slots=True)
class _Cached:
    files: _Files
    read: PlanReading
    """What the files say, and what is in force where they are broken."""
    reading: PlanReading
    """What is in force."""
    read_at: datetime
    digest: str
    """Of what was in force then."""
    asked_at: datetime
    """When GitHub was asked for the files."""
    tip: str
    """Of the repository, as it was listed before they were asked for; empty if it was not."""
    tip_since: datetime
    """When it was listed with that tip for the first time."""

    def is_present(self, tip: str, now: datetime) -> bool:
        """Whether nobody can have pushed other files since they were asked for: what GitHub tells
        to the second, and late, has to be older than them."""
        is_unmoved = self.tip == tip != "" and self.asked_at - self.tip_since >= KEPT_FOR
        return is_unmoved and now - self.asked_at < BELIEVED_FOR


class Plans:
    """Reads a repository's plan; a push to its default branch makes it forget, and whatever one
    process puts in force the others read as well."""

    def __init__(self, world: World, moving: Moving) -> None:
        self._world = world
        self._moving = moving
        self._cached: dict[str, _Cached] = {}
        self._remembered: dict[str, tuple[str, RepositoryPlan | None]] = {}
        """By repository, what other processes have put in force, and its digest."""
        self._moved: dict[str, object] = {}
        """Repositories whose default branch has moved since they were read, each with the last of
        its pushes."""

    async def of(self, repository: Repository, tip: str = "") -> PlanReading:
        """The plan as of at most `KEPT_FOR` ago: the present one, and where that is broken, as a
        whole or in a role, what was in force before. `tip`: of the repository, as it was listed
        just now; while that stays the same GitHub need not be asked. May raise `GitHubFailed`."""
        now, push = self._world.clock.now(), self._moved.get(repository.full_name)
        known = self._cached.get(repository.full_name)
        digest = await self._world.store.configuration_digest(repository.full_name)
        if not digest and await self._has_moved_here(repository):
            digest = await self._world.store.configuration_digest(repository.full_name)
        if known is not None and known.digest != digest:  # another process has read later files
            known = None
        if known is not None and now - known.read_at < KEPT_FOR:
            return known.reading
        if known is not None and known.is_present(tip, now):
            files, asked_at = known.files, known.asked_at
        else:
            files, asked_at = await self._files(repository), now
        if known is not None and known.files == files:
            read = known.read
        else:
            files, read, digest = await self._put_in_force(repository, files, digest)
        reading = await self._adapted(repository, read)
        is_enabled = _is_enabled(reading)
        if is_enabled is not None:
            await self._brake(repository, is_enabled=is_enabled)
        if len(self._cached) >= MOST_CACHED:
            self._cached.clear()
        tip_since = now
        if known is not None and tip in ("", known.tip):
            tip, tip_since = known.tip, known.tip_since
        self._cached[repository.full_name] = _Cached(
            files, read, reading, now, digest, asked_at, tip, tip_since
        )
        if self._moved.get(repository.full_name) is push:
            self._moved.pop(repository.full_name, None)
        return reading

    async def _has_moved_here(self, repository: Repository) -> bool:
        """No configuration is known by its name: it may have had another one before, unless it is
        known to be here."""
        if repository in (await self._world.store.places()).values():
            return False
        try:
            here = await self._world.github.repository(repository)
        except Refused:  # gone from here: the reading of its files tells what that means
            return False
        return await self._moving.arrived(here.id, repository)

    async def _files(self, repository: Repository) -> _Files:
        try:
            return await self._world.github.configuration(repository)
        except Unreadable as why:
            return ConfigProblem(why.path, 1, 1, why.message)

    async def _said(self, files: _Files) -> PlanReading:
        if isinstance(files, ConfigProblem):
            return PlanReading(None, (files,))
        return await self._world.read_configuration(files)

    async def _put_in_force(
        self, repository: Repository, files: _Files, digest: str
    ) -> tuple[_Files, PlanReading, str]:
        """What the files say, kept for when later ones are broken. `digest`: of what was in force
        before they were read; whoever was overtaken meanwhile reads again."""
        store, name = self._world.store, repository.full_name
        for _ in range(MOST_READINGS):
            before = await store.configuration(name)
            if before.digest == digest:
                reading, steps = await self._in_force(files, before.steps)
                if not steps or steps == before.steps:
                    return files, reading, digest
                put = await store.put_in_force(name, steps, digest)
                if put is not None:
                    return files, reading, put
            digest = await store.configuration_digest(name)
            files = await self._files(repository)
        raise StoreUnavailable(f"the configuration of {name} does not come to rest")

    async def _in_force(
        self, files: _Files, before: Sequence[_Readable]
    ) -> tuple[PlanReading, tuple[_Readable, ...]]:
        """What the files say; what is broken of it is as it was `before`. And all that this needs.

        Never from git's history: a commit between two pushes was not in force."""
        plan, steps = None, list[_Readable]()
        for each in (files, *before):
            earlier = (await self._said(each)).plan
            if earlier is None or isinstance(each, ConfigProblem):
                continue
            mended = earlier if plan is None else plan.mended(earlier)
            if plan is None or mended.broken.keys() != plan.broken.keys():
                steps.append(each)
            plan = mended
            if not plan.broken:
                break
        said = await self._said(files)
        if plan is not None and said.is_switched_off:
            plan = replace(plan, enabled=False)
        return replace(said, plan=plan), tuple(steps)

    async def _brake(self, repository: Repository, *, is_enabled: bool) -> None:
        """`enabled: false` is a brake like any other. What another process has read of late may
        be older than what it changes, so whoever changes it reads once more."""
        place, store = Place.configuration(repository.full_name), self._world.store
        if is_enabled is not await self._is_braked(place):
            return
        async with self._world.exclusive(f"enabled:{place.name}"):
            before = await store.configuration(repository.full_name)
            reading, _ = await self._in_force(await self._files(repository), before.steps)
            says = _is_enabled(reading)
            if says is None or says is not await self._is_braked(place):
                return
            now = self._world.clock.now()
            if says:
                await store.lift_brake(place, CONFIGURATION, now)
            else:
                await store.put_brake_on(Brake(place, CONFIGURATION, now))
            log.warning(
                "switched on" if says else "switched off: `enabled: false`",
                extra={"repository": repository.full_name},
            )

    async def _is_braked(self, place: Place) -> bool:
        return any(brake.place == place for brake in await self._world.store.brakes())

    async def _adapted(self, repository: Repository, reading: PlanReading) -> PlanReading:
        """With the limits that were moved without a human, where the operator wants that."""
        if self._world.house.adaptive != "apply" or reading.plan is None:
            return reading
        moved = await self._world.store.adapted(repository.full_name)
        return replace(reading, plan=adapted_plan(reading.plan, moved))

    async def last(self, full_name: str) -> RepositoryPlan | None:
        """What was in force when GitHub was asked last, by whichever process; None where nothing is
        known, and where the default branch has moved since. GitHub is not asked."""
        if full_name in self._moved:
            return None
        digest = await self._world.store.configuration_digest(full_name)
        known = self._cached.get(full_name)
        if known is not None and known.digest == digest:
            return known.reading.plan
        if self._remembered.get(full_name, ("", None))[0] != digest:
            if len(self._remembered) >= MOST_CACHED:
                self._remembered.clear()
            before = await self._world.store.configuration(full_name)
            self._remembered[full_name] = before.digest, await self._plan_of(before.steps)
        return self._remembered[full_name][1] if digest else None

    async def _plan_of(self, steps: Sequence[_Readable]) -> RepositoryPlan | None:
        return (await self._in_force(steps[0], steps[1:]))[0].plan if steps else None

    def forget(self, full_name: str) -> None:
        """The default branch moved: what was read is old now."""
        self._moved[full_name] = object()
        known = self._cached.get(full_name)
        if known is not None:
            self._cached[full_name] = replace(known, read_at=LONG_AGO, tip="")


def _is_enabled(reading: PlanReading) -> bool | None:
    """Whether agents may work, None where nothing says so. A stop needs no sound configuration."""
    if reading.is_switched_off:
        return False
    return None if reading.plan is None else reading.plan.enabled
