"""The inbox: deliveries are accepted once, looked at once, and their bodies shortened and forgotten
later."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import DELIVERIES, DeliveryState
from app.core.github.payloads import shortened
from app.ports import DeadDelivery, Delivery

MOST_FORGOTTEN_AT_ONCE: Final = 500
"""Bodies a transaction forgets, so that it holds up nobody else's for long."""
MOST_SHORTENED_AT_ONCE: Final = 100
MOST_DEAD_SHOWN: Final = 100

_COLUMNS: Final = DELIVERIES.c


def accept(connection: sa.Connection, deliveries: Sequence[Delivery]) -> Sequence[bool]:
    """Insert the deliveries that are not known yet; True for each that was inserted, once."""
    first = {delivery.id: delivery for delivery in reversed(deliveries)}
    statement = insert(connection, DELIVERIES).on_conflict_do_nothing().returning(_COLUMNS.id)
    rows = [
        {
            "id": delivery.id,
            "event": delivery.event,
            "state": DeliveryState.NEW.value,
            "received_at": delivery.received_at,
            "body": delivery.body,
        }
        for _, delivery in sorted(first.items())  # one order for all processes: no deadlock
    ]
    inserted = set(connection.scalars(statement, rows))
    return [delivery.id in inserted and first[delivery.id] is delivery for delivery in deliveries]


def undispatched(connection: sa.Connection, most: int) -> Sequence[Delivery]:
    """The oldest deliveries that nobody has looked at."""
    rows = connection.execute(
        sa.select(DELIVERIES)
        .where(_COLUMNS.state == DeliveryState.NEW.value, _COLUMNS.body.is_not(None))
        .order_by(_COLUMNS.received_at, _COLUMNS.id)
        .limit(most)
    )
    return [_delivery(row) for row in rows.mappings()]


def mark(connection: sa.Connection, ids: Sequence[str], state: DeliveryState) -> None:
    """Say what came of new deliveries."""
    if ids:
        connection.execute(
            sa.update(DELIVERIES)
            .where(_COLUMNS.id.in_(ids), _COLUMNS.state == DeliveryState.NEW.value)
            .values(state=state.value)
        )


def delivery(connection: sa.Connection, wanted: str) -> Delivery | None:
    """One delivery; None if it is not known or its body was forgotten."""
    row = connection.execute(
        sa.select(DELIVERIES).where(_COLUMNS.id == wanted, _COLUMNS.body.is_not(None))
    ).mappings()
    found = row.one_or_none()
    return None if found is None else _delivery(found)


def last(connection: sa.Connection) -> datetime | None:
    """When the last one came of those whose bodies are not forgotten."""
    received_at: sa.ColumnElement[datetime] = _COLUMNS.received_at
    newest = sa.select(received_at).where(_COLUMNS.body.is_not(None))
    return connection.scalar(newest.order_by(received_at.desc()).limit(1))


def known(connection: sa.Connection, ids: Collection[str]) -> frozenset[str]:
    """Which of these were accepted, whenever that was."""
    return frozenset(connection.scalars(sa.select(_COLUMNS.id).where(_COLUMNS.id.in_(ids))))


def give_up(connection: sa.Connection, wanted: str, reason: str, at: datetime) -> None:
    """Say that nothing more is tried with a delivery; the first reason stays."""
    connection.execute(
        sa.update(DELIVERIES)
        .where(_COLUMNS.id == wanted, _COLUMNS.given_up_at.is_(None))
        .values(problem=reason, given_up_at=at)
    )


def dead(connection: sa.Connection) -> Sequence[DeadDelivery]:
    """Those that were given up and are not forgotten, the latest first."""
    rows = connection.execute(
        sa.select(DELIVERIES)
        .where(_COLUMNS.given_up_at.is_not(None), _COLUMNS.body.is_not(None))
        .order_by(_COLUMNS.given_up_at.desc(), _COLUMNS.id)
        .limit(MOST_DEAD_SHOWN)
    )
    return [
        DeadDelivery(_delivery(row), row["problem"], row["given_up_at"]) for row in rows.mappings()
    ]


def forget(connection: sa.Connection, before: datetime) -> int:
    """Drop some bodies of deliveries that were looked at; the ids stay known."""
    return _forget(connection, _COLUMNS.state != DeliveryState.NEW.value, before)


def forget_ignored(connection: sa.Connection, before: datetime) -> int:
    """Drop some bodies that concerned nobody."""
    return _forget(connection, _COLUMNS.state == DeliveryState.IGNORED.value, before)


def whole(connection: sa.Connection, before: datetime) -> Mapping[str, bytes]:
    """Some bodies that concerned somebody, and are not shortened, by delivery."""
    found = connection.execute(
        sa.select(_COLUMNS.id, _COLUMNS.body)
        .where(_kept(before), _COLUMNS.state == DeliveryState.CONCERNING.value)
        .limit(MOST_SHORTENED_AT_ONCE)
    )
    return {row.id: bytes(row.body) for row in found}


def short(bodies: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """What anybody reads of these."""
    return {each: shortened(json.loads(body), body) for each, body in bodies.items()}


def keep_short(connection: sa.Connection, bodies: Mapping[str, bytes]) -> None:
    """In the place of those that were whole."""
    its = sa.update(DELIVERIES).where(
        _COLUMNS.id == sa.bindparam("its_id"),
        _COLUMNS.state == DeliveryState.CONCERNING.value,
        _COLUMNS.body.is_not(None),
    )
    rows = [{"its_id": each, "body": body} for each, body in sorted(bodies.items())]
    connection.execute(its.values(state=DeliveryState.SHORTENED.value), rows)


def _forget(connection: sa.Connection, those: sa.ColumnElement[bool], before: datetime) -> int:
    some = sa.select(_COLUMNS.id).where(_kept(before), those).limit(MOST_FORGOTTEN_AT_ONCE)
    return connection.execute(
        sa.update(DELIVERIES).where(_COLUMNS.id.in_(some)).values(body=None)
    ).rowcount


def _kept(before: datetime) -> sa.ColumnElement[bool]:
    """Bodies of deliveries that came before an instant, and are not forgotten."""
    return sa.and_(_COLUMNS.body.is_not(None), _COLUMNS.received_at < before)


def _delivery(row: sa.RowMapping) -> Delivery:
    return Delivery(row["id"], row["event"], bytes(row["body"]), row["received_at"])
