"""One agent: what became of it, what is close, what it did, and what it costs."""

from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.bootstrap import Service
from app.config.settings import git_url_of
from app.core.agents.agent import AgentId
from app.core.money import usd
from app.core.words.budget import holding_words
from app.services.closeup import Closeup, closeup
from app.services.needs_you import place_to_act
from app.services.page_views import closeup_json
from app.web.pages.charts import HEIGHT, WIDTH, spent_line
from app.web.pages.html import Templates, ages

PATH: Final = "/agents/{owner}/{name}/{issue:int}/{role}/{attempt:int}"
MOST_DIGITS: Final = 9
"""Of the number of an event."""


class AgentPage:
    """One agent of an installation."""

    def __init__(self, service: Service, templates: Templates) -> None:
        self._service = service
        self._templates = templates
        self._github = git_url_of(service.settings.github_api_url)

    async def page(self, request: Request) -> Response:
        """For people."""
        found = await self._found(request)
        if found is None:
            why = "Squadron knows no such agent."
            return self._templates.page("trouble.html", status_code=404, title="Not found", why=why)
        return self._templates.page(
            "agent.html",
            seen=found,
            only_news=request.query_params.get("only") == "news",
            before=_before(request),
            github=f"{self._github}/{found.listed.agent.repository}",
            place_to_act=lambda matter: place_to_act(found.listed, matter, self._github),
            chart=(WIDTH, HEIGHT, spent_line(found.spent)),
            holding="" if found.holding is None else holding_words(found.holding),
            usd=usd,
            **ages(self._service.clock.now()),
        )

    async def as_json(self, request: Request) -> Response:
        """The same, for programs."""
        found = await self._found(request)
        if found is None:
            return JSONResponse({"detail": "no such agent"}, 404)
        return JSONResponse(closeup_json(found, self._github))

    async def _found(self, request: Request) -> Closeup | None:
        service, now = self._service, self._service.clock.now()
        agent = agent_of(request)
        return await closeup(service.store, service.ledger, agent, _before(request), now)


def agent_of(request: Request) -> AgentId:
    """Whose page it is."""
    at = request.path_params
    return AgentId(f"{at['owner']}/{at['name']}", at["issue"], at["role"], at["attempt"])


def _before(request: Request) -> int | None:
    given = request.query_params.get("before", "")
    is_number = given.isascii() and given.isdigit() and len(given) <= MOST_DIGITS
    return int(given) if is_number else None
