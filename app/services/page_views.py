"""Pages as JSON, for programs: the same that people see."""

from app.core.history.role_use import LimitUsed
from app.core.money import usd
from app.core.words.matters import Matter
from app.core.words.timeline import Entry
from app.ports import FleetAgent
from app.services.closeup import Closeup
from app.services.fleet import FleetView, Waiting
from app.services.health import Health
from app.services.limits_seen import LimitsSeen
from app.services.needs_you import NeedsYou, place_to_act
from app.services.spending import Spending
from app.services.triage import Triage
from app.services.views import (
    Json,
    amount,
    brake_json,
    budgets_json,
    command_json,
    cost_json,
    dead_delivery_json,
    effect_json,
    fleet_json,
    instant,
    pass_json,
    precision_json,
    test_run_json,
    total_json,
    worker_json,
)


def needs_you_json(found: NeedsYou, github: str) -> Json:
    """All that waits for a person. `github`: its address in a browser."""
    return {
        "waiting": [_waiting_json(each, github) for each in found.waiting],
        "is_whole": found.is_whole,
        "brakes": [*map(brake_json, found.brakes)],
        "lacks_worker": found.lacks_worker,
    }


def _waiting_json(waiting: Waiting, github: str) -> Json:
    agent, matter = waiting.listed.agent, waiting.matter
    return {
        "agent": str(agent.id),
        "repository": agent.repository,
        "issue": agent.id.issue,
        "role": agent.id.role,
        "title": agent.assignment.task.title,
        "state": agent.state.value,
        "waits_for": agent.waits_for.value if agent.waits_for else None,
        **_matter_json(waiting.listed, matter, github),
    }


def _matter_json(listed: FleetAgent, matter: Matter, github: str) -> Json:
    return {
        "kind": matter.kind.value,
        "since": instant(matter.since),
        "deadline": instant(matter.deadline) if matter.deadline else None,
        "why": matter.why,
        "action": matter.action,
        "url": place_to_act(listed, matter, github),
    }


def fleet_view_json(seen: FleetView) -> Json:
    """A page of the fleet. Behind the agent that `next` names comes the next page (`after`); null:
    there is none."""
    return {
        "agents": [*map(fleet_json, seen.page)],
        "next": str(seen.page[-1].agent.id) if seen.has_more else None,
        "states": {state.value: count for state, count in seen.states.items()},
    }


def spending_json(seen: Spending) -> Json:
    """What agents have cost in a time. `cost_usd` is null, never 0, as soon as the price of one
    call is unknown; amounts are exact to the nano-dollar."""
    return {
        "by": seen.by.value,
        "costs": [
            {**cost_json(cost), "merged_pull_requests": seen.merged.get(cost.key, 0)}
            for cost in seen.costs
        ],
        "total": {**total_json(seen.costs), "merged_pull_requests": seen.all_merged},
        "without_price": [cost.key for cost in seen.without_price],
        **budgets_json(seen.balances, ()),
    }


def triage_json(seen: Triage, github: str) -> Json:
    """Agents that were stopped and that nobody has seen to. `github`: its address in a browser."""
    return {
        "groups": [
            {
                "stopped_by": group.stopped_by,
                "is_limit": group.is_limit,
                "role": group.role,
                "since": instant(group.since),
                "cost_usd": None if group.has_unpriced else usd(group.nanousd),
                "known_cost_usd": usd(group.nanousd),
                "waiting": [_waiting_json(each, github) for each in group.agents],
            }
            for group in seen.groups
        ],
        "is_whole": seen.is_whole,
    }


def limits_seen_json(seen: LimitsSeen) -> Json:
    """What limits do to agents. `used`: by finished agents of the role that was asked for."""
    return {
        "close": [*map(fleet_json, seen.close)],
        "reached": [
            {
                "agent": stop.agent,
                "role": stop.role,
                "limit": stop.why.limit.value,
                "at": instant(stop.why.at),
                "reason": stop.why.reason,
                "judged": stop.judged.value,
                "taken_back": stop.taken_back or None,
            }
            for stop in seen.stops
        ],
        "precision": precision_json(seen.stops),
        "finished": seen.finished,
        "used": {each.name.value: _used_json(each) for each in seen.used},
    }


def _used_json(used: LimitUsed) -> Json:
    figures = {
        "present": used.present,
        "median": used.used.median,
        "p95": used.used.p95,
        "max": used.used.most,
        "suggested": used.suggested,
    }
    return {name: amount(used.name, figure) for name, figure in figures.items()}


def health_json(seen: Health) -> Json:
    """Whether the installation does its work. `wrong`: what keeps it from that, in words; empty:
    nothing does."""
    registry = seen.registry
    return {
        "wrong": [*seen.wrong],
        "last_delivery": None if seen.last_delivery is None else instant(seen.last_delivery),
        "last_pass": pass_json(seen.last_pass),
        "brakes": [*map(brake_json, seen.brakes)],
        "providers": [
            {
                "name": name,
                "reason": outage.failure.reason,
                "since": instant(outage.since),
                "tries": outage.tries,
                "retry_at": instant(outage.retry_at),
                "agents_waiting": registry.waiting_for_provider.get(name, 0),
            }
            for name, outage in seen.outages.items()
        ],
        "workers": [*map(worker_json, seen.workers)],
        "queued": seen.queued,
        "queued_since": None if registry.queued_since is None else instant(registry.queued_since),
        "unwritten": seen.unwritten,
        "refused": seen.refused,
        "dead_deliveries": [*map(dead_delivery_json, seen.dead)],
    }


def closeup_json(seen: Closeup, github: str) -> Json:
    """One agent, as its page shows it. `github`: its address in a browser."""
    listed = seen.listed
    return {
        **fleet_json(listed),
        "title": listed.agent.assignment.task.title,
        "needs": [_matter_json(listed, matter, github) for matter in seen.matters],
        "went_wrong": [*map(entry_json, seen.went_wrong)],
        "runs": [*map(entry_json, seen.runs)],
        "effects": [*map(effect_json, seen.effects.values())],
        "test_runs": [*map(test_run_json, seen.test_runs)],
        "sub_agents": [*map(fleet_json, seen.sub_agents)],
        "spent": [{"at": instant(at), "usd": usd(nanousd)} for at, nanousd in seen.spent],
        "commands": [*map(command_json, seen.told)],
        "next_steps": [*seen.next_steps],
        "timeline": [*map(entry_json, seen.entries)],
        "older": seen.older,
    }


def entry_json(entry: Entry) -> Json:
    """One line of a timeline."""
    return {
        "seq": entry.seq,
        "at": instant(entry.at),
        "what": entry.what,
        "said": entry.said,
        "result": entry.result,
        "output": entry.output,
        "tone": entry.tone.value,
        "seconds": None if entry.took is None else entry.took.total_seconds(),
        "is_open": entry.is_open,
    }
