"""The one issue that says that a repository's configuration is broken on its default branch."""

import logging
from typing import Final

from app.core.words.config_review import TROUBLE_LABEL, TROUBLE_MARK, trouble_body, trouble_title
from app.ports import Posted, Repository
from app.services.configuration.plans import Plans
from app.services.world import PlanReading, World

MOST_REMEMBERED: Final = 10_000

log = logging.getLogger("squadron.config")


class ConfigTrouble:
    """Opens the issue, keeps it true, and closes it when all is well again."""

    def __init__(self, world: World, plans: Plans) -> None:
        self._world = world
        self._plans = plans
        self._told: dict[str, str] = {}
        """What the issue of a repository says, as far as this process knows."""

    async def pushed(self, repository: Repository) -> None:
        """The default branch has moved: read it again. May raise `GitHubFailed`."""
        self._plans.forget(repository.full_name)
        await self._tell(repository, await self._plans.of(repository))

    async def look(self, repository: Repository, tip: str, *, is_open: bool) -> bool:
        """Say what is not said yet; whether anything was written. May raise `GitHubFailed`.

        `tip`: as `Plans.of` takes it; `is_open`: whether an issue with our label was seen open.
        """
        reading = await self._plans.of(repository, tip)
        is_stale = is_open and not reading.problems
        if not is_stale and self._told.get(repository.full_name, "") == _body(reading):
            return False
        return await self._tell(repository, reading)

    async def _tell(self, repository: Repository, reading: PlanReading) -> bool:
        async with self._world.exclusive(f"config-trouble:{repository.full_name}"):
            found = await self._world.github.marked_issues(repository, TROUBLE_LABEL, TROUBLE_MARK)
            open_one = next((issue for issue in found if issue.is_open), None)
            if reading.problems:
                is_written = await self._say(repository, reading, open_one)
            else:
                is_written = open_one is not None
                if open_one is not None:
                    await self._world.github.edit_issue(repository, open_one.number, close=True)
        if len(self._told) >= MOST_REMEMBERED:
            self._told.clear()
        self._told[repository.full_name] = _body(reading)
        return is_written

    async def _say(
        self, repository: Repository, reading: PlanReading, open_one: Posted | None
    ) -> bool:
        github = self._world.github
        body = _body(reading)
        if open_one is None:
            title = trouble_title(reading.problems)
            await github.open_issue(repository, title, body, [TROUBLE_LABEL], [])
        elif open_one.body.strip() != body.strip():
            await github.edit_issue(repository, open_one.number, body=body)
        else:
            return False
        log.warning(
            "the configuration has mistakes",
            extra={"repository": repository.full_name, "problems": len(reading.problems)},
        )
        return True


def _body(reading: PlanReading) -> str:
    """Of the issue; empty where nothing is wrong."""
    if not reading.problems:
        return ""
    return trouble_body(
        reading.problems,
        is_sound_before=reading.plan is not None,
        is_switched_off=reading.is_switched_off,
    )
