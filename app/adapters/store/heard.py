"""What people told Squadron, by comments and by buttons."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from app.adapters.store.codec import decode_heard, encode_heard
from app.adapters.store.dialects import insert
from app.adapters.store.tables import HEARD_COMMANDS
from app.core.github.comment_kinds import CommentKind
from app.ports import HeardCommands

_COLUMNS: Final = HEARD_COMMANDS.c


def of(
    connection: sa.Connection, repository: str, comment: int | None, kind: CommentKind
) -> Sequence[HeardCommands]:
    """What was told in a repository, or by one comment of that kind in it, oldest first."""
    wanted = (
        sa.select(HEARD_COMMANDS)
        .where(_COLUMNS.repository == repository)
        .order_by(_COLUMNS.at, _COLUMNS.name)
    )
    if comment is not None:
        its_kind = sa.func.coalesce(_COLUMNS.kind, "comment")
        wanted = wanted.where(_COLUMNS.comment == comment, its_kind == kind)
    return [decode_heard(row) for row in connection.execute(wanted).mappings()]


def save(connection: sa.Connection, heard: HeardCommands) -> None:
    """Remember what was told; a repeat changes nothing."""
    connection.execute(
        insert(connection, HEARD_COMMANDS).values(encode_heard(heard)).on_conflict_do_nothing()
    )


def forget(connection: sa.Connection, before: datetime) -> None:
    """Forget what was told before that instant."""
    connection.execute(sa.delete(HEARD_COMMANDS).where(_COLUMNS.at < before))
