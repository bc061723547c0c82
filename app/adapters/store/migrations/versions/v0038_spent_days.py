"""Costs of a long time are added up from days, not from calls."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"

_DAYS = {
    "sqlite": "strftime('%Y-%m-%d', {row}.at)",
    "postgresql": "to_char({row}.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
}
_CALL = """
  SELECT
    {row}.agent_id,
    {day} AS day,
    {row}.model,
    coalesce({row}.nanousd, 0) AS nanousd,
    CASE WHEN {row}.nanousd IS NULL THEN 1 ELSE 0 END AS unknown_calls,
    coalesce({row}.is_estimate, 0) AS estimated_calls,
    {row}.input_tokens,
    {row}.output_tokens
"""
_INTO = """
  INSERT INTO sq_spent_days (
    agent_id, day, model,
    nanousd, unknown_calls, estimated_calls, input_tokens, output_tokens
  )
"""
_ADDED = """
  ON CONFLICT (agent_id, day, model) DO UPDATE SET
    nanousd = sq_spent_days.nanousd + excluded.nanousd,
    unknown_calls = sq_spent_days.unknown_calls + excluded.unknown_calls,
    estimated_calls = sq_spent_days.estimated_calls + excluded.estimated_calls,
    input_tokens = sq_spent_days.input_tokens + excluded.input_tokens,
    output_tokens = sq_spent_days.output_tokens + excluded.output_tokens
"""
_SUMS = """
  SELECT
    agent_id, day, model,
    sum(nanousd), sum(unknown_calls), sum(estimated_calls), sum(input_tokens), sum(output_tokens)
  FROM ({calls}) AS calls
  GROUP BY agent_id, day, model
"""


def upgrade() -> None:
    """A trigger keeps them, so that they are exact whichever version writes a call.

    The trigger comes before the first sums: it locks the calls, and none is written between.
    """
    op.create_table(
        "sq_spent_days",
        sa.Column(
            "agent_id",
            sa.Text(),
            sa.ForeignKey("sq_agents.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("day", sa.Text(), primary_key=True),
        sa.Column("model", sa.Text(), primary_key=True),
        sa.Column("nanousd", sa.BigInteger(), nullable=False),
        sa.Column("unknown_calls", sa.BigInteger(), nullable=False),
        sa.Column("estimated_calls", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
    )
    op.create_index("sq_spent_days_day", "sq_spent_days", ["day"])
    dialect = op.get_bind().dialect.name
    _add_from_now_on(dialect)
    before = f"{_call(dialect, 'before')} FROM sq_spend AS before"
    op.execute(f"{_INTO} {_SUMS.format(calls=before)}")


def _add_from_now_on(dialect: str) -> None:
    new = _call(dialect, "NEW")
    if dialect == "sqlite":
        # Without WHERE, SQLite takes ON CONFLICT for a part of the SELECT.
        add = f"{_INTO} {new} WHERE true {_ADDED};"
        op.execute(f"CREATE TRIGGER sq_spent AFTER INSERT ON sq_spend BEGIN {add} END")
        return
    add = f"{_INTO} {new} {_ADDED};"
    op.execute(
        "CREATE FUNCTION sq_spent() RETURNS trigger LANGUAGE plpgsql"
        f" AS $$ BEGIN {add} RETURN NULL; END $$"
    )
    op.execute(
        "CREATE TRIGGER sq_spent AFTER INSERT ON sq_spend FOR EACH ROW EXECUTE FUNCTION sq_spent()"
    )


def _call(dialect: str, row: str) -> str:
    return _CALL.format(row=row, day=_DAYS[dialect].format(row=row))
