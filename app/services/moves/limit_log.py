"""One structured log line for everything a limit does: `AGENT_WARNING`, `AGENT_PAUSED`,
`AGENT_FAILED`, with the full figures of seed 000 ("Timeout Action Behavior")."""

import logging

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters, seconds
from app.core.agents.events import AgentEvent, Failed, Held, Noticed, Passed, Tripped, Warned
from app.core.money import usd

log = logging.getLogger("squadron.limits")


def tell(agent: Agent, counters: Counters, event: AgentEvent) -> None:
    """Log `event` if it is one of a limit; all others say nothing here."""
    match event:
        case Warned(limit=limit, observed=observed, maximum=maximum):
            _line("AGENT_WARNING", agent, counters, limit, observed, maximum, how="close")
        case Passed(limit=limit, observed=observed, maximum=maximum):
            _line("AGENT_WARNING", agent, counters, limit, observed, maximum, how=event.how)
        case Noticed(sign=sign):
            _line("AGENT_WARNING", agent, counters, sign, None, None, how="sign")
        case Held(hold=hold):
            how = "request_increase" if hold.asks else "pause"
            _line("AGENT_PAUSED", agent, counters, hold.limit, hold.observed, hold.maximum, how=how)
        case Tripped(trip=trip):
            _line(
                "AGENT_FAILED",
                agent,
                counters,
                trip.limit,
                trip.observed,
                trip.maximum,
                how=trip.layer.value,
            )
        case Failed(failure=failure):
            _line("AGENT_FAILED", agent, counters, failure.cause, None, None, how="failure")
        case _:
            return


def _line(
    what: str,
    agent: Agent,
    counters: Counters,
    limit: str,
    observed: float | None,
    maximum: float | None,
    *,
    how: str,
) -> None:
    log.warning(
        what,
        extra={
            "event": what,
            "agent": str(agent.id),
            "repository": agent.repository,
            "issue": agent.id.issue,
            "role": agent.id.role,
            "limit": limit,
            "observed": observed,
            "maximum": maximum,
            "how": how,
            "tool_calls": counters.tool_calls,
            "turns": counters.turns,
            "model_calls": counters.model_calls,
            "tokens": counters.tokens,
            "elapsed_seconds": seconds(counters.active),
            "cost_usd": None if counters.unpriced_calls else usd(counters.cost_nanousd),
            "cost_estimated": counters.estimated_calls > 0,
        },
    )
