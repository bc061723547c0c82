"""The tables, all prefixed `sq_`: the engine's own tables share the database.

JSON is kept as text: it is written once, read whole and never searched, and text can hold the
escaped NUL that PostgreSQL's JSONB refuses.
"""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from app.core.text.unicode import whole

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
        """NUL (PostgreSQL) and lone surrogates (no UTF-8) become U+FFFD."""
        return None if value is None else whole(value)


class DeliveryState(StrEnum):
    """Whether somebody has looked at a delivery, what came of it, and what is kept of its body.

    Of one length: SQLite then changes the word in its place, and writes the body only once.
    """

    NEW = "new"
    IGNORED = "nop"
    CONCERNING = "job"
    SHORTENED = "cut"
    """It concerned somebody, and of its body only that is kept which anybody reads."""


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
        sa.Index(
            "sq_deliveries_dead",
            "given_up_at",
            sqlite_where=sa.text("given_up_at IS NOT NULL"),
            postgresql_where=sa.text("given_up_at IS NOT NULL"),
        ),
    )

    id: str = Field(primary_key=True, sa_type=sa.Text)
    event: str = Field(sa_type=sa.Text)
    state: str = Field(sa_type=sa.Text)
    received_at: datetime = Field(sa_type=Instant)
    body: bytes | None = Field(sa_type=sa.LargeBinary)
    """None when it was forgotten."""
    problem: str | None = Field(sa_type=FreeText)
    """Why it was given up; None: it was not."""
    given_up_at: datetime | None = Field(sa_type=Instant)


class AgentRow(SQLModel, table=True):
    """The registry. `live_post` is NULL in a final state, and for a sub-agent always: at most one
    live agent a post."""

    __tablename__ = "sq_agents"
    __table_args__ = (
        sa.UniqueConstraint("live_post", name="sq_agents_live_post"),
        sa.Index("sq_agents_post", "post", "attempt", unique=True),
        sa.Index("sq_agents_issue", "repository", "issue"),
        sa.Index("sq_agents_repository_id", "repository_id"),
        sa.Index("sq_agents_created", "created_at", "id"),
        sa.Index("sq_agents_state", "state"),
        sa.Index("sq_agents_rank", "state", "repository", "rank"),
        sa.Index("sq_agents_parent", "parent"),
    )

    id: str = Field(primary_key=True, sa_type=sa.Text)
    post: str = Field(sa_type=sa.Text)
    live_post: str | None = Field(sa_type=sa.Text)
    repository_id: int = Field(sa_type=sa.BigInteger)
    repository: str = Field(sa_type=sa.Text)
    """Where it is now; so are `post` and `live_post`, while the id keeps the first name."""
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
    parent: str | None = Field(sa_type=sa.Text)
    depth: int
    input_tokens: int = Field(sa_type=sa.BigInteger)
    output_tokens: int = Field(sa_type=sa.BigInteger)
    created_at: datetime = Field(sa_type=Instant)
    updated_at: datetime = Field(sa_type=Instant)
    taken_away_at: datetime | None = Field(sa_type=Instant)
    retry_at: datetime | None = Field(sa_type=Instant)
    dismissed_at: datetime | None = Field(sa_type=Instant)
    missing_provider: str | None = Field(sa_type=sa.Text)
    rank: int = Field(sa_column_kwargs={"server_default": sa.text("0")})


class EventRow(SQLModel, table=True):
    """The event logs; `seq` counts from 1 for each agent, without gaps until they are packed."""

    __tablename__ = "sq_events"
    __table_args__ = (
        sa.Index(
            "sq_events_stops",
            "type",
            "at",
            sqlite_where=sa.text("type IN ('Tripped', 'Held')"),
            postgresql_where=sa.text("type IN ('Tripped', 'Held')"),
        ),
        sa.Index(
            "sq_events_ends",
            "at",
            sqlite_where=sa.text("type = 'Finished'"),
            postgresql_where=sa.text("type = 'Finished'"),
        ),
    )

    agent_id: str = Field(primary_key=True, sa_type=sa.Text, foreign_key="sq_agents.id")
    seq: int = Field(primary_key=True)
    segment: int
    """In which the event happened."""
    at: datetime = Field(sa_type=Instant)
    type: str = Field(sa_type=sa.Text)
    body: str = Field(sa_type=sa.Text)
    """JSON."""


class PackedLogRow(SQLModel, table=True):
    """The log of an agent that has ended long ago, as one piece. Of its events up to `until_seq`
    only those have a row that are asked for across agents."""

    __tablename__ = "sq_packed_logs"

    agent_id: str = Field(primary_key=True, sa_type=sa.Text, foreign_key="sq_agents.id")
    until_seq: int
    """How many events it holds."""
    body: bytes = Field(sa_type=sa.LargeBinary)
    """Their JSON (`codec.encode_log`)."""


class GlanceRow(SQLModel, table=True):
    """What lists show of an agent's log. A missing one, or one that is behind the log, is made
    again from the log: to delete rows loses nothing."""

    __tablename__ = "sq_glances"

    agent_id: str = Field(primary_key=True, sa_type=sa.Text, foreign_key="sq_agents.id")
    seq: int
    """Of the last event that it was taken of."""
    body: str = Field(sa_type=FreeText)
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


class HoldingRow(SQLModel, table=True):
    """What an agent was granted, and what became of it (`core/budgets/ledger.py`). An agent that
    was refused has a row without a grant."""

    __tablename__ = "sq_holdings"
    __table_args__ = (
        sa.Index(
            "sq_holdings_open",
            "agent_id",
            sqlite_where=sa.text("open_since IS NOT NULL"),
            postgresql_where=sa.text("open_since IS NOT NULL"),
        ),
    )

    agent_id: str = Field(primary_key=True, sa_type=sa.Text)
    parent: str | None = Field(sa_type=sa.Text)
    accounts: str = Field(sa_type=sa.Text)
    """JSON: ids of accounts."""
    granted_nanousd: int = Field(sa_type=sa.BigInteger)
    open_since: datetime | None = Field(sa_type=Instant)
    own_nanousd: int = Field(sa_type=sa.BigInteger)
    children_actual_nanousd: int = Field(sa_type=sa.BigInteger)
    children_held_nanousd: int = Field(sa_type=sa.BigInteger)


class AccountRow(SQLModel, table=True):
    """A bounded amount of one window, as it was last reserved from."""

    __tablename__ = "sq_accounts"
    __table_args__ = (
        sa.Index(
            "sq_accounts_holding",
            "key",
            sqlite_where=sa.text("held_nanousd > actual_nanousd"),
            postgresql_where=sa.text("held_nanousd > actual_nanousd"),
        ),
    )

    id: str = Field(primary_key=True, sa_type=sa.Text)
    key: str = Field(sa_type=sa.Text)
    time_window: str = Field(sa_type=sa.Text)
    since: datetime | None = Field(sa_type=Instant)
    max_nanousd: int = Field(sa_type=sa.BigInteger)
    actual_nanousd: int = Field(sa_type=sa.BigInteger)
    held_nanousd: int = Field(sa_type=sa.BigInteger)


class SpendRow(SQLModel, table=True):
    """What one model call cost: written with its event, so neither is there without the other."""

    __tablename__ = "sq_spend"
    __table_args__ = (sa.Index("sq_spend_at", "at"),)

    agent_id: str = Field(primary_key=True, sa_type=sa.Text, foreign_key="sq_agents.id")
    seq: int = Field(primary_key=True)
    """Of the `ModelCalled` in the agent's log."""
    at: datetime = Field(sa_type=Instant)
    model: str = Field(sa_type=FreeText)
    nanousd: int | None = Field(sa_type=sa.BigInteger)
    """None: nobody knows the price."""
    input_tokens: int = Field(sa_type=sa.BigInteger)
    output_tokens: int = Field(sa_type=sa.BigInteger)
    is_estimate: int | None = None
    """1: the figures are taken from what was sent and seen; else they were reported."""


class SpentDayRow(SQLModel, table=True):
    """What the calls of an agent and model within a day cost together. A trigger on `sq_spend`
    adds each call."""

    __tablename__ = "sq_spent_days"
    __table_args__ = (sa.Index("sq_spent_days_day", "day"),)

    agent_id: str = Field(
        primary_key=True, sa_type=sa.Text, foreign_key="sq_agents.id", ondelete="CASCADE"
    )
    day: str = Field(primary_key=True, sa_type=sa.Text)
    """Of the calendar, in UTC: `2026-11-29`."""
    model: str = Field(primary_key=True, sa_type=FreeText)
    nanousd: int = Field(sa_type=sa.BigInteger)
    """Of the calls whose price is known."""
    unknown_calls: int = Field(sa_type=sa.BigInteger)
    estimated_calls: int = Field(sa_type=sa.BigInteger)
    input_tokens: int = Field(sa_type=sa.BigInteger)
    output_tokens: int = Field(sa_type=sa.BigInteger)


class HitterRow(SQLModel, table=True):
    """A user of whom is counted how often something was done."""

    __tablename__ = "sq_hitters"

    login: str = Field(primary_key=True, sa_type=FreeText)
    """In small letters."""
    told_at: datetime | None = Field(sa_type=Instant)
    """When the user was last to be told of a refusal."""
    told: str | None = Field(sa_type=FreeText)
    """The name of what was refused then."""


class HitRow(SQLModel, table=True):
    """One thing that a user did within the last hour."""

    __tablename__ = "sq_hits"

    login: str = Field(primary_key=True, sa_type=FreeText)
    """In small letters."""
    number: int = Field(primary_key=True)
    at: datetime = Field(sa_type=Instant)
    what: str | None = Field(sa_type=FreeText)
    """Its name, if it has one."""


class WaitingRow(SQLModel, table=True):
    """A start that is put off."""

    __tablename__ = "sq_waiting_starts"
    __table_args__ = (sa.Index("sq_waiting_starts_due", "due_at"),)

    repository: str = Field(primary_key=True, sa_type=sa.Text)
    issue: int = Field(primary_key=True, sa_type=sa.BigInteger)
    role: str = Field(primary_key=True, sa_type=sa.Text)
    installation_id: int = Field(sa_type=sa.BigInteger)
    sender: str = Field(sa_type=sa.Text)
    """JSON."""
    trigger: str = Field(sa_type=FreeText)
    task: str = Field(sa_type=sa.Text)
    """JSON."""
    asked_at: datetime = Field(sa_type=Instant)
    due_at: datetime = Field(sa_type=Instant)
    budget: str = Field(sa_type=FreeText)
    """The account that was too empty; empty: it waits for something else."""
    raises: str | None = Field(sa_type=sa.Text)
    """JSON: limits and amounts; None: there are none."""
    said: str | None = Field(sa_type=FreeText)
    taken_back_at: datetime | None = Field(sa_type=Instant)
    """None: it waits. Else the row stays, so that what asked for it starts nothing later."""
    taken_back_said: str | None = Field(sa_type=FreeText)


class HeardCommandsRow(SQLModel, table=True):
    """What somebody told Squadron by a comment or a button: the audit, and the memory of what was
    heard of a comment that may be edited."""

    __tablename__ = "sq_heard_commands"
    __table_args__ = (
        sa.Index("sq_heard_commands_comment", "repository", "comment"),
        sa.Index("sq_heard_commands_at", "at"),
    )

    repository: str = Field(primary_key=True, sa_type=sa.Text)
    name: str = Field(primary_key=True, sa_type=FreeText)
    comment: int | None = Field(sa_type=sa.BigInteger)
    kind: str | None = Field(sa_type=sa.Text)
    """Of what `comment` is the id; None: a comment on an issue or a pull request."""
    thread: int = Field(sa_type=sa.BigInteger)
    login: str = Field(sa_type=FreeText)
    lines: str = Field(sa_type=sa.Text)
    """JSON: texts."""
    is_refused: int
    """1: something of it was not done."""
    is_set_aside: int | None
    """1: nothing of it was done, because a line of it was wrong; None: it is too old to tell."""
    at: datetime = Field(sa_type=Instant)


class LookRow(SQLModel, table=True):
    """How far reconciliation has seen a repository."""

    __tablename__ = "sq_looks"

    repository: str = Field(primary_key=True, sa_type=sa.Text)
    threads_until: datetime = Field(sa_type=Instant)
    comments_until: datetime = Field(sa_type=Instant)
    looked_at: datetime = Field(sa_type=Instant)
    fully_at: datetime = Field(sa_type=Instant)
    triggers: str = Field(sa_type=sa.Text)
    """JSON: triggers by event."""
    heads: str = Field(sa_type=sa.Text)
    """JSON: commits by pull request."""


class PassRow(SQLModel, table=True):
    """The last pass of reconciliation: one row."""

    __tablename__ = "sq_last_pass"

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    why: str = Field(sa_type=FreeText)
    ended_at: datetime = Field(sa_type=Instant)
    seconds: float = Field(sa_type=sa.Double)
    agents: int
    repositories: int
    looked_at_fully: int
    repairs: int
    requests: int
    unchanged: int
    token_requests: int
    put_off: str = Field(sa_type=sa.Text)
    """JSON: numbers by kind."""
    failed: str = Field(sa_type=sa.Text)
    """JSON: kinds of exceptions, by what has failed."""


class OutageRow(SQLModel, table=True):
    """A provider of models that is away."""

    __tablename__ = "sq_outages"

    provider: str = Field(primary_key=True, sa_type=sa.Text)
    reason: str = Field(sa_type=FreeText)
    is_refused: bool
    since: datetime = Field(sa_type=Instant)
    tries: int
    retry_at: datetime = Field(sa_type=Instant)
    probe: str = Field(sa_type=sa.Text)
    probe_until: datetime | None = Field(sa_type=Instant)


class CutOffRow(SQLModel, table=True):
    """A process that ended itself since it had lost the database."""

    __tablename__ = "sq_cut_off"

    worker: str = Field(primary_key=True, sa_type=sa.Text)
    at: datetime = Field(sa_type=Instant)


class RoomRow(SQLModel, table=True):
    """Where it is tried whether there is room: one row, empty except while that is tried."""

    __tablename__ = "sq_room"

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    filling: bytes = Field(sa_type=sa.LargeBinary)


class WrittenRow(SQLModel, table=True):
    """What a person wrote to an agent while it worked or waited for its turn."""

    __tablename__ = "sq_written"
    __table_args__ = (sa.Index("sq_written_written_at", "written_at"),)

    agent_id: str = Field(primary_key=True, sa_type=sa.Text)
    said: str = Field(primary_key=True, sa_type=sa.Text)
    written_at: datetime = Field(sa_type=Instant)
    comment: int = Field(sa_type=sa.BigInteger)
    login: str = Field(sa_type=FreeText)
    body: str = Field(sa_type=FreeText)
    link: str = Field(sa_type=FreeText)


class AdaptedRow(SQLModel, table=True):
    """A limit that was moved without a human, and what the configuration said before."""

    __tablename__ = "sq_adapted_limits"

    repository: str = Field(primary_key=True, sa_type=sa.Text)
    role: str = Field(primary_key=True, sa_type=sa.Text)
    name: str = Field(primary_key=True, sa_type=sa.Text)
    base: float = Field(sa_type=sa.Double)
    value: float = Field(sa_type=sa.Double)
    at: datetime = Field(sa_type=Instant)


class PaceRow(SQLModel, table=True):
    """How much of its pace an installation has used (`core/effects/pacing.py`)."""

    __tablename__ = "sq_paces"

    installation_id: int = Field(
        primary_key=True, sa_type=sa.BigInteger, sa_column_kwargs={"autoincrement": False}
    )
    writes_full_at: datetime = Field(sa_type=Instant)
    creations_full_at: datetime = Field(sa_type=Instant)
    stopped_until: datetime = Field(sa_type=Instant)
    urgent_line: datetime = Field(sa_type=Instant)
    routine_line: datetime = Field(sa_type=Instant)


class BrakeRow(SQLModel, table=True):
    """What keeps agents from working, and what did so before; one a place is on at a time."""

    __tablename__ = "sq_brakes"
    __table_args__ = (
        sa.Index(
            "sq_brakes_on",
            "scope",
            "name",
            unique=True,
            sqlite_where=sa.text("lifted_at IS NULL"),
            postgresql_where=sa.text("lifted_at IS NULL"),
        ),
        sa.Index("sq_brakes_lifted", "lifted_at"),
    )

    scope: str = Field(primary_key=True, sa_type=sa.Text)
    name: str = Field(primary_key=True, sa_type=FreeText)
    since: datetime = Field(primary_key=True, sa_type=Instant)
    put_on_by: str = Field(sa_type=FreeText)
    reason: str = Field(sa_type=FreeText)
    lifted_at: datetime | None = Field(sa_type=Instant)
    lifted_by: str = Field(sa_type=FreeText)


class RefusedStartRow(SQLModel, table=True):
    """A start that was asked for and not made, as of the last time."""

    __tablename__ = "sq_refused_starts"
    __table_args__ = (sa.Index("sq_refused_starts_at", "at"),)

    repository: str = Field(primary_key=True, sa_type=sa.Text)
    issue: int = Field(primary_key=True, sa_type=sa.BigInteger)
    role: str = Field(primary_key=True, sa_type=FreeText)
    reason: str = Field(sa_type=FreeText)
    asked_by: str = Field(sa_type=FreeText)
    at: datetime = Field(sa_type=Instant)
    first_at: datetime = Field(sa_type=Instant)
    times: int
    is_final: bool = Field(default=False, sa_column_kwargs={"server_default": sa.false()})


class RedeliveryRow(SQLModel, table=True):
    """How often GitHub was asked for a failed delivery again."""

    __tablename__ = "sq_redeliveries"

    guid: str = Field(primary_key=True, sa_type=sa.Text)
    times: int
    at: datetime = Field(sa_type=Instant)
    """The last time."""


class MarkRow(SQLModel, table=True):
    """From when on a list of GitHub's is to be read."""

    __tablename__ = "sq_marks"

    name: str = Field(primary_key=True, sa_type=sa.Text)
    at: datetime = Field(sa_type=Instant)


class ConfigurationRow(SQLModel, table=True):
    """What a repository's configuration in force comes from."""

    __tablename__ = "sq_configurations"

    repository: str = Field(primary_key=True, sa_type=sa.Text)
    digest: str = Field(sa_type=sa.Text)
    steps: str = Field(sa_type=sa.Text)


class ListedAccountRow(SQLModel, table=True):
    """Who had a login that a repository's `trust` block lists, when that was read first."""

    __tablename__ = "sq_listed_accounts"

    repository: str = Field(primary_key=True, sa_type=sa.Text)
    login: str = Field(primary_key=True, sa_type=sa.Text)
    account_id: int | None = Field(sa_type=sa.BigInteger)
    """Null: nobody had it."""


class PlaceRow(SQLModel, table=True):
    """Where a repository was last: what is kept by its name follows it by its id."""

    __tablename__ = "sq_places"

    repository_id: int = Field(
        sa_column=sa.Column(sa.BigInteger, primary_key=True, autoincrement=False)
    )
    repository: str = Field(sa_type=sa.Text)
    installation_id: int = Field(sa_type=sa.BigInteger)


class WhereaboutsRow(SQLModel, table=True):
    """Where the files of each agent are."""

    __tablename__ = "sq_whereabouts"

    agent_id: str = Field(primary_key=True, sa_type=sa.Text, foreign_key="sq_agents.id")
    directory: str = Field(sa_type=sa.Text)
    generation: int


class ArtifactRow(SQLModel, table=True):
    """What is kept of agents for other data directories."""

    __tablename__ = "sq_artifacts"

    agent_id: str = Field(primary_key=True, sa_type=sa.Text, foreign_key="sq_agents.id")
    kind: str = Field(primary_key=True, sa_type=sa.Text)
    content: bytes
    model_calls: int


class WorkerRow(SQLModel, table=True):
    """A process from its start to its end: the engine writes and reads it."""

    __tablename__ = "sq_workers"

    name: str = Field(primary_key=True, sa_type=sa.Text)
    version: str = Field(sa_type=sa.Text)
    started_at: datetime = Field(sa_type=Instant)
    beat_at: datetime = Field(sa_type=Instant)
    settled_at: datetime = Field(sa_type=Instant)
    places: int = Field(sa_column_kwargs={"server_default": sa.text("0")})
    drain_asked_at: datetime | None = Field(sa_type=Instant)


METADATA = SQLModel.metadata


def _table(model: type[SQLModel]) -> sa.Table:
    table: sa.Table = METADATA.tables[str(model.__tablename__)]
    return table


DELIVERIES = _table(DeliveryRow)
AGENTS = _table(AgentRow)
EVENTS = _table(EventRow)
PACKED_LOGS = _table(PackedLogRow)
GLANCES = _table(GlanceRow)
EFFECTS = _table(EffectRow)
HOLDINGS = _table(HoldingRow)
ACCOUNTS = _table(AccountRow)
HOLDS: Final = ACCOUNTS.c.held_nanousd > ACCOUNTS.c.actual_nanousd
"""Of accounts: somebody has money of it that is not spent yet."""
SPEND = _table(SpendRow)
SPENT_DAYS = _table(SpentDayRow)
HITTERS = _table(HitterRow)
HITS = _table(HitRow)
WAITING_STARTS = _table(WaitingRow)
HEARD_COMMANDS = _table(HeardCommandsRow)
ADAPTED_LIMITS = _table(AdaptedRow)
PACES = _table(PaceRow)
BRAKES = _table(BrakeRow)
REFUSED_STARTS = _table(RefusedStartRow)
LOOKS = _table(LookRow)
REDELIVERIES = _table(RedeliveryRow)
MARKS = _table(MarkRow)
CONFIGURATIONS = _table(ConfigurationRow)
LISTED_ACCOUNTS = _table(ListedAccountRow)
PLACES = _table(PlaceRow)
LAST_PASS = _table(PassRow)
WRITTEN = _table(WrittenRow)
OUTAGES = _table(OutageRow)
CUT_OFF = _table(CutOffRow)
ROOM = _table(RoomRow)
WHEREABOUTS = _table(WhereaboutsRow)
WORKERS = _table(WorkerRow)
ARTIFACTS = _table(ArtifactRow)
