"""Tests that cannot run are a limit, and no failure any more."""

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

_OLD_NAME = "tests_cannot_run"
_TIMES = 3
"""Test runs in a row after which the agent was stopped then."""


def upgrade() -> None:
    """Whoever was stopped for them has tripped that limit."""
    connection = op.get_bind()
    events = sa.table("sq_events", *map(sa.column, ("agent_id", "seq", "type", "body")))
    named = sa.select(events).where(events.c.body.contains(_OLD_NAME))
    for row in connection.execute(named).all():
        told = json.loads(row.body)
        stop = told.pop("failure", None) or told.get("trip")
        if not _is_meant(stop):
            continue
        body = json.dumps({**told, "type": "Tripped", "trip": _as_trip(stop)})
        is_it = sa.and_(events.c.agent_id == row.agent_id, events.c.seq == row.seq)
        connection.execute(sa.update(events).where(is_it).values(type="Tripped", body=body))
    agents = sa.table("sq_agents", *map(sa.column, ("id", "trip")))
    named = sa.select(agents).where(agents.c.trip.contains(_OLD_NAME))
    for row in connection.execute(named).all():
        stop = json.loads(row.trip)
        if _is_meant(stop):
            trip = json.dumps(_as_trip(stop))
            connection.execute(sa.update(agents).where(agents.c.id == row.id).values(trip=trip))


def _is_meant(stop: Mapping[str, Any] | None) -> bool:
    return stop is not None and _OLD_NAME in (stop.get("cause"), stop.get("limit"))


def _as_trip(stop: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "limit": "max_unrunnable_tests",
        "observed": _TIMES,
        "maximum": _TIMES,
        "layer": "hook",
        "at": stop["at"],
        "reason": stop["reason"],
    }
