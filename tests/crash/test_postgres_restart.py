"""PostgreSQL ends under the workers, and starts anew. All of them give up what they held, wait, and
come back; nothing that they did is lost, and nobody ends for it."""

import os
import signal
from pathlib import Path

import httpx
import pytest

from app.bootstrap import EXIT_GIVEN_UP
from app.core.agents.deaths import deaths
from app.core.agents.events import Failed, Tripped
from app.core.agents.lifecycle import State
from tests.crash.cluster import Member
from tests.crash.own_postgres import own_postgres
from tests.crash.site import WORKERS
from tests.crash.test_membership import Shift, shift
from tests.support.waiting import until

pytestmark = pytest.mark.crash

AGENTS = 2 * WORKERS + 1
TAKES_OVER = "taking over"
WAITS = "waiting for the database"
BACK = "the database can be used"


@pytest.mark.parametrize("when", ["at once", "as the work is taken over"])
def test_what_a_dead_worker_left_is_done_though_the_database_starts_anew(
    tmp_path: Path, when: str
) -> None:
    """dbos-inc/dbos-transact-py#716: some of it counted as running for ever."""
    with own_postgres() as database, shift(tmp_path, database.url) as team:
        team.open(AGENTS)
        at_work = team.until_waiting(2 * WORKERS)
        members = team.here.members
        dead = next(each for each in members if f"-{each.pid}-" in (at_work[0].worker or ""))
        [left] = [each for each in members if each is not dead]
        dead.kill()
        if when != "at once":
            until_says(left, TAKES_OVER)
        database.restart()
        until(left.lives_again, "the other comes back", failing=left.check_alive)
        team.go()
        dead.start()
        dead.until_ready()
        team.until_handed_over(AGENTS)
        unharmed(team)


def test_while_the_database_is_away_all_wait_and_nothing_is_taken(tmp_path: Path) -> None:
    with own_postgres() as database, shift(tmp_path, database.url) as team:
        team.open(AGENTS)
        agents = team.until_waiting(2 * WORKERS)
        database.stop()
        for member in team.here.members:
            until_says(member, WAITS)
            assert not children(member), "nothing of the life before"
        url = team.here.members[0].url
        assert httpx.get(f"{url}/healthz").status_code == 200
        refused = [httpx.get(f"{url}/readyz"), httpx.post(f"{url}/webhook", content=b"{}")]
        assert [answer.status_code for answer in refused] == [503, 503]
        assert not [each for agent in agents for each in team.processes(agent.id)]
        database.start()
        all_hand_over(team, AGENTS)


def test_a_database_that_goes_away_again_is_waited_for_again(tmp_path: Path) -> None:
    """Just as they come back."""
    with own_postgres() as database, shift(tmp_path, database.url) as team:
        team.open(WORKERS)
        team.until_waiting(WORKERS)
        database.restart()
        for member in team.here.members:
            until_says(member, BACK)
            database.restart()
        all_hand_over(team, WORKERS)


def test_who_waits_can_be_told_to_end(tmp_path: Path) -> None:
    with own_postgres() as database, shift(tmp_path, database.url) as team:
        database.stop()
        for member in team.here.members:
            until_says(member, WAITS)
            os.kill(member.pid, signal.SIGTERM)
            assert member.ended() in (0, -signal.SIGTERM)
        database.start()


def test_nobody_waits_for_ever(tmp_path: Path) -> None:
    with own_postgres() as database, shift(tmp_path, database.url) as team:
        operator = tmp_path / "c" / "operator.yaml"
        operator.write_text(f"{operator.read_text()}database_wait: 1\n")
        database.stop()
        for member in team.here.members:
            assert member.ended() == EXIT_GIVEN_UP
            assert "\nthe database did not come back within 0:00:01: " in member.log.read_text()
        database.start()


def until_says(member: Member, words: str) -> None:
    until(lambda: words in member.log.read_text(), words, failing=member.check_alive)


def children(member: Member) -> list[str]:
    """The numbers of what it has started, also of what has ended and was not waited for."""
    found = Path(f"/proc/{member.pid}/task").glob("*/children")
    return [number for file in found for number in file.read_text().split()]


def all_hand_over(team: Shift, agents: int) -> None:
    """As soon as all have come back."""
    for member in team.here.members:
        until(member.lives_again, "it comes back", failing=member.check_alive)
    team.go()
    team.until_handed_over(agents)
    unharmed(team)


def unharmed(team: Shift) -> None:
    """Nobody was ended, and no death is anybody's fault."""
    for agent in team.agents():
        assert agent.state is State.SLEEPING
        log = team.here.world.registry.log(agent.id)
        assert not any(isinstance(event, Tripped | Failed) for event in log)
        assert deaths(log).of_runtimes == 0
