"""The tables, all prefixed `sq_`: the engine's own tables share the database.

JSON is kept as text: it is written once, read whole and never searched, and text can hold the
escaped NUL that PostgreSQL's JSONB refuses.
"""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

PREFIX = "sq_"


class Instant(sa.types.TypeDecorator[datetime]):
    """An instant with microseconds: aware and in UTC on both databases, in and out."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Raises `ValueError` for an instant without a time zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"an instant needs a time zone: {value!r}")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:
        """SQLite keeps no time zone; PostgreSQL answers in the connection's."""
        if value is None:
            return None
        instant: datetime = value
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


class FreeText(sa.types.TypeDecorator[str]):
    """Text that people, agents or GitHub wrote. What a database refuses in text is replaced."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """NUL (PostgreSQL) and lone surrogates (no UTF-8) become U+FFFD and `?`."""
        return None if value is None else storable(value)


def storable(text: str) -> str:
    """`text` as both databases accept it."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


class DeliveryState(StrEnum):
    """Whether somebody has looked at a delivery, and what came of it.

    Of one length: SQLite then changes the word in its place, and writes the body only once.
    """

    NEW = "new"
    IGNORED = "nop"
    CONCERNING = "job"


class DeliveryRow(SQLModel, table=True):
    """One accepted webhook POST. Its id is known for ever, its body for a while."""

    __tablename__ = "sq_deliveries"
    __table_args__ = (
        sa.Index(
            "sq_deliveries_new",
            "received_at",
            "id",
            sqlite_where=sa.text("state = 'new'"),
            postgresql_where=sa.text("state = 'new'"),
        ),
        sa.Index(
            "sq_deliveries_with_body",
            "received_at",
            sqlite_where=sa.text("body IS NOT NULL"),
            postgresql_where=sa.text("body IS NOT NULL"),
        ),
    )

    id: str = Field(primary_key=True, sa_type=sa.Text)
    event: str = Field(sa_type=sa.Text)
    state: str = Field(sa_type=sa.Text)
    received_at: datetime = Field(sa_type=Instant)
    body: bytes | None = Field(sa_type=sa.LargeBinary)
    """None when it was forgotten."""


class AgentRow(SQLModel, table=True):
    """The registry. `live_post` is NULL in a final state: at most one live agent a post."""

    __tablename__ = "sq_agents"
    __table_args__ = (
        sa.UniqueConstraint("live_post", name="sq_agents_live_post"),
        sa.Index("sq_agents_post", "post", "attempt", unique=True),
        sa.Index("sq_agents_issue", "repository", "issue"),
        sa.Index("sq_agents_state", "state"),
    )

    id: str = Field(primary_key=True, sa_type=sa.Text)
    post: str = Field(sa_type=sa.Text)
    live_post: str | None = Field(sa_type=sa.Text)
    repository: str = Field(sa_type=sa.Text)
    issue: int = Field(sa_type=sa.BigInteger)
    role: str = Field(sa_type=sa.Text)
    attempt: int
    installation_id: int = Field(sa_type=sa.BigInteger)
    state: str = Field(sa_type=sa.Text)
    waits_for: str | None = Field(sa_type=sa.Text)
    segment: int
    segment_attempts: int
    worker: str | None = Field(sa_type=sa.Text)
    assignment: str = Field(sa_type=sa.Text)
    """JSON."""
    branch: str = Field(sa_type=FreeText)
    default_branch: str = Field(sa_type=FreeText)
    base_sha: str | None = Field(sa_type=sa.Text)
    sha: str | None = Field(sa_type=sa.Text)
    pull_request: int | None = Field(sa_type=sa.BigInteger)
    blocked_by: str = Field(sa_type=sa.Text)
    """JSON: issue numbers."""
    summary: str = Field(sa_type=FreeText)
    trip: str | None = Field(sa_type=sa.Text)
    """JSON."""
    started_by: str = Field(sa_type=FreeText)
    predecessor: str | None = Field(sa_type=sa.Text)
    note: str = Field(sa_type=FreeText)
    input_tokens: int = Field(sa_type=sa.BigInteger)
    output_tokens: int = Field(sa_type=sa.BigInteger)
    created_at: datetime = Field(sa_type=Instant)
    updated_at: datetime = Field(sa_type=Instant)


class EventRow(SQLModel, table=True):
    """The event logs; `seq` counts from 1 for each agent, without gaps."""

    __tablename__ = "sq_events"

    agent_id: str = Field(primary_key=True, sa_type=sa.Text, foreign_key="sq_agents.id")
    seq: int = Field(primary_key=True)
    segment: int
    """In which the event happened."""
    at: datetime = Field(sa_type=Instant)
    type: str = Field(sa_type=sa.Text)
    body: str = Field(sa_type=sa.Text)
    """JSON."""


class EffectRow(SQLModel, table=True):
    """What is to be written on GitHub for an agent, and how far it has come."""

    __tablename__ = "sq_effects"
    __table_args__ = (sa.Index("sq_effects_due", "state", "due_at"),)

    agent_id: str = Field(primary_key=True, sa_type=sa.Text, foreign_key="sq_agents.id")
    name: str = Field(primary_key=True, sa_type=sa.Text)
    state: str = Field(sa_type=sa.Text)
    url: str | None = Field(sa_type=FreeText)
    number: int | None = Field(sa_type=sa.BigInteger)
    content: str = Field(sa_type=FreeText)
    attempts: int
    error: str = Field(sa_type=FreeText)
    due_at: datetime | None = Field(sa_type=Instant)
    edits: str = Field(sa_type=sa.Text)
    """JSON: instants."""
    detail: str = Field(sa_type=sa.Text)
    """JSON: names to texts."""


METADATA = SQLModel.metadata


def _table(model: type[SQLModel]) -> sa.Table:
    table: sa.Table = METADATA.tables[str(model.__tablename__)]
    return table


DELIVERIES = _table(DeliveryRow)
AGENTS = _table(AgentRow)
EVENTS = _table(EventRow)
EFFECTS = _table(EffectRow)
