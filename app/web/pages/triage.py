"""Agents that were stopped and that nobody has seen to, by what stopped them."""

from datetime import datetime

from starlette.requests import Request

from app.bootstrap import Service
from app.config.settings import git_url_of
from app.services.needs_you import place_to_act
from app.services.page_views import triage_json
from app.services.triage import triage
from app.web.pages.acting import MOST_AT_ONCE
from app.web.pages.served import Answer


class TriagePage:
    """All open escalations of an installation."""

    template = "triage.html"
    is_live = True

    def __init__(self, service: Service) -> None:
        self._store = service.store
        self._github = git_url_of(service.settings.github_api_url)

    async def answer(self, _: Request, now: datetime) -> Answer:
        """Of now."""
        seen = await triage(self._store, now)
        shown = {
            "seen": seen,
            "most_at_once": MOST_AT_ONCE,
            "place_to_act": lambda each: place_to_act(each.listed, each.matter, self._github),
        }
        return Answer(shown, lambda: triage_json(seen, self._github))
