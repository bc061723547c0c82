"""Structured log lines: one for everything a limit does (`AGENT_WARNING`, `AGENT_PAUSED`,
`AGENT_FAILED`, with all figures of the agent by then), and one with what an agent has used in all
(`AGENT_ENDED`). Metrics are counted from these lines."""

import logging
from collections.abc import Mapping

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters, seconds
from app.core.agents.events import AgentEvent, Failed, Held, Noticed, Passed, Tripped, Warned
from app.core.agents.stops import Hold, Trip
from app.core.money import usd

log = logging.getLogger("squadron.limits")


def tell(page: str, agent: Agent, counters: Counters, event: AgentEvent) -> None:
    """Log `event` if it is one of a limit; all others say nothing here. `page`: the repository's
    in a browser; on the agent's issue below it people let a paused agent go on."""
    used = _used(agent, counters)
    match event:
        case Warned():
            fields = {**_figures(event), "how": "close", **used}
            log.warning("AGENT_WARNING", extra={"event": "AGENT_WARNING", **fields})
        case Passed(how=how):
            fields = {**_figures(event), "how": how, **used}
            log.warning("AGENT_WARNING", extra={"event": "AGENT_WARNING", **fields})
        case Noticed(sign=sign):
            fields = {"limit": sign, "observed": None, "maximum": None, "how": "sign", **used}
            log.warning("AGENT_WARNING", extra={"event": "AGENT_WARNING", **fields})
        case Held(hold=hold):
            how = "request_increase" if hold.asks else "pause"
            fields = {**_figures(hold), "how": how, **used}
            where = {"resume_url": f"{page}/issues/{agent.id.issue}"}
            log.warning("AGENT_PAUSED", extra={"event": "AGENT_PAUSED", **fields, **where})
        case Tripped(trip=trip):
            fields = {**_figures(trip), "how": trip.layer.value, **used}
            log.error("AGENT_FAILED", extra={"event": "AGENT_FAILED", **fields})
        case Failed(failure=failure):
            why = {"limit": failure.cause, "observed": None, "maximum": None, "how": "failure"}
            log.error("AGENT_FAILED", extra={"event": "AGENT_FAILED", **why, **used})
        case _:
            return


def tell_end(agent: Agent, counters: Counters) -> None:
    """Log what a final agent has used in all, its sub-agents included."""
    fields = {"state": agent.state.value, **_used(agent, counters)}
    log.info("AGENT_ENDED", extra={"event": "AGENT_ENDED", **fields})


def _figures(of: Warned | Passed | Hold | Trip) -> Mapping[str, object]:
    return {"limit": of.limit, "observed": of.observed, "maximum": of.maximum}


def _used(agent: Agent, counters: Counters) -> Mapping[str, object]:
    return {
        "agent": str(agent.id),
        "repository": agent.repository,
        "issue": agent.id.issue,
        "role": agent.id.role,
        "parent": agent.parent,
        "tool_calls": counters.tool_calls,
        "turns": counters.turns,
        "model_calls": counters.model_calls,
        "tokens": counters.tokens,
        "elapsed_seconds": seconds(counters.active),
        "cost_usd": None if counters.unpriced_calls else usd(counters.cost_nanousd),
        "cost_estimated": counters.estimated_calls > 0,
    }
