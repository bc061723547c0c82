"""The first page: who waits for a person, for how long, why, and what that person can do."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.bootstrap import Service
from app.config.settings import git_url_of
from app.core.words.refusals import brake_words
from app.services.needs_you import needs_you, place_to_act
from app.services.page_views import needs_you_json
from app.web.pages.html import Templates, ages


class NeedsYouPage:
    """Who waits for a person, in the whole installation."""

    def __init__(self, service: Service, templates: Templates) -> None:
        self._service = service
        self._templates = templates
        self._github = git_url_of(service.settings.github_api_url)

    async def page(self, _: Request) -> Response:
        """For people."""
        now = self._service.clock.now()
        found = await needs_you(self._service.store, now)
        return self._templates.page(
            "needs_you.html",
            needing=found,
            github=self._github,
            place_to_act=lambda each: place_to_act(each.listed, each.matter, self._github),
            brake_words=brake_words,
            **ages(now),
        )

    async def as_json(self, _: Request) -> Response:
        """The same, for programs."""
        found = await needs_you(self._service.store, self._service.clock.now())
        return JSONResponse(needs_you_json(found, self._github))
