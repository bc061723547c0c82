"""What a user did counts for an hour each, instead of for the hour that the first of it began."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """What was counted in an hour was counted at its beginning."""
    connection = op.get_bind()
    hits = sa.table(
        "sq_hits",
        *(sa.column("login"), sa.column("since", _INSTANT)),
        *map(sa.column, ("allowed", "refused")),
    )
    names = sa.table("sq_named_hits", *map(sa.column, ("login", "what", "is_counted")))
    hours = connection.execute(sa.select(hits)).all()
    named = connection.execute(sa.select(names).order_by(names.c.login, names.c.what)).all()
    op.drop_table("sq_named_hits")
    op.drop_table("sq_hits")
    hitters = op.create_table(
        "sq_hitters",
        sa.Column("login", sa.Text(), primary_key=True),
        sa.Column("told_at", _INSTANT, nullable=True),
        sa.Column("told", sa.Text(), nullable=True),
    )
    counted = op.create_table(
        "sq_hits",
        sa.Column("login", sa.Text(), primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("what", sa.Text(), nullable=True),
    )
    for hour in hours:
        of_user = [each for each in named if each.login == hour.login]
        told = next((each.what for each in of_user if not each.is_counted), None)
        told_at = hour.since if hour.refused else None
        row = {"login": hour.login, "told_at": told_at, "told": told}
        connection.execute(sa.insert(hitters), row)
        whats = [each.what for each in of_user if each.is_counted]
        whats += [None] * (hour.allowed - len(whats))
        rows = [
            {"login": hour.login, "number": number, "at": hour.since, "what": what}
            for number, what in enumerate(whats, 1)
        ]
        if rows:
            connection.execute(sa.insert(counted), rows)
