"""Asks GitHub for what it could not deliver: after an outage, and again and again meanwhile."""

import logging
from datetime import timedelta
from typing import Final

from app.core.github.redelivery import KEPT_BY_GITHUB, AskedAgain, Attempt, redeliveries
from app.ports import GitHubFailed, Redeliver, Refused
from app.services.world import World

MOST_READ: Final = 5_000
"""Failures that one pass looks at, the newest; older ones are left to reconciliation."""
ASKS_KEPT_FOR: Final = KEPT_BY_GITHUB + timedelta(days=1)

log = logging.getLogger("squadron.redelivery")


class Redelivery:
    """Handles `Redeliver`. Only GitHub's trouble is expected here, and left to the next
    pass: what is lost for good, reconciliation finds."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def handle(self, work: Redeliver) -> None:
        """One pass; one at a time, however many processes there are."""
        async with self._world.exclusive("redelivery"):
            try:
                await self._run()
            except GitHubFailed as error:
                log.warning("failed deliveries are not asked for: %s", error)

    async def _run(self) -> None:
        store, now = self._world.store, self._world.clock.now()
        oldest = now - KEPT_BY_GITHUB
        since = max(await store.failures_read_from() or oldest, oldest)
        failed = await self._world.hook.failed(since, MOST_READ)
        if len(failed) == MOST_READ:
            log.warning(
                "more deliveries have failed than are asked for again; those before %s are left to"
                " reconciliation",
                f"{failed[-1].at:%Y-%m-%d %H:%M:%S} UTC",
            )
        heard = await store.known_deliveries({attempt.guid for attempt in failed})
        asked = await store.asked_again()
        found = redeliveries(failed, heard, asked, now)
        for attempt in found.due:
            await self._ask(attempt, asked.get(attempt.guid))
        await store.save_failures_read(found.read_from, now - ASKS_KEPT_FOR)
        if found.due or found.waiting:
            log.info(
                "failed deliveries",
                extra={
                    "asked": len(found.due),
                    "waiting": found.waiting,
                    "given_up": found.given_up,
                },
            )

    async def _ask(self, attempt: Attempt, before: AskedAgain | None) -> None:
        """Remembered first: a process that dies in between has asked, and asks again later."""
        times = 1 if before is None else before.times + 1
        asked = AskedAgain(attempt.guid, times, self._world.clock.now())
        await self._world.store.note_asked_again(asked)
        where = {"delivery": attempt.guid, "failed_at": attempt.at.isoformat(), "times": times}
        try:
            await self._world.hook.deliver_again(attempt.number)
        except Refused as error:
            log.warning("not delivered again: %s", error, extra=where)
        else:
            log.info("asked for a delivery again", extra=where)
