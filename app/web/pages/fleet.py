"""The fleet: all agents, the newest first, cut down by what stands in the address."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request

from app.bootstrap import Service
from app.core.agents.agent import AgentId
from app.core.agents.lifecycle import State
from app.core.words.ages import instant_of
from app.ports import FleetFilter
from app.services.fleet import fleet_view
from app.services.page_views import fleet_view_json
from app.web.pages.addresses import given, read_of_an_address
from app.web.pages.served import Answer

ON_A_PAGE: Final = 50
AFTER: Final = "after"
FACETS: Final = ("repository", "role", "started_by", "since")
"""Parameters of the address besides states; what is empty leaves no agent out."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which agents an address asks for."""

    wanted: FleetFilter
    given: Mapping[str, str]
    """What it says besides states, as it says it."""
    after: AgentId | None

    @classmethod
    def of(cls, query: QueryParams, now: datetime) -> "Asked":
        """Raises `ValueError`, in words for people."""
        said = given(query, (*FACETS, "state", AFTER))
        facets = {name: words for name, words in said.items() if name in FACETS}
        since, after = said.get("since"), said.get(AFTER)
        wanted = FleetFilter(
            repository=said.get("repository"),
            role=said.get("role"),
            started_by=said.get("started_by"),
            states=frozenset(map(_state, filter(None, query.getlist("state")))),
            since=None if since is None else instant_of(since, now),
        )
        return cls(wanted, facets, AgentId.parse(after) if after else None)

    def address(self, after: AgentId | None = None) -> str:
        """Of this list, from behind an agent on."""
        said = [*self.given.items()]
        said += (("state", each.value) for each in sorted(self.wanted.states))
        said += [] if after is None else [(AFTER, str(after))]
        return f"/fleet?{urlencode(said)}"


def _state(name: str) -> State:
    try:
        return State(name.upper())
    except ValueError:
        raise ValueError(f"{name!r} is no state: there are {', '.join(State)}.") from None


class FleetPage:
    """All agents of an installation."""

    template = "fleet.html"
    is_live = True

    def __init__(self, service: Service) -> None:
        self._store = service.store

    async def answer(self, request: Request, now: datetime) -> Answer:
        """As of now: those that the address asks for."""
        with read_of_an_address():
            asked = Asked.of(request.query_params, now)
        seen = await fleet_view(self._store, asked.wanted, asked.after, ON_A_PAGE, now)
        shown = {
            "seen": seen,
            "asked": asked,
            "all_states": [*State],
            "older": asked.address(seen.page[-1].agent.id) if seen.has_more else None,
        }
        return Answer(shown, lambda: fleet_view_json(seen))
