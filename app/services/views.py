"""The JSON shapes of an agent (EXAMPLES, "JSON"): the same for commands, API and demo."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Final

from app.core.agents.agent import Agent, Effect, EffectName, EffectState
from app.core.agents.counters import Counters, seconds
from app.core.agents.events import Decided, Known, Noticed, Passed, Raised, Warned
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace
from app.core.agents.signs import sign_words
from app.core.agents.stops import Failure, Hold, Trip
from app.core.breaker.verdict import LimitUse, amount_words, usage
from app.core.budgets.ledger import Balance, Holding
from app.core.github.hints import dig
from app.core.history.precision import Precision, Stop, precisions
from app.core.history.violations import Violation
from app.core.limits import CATALOGUE, Limits
from app.core.money import usd
from app.core.rules.brakes import Brake
from app.core.text.unicode import read_json
from app.core.words.glance import Glance, WorkSeen, glance
from app.core.words.report import Report, TestRun
from app.ports import Cost, DeadDelivery, FleetAgent, HeardCommands, Pass, StartRefused, Worker

REFUSED_SHOWN_FOR: Final = timedelta(days=30)
"""How long it is told that a start was not made."""

MONEY: Final = frozenset(name for name, info in CATALOGUE.items() if info.is_money)
"""Limits whose amounts are USD."""

Json = dict[str, object]


def report_json(report: Report) -> Json:
    """AGENT, of whose log more is known than lists show."""
    return agent_json(report.agent, glance(report), report.queue, report.links.call)


def agent_json(agent: Agent, seen: Glance, queue: QueuePlace | None, call_url: str) -> Json:
    """AGENT. `call_url`: of the comment that called people last; empty: it is not there yet."""
    return {
        "id": str(agent.id),
        "repository": agent.repository,
        "issue": agent.id.issue,
        "role": agent.id.role,
        "state": agent.state.value,
        "waits_for": agent.waits_for.value if agent.waits_for else None,
        "retry_at": instant(agent.retry_at) if agent.retry_at else None,
        "segment": agent.segment,
        "limits": _limits_json(seen.uses),
        "trip": trip_json(agent.trip) if agent.trip else None,
        "failure": failure_json(agent.failure) if agent.failure else None,
        "resume_url": call_url or None if agent.state is State.PAUSED else None,
        "pull_request": agent.pull_request,
        "branch": agent.branch,
        "sha": agent.sha,
        "evidence": None if seen.work is None else work_json(seen.work),
        "tokens": seen.tokens,
        "cost_usd": None if seen.has_unpriced else usd(seen.cost_nanousd),
        "cost_estimated": seen.is_cost_estimated,
        "started_by": agent.started_by,
        "predecessor": agent.predecessor,
        "parent": agent.parent,
        "queue": asdict(queue) if queue else None,
        "worker": agent.worker,
        "created_at": instant(agent.created_at),
        "updated_at": instant(agent.updated_at),
    }


def fleet_json(listed: FleetAgent) -> Json:
    """AGENT, as lists show it."""
    call = listed.effects.get(EffectName.CALL)
    url = "" if call is None else call.url or ""
    return agent_json(listed.agent, listed.seen, listed.queue, url)


_VERIFIED: Final[Mapping[Known, bool | None]] = {
    Known.YES: True,
    Known.NO: False,
    Known.UNKNOWN: None,
}


def work_json(saw: WorkSeen) -> Json:
    """What Squadron saw of an agent's work."""
    diff = saw.diff
    return {
        "tests_run": saw.tests_run.value,
        "tests_passed": saw.tests_passed.value,
        "verified": None if saw.verified is None else _VERIFIED[saw.verified],
        "files": None if diff is None else diff.files,
        "insertions": None if diff is None else diff.added,
        "deletions": None if diff is None else diff.deleted,
        "withheld": [*saw.withheld],
    }


def refused_json(effects: Mapping[EffectName, Effect]) -> list[Json]:
    """What GitHub refuses to be told about an agent, and why."""
    refused = (each for each in effects.values() if each.state is EffectState.REFUSED)
    return [{"name": each.name.value, "error": each.error} for each in refused]


def worker_json(worker: Worker) -> Json:
    """A process that works on the database."""
    asked = worker.drain_asked_at
    return {
        "name": worker.name,
        "version": worker.version,
        "started_at": instant(worker.started_at),
        "heard_at": instant(worker.heard_at),
        "silent": worker.is_silent,
        "places": worker.places,
        "drain_asked_at": None if asked is None else instant(asked),
        "agents": [*map(str, worker.agents)],
    }


def brake_json(brake: Brake) -> Json:
    """What keeps agents from working."""
    return {
        "scope": brake.place.scope.value,
        "name": brake.place.name or None,
        "by": brake.by,
        "since": instant(brake.since),
        "reason": brake.reason or None,
    }


def not_started_json(start: StartRefused) -> Json:
    """A start that was asked for and not made."""
    return {
        "repository": start.repository,
        "issue": start.issue,
        "role": start.role,
        "reason": start.reason,
        "by": start.by,
        "at": instant(start.at),
        "first_at": instant(start.first_at),
        "times": start.times,
    }


def cost_json(cost: Cost) -> Json:
    """A cost is null, never 0, as soon as the price of one call is unknown."""
    return {
        "key": cost.key,
        "cost_usd": None if cost.unknown_calls else usd(cost.nanousd),
        "known_cost_usd": usd(cost.nanousd),
        "unknown_calls": cost.unknown_calls,
        "estimated_calls": cost.estimated_calls,
        "input_tokens": cost.input_tokens,
        "output_tokens": cost.output_tokens,
        "agents": cost.agents,
    }


def total_json(costs: Sequence[Cost]) -> Json:
    """What all of it cost together; null as soon as the price of one call is unknown."""
    known = usd(sum(cost.nanousd for cost in costs))
    is_unknown = any(cost.unknown_calls for cost in costs)
    return {"cost_usd": None if is_unknown else known, "known_cost_usd": known}


def budgets_json(balances: Sequence[Balance], holdings: Sequence[Holding]) -> Json:
    """What is left of budgets, and who holds money of them."""
    return {
        "budgets": [_balance_json(balance) for balance in balances],
        "agents": [holding_json(page) for page in holdings],
    }


def _balance_json(balance: Balance) -> Json:
    account = balance.account
    return {
        "budget": account.key,
        "window": account.window.value,
        "renews_at": instant(account.renews_at) if account.renews_at else None,
        "maximum_usd": usd(account.max_nanousd),
        "spent_usd": usd(balance.actual_nanousd),
        "reserved_usd": usd(balance.unspent_nanousd),
        "left_usd": usd(balance.left_nanousd),
    }


def holding_json(page: Holding) -> Json:
    """What an agent was granted; of `left_usd` it may spend, and its sub-agents may have some."""
    of_sub_agents = page.children_held_nanousd - page.children_actual_nanousd
    return {
        "agent": page.agent,
        "parent": page.parent,
        "granted_usd": usd(page.granted_nanousd) if page.is_open else 0.0,
        "spent_usd": usd(page.own_nanousd),
        "tree_spent_usd": usd(page.actual_nanousd),
        "reserved_by_sub_agents_usd": usd(of_sub_agents),
        "left_usd": usd(page.left_nanousd),
    }


def pass_json(done: Pass | None) -> Json | None:
    """The last pass of reconciliation; null before the first."""
    if done is None:
        return None
    return {**asdict(done), "ended_at": instant(done.ended_at)}


def dead_delivery_json(dead: DeadDelivery) -> Json:
    """A delivery that was given up: what it was about, and why."""
    payload = read_json(dead.delivery.body)
    number = dig(payload, "issue", "number") or dig(payload, "pull_request", "number")
    return {
        "delivery": dead.delivery.id,
        "event": dead.delivery.event,
        "action": dig(payload, "action"),
        "repository": dig(payload, "repository", "full_name"),
        "issue": number,
        "by": dig(payload, "sender", "login"),
        "reason": dead.reason,
        "at": instant(dead.at),
    }


def cost_usd(counters: Counters) -> float | None:
    """Unknown, never 0, as soon as the price of one call is unknown."""
    return None if counters.unpriced_calls else usd(counters.cost_nanousd)


def failure_json(failure: Failure) -> Json:
    """What stopped an agent for good without a limit."""
    return {
        "cause": failure.cause.value,
        "at": instant(failure.at),
        "reason": failure.reason,
    }


def trip_json(trip: Trip) -> Json:
    """TRIP."""
    return {
        "limit": trip.limit,
        "observed": amount(trip.limit, trip.observed),
        "maximum": amount(trip.limit, trip.maximum),
        "layer": trip.layer.value,
        "at": instant(trip.at),
        "reason": trip.reason,
    }


def violation_json(violation: Violation) -> Json:
    """One time that a limit was reached, with all that the agent had used by then."""
    agent, limit, stop = violation.agent, violation.limit, violation.stop
    used = usage(violation.used, agent.assignment.limits, violation.at)
    return {
        "at": instant(violation.at),
        "agent": str(agent.id),
        "repository": agent.repository,
        "issue": agent.id.issue,
        "role": agent.id.role,
        "parent": agent.parent,
        "title": agent.assignment.task.title,
        "model": agent.assignment.model,
        "runtime": agent.assignment.runtime,
        "started_by": agent.started_by,
        "limit": limit.value,
        "observed": amount(limit, violation.observed),
        "maximum": amount(limit, violation.maximum),
        "came": violation.came.value,
        "layer": violation.layer or None,
        "reason": violation.reason or None,
        "limits": _limits_json(used),
        "turns": violation.used.turns,
        "tool_calls": violation.used.tool_calls,
        "model_calls": violation.used.model_calls,
        "tokens": violation.used.tokens,
        "elapsed_seconds": seconds(violation.used.active),
        "cost_usd": cost_usd(violation.used),
        "last_call": violation.last_call or None,
        "branch": agent.branch,
        "sha": agent.sha,
        "pull_request": agent.pull_request,
        "state": agent.state.value,
        "taken_back": None if stop is None else stop.taken_back or None,
        "judged": None if stop is None else stop.judged.value,
    }


def precision_json(found: Sequence[Stop]) -> Json:
    """How often limits were right; `precision` is null where nothing is judged."""
    return {
        "limits": [
            {"limit": limit.value, "role": role, **_precision_json(each)}
            for (limit, role), each in precisions(found).items()
        ],
        "all": _precision_json(Precision.of(found)),
    }


def _precision_json(precision: Precision) -> Json:
    return {
        "right": precision.right,
        "wrong": precision.wrong,
        "open": precision.open,
        "precision": precision.ratio,
    }


def _limits_json(uses: Sequence[LimitUse]) -> Json:
    return {
        use.name.value: {
            "observed": amount(use.name, use.observed),
            "maximum": amount(use.name, use.maximum),
        }
        for use in uses
    }


def explanation_json(
    report: Report,
    events: Sequence[Json],
    effects: Mapping[EffectName, Effect],
    commands: Sequence[HeardCommands],
    decision: Decided | None,
    stays: Mapping[str, str],
    holding: Holding | None,
) -> Json:
    """`squadron explain AGENT --json`; `events` are the stored ones, `decision` is the last one
    that a look has led to, `stays` says why nothing moves the agent, by the rule that says so,
    `holding` is its money of budgets."""
    return {
        "agent": report_json(report),
        "budget": None if holding is None else holding_json(holding),
        "events": [{"seq": seq, **event} for seq, event in enumerate(events, 1)],
        "warnings": [
            _warning_json(warning, report.agent.assignment.limits) for warning in report.warnings
        ],
        "signs": [_sign_json(noticed) for noticed in report.noticed],
        "passed": [_passed_json(passed) for passed in report.passed],
        "hold": _hold_json(report.hold) if report.hold else None,
        "raises": [_raise_json(raised) for raised in report.raises],
        "iterations": [*map(test_run_json, report.test_runs)],
        "decision": None
        if decision is None
        else {"rule": decision.rule, "reason": decision.reason, "at": instant(decision.at)},
        "stays": [{"rule": rule, "reason": why} for rule, why in stays.items()],
        "effects": [*map(effect_json, effects.values())],
        "commands": [*map(command_json, commands)],
    }


def test_run_json(run: TestRun) -> Json:
    """One test run of an agent."""
    return {
        "command": run.command,
        "outcome": run.outcome.value if run.outcome else None,
        "failures": run.failures,
        "changed": run.changed,
    }


def effect_json(effect: Effect) -> Json:
    """What became of one thing that is to be written on GitHub."""
    return {
        "name": effect.name.value,
        "state": effect.state.value,
        "url": effect.url,
        "attempts": effect.attempts,
        "error": effect.error or None,
    }


def command_json(told: HeardCommands) -> Json:
    """What somebody told Squadron."""
    return {
        "at": instant(told.at),
        "by": told.by,
        "thread": told.thread,
        "lines": [*told.lines],
        "refused": told.refused,
    }


def _warning_json(warning: Warned, limits: Limits) -> Json:
    return {
        "limit": warning.limit.value,
        "observed": amount(warning.limit, warning.observed),
        "maximum": amount(warning.limit, warning.maximum),
        "at": instant(warning.at),
        "reason": (
            f"{warning.limit} at"
            f" {amount_words(limits.info(warning.limit), warning.observed, warning.maximum)}."
        ),
    }


def _sign_json(noticed: Noticed) -> Json:
    return {
        "sign": noticed.sign.value,
        "at": instant(noticed.at),
        "reason": sign_words(noticed.sign),
    }


def _passed_json(passed: Passed) -> Json:
    return {
        "limit": passed.limit.value,
        "observed": amount(passed.limit, passed.observed),
        "maximum": amount(passed.limit, passed.maximum),
        "shadow": passed.shadow,
        "at": instant(passed.at),
    }


def _hold_json(hold: Hold) -> Json:
    return {
        "limit": hold.limit.value,
        "observed": amount(hold.limit, hold.observed),
        "maximum": amount(hold.limit, hold.maximum),
        "layer": hold.layer.value,
        "at": instant(hold.at),
        "reason": hold.reason,
        "asks": hold.asks,
        "amount": amount(hold.limit, hold.amount),
        "claim": hold.claim,
    }


def _raise_json(raised: Raised) -> Json:
    return {
        "limit": raised.limit.value,
        "amount": amount(raised.limit, raised.amount),
        "maximum": amount(raised.limit, raised.maximum),
        "by": raised.by,
        "at": instant(raised.at),
    }


def amount(limit: str, used: float | None) -> float | int | None:
    """As `number`, but money as USD with its fraction, to the nano-USD."""
    return number(used) if used is None or limit not in MONEY else round(float(used), 9)


def number(amount: float | None) -> float | int | None:
    """Counts as whole numbers, amounts of seconds with their fraction."""
    return int(amount) if amount is not None and amount == int(amount) else amount


def instant(at: datetime) -> str:
    """RFC 3339 in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def waits_words(agent: Agent) -> str:
    """State and reason of waiting, short."""
    return f"{agent.state.value} ({agent.waits_for})" if agent.waits_for else agent.state.value
