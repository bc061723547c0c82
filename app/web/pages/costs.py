"""What agents have cost: by day, repository, role, model or person; what is left of budgets; what a
merged pull request has cost, with all that failed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import quote

from starlette.datastructures import QueryParams
from starlette.requests import Request

from app.bootstrap import Service
from app.core.agents.agent import AgentId
from app.core.money import CostsBy
from app.core.words.ages import instant_of
from app.core.words.refusals import account_words
from app.services.page_views import spending_json
from app.services.spending import spending
from app.web.pages.addresses import given, read_of_an_address
from app.web.pages.html import path_of
from app.web.pages.served import Answer

SHOWN: Final = "30d"
"""For how long back, if the address does not say."""
MOST_LINES: Final = 200
_LISTED: Final = {
    CostsBy.REPOSITORY: "/fleet?repository=",
    CostsBy.ROLE: "/fleet?role=",
    CostsBy.USER: "/fleet?started_by=",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """Which costs an address asks for."""

    by: CostsBy
    since: datetime
    until: datetime | None
    """None: up to now."""
    given: dict[str, str]

    @classmethod
    def of(cls, query: QueryParams, now: datetime) -> "Asked":
        """Raises `ValueError`, in words for people."""
        said = given(query, ("by", "since", "until"))
        by = said.get("by") or CostsBy.DAY
        if by not in [*CostsBy]:
            raise ValueError(f"Costs are added up by {', '.join(CostsBy)}, not by {by!r}.")
        until = instant_of(said["until"], now) if "until" in said else None
        since = instant_of(said.setdefault("since", SHOWN), now)
        return cls(CostsBy(by), since, until, said)


class CostsPage:
    """What the agents of an installation have cost."""

    template = "costs.html"
    is_live = True

    def __init__(self, service: Service) -> None:
        self._ledger = service.ledger

    async def answer(self, request: Request, now: datetime) -> Answer:
        """In the time that the address asks for."""
        with read_of_an_address():
            asked = Asked.of(request.query_params, now)
        seen = await spending(self._ledger, asked.by, asked.since, asked.until, now)
        shown = {
            "seen": seen,
            "asked": asked,
            "lines": seen.costs[:MOST_LINES],
            "most": max((cost.nanousd for cost in seen.costs), default=0) or 1,
            "all_by": [*CostsBy],
            "page_of": lambda key: _page_of(asked.by, key),
            "account_words": account_words,
        }
        return Answer(shown, lambda: spending_json(seen))


def _page_of(by: CostsBy, key: str) -> str:
    """Where more is to be seen of it; empty: nowhere."""
    if by is CostsBy.AGENT:
        return path_of(AgentId.parse(key))
    return f"{_LISTED[by]}{quote(key, safe='')}" if by in _LISTED else ""
