"""Limits: who is close to one, how often each was reached and whether that was right, and what
agents used."""

from datetime import datetime, timedelta
from typing import Final

from starlette.requests import Request

from app.bootstrap import Service
from app.core.agents.agent import AgentId
from app.core.history.precision import Precision, precisions
from app.core.history.stop_words import judged_words
from app.core.history.suggest import LEAST_FINISHED
from app.core.words.ages import instant_of
from app.core.words.tables import in_unit
from app.services.limits_seen import LimitsAsked, limits_seen
from app.services.page_views import limits_seen_json
from app.web.pages.addresses import given, read_of_an_address
from app.web.pages.served import Answer

SHOWN: Final = "30d"
"""For how long back, if the address does not say."""
MOST_DAYS: Final = 90
MOST_STOPS: Final = 100


class LimitsPage:
    """What limits do to the agents of an installation."""

    template = "limits.html"
    is_live = True

    def __init__(self, service: Service) -> None:
        self._store = service.store

    async def answer(self, request: Request, now: datetime) -> Answer:
        """In the time that the address asks for."""
        with read_of_an_address():
            said = given(request.query_params, ("repository", "role", "since"))
            since = instant_of(said.setdefault("since", SHOWN), now)
            if now - since > timedelta(days=MOST_DAYS):
                raise ValueError(f"This page looks back for at most {MOST_DAYS} days.")
        asked = LimitsAsked(said.get("role"), said.get("repository"), since)
        seen = await limits_seen(self._store, asked, now)
        shown = {
            "seen": seen,
            "given": said,
            "precisions": precisions(seen.stops),
            "all": Precision.of(seen.stops),
            "stops": seen.stops[:MOST_STOPS],
            "agent_of": AgentId.parse,
            "judged_words": judged_words,
            "in_unit": in_unit,
            "least_finished": LEAST_FINISHED,
        }
        return Answer(shown, lambda: limits_seen_json(seen))
