"""One agent: what became of it, what is close, what it did, and what it costs."""

from datetime import datetime
from typing import Final

from starlette.requests import Request

from app.bootstrap import Service
from app.config.settings import git_url_of
from app.core.agents.agent import AgentId
from app.core.commands.grammar import RAISABLE
from app.core.words.budget import holding_words
from app.services.closeup import closeup
from app.services.needs_you import place_to_act
from app.services.page_views import closeup_json
from app.web.pages.addresses import NotThere
from app.web.pages.charts import HEIGHT, WIDTH, spent_line
from app.web.pages.served import Answer

MOST_DIGITS: Final = 9
"""Of the number of an event."""


class AgentPage:
    """One agent of an installation."""

    template = "agent.html"
    is_live = True

    def __init__(self, service: Service) -> None:
        self._store, self._ledger = service.store, service.ledger
        self._github = git_url_of(service.settings.github_api_url)

    async def answer(self, request: Request, now: datetime) -> Answer:
        """As of now, with its log up to what the address says."""
        before = _before(request)
        found = await closeup(self._store, self._ledger, agent_of(request), before, now)
        if found is None:
            raise NotThere("Squadron knows no such agent.")
        shown = {
            "seen": found,
            "raisable": RAISABLE,
            "only_news": request.query_params.get("only") == "news",
            "before": before,
            "github": f"{self._github}/{found.listed.agent.repository}",
            "place_to_act": lambda matter: place_to_act(found.listed, matter, self._github),
            "chart": (WIDTH, HEIGHT, spent_line(found.spent)),
            "holding": "" if found.holding is None else holding_words(found.holding),
        }
        return Answer(shown, lambda: closeup_json(found, self._github))


def agent_of(request: Request) -> AgentId:
    """Whose page it is."""
    at = request.path_params
    return AgentId(f"{at['owner']}/{at['name']}", at["issue"], at["role"], at["attempt"])


def _before(request: Request) -> int | None:
    given = request.query_params.get("before", "")
    is_number = given.isascii() and given.isdigit() and len(given) <= MOST_DIGITS
    return int(given) if is_number else None
