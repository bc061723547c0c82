"""Agents by names as people write them: GitHub's are the same in capitals and small letters."""

from typing import Any

import sqlalchemy as sa

from app.adapters.store.codec import decode_agent
from app.adapters.store.tables import AGENTS
from app.core.agents.agent import Agent


def newest(connection: sa.Connection, repository: str, issue: int, role: str) -> Agent | None:
    """The newest agent of an issue that is nobody's sub-agent; `role`: empty for any. The
    repository may be named as it was when the agent began there."""
    id_begins = f"{repository}#{issue}/".lower()
    is_there = sa.and_(is_alike(AGENTS.c.repository, repository), AGENTS.c.issue == issue)
    was_there = sa.func.lower(AGENTS.c.id).startswith(id_begins, autoescape=True)
    asked = sa.select(AGENTS).where(sa.or_(is_there, was_there), AGENTS.c.parent.is_(None))
    if role:
        asked = asked.where(is_alike(AGENTS.c.role, role))
    return _first(connection, asked.order_by(AGENTS.c.created_at.desc(), AGENTS.c.id.desc()))


def alike(connection: sa.Connection, name: str) -> Agent | None:
    """The agent whose id is this one, but for capitals; the oldest of several."""
    asked = sa.select(AGENTS).where(is_alike(AGENTS.c.id, name))
    return _first(connection, asked.order_by(AGENTS.c.created_at, AGENTS.c.id))


def is_alike(column: sa.ColumnElement[str], name: str) -> sa.ColumnElement[bool]:
    """Whether it is the same name: these are ASCII, of which both databases know the small
    letters."""
    return sa.func.lower(column) == name.lower()


def _first(connection: sa.Connection, asked: sa.Select[Any]) -> Agent | None:
    row = connection.execute(asked.limit(1)).mappings().one_or_none()
    return None if row is None else decode_agent(row)
