"""Slots: what holds one, what gives it back, and that nobody who only asks ever waits for one."""

import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import pytest

from app.core.agents.agent import Agent
from app.core.agents.deaths import FIRST_PAUSE_SECONDS
from app.core.agents.events import AgentEvent, SegmentEnded, SegmentStarted, Waits
from app.core.agents.lifecycle import FINAL, State
from app.scripted.script import Failure
from tests.support import processes
from tests.support.deliveries import deliver
from tests.support.github import BOT
from tests.support.lives import MOST_SECONDS
from tests.support.people import Task, repository
from tests.support.registry import open_registry
from tests.support.squad import Squad, squad
from tests.support.steps import completes, is_blocked, runs, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.full

SLOTS = 2
SEED = 2026
ROLES = {"docs": {}, "caller": {"max_tool_calls": 1, "summary_wait": 5}}
KINDS = ("completes", "trips", "cancelled", "reassigned")
EACH = 2
AT_REST_SECONDS = 300.0
MANY_SLOTS, MANY_LIVES = 16, 1_000
KILLED_AFTER = (200, 400)
"""Segments that have ended since the start, at each `kill -9`."""
PAUSE = timedelta(seconds=FIRST_PAUSE_SECONDS)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("slots")
    demo = repository(ROLES)
    with squad(directory, {"octo/demo": demo}, workers=SLOTS, reconciliation_seconds=2) as team:
        yield team


def test_peers_12_who_cannot_be_woken_is_tried_three_times_and_holds_nobody_up(
    team: Squad,
) -> None:
    """Peers, scenario 12: as many as there are slots cannot be woken; all others still wake, since
    whoever is tried again later waits without a slot. A woken agent is QUEUED, not SLEEPING,
    and the third death in a row escalates."""
    blocker = team.issue("Blocker")
    later = is_blocked("Later.", blocker.number)
    broken = [team.give("docs", f"Broken {n}", later, Failure(404)) for n in range(SLOTS)]
    for task in broken:
        team.until(task, State.SLEEPING, Waits.BLOCKER)
    others = [team.give("docs", f"Other {n}", later, completes("Done.")) for n in range(2)]
    for task in others:
        team.until(task, State.SLEEPING, Waits.BLOCKER)
    team.close(blocker)
    woken = [starts_of(team, team.until(task, State.COMPLETED))[-1] for task in others]
    for task in broken:
        agent = team.until_escalated(task)
        assert agent.failure is not None
        assert agent.failure.cause == "runtime_died"
        starts = starts_of(team, agent)[1:]
        assert [one.segment for one in starts] == [1, 2, 3, 4], "three times, then a human decides"
        assert all(one.attempt == 1 for one in starts)
        assert all(other.at < starts[2].at for other in woken), "nobody waited for the last attempt"
        log = team.registry.log(agent.id)
        deaths = [one.at for one in log if isinstance(one, SegmentEnded) and one.died]
        pauses = [start.at - death for start, death in zip(starts[1:3], deaths, strict=False)]
        assert pauses[0] >= PAUSE and pauses[1] >= 2 * PAUSE, "between them it waits in the queue"
    assert all_slots_are_free(team, "after-12")


def test_peers_13_no_more_than_the_slots_are_ever_held_and_all_come_back(team: Squad) -> None:
    """Peers, scenario 13: starts, trips, cancels, reassignments, completions and a `kill -9`, in
    an order of chance; counted in the logs, at every instant. Eight lives with all that belongs to
    one; the thousand below have but registry and engine."""
    chance = random.Random(SEED)
    kinds = chance.sample([*KINDS] * EACH, len(KINDS) * EACH)
    tasks = [begins(team, kind, number) for number, kind in enumerate(kinds)]
    died = list[datetime]()

    def goes_on() -> bool:
        """People do what they do as soon as an agent is at work; one death comes in between."""
        agents = [team.agents(task) for task in tasks]
        ended = sum(found[-1].state in FINAL for found in agents if found)
        if ended >= len(tasks) // 2 and not died:
            team.service.kill()
            died.append(datetime.now(UTC))
            team.service.start()
        for kind, task in zip(kinds, tasks, strict=True):
            if team.agent(task).state is State.ACTIVE:
                takes_away(team, kind, task)
        return ended == len(tasks)

    until(goes_on, "all have ended", within_seconds=AT_REST_SECONDS, failing=team.check_alive)
    ends = {"completes": State.COMPLETED, "trips": State.ESCALATED}
    for kind, task in zip(kinds, tasks, strict=True):
        assert [one.state for one in team.agents(task)] == [ends.get(kind, State.CANCELLED)]
    logs = [team.registry.log(one.id) for one in team.registry.agents("octo/demo")]
    assert died and most_at_once(logs, died) == SLOTS
    assert all_slots_are_free(team, "after-13")


def test_peers_13_a_thousand_lives_and_two_deaths_leave_every_slot_free(tmp_path: Path) -> None:
    """Peers, scenario 13, on registry and engine alone: lives that end, trip, sleep, die and are
    taken away, at work and in the queue. At the end as many as there are slots meet: each needs
    one of its own, so none is lost."""
    logs = [live(tmp_path, number, killed) for number, killed in enumerate((*KILLED_AFTER, None))]
    held = [[*accumulate(1 if line[0] == "+" else -1 for line in log)] for log in logs]
    assert max(map(max, held)) == max(held[-1]) == MANY_SLOTS, "never more; at the end, all of them"
    assert min(map(min, held)) >= 0 and held[-1][-1] == 0, "each is given back"
    with open_registry(f"sqlite:///{tmp_path / 'lives.sqlite'}") as registry:
        agents = registry.agents("octo/demo")
    assert len(agents) == MANY_LIVES + MANY_SLOTS
    ends_of = Counter(agent.state for agent in agents)
    assert ends_of.keys() == FINAL and min(ends_of.values()) > MANY_LIVES / 20


def test_peers_13_answers_never_wait_for_a_slot(team: Squad) -> None:
    """Peers, scenario 13: every slot is held, and an agent waits for one."""
    busy = [working(team, "answers", number) for number in range(SLOTS)]
    for task in busy:
        team.until(task, State.ACTIVE)
    waiting = working(team, "answers", SLOTS)
    queued = team.agent(waiting)
    assert deliver(team, "ping", {"zen": "Busy."}, "while-busy").status_code == 202
    said = team.github.does(
        "maria", "POST", f"{waiting.path}/comments", {"body": "/squadron status"}
    )
    comment = f"/repos/octo/demo/issues/comments/{said['id']}"
    until(
        lambda: team.github.sees(comment)["reactions"]["rocket"] == 1,
        "the command is answered",
        failing=team.check_alive,
    )
    assert team.registry.agent(queued.id).state is State.QUEUED
    assert team.service.http.get("/readyz").status_code == 200
    team.go("answers")
    for task in (*busy, waiting):
        team.until(task, State.COMPLETED)


def test_peers_14_a_parked_agent_holds_no_slot(team: Squad) -> None:
    """Peers, scenario 14: as many as there are slots wait for an answer; others still work."""
    parked = [team.give("docs", f"Parked {n}", is_blocked("Which?")) for n in range(SLOTS)]
    for task in parked:
        agent = team.until(task, State.SLEEPING, Waits.ANSWER)
        assert team.processes(agent.id) == {}
    assert all_slots_are_free(team, "after-14")
    for task in parked:
        team.close(task)
        team.until(task, State.CANCELLED)


def starts_of(team: Squad, agent: Agent) -> list[SegmentStarted]:
    """Each time that it took a slot."""
    return [one for one in team.registry.log(agent.id) if isinstance(one, SegmentStarted)]


def live(directory: Path, number: int, killed_after: int | None) -> list[str]:
    """The log of one start of the lives, which are killed after so many segments, or end."""
    command = [sys.executable, "-m", "tests.support.lives", str(directory)]
    command += [str(figure) for figure in (MANY_SLOTS, MANY_LIVES, SEED)]
    log = directory / f"slots-{number}.log"
    with (directory / f"stderr-{number}").open("w") as stderr:
        process = processes.start(command, processes.base_environment(directory), stderr)
    assert process.stdout is not None
    with process.stdout:
        if killed_after is not None:
            until(
                lambda: log.exists() and log.read_text().count("- ") >= killed_after,
                f"{killed_after} segments have ended",
                within_seconds=MOST_SECONDS,
            )
            process.kill()
        ended = process.wait(MOST_SECONDS)
    said = (directory / f"stderr-{number}").read_text()
    assert ended == (0 if killed_after is None else -9), said
    return log.read_text().splitlines()


# --- the crowd -----------------------------------------------------------------------------------


def begins(team: Squad, kind: str, number: int) -> Task:
    """One agent whose life goes like that."""
    name = f"{kind} {number}"
    match kind:
        case "completes":
            return team.give("docs", name, runs("sleep 0.2"), completes("Done."))
        case "trips":
            return team.give("caller", name, runs("sleep 0.2"), runs("true"))
        case _:
            steps = (writes("half.txt", "half\n"), waits_for(team.signal("never")))
            task = team.issue(name, *steps).by("docs")
            if kind == "reassigned":
                team.github.does("maria", "POST", f"{task.path}/assignees", {"assignees": [BOT]})
            team.label(task, "squadron:docs")
            return task


def takes_away(team: Squad, kind: str, task: Task) -> None:
    """What a person does to the work of such an agent; once more changes nothing."""
    if kind == "cancelled":
        team.close(task)
    elif kind == "reassigned":
        team.github.does("maria", "DELETE", f"{task.path}/assignees", {"assignees": [BOT]})
        team.github.does("maria", "POST", f"{task.path}/assignees", {"assignees": ["ada"]})


def working(team: Squad, signal: str, number: int) -> Task:
    """An agent that works until the story lets it go on."""
    wait = waits_for(team.signal(signal))
    return team.give("docs", f"{signal} {number}", wait, completes("Done."))


def all_slots_are_free(team: Squad, signal: str) -> bool:
    """Whether as many agents as there are slots work beside each other, and not one more."""
    tasks = [working(team, signal, number) for number in range(SLOTS + 1)]

    def at_work() -> list[Agent]:
        agents = [team.agent(task) for task in tasks]
        return [one for one in agents if one.state is State.ACTIVE and team.processes(one.id)]

    until(lambda: len(at_work()) == SLOTS, "every slot is used", failing=team.check_alive)
    [left] = [task for task in tasks if team.agent(task).state is not State.ACTIVE]
    is_queued = team.agent(left).state is State.QUEUED
    team.go(signal)
    for task in tasks:
        team.until(task, State.COMPLETED)
    return is_queued


def most_at_once(logs: Iterable[Sequence[AgentEvent]], died: Sequence[datetime]) -> int:
    """How many segments ran beside each other at most. `died`: when the process was killed."""
    steps = list[tuple[datetime, int]]()
    for log in logs:
        began: datetime | None = None
        for event in log:
            if not isinstance(event, SegmentStarted | SegmentEnded):
                continue
            if began is not None:  # who was taken away and died is ended without a slot
                steps.append((next((at for at in died if began < at <= event.at), event.at), -1))
            began = event.at if isinstance(event, SegmentStarted) else None
            if began is not None:
                steps.append((began, 1))
        assert began is None, "every segment has ended"
    held = most = 0
    for _, step in sorted(steps):  # an end before a start at the same instant
        held += step
        most = max(most, held)
    return most
