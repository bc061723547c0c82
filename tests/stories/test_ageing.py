"""What is long over takes less room, and is read as before."""

import json
from datetime import timedelta

import sqlalchemy as sa

from app.adapters.store.tables import DELIVERIES, EVENTS, PACKED_LOGS, WORKERS, DeliveryState
from app.core.agents.lifecycle import State
from app.core.github.payloads import READ
from tests.stories.happening import FIXES, ROLES
from tests.support.people import REPOSITORY, Task, repository
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository(ROLES)}


def merged(squad: Story) -> Task:
    """An agent that has done its work."""
    task = squad.give("fixer", "Fix it", *FIXES)
    squad.merge(task)
    squad.settle()
    assert squad.agent(task).state is State.COMPLETED
    return task


def count(squad: Story, table: sa.Table) -> int:
    with squad.service.database.connect() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


def another_joins(squad: Story, version: str) -> None:
    """A process of that version, which is heard of from now on."""
    until = squad.clock.now() + timedelta(days=365)
    row = {"name": "another-1", "version": version, "places": 4, "started_at": until}
    with squad.service.database.begin() as connection:
        connection.execute(sa.insert(WORKERS).values(**row, beat_at=until, settled_at=until))


def test_a_log_is_packed_after_the_days_that_the_operator_says() -> None:
    with story(PLACES, operator={"pack_after_days": 2}) as squad:
        agent = squad.agent(merged(squad)).id
        before, rows = squad.log(agent), count(squad, EVENTS)
        squad.passes(days=1, hours=23)
        assert (count(squad, EVENTS), count(squad, PACKED_LOGS)) == (rows, 0)
        squad.passes(hours=3)
        assert count(squad, PACKED_LOGS) == 1
        assert count(squad, EVENTS) < rows / 2
        assert squad.log(agent) == before


def test_nothing_is_packed_beside_a_version_that_could_not_read_it() -> None:
    with story(PLACES, operator={"pack_after_days": 2}) as squad:
        merged(squad)
        another_joins(squad, "0.0.1")
        squad.passes(days=3)
        assert count(squad, PACKED_LOGS) == 0
        with squad.service.database.begin() as connection:
            another = sa.update(WORKERS).where(WORKERS.c.name == "another-1")
            connection.execute(another.values(beat_at=squad.clock.now()))
        squad.passes(hours=1)
        assert count(squad, PACKED_LOGS) == 1


def test_of_a_delivery_as_much_is_kept_as_is_read_of_it() -> None:
    with story(PLACES) as squad:
        merged(squad)
        squad.passes(hours=2)
        with squad.service.database.connect() as connection:
            found = connection.execute(sa.select(DELIVERIES)).all()
        shortened = [row for row in found if row.state == DeliveryState.SHORTENED]
        assert shortened
        for row in shortened:
            assert json.loads(row.body).keys() - {"sha256_of_all"} <= READ.keys()
            assert b"node_id" not in row.body
        assert {row.body for row in found if row.state == DeliveryState.IGNORED} <= {None}
        assert {row.state for row in found} <= {DeliveryState.SHORTENED, DeliveryState.IGNORED}
