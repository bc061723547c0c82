"""Who may work where, and how a process leaves: the lock, the fence, and the drain."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import Failed, SegmentStarted, ToolEnded, Tripped, Waits
from app.core.agents.lifecycle import State
from tests.contract.store_support import own_postgresql_database
from tests.crash.cluster import Member
from tests.crash.findings import forgotten, has_file, logs
from tests.crash.site import WORKER_TIMEOUT, WORKERS, Site, site
from tests.support import processes
from tests.support.steps import commits, completes, runs, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.crash

SEED = 7


@dataclass(frozen=True, slots=True)
class Shift:
    """A site without faults, whose agents wait in a shell until they are told to go on."""

    here: Site
    signal: Path

    def open(self, count: int) -> None:
        """So many issues; each agent writes half of its work and waits."""
        for _ in range(count):
            self.here.crowd.open(
                ("builder",),
                writes("half.txt", "half done\n"),
                waits_for(self.signal),
                runs("echo done > whole.txt"),
                commits("All of it"),
                completes("Done."),
            )

    def go(self) -> None:
        """Let them all go on."""
        self.signal.touch()

    def agents(self) -> list[Agent]:
        """All of them, oldest first."""
        return list(self.here.world.agents())

    def waiting(self) -> list[Agent]:
        """Those that have done half of their work and wait."""
        registry = self.here.world.registry
        return [
            agent
            for agent in self.agents()
            if agent.state is State.ACTIVE
            and any(isinstance(event, ToolEnded) for event in registry.log(agent.id))
        ]

    def until_waiting(self, count: int) -> list[Agent]:
        """The first so many agents that wait."""
        wait = "agents wait in their shells"
        return until(lambda: (found := self.waiting())[count - 1 :] and found, wait)

    def until_handed_over(self, count: int) -> None:
        """Wait until so many agents have handed over."""

        def look() -> bool:
            found = [agent for agent in self.agents() if agent.waits_for is Waits.REVIEW]
            return len([agent for agent in found if agent.pull_request]) == count

        until(look, "all agents have handed over", within_seconds=90)

    def processes(self, agent: AgentId) -> dict[int, str]:
        """Everything that an agent has started."""
        return processes.carrying(f"SQUADRON_SEGMENT={agent}:")


@contextmanager
def shift(directory: Path, database_url: str | None) -> Iterator[Shift]:
    with site(directory / "c", SEED, database_url) as here:
        for member in here.members:
            member.until_ready()
        yield Shift(here, directory / "go")
    assert not here.outcome.orphans


def test_a_second_start_on_one_data_directory_is_refused(tmp_path: Path) -> None:
    """Two would run the same work."""
    with shift(tmp_path, None) as team:
        [member] = team.here.members
        exit_code, words = member.start_twin()
        assert exit_code == 1
        assert "another Squadron works in" in words and str(tmp_path) in words
        assert "Traceback" not in words
        assert member.is_ready(), "the first one goes on"


def test_a_process_that_lost_its_membership_gives_up_and_comes_back(tmp_path: Path) -> None:
    """Tried without the fence, no run finished: two took it from each other. Under its agent that
    is no death: in its next life the process tells the database so."""
    with own_postgresql_database() as url, shift(tmp_path, url) as team:
        team.open(1)
        [agent] = team.until_waiting(1)
        assert agent.worker is not None
        before = logs(team.here.world)
        lost = next(each for each in team.here.members if f"-{each.pid}-" in agent.worker)
        _cut_membership(url, agent.worker)
        taken_over = until(
            lambda: [one for one in team.agents() if one.worker not in (None, agent.worker)],
            "another takes over",
            failing=lost.check_alive,
        )
        assert [one.segment for one in taken_over] == [agent.segment]
        assert [one.segment_attempts for one in taken_over] == [2]
        assert not list(forgotten(before, logs(team.here.world)))
        team.go()
        team.until_handed_over(1)
        until(lost.lives_again, "it comes back", failing=lost.check_alive)
        with psycopg.connect(url) as connection:
            cut_off = connection.execute("SELECT worker FROM sq_cut_off").fetchall()
        assert cut_off == [(agent.worker,)]


def test_a_worker_that_stands_still_is_taken_over_and_gives_up_what_it_held(
    tmp_path: Path,
) -> None:
    """It keeps its lock all the while, and finds itself late when it goes on."""
    with own_postgresql_database() as url, shift(tmp_path, url) as team:
        team.open(WORKERS)
        agents = team.until_waiting(WORKERS)
        frozen = next(each for each in team.here.members if f"-{each.pid}-" in _worker(agents[0]))
        its = [agent.id for agent in agents if f"-{frozen.pid}-" in _worker(agent)]
        os.kill(frozen.pid, signal.SIGSTOP)
        [other] = [each for each in team.here.members if each is not frozen]

        def is_taken_over() -> bool:
            now = [agent for agent in team.agents() if agent.id in its]
            return all(f"-{frozen.pid}-" not in _worker(agent) for agent in now)

        until(is_taken_over, "all its agents are elsewhere", within_seconds=WORKER_TIMEOUT + 30)
        assert "was not heard of for" in other.log.read_text()
        before = logs(team.here.world)
        os.kill(frozen.pid, signal.SIGCONT)
        until(frozen.lives_again, "it comes back", failing=frozen.check_alive)
        assert "and others have taken what this process held" in frozen.log.read_text()
        team.go()
        team.until_handed_over(WORKERS)
        assert not list(forgotten(before, logs(team.here.world)))
        for agent in team.agents():
            log = team.here.world.registry.log(agent.id)
            assert not any(isinstance(event, Tripped | Failed) for event in log)


def test_agents_of_a_drained_process_go_on_in_the_other_one(tmp_path: Path) -> None:
    """As before a machine is repaired. Their shells are ended, and their work is kept."""
    with own_postgresql_database() as url, shift(tmp_path, url) as team:
        team.open(WORKERS)
        agents = team.until_waiting(WORKERS)
        name = _worker(agents[0])
        its = [agent for agent in agents if agent.worker == name]
        [drained] = [each for each in team.here.members if f"-{each.pid}-" in name]
        [other] = [each for each in team.here.members if each is not drained]
        before = logs(team.here.world)
        said = other.squadron("workers", "drain", name)
        assert all(str(agent.id) in said for agent in its)

        def are_elsewhere() -> bool:
            now = [team.here.world.registry.agent(agent.id) for agent in its]
            return all(agent.worker and f"-{other.pid}-" in agent.worker for agent in now)

        until(are_elsewhere, "its agents are at work in the other one", within_seconds=90)
        for agent in its:
            now = team.here.world.registry.agent(agent.id)
            assert (now.segment, now.segment_attempts) == (agent.segment + 1, 1)
        assert f"{name} │" in other.squadron("workers")
        team.open(WORKERS)
        team.go()
        team.until_handed_over(2 * WORKERS)
        assert not list(forgotten(before, logs(team.here.world)))
        assert drained.is_ready(), "it does all but agents' work"
        assert not [agent for agent in team.agents() if agent.worker == name]
        ran = {
            event.worker
            for agent_id, log in logs(team.here.world).items()
            for event in log[len(before.get(agent_id, ())) :]
            if isinstance(event, SegmentStarted)
        }
        assert name not in ran


def _worker(agent: Agent) -> str:
    assert agent.worker is not None
    return agent.worker


def _cut_membership(url: str, worker: str) -> None:
    """End the connection that holds a worker's membership lock, as a broken network does."""
    with psycopg.connect(url, autocommit=True) as connection:
        cut = connection.execute(
            "WITH lock AS (SELECT hashtextextended(%s, 77) AS key)"
            " SELECT pg_terminate_backend(pid) FROM pg_locks, lock"
            " WHERE locktype = 'advisory' AND granted"
            " AND classid::bigint = (key >> 32) & 4294967295 AND objid::bigint = key & 4294967295",
            (worker,),
        ).fetchall()
    assert cut == [(True,)], "exactly one connection holds the lock"


def test_sigterm_under_load_keeps_all_work_and_the_next_start_goes_on(
    tmp_path: Path, database_url: str | None
) -> None:
    """Issue 2: `SIGTERM` drains; promises 2 and 5."""
    with shift(tmp_path, database_url) as team:
        workers = WORKERS * len(team.here.members)
        agents = 2 * workers
        team.open(agents)
        busy = team.until_waiting(workers)
        before = logs(team.here.world)
        _stop(team.here.members)

        world = team.here.world
        assert not list(forgotten(before, logs(world)))
        for agent in busy:
            now = world.registry.agent(agent.id)
            assert (now.state, now.segment) == (State.QUEUED, agent.segment + 1)
            assert now.segment_attempts == 0, "a drain is no death"
            assert has_file(world, agent.branch, "half.txt"), "its work is on GitHub"
            assert not team.processes(agent.id)

        team.go()
        for member in team.here.members:
            member.start()
        for member in team.here.members:
            member.until_ready()
        team.until_handed_over(agents)
        assert len(team.agents()) == agents


def _stop(members: Sequence[Member]) -> None:
    """SIGTERM to all at once; each has to end in order and within its bound."""
    for member in members:
        os.kill(member.pid, signal.SIGTERM)
    for member in members:
        assert member.ended() in (0, -signal.SIGTERM)
        assert member.lines("stopped"), member.log.read_text()[-2_000:]
