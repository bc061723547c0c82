"""PostgreSQL starts anew while a dead worker's work is taken over (dbos-inc/dbos-transact-py#716:
some of it counted as running for ever). All workers fence themselves then; whoever starts them
again finds all that was left."""

from pathlib import Path

import pytest

from app.adapters.engine.membership import EXIT_FENCED
from app.core.agents.deaths import deaths
from app.core.agents.lifecycle import State
from tests.crash.campaign import WORKERS
from tests.crash.own_postgres import own_postgres
from tests.crash.test_membership import shift
from tests.support.waiting import until

pytestmark = pytest.mark.crash

AGENTS = 2 * WORKERS + 1
TAKES_OVER = "taking over"


@pytest.mark.parametrize("when", ["at once", "as the work is taken over"])
def test_what_a_dead_worker_left_is_done_though_the_database_starts_anew(
    tmp_path: Path, when: str
) -> None:
    with own_postgres() as database, shift(tmp_path, database.url) as team:
        team.open(AGENTS)
        at_work = team.until_waiting(2 * WORKERS)
        members = team.here.members
        dead = next(each for each in members if f"-{each.pid}-" in (at_work[0].worker or ""))
        [left] = [each for each in members if each is not dead]
        dead.kill()
        if when != "at once":
            until(lambda: TAKES_OVER in left.log.read_text(), "the other takes over")
        database.restart()
        assert left.ended() == EXIT_FENCED
        team.go()
        for member in members:
            member.start()
        for member in members:
            member.until_ready()
        team.until_handed_over(AGENTS)
        for agent in team.agents():
            assert agent.state is State.SLEEPING
            assert deaths(team.here.world.registry.log(agent.id)).of_runtimes == 0
