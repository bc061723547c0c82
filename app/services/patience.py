"""Work goes on as soon as registry and artifacts can be reached again."""

import logging
from typing import Final

from app.ports import Clock, Handler, StoreUnavailable, Work
from app.services.drain import Drain

FIRST_PAUSE_SECONDS: Final = 1.0
MOST_PAUSE_SECONDS: Final = 10.0
"""Between two tries. Nobody is harmed by them, and people wait."""

log = logging.getLogger("squadron.engine")


def patient(perform: Handler, clock: Clock, drain: Drain) -> Handler:
    """As `perform`, once more for as long as the database, or where artifacts are kept, is away:
    such an outage is no failure of the work. Ends with the process."""

    async def performing(work: Work) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                return await perform(work)
            except StoreUnavailable as error:
                if drain.is_ending:
                    raise
                log.warning("what Squadron keeps is away: %s", error, extra={"work": work.id})
            await clock.sleep(pause)
            pause = min(2 * pause, MOST_PAUSE_SECONDS)

    return performing
