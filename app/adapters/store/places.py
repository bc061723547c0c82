"""Where repositories are: what is kept by a repository's name follows it to the next one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from pydantic import TypeAdapter

from app.adapters.store.dialects import insert
from app.adapters.store.tables import (
    ACCOUNTS,
    ADAPTED_LIMITS,
    AGENTS,
    BRAKES,
    CONFIGURATIONS,
    EFFECTS,
    HEARD_COMMANDS,
    HOLDINGS,
    LISTED_ACCOUNTS,
    LOOKS,
    PLACES,
    REFUSED_STARTS,
    WAITING_STARTS,
)
from app.core.agents.agent import AgentId, EffectState
from app.core.rules.brakes import Place
from app.ports import Repository

_BY_NAME: Final = (
    LOOKS,
    ADAPTED_LIMITS,
    HEARD_COMMANDS,
    REFUSED_STARTS,
    WAITING_STARTS,
    CONFIGURATIONS,
    LISTED_ACCOUNTS,
)
"""Tables whose rows are found by the repository's name."""
_IDS: Final = TypeAdapter(tuple[str, ...])


def of_all(connection: sa.Connection) -> Mapping[int, Repository]:
    """Where repositories are, by id: those that were noted, and those of all agents."""
    rows = connection.execute(sa.union(*map(_places_in, (PLACES, AGENTS))))
    return {row.repository_id: Repository(row.repository, row.installation_id) for row in rows}


def elsewhere(
    connection: sa.Connection, repository_id: int, here: Repository
) -> Sequence[Repository]:
    """Where the repository, or an agent of it, is thought to be, as far as that is not `here`."""
    return [place for place in _known(connection, repository_id) if place != here]


def is_noted(connection: sa.Connection, repository_id: int, here: Repository) -> bool:
    """Whether the repository is known to be here, and nothing of it to be elsewhere."""
    return [*_known(connection, repository_id)] == [here]


def _known(connection: sa.Connection, repository_id: int) -> Sequence[Repository]:
    found = sa.union(
        *(_places_in(table).where(table.c.repository_id == repository_id)
          for table in (PLACES, AGENTS))
    )  # fmt: skip
    rows = connection.execute(found)
    return [Repository(row.repository, row.installation_id) for row in rows]


def _places_in(table: sa.Table) -> "sa.Select[tuple[int, str, int]]":
    return sa.select(table.c.repository_id, table.c.repository, table.c.installation_id)


def follow(
    connection: sa.Connection, repository_id: int, here: Repository, at: datetime
) -> Sequence[Repository]:
    """Let everything go on under the new name; where it was before. A repeat changes nothing."""
    before = elsewhere(connection, repository_id, here)
    _note(connection, repository_id, here)
    for there in before:
        if there.full_name != here.full_name:
            _rename(connection, there.full_name, here.full_name)
            _rename_brakes(connection, there.full_name, here.full_name)
            _rename_accounts(connection, there.full_name.casefold(), here.full_name.casefold())
    _move_agents(connection, repository_id, here)
    if before:
        own = sa.select(AGENTS.c.id).where(AGENTS.c.repository_id == repository_id)
        refused = EFFECTS.c.state == EffectState.REFUSED.value
        connection.execute(
            sa.update(EFFECTS).where(refused, EFFECTS.c.agent_id.in_(own)).values(due_at=at)
        )
    return before


def _note(connection: sa.Connection, repository_id: int, here: Repository) -> None:
    place = {"repository": here.full_name, "installation_id": here.installation_id}
    connection.execute(
        insert(connection, PLACES)
        .values(repository_id=repository_id, **place)
        .on_conflict_do_update(index_elements=[PLACES.c.repository_id], set_=place)
    )


def _move_agents(connection: sa.Connection, repository_id: int, here: Repository) -> None:
    rows = connection.execute(
        sa.select(AGENTS.c.id, AGENTS.c.issue, AGENTS.c.role, AGENTS.c.live_post)
        .where(AGENTS.c.repository_id == repository_id)
        .order_by(AGENTS.c.id)
    ).all()
    for row in rows:
        post = AgentId(here.full_name, row.issue, row.role, attempt=0).post
        moved = {
            "repository": here.full_name,
            "installation_id": here.installation_id,
            "post": post,
            "live_post": None if row.live_post is None else post,
        }
        connection.execute(sa.update(AGENTS).where(AGENTS.c.id == row.id).values(moved))


def _rename(connection: sa.Connection, before: str, after: str) -> None:
    """What stands under the new name already stays as it is."""
    for table in _BY_NAME:
        there = table.alias()
        rest = [column for column in table.primary_key if column.name != "repository"]
        same = (there.c[column.name] == column for column in rest)
        is_taken = sa.exists().where(there.c.repository == after, *same)
        old = table.c.repository == before
        connection.execute(sa.delete(table).where(old, is_taken))
        connection.execute(sa.update(table).where(old).values(repository=after))


def _rename_brakes(connection: sa.Connection, before: str, after: str) -> None:
    if before.casefold() == after.casefold():
        return  # a brake's place has no case
    for old, new in (
        (Place.repository(before), Place.repository(after)),
        (Place.configuration(before), Place.configuration(after)),
    ):
        scope = BRAKES.c.scope == old.scope.value
        there = BRAKES.alias()
        is_on = sa.exists().where(
            there.c.scope == new.scope.value, there.c.name == new.name, there.c.lifted_at.is_(None)
        )
        is_double = sa.and_(BRAKES.c.lifted_at.is_(None), is_on)
        is_old = sa.and_(scope, BRAKES.c.name == old.name)
        connection.execute(sa.delete(BRAKES).where(is_old, is_double))
        connection.execute(sa.update(BRAKES).where(is_old).values(name=new.name))


def _rename_accounts(connection: sa.Connection, before: str, after: str) -> None:
    """What was spent stays spent. An account that the new name has already stays as it is."""
    accounts = connection.execute(sa.select(ACCOUNTS.c.id, ACCOUNTS.c.key))
    known = {row.id: row.key for row in accounts}
    moved = dict[str, str]()
    for account, key in sorted(known.items()):
        new_key = _new_key(key, before, after)
        new_id = f"{account.removesuffix(key)}{new_key}"
        if new_key != key and new_id not in known:
            moved[account] = new_id
            values: dict[str, Any] = {"id": new_id, "key": new_key}
            connection.execute(sa.update(ACCOUNTS).where(ACCOUNTS.c.id == account).values(values))
    if not moved:
        return
    holdings = connection.execute(
        sa.select(HOLDINGS.c.agent_id, HOLDINGS.c.accounts).order_by(HOLDINGS.c.agent_id)
    ).all()
    for holding in holdings:
        ids = _IDS.validate_json(holding.accounts)
        new_ids = tuple(moved.get(each, each) for each in ids)
        if new_ids != ids:
            values = {"accounts": _IDS.dump_json(new_ids).decode()}
            connection.execute(
                sa.update(HOLDINGS).where(HOLDINGS.c.agent_id == holding.agent_id).values(values)
            )


def _new_key(key: str, before: str, after: str) -> str:
    """`issue:octo/demo#12` and the like, under the repository's new name."""
    scope, _, subject = key.partition(":")
    rest = subject.removeprefix(before)
    is_of_it = subject.startswith(before) and (not rest or rest[0] in "#:")
    return f"{scope}:{after}{rest}" if is_of_it else key
