"""What people read about a start of theirs that was not made: one comment for each role."""

import logging
from collections.abc import Sequence

from app.core.effects.wanted import OURS
from app.core.words.refusals import not_started_marker
from app.ports import NoAccess, Posted, Refused, Repository
from app.services.world import World

log = logging.getLogger("squadron.starts")


class Answers:
    """Writes the one comment, and edits it when there is another answer. The agent that starts at
    last makes it its own (`Publisher`)."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def give(
        self, repository: Repository, issue: int, role: str, key: str, text: str
    ) -> None:
        """Say `text`, unless the last answer has the same `key`. What GitHub refuses to take, as on
        a locked issue, is not said. May raise `GitHubFailed`."""
        sign, own = not_started_marker(role), _marker(key)
        body = f"{sign}\n{own}\n{text}"
        try:
            async with self._world.exclusive(f"effects:{repository.full_name}#{issue}"):
                found = await self._world.github.comments(repository, issue, sign)
                if not (found and own in found[-1].body):
                    await self._write(repository, issue, found, body)
        except NoAccess:
            raise
        except Refused as error:
            where = {"repository": repository.full_name, "issue": issue, "role": role}
            log.warning("not answered: %s", error, extra=where)

    async def _write(
        self, repository: Repository, issue: int, found: Sequence[Posted], body: str
    ) -> None:
        github = self._world.github
        if found:
            await github.edit_comment(repository, found[-1].number, body)
        else:
            await github.comment(repository, issue, body)

    async def say_once(self, repository: Repository, issue: int, key: str, text: str) -> None:
        """Say what is about a person, not about a role, in a comment of its own. May raise
        `GitHubFailed`."""
        sign = _marker(key)
        async with self._world.exclusive(f"effects:{repository.full_name}#{issue}"):
            if not await self._world.github.comments(repository, issue, sign):
                await self._world.github.comment(repository, issue, f"{sign}\n{text}")


def _marker(key: str) -> str:
    return f"{OURS}{key} -->"
