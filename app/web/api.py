"""`/api`: the registry as JSON, and a paused agent's way on. There only with an admin token."""

import math
from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Security
from fastapi.security import HTTPBearer
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from app.bootstrap import Service
from app.core.agents.agent import Agent, AgentId
from app.core.agents.lifecycle import State
from app.core.breaker.raises import BadAmount, Grant, NotGranted
from app.core.budgets.rates import Refused
from app.core.commands.grammar import limit_named
from app.core.words.report import report
from app.ports import FleetFilter, GitHubFailed
from app.services.commands.raise_limits import NotPaused, Wish
from app.services.effects.on_github import seen_on_github
from app.services.fleet import MOST_ON_A_PAGE, fleet_page
from app.services.queueing import place_in_queue
from app.services.views import (
    REFUSED_SHOWN_FOR,
    Json,
    amount,
    brake_json,
    budgets_json,
    dead_delivery_json,
    fleet_json,
    not_started_json,
    pass_json,
    report_json,
    worker_json,
)

MOST_NOTE_CHARACTERS: Final = 10_000


class Resume(BaseModel):
    """How a paused agent goes on; nothing of it is needed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    limit: str | None = Field(default=None, description="Default: the limit that holds it.")
    amount: float | None = Field(
        default=None,
        description="How much more, in the limit's unit. Default: its own amount once more.",
    )
    note: str = Field(
        default="",
        max_length=MOST_NOTE_CHARACTERS,
        description="Words for the agent when it goes on.",
    )


class FleetPage(BaseModel):
    """Which agents are listed, and how many of them at once; nothing of it is needed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    repository: str | None = Field(default=None, description="Only of this repository.")
    role: str | None = Field(default=None, description="Only of this role.")
    state: list[State] = Field(default=[], description="Only of this state; may be repeated.")
    since: AwareDatetime | None = Field(
        default=None, description="Only those that were moved since then."
    )
    limit: int = Field(
        default=100, ge=1, le=MOST_ON_A_PAGE, description="So many; 100 if not said."
    )
    after: str | None = Field(
        default=None, description="The id of the last agent of the page before."
    )

    @property
    def wanted(self) -> FleetFilter:
        """Which agents."""
        return FleetFilter(self.repository, self.role, frozenset(self.state), self.since)


def _agent_id(agent_id: str) -> AgentId:
    try:
        return AgentId.parse(agent_id)
    except ValueError as error:
        raise HTTPException(404, str(error)) from error


KnownId = Annotated[AgentId, Depends(_agent_id)]


def router(service: Service) -> APIRouter:
    """All routes below `/api`; `BearersOnly` stands before them."""
    bearer = HTTPBearer(auto_error=False, description="SQUADRON_ADMIN_TOKEN")
    api = APIRouter(
        prefix="/api",
        tags=["agents"],
        dependencies=[Security(bearer)],
        responses={401: {"description": "No bearer token, or a wrong one"}},
    )

    async def view(agent: Agent) -> Json:
        log, effects = await service.store.log(agent.id), await service.store.effects(agent.id)
        queue = await place_in_queue(service.store, agent)
        view = report(agent, log, service.clock.now(), queue)
        return report_json(seen_on_github(view, effects))

    async def known(agent_id: AgentId) -> Agent:
        agent = await service.store.agent(agent_id)
        if agent is None:
            raise HTTPException(404, f"there is no agent {agent_id}; GET /api/agents lists them")
        return agent

    @api.get("/agents")
    async def agents(asked: Annotated[FleetPage, Query()]) -> Json:
        """The registry, oldest first, a page at a time: with the `id` under `next` as `after` comes
        the next page, and null is the end. Under `not_started` what was asked for and not made, and
        under `dead_deliveries` webhooks that could not be handled and were given up in these seven
        days, both the newest first; under `brakes` what keeps agents from working now; under
        `last_pass` what the last look at GitHub has cost."""
        now = service.clock.now()
        since = now - REFUSED_SHOWN_FOR
        after = None if asked.after is None else (await known(_agent_id(asked.after))).id
        page = await fleet_page(service.store, asked.wanted, after, asked.limit, now)
        return {
            "agents": [*map(fleet_json, page)],
            "next": str(page[-1].agent.id) if len(page) == asked.limit else None,
            "not_started": [*map(not_started_json, await service.store.refused_starts(since))],
            "dead_deliveries": [*map(dead_delivery_json, await service.store.dead_deliveries())],
            "brakes": [*map(brake_json, await service.store.brakes())],
            "last_pass": pass_json(await service.store.last_pass()),
        }

    @api.get("/workers", tags=["workers"])
    async def workers() -> Json:
        """The processes that work on this database, with the agents at work in each. `silent`: it
        was not heard of for 15 seconds; `drain_asked_at`: since when it is to take no further
        agents."""
        found = await service.store.workers(service.clock.now())
        return {"workers": [*map(worker_json, found)]}

    @api.get("/budgets", tags=["budgets"])
    async def budgets() -> Json:
        """What is left of each budget, and under `agents` who holds money of them. An agent may
        spend what it has left, or give it to sub-agents; `tree_spent_usd` counts theirs too."""
        now = service.clock.now()
        return budgets_json(await service.ledger.balances(now), await service.ledger.holdings())

    @api.get("/agents/{agent_id:path}", responses={404: {"description": "Unknown agent"}})
    async def agent(agent_id: KnownId) -> Json:
        """One agent. The `#` of its id is written `%23`: `octo/demo%2312/bug-fix/1`."""
        return await view(await known(agent_id))

    @api.post(
        "/agents/{agent_id:path}/resume",
        responses={
            404: {"description": "Unknown agent"},
            409: {"description": "Not paused, or ceiling or budget leave nothing to grant"},
            429: {"description": "Too many in this hour; see Retry-After"},
            503: {"description": "GitHub does not answer; nothing was changed"},
        },
    )
    async def resume(request: Request, agent_id: KnownId, body: Resume | None = None) -> Json:
        """Raise a limit of a paused agent, never above its ceiling, and let it go on.

        Without a body the limit that holds it grants its own amount once more. The answer is the
        agent, and under `granted` what was added.
        """
        await known(agent_id)
        by = str(request.state.bearer)
        wish = _wish(body or Resume(), by)
        now = service.clock.now()
        rate = await service.raising.is_within_rate(by)
        if isinstance(rate, Refused):
            raise HTTPException(
                429,
                f"too many raises by `{by}` within an hour",
                headers={"Retry-After": str(_seconds_until(rate.until, now))},
            )
        try:
            grants = await service.raising.resume(agent_id, wish)
        except BadAmount as refused:
            raise HTTPException(422, str(refused)) from refused
        except (NotPaused, NotGranted) as refused:
            raise HTTPException(409, str(refused)) from refused
        except GitHubFailed as failed:
            raise HTTPException(503, f"the budgets cannot be read: {failed}") from failed
        return {**await view(await known(agent_id)), "granted": [_granted(one) for one in grants]}

    return api


def _wish(body: Resume, by: str) -> Wish:
    try:
        limit = None if body.limit is None else limit_named(body.limit)
    except ValueError as error:
        raise HTTPException(422, f"limit: expected {error}") from error
    return Wish(by=by, note=body.note, raises=((limit, body.amount),))


def _granted(grant: Grant) -> Json:
    return {
        "limit": grant.limit.value,
        "amount": amount(grant.limit, grant.amount),
        "maximum": amount(grant.limit, grant.maximum),
    }


def _seconds_until(until: datetime, now: datetime) -> int:
    return max(math.ceil((until - now).total_seconds()), 1)
