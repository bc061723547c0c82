"""Whether this installation does its work, and what keeps it from that."""

from datetime import datetime, timedelta

from starlette.requests import Request

from app.bootstrap import Service
from app.core.rules.brakes import Place
from app.core.words.refusals import place_words
from app.services.health import health
from app.services.page_views import health_json
from app.web.pages.served import Answer


class HealthPage:
    """The installation itself."""

    template = "health.html"
    is_live = True

    def __init__(self, service: Service) -> None:
        self._store = service.store
        self._pass_every = timedelta(seconds=service.interval_seconds)

    async def answer(self, _: Request, now: datetime) -> Answer:
        """Of now."""
        seen = await health(self._store, self._pass_every, now)
        shown = {
            "seen": seen,
            "place_words": place_words,
            "is_all_paused": Place.everything() in [each.place for each in seen.brakes],
        }
        return Answer(shown, lambda: health_json(seen))
