"""Inbox, registry, event logs and effects."""

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
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
        sa.UniqueConstraint("live_post", name="sq_agents_live_post"),
    )
    op.create_index("sq_agents_post", "sq_agents", ["post", "attempt"], unique=True)
    op.create_index("sq_agents_issue", "sq_agents", ["repository", "issue"])
    op.create_index("sq_agents_state", "sq_agents", ["state"])


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
