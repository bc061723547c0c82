"""Inbox, registry, event logs, effects; money, rates, starts that wait, limits that were moved."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the first tables."""
    _deliveries()
    _agents()
    _events()
    _effects()
    _holdings()
    _accounts()
    _spend()
    _hits()
    _waiting_starts()
    _adapted_limits()


def _deliveries() -> None:
    op.create_table(
        "sq_deliveries",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("received_at", INSTANT, nullable=False),
        sa.Column("body", sa.LargeBinary()),
    )
    for index, columns, condition in (
        ("sq_deliveries_new", ["received_at", "id"], sa.text("state = 'new'")),
        ("sq_deliveries_with_body", ["received_at"], sa.text("body IS NOT NULL")),
    ):
        op.create_index(
            index,
            "sq_deliveries",
            columns,
            sqlite_where=condition,
            postgresql_where=condition,
        )


def _agents() -> None:
    op.create_table(
        "sq_agents",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("post", sa.Text(), nullable=False),
        sa.Column("live_post", sa.Text()),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("repository", sa.Text(), nullable=False),
        sa.Column("issue", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("waits_for", sa.Text()),
        sa.Column("segment", sa.Integer(), nullable=False),
        sa.Column("segment_attempts", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text()),
        sa.Column("assignment", sa.Text(), nullable=False),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column("default_branch", sa.Text(), nullable=False),
        sa.Column("base_sha", sa.Text()),
        sa.Column("sha", sa.Text()),
        sa.Column("pull_request", sa.BigInteger()),
        sa.Column("blocked_by", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("trip", sa.Text()),
        sa.Column("started_by", sa.Text(), nullable=False),
        sa.Column("predecessor", sa.Text()),
        sa.Column("parent", sa.Text()),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
        sa.UniqueConstraint("live_post", name="sq_agents_live_post"),
    )
    op.create_index("sq_agents_post", "sq_agents", ["post", "attempt"], unique=True)
    op.create_index("sq_agents_issue", "sq_agents", ["repository", "issue"])
    op.create_index("sq_agents_repository_id", "sq_agents", ["repository_id"])
    op.create_index("sq_agents_state", "sq_agents", ["state"])
    op.create_index("sq_agents_parent", "sq_agents", ["parent"])


def _events() -> None:
    op.create_table(
        "sq_events",
        sa.Column("agent_id", sa.Text(), sa.ForeignKey("sq_agents.id"), primary_key=True),
        sa.Column("seq", sa.Integer(), primary_key=True),
        sa.Column("segment", sa.Integer(), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )


def _effects() -> None:
    op.create_table(
        "sq_effects",
        sa.Column("agent_id", sa.Text(), sa.ForeignKey("sq_agents.id"), primary_key=True),
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("url", sa.Text()),
        sa.Column("number", sa.BigInteger()),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("due_at", INSTANT),
        sa.Column("edits", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
    )
    op.create_index("sq_effects_due", "sq_effects", ["state", "due_at"])


def _holdings() -> None:
    op.create_table(
        "sq_holdings",
        sa.Column("agent_id", sa.Text(), primary_key=True),
        sa.Column("parent", sa.Text()),
        sa.Column("accounts", sa.Text(), nullable=False),
        sa.Column("granted_nanousd", sa.BigInteger(), nullable=False),
        sa.Column("open_since", INSTANT),
        sa.Column("own_nanousd", sa.BigInteger(), nullable=False),
        sa.Column("children_actual_nanousd", sa.BigInteger(), nullable=False),
        sa.Column("children_held_nanousd", sa.BigInteger(), nullable=False),
    )
    is_open = sa.text("open_since IS NOT NULL")
    op.create_index(
        "sq_holdings_open",
        "sq_holdings",
        ["agent_id"],
        sqlite_where=is_open,
        postgresql_where=is_open,
    )


def _accounts() -> None:
    op.create_table(
        "sq_accounts",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("time_window", sa.Text(), nullable=False),
        sa.Column("since", INSTANT),
        sa.Column("max_nanousd", sa.BigInteger(), nullable=False),
        sa.Column("actual_nanousd", sa.BigInteger(), nullable=False),
        sa.Column("held_nanousd", sa.BigInteger(), nullable=False),
    )


def _spend() -> None:
    op.create_table(
        "sq_spend",
        sa.Column("agent_id", sa.Text(), sa.ForeignKey("sq_agents.id"), primary_key=True),
        sa.Column("seq", sa.Integer(), primary_key=True),
        sa.Column("at", INSTANT, nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("nanousd", sa.BigInteger()),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
    )
    op.create_index("sq_spend_at", "sq_spend", ["at"])


def _hits() -> None:
    op.create_table(
        "sq_hits",
        sa.Column("login", sa.Text(), primary_key=True),
        sa.Column("since", INSTANT, nullable=False),
        sa.Column("allowed", sa.Integer(), nullable=False),
        sa.Column("refused", sa.Integer(), nullable=False),
    )


def _waiting_starts() -> None:
    op.create_table(
        "sq_waiting_starts",
        sa.Column("repository", sa.Text(), primary_key=True),
        sa.Column("issue", sa.BigInteger(), primary_key=True),
        sa.Column("role", sa.Text(), primary_key=True),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("trigger", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("asked_at", INSTANT, nullable=False),
        sa.Column("due_at", INSTANT, nullable=False),
        sa.Column("budget", sa.Text(), nullable=False),
    )
    op.create_index("sq_waiting_starts_due", "sq_waiting_starts", ["due_at"])


def _adapted_limits() -> None:
    op.create_table(
        "sq_adapted_limits",
        sa.Column("repository", sa.Text(), primary_key=True),
        sa.Column("role", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("base", sa.Double(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
    )
