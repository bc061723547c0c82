"""The JSON shapes of an agent (EXAMPLES, "JSON"): the same for commands, API and demo."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from app.core.agent import Agent, Effect, EffectName
from app.core.breaker import figure
from app.core.events import Trip, Warned
from app.core.report import Report

Json = dict[str, object]


def agent_json(report: Report) -> Json:
    """AGENT."""
    agent = report.agent
    return {
        "id": str(agent.id),
        "repository": agent.id.repository,
        "issue": agent.id.issue,
        "role": agent.id.role,
        "state": agent.state.value,
        "waits_for": agent.waits_for.value if agent.waits_for else None,
        "segment": agent.segment,
        "limits": {
            use.name.value: {"observed": number(use.observed), "maximum": use.maximum}
            for use in report.uses
        },
        "trip": trip_json(agent.trip) if agent.trip else None,
        "pull_request": agent.pull_request,
        "branch": agent.branch,
        "sha": agent.sha,
        "tokens": agent.tokens,
        "cost_usd": None,
        "started_by": agent.started_by,
        "predecessor": agent.predecessor,
        "created_at": instant(agent.created_at),
        "updated_at": instant(agent.updated_at),
    }


def trip_json(trip: Trip) -> Json:
    """TRIP."""
    return {
        "limit": trip.limit,
        "observed": number(trip.observed),
        "maximum": number(trip.maximum),
        "layer": trip.layer.value,
        "at": instant(trip.at),
        "reason": trip.reason,
    }


def explanation_json(
    report: Report, events: Sequence[Json], effects: Mapping[EffectName, Effect]
) -> Json:
    """`squadron explain AGENT --json`; `events` are the stored ones."""
    return {
        "agent": agent_json(report),
        "events": [{"seq": seq, **event} for seq, event in enumerate(events, 1)],
        "warnings": [_warning_json(warning) for warning in report.warnings],
        "iterations": [
            {
                "command": run.command,
                "outcome": run.outcome.value if run.outcome else None,
                "failures": run.failures,
                "changed": run.changed,
            }
            for run in report.test_runs
        ],
        "effects": [
            {
                "name": effect.name.value,
                "state": effect.state.value,
                "url": effect.url,
                "attempts": effect.attempts,
                "error": effect.error,
            }
            for effect in effects.values()
        ],
    }


def _warning_json(warning: Warned) -> Json:
    return {
        "limit": warning.limit.value,
        "observed": number(warning.observed),
        "maximum": number(warning.maximum),
        "at": instant(warning.at),
        "reason": (f"{warning.limit} at {figure(warning.observed)} of {figure(warning.maximum)}."),
    }


def number(amount: float | None) -> float | int | None:
    """Counts as whole numbers, amounts of seconds with their fraction."""
    return int(amount) if amount is not None and amount == int(amount) else amount


def instant(at: datetime) -> str:
    """RFC 3339 in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def waits_words(agent: Agent) -> str:
    """State and reason of waiting, short."""
    return f"{agent.state.value} ({agent.waits_for})" if agent.waits_for else agent.state.value
