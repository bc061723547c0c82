"""The first page: who waits for a person, for how long, why, and what that person can do."""

from datetime import datetime

from starlette.requests import Request

from app.bootstrap import Service
from app.config.settings import git_url_of
from app.core.words.refusals import standing_words
from app.services.needs_you import needs_you, place_to_act
from app.services.page_views import needs_you_json
from app.web.pages.served import Answer


class NeedsYouPage:
    """Who waits for a person, in the whole installation."""

    template = "needs_you.html"
    is_live = True

    def __init__(self, service: Service) -> None:
        self._store = service.store
        self._github = git_url_of(service.settings.github_api_url)

    async def answer(self, _: Request, now: datetime) -> Answer:
        """Of now."""
        found = await needs_you(self._store, now)
        shown = {
            "needing": found,
            "github": self._github,
            "place_to_act": lambda each: place_to_act(each.listed, each.matter, self._github),
            "standing_words": standing_words,
        }
        return Answer(shown, lambda: needs_you_json(found, self._github))
