"""A disk that is full for a while costs nobody their work.

Issues, "What cannot wait", 7: an agent stayed ACTIVE without work until the next start.
"""

import json
import resource
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from tests.support.people import REPOSITORY, repository
from tests.support.squad import ADMIN_TOKEN, Squad, squad
from tests.support.steps import completes, runs, waits_for
from tests.support.waiting import until

pytestmark = pytest.mark.full

FULL_FOR_SECONDS = 12
"""How long it is full is part of the story: longer than the engine tries a piece of work over and
over (seven seconds of pauses), so that it gives that up while nothing can be recorded."""
MOST_MIB = 1_048_576
"""That the operator may want to be free."""


@contextmanager
def full_disk(team: Squad) -> Iterator[None]:
    """The service can write to no file, its log among them, as if its disk were full."""
    before = resource.prlimit(team.service.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(team.service.pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(team.service.pid, resource.RLIMIT_FSIZE, before)


def readiness(team: Squad) -> int:
    return team.service.http.get("/readyz").status_code


def why_not_ready(team: Squad, **headers: str) -> str:
    return str(team.service.http.get("/readyz", headers=headers).json()["detail"])


@pytest.fixture
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    repositories = {REPOSITORY: repository({"docs": {}})}
    with squad(tmp_path_factory.mktemp("full-disk"), repositories) as team:
        team.reconciles(1)
        yield team


def test_an_agent_goes_on_when_the_disk_is_no_longer_full(team: Squad) -> None:
    team.tolerates("disk I/O error")
    team.tolerates("work failed")
    steps = [waits_for(team.signal("go")), runs("echo 2 > b.txt"), completes("Done.")]
    task = team.give("docs", "Works on", *steps)
    agent = team.until(task, State.ACTIVE).id
    until(lambda: team.processes(agent), "a command at work", failing=team.check_alive)
    with full_disk(team):
        until(lambda: readiness(team) == 503, "it says so", failing=team.check_alive)
        assert why_not_ready(team) == "deliveries cannot be kept"
        assert "disk I/O error" in why_not_ready(team, Authorization=f"Bearer {ADMIN_TOKEN}")
        assert why_not_ready(team, Authorization="Bearer x") == "deliveries cannot be kept"
        team.go("go")
        team.comment(task, "Mind the gap.")
        time.sleep(FULL_FOR_SECONDS)
        assert readiness(team) == 503
    until(lambda: readiness(team) == 200, "it is ready", failing=team.check_alive)
    handed_over = team.until_handed_over(task)
    assert handed_over.id == agent
    team.settle()
    assert "Mind the gap." in str(team.prompts(task)[-1].conversation)


def test_nothing_begins_while_there_is_no_room_and_it_is_said(team: Squad) -> None:
    if shutil.disk_usage(team.directory).free >= MOST_MIB * 1024 * 1024:
        pytest.skip("this machine has more room than an operator can ask for")
    team.service.stop()
    file = team.directory / "operator.yaml"
    rules = json.loads(file.read_text())
    file.write_text(json.dumps({**rules, "min_free_mib": MOST_MIB}))
    team.service.start()
    task = team.give("docs", "Waits for room", completes("Done."))
    team.until_comment(
        task, "The agent waits for room: Squadron's disk has less than 1,048,576 MiB free"
    )
    team.settle()
    team.reconciles(2)
    [agent] = team.agents(task)
    assert (agent.state, agent.waits_for) == (State.QUEUED, Waits.ROOM)
    assert "QUEUED (room)" in team.service.commands("agents").stdout
    assert "1,048,576 are needed for a start" in team.service.commands("doctor").stdout
    assert not team.prompts(task)
    told = len(team.registry.log(agent.id))
    team.reconciles(2)
    assert len(team.registry.log(agent.id)) == told
    assert readiness(team) == 200

    team.service.stop()
    file.write_text(json.dumps(rules))
    team.service.start()
    assert team.until(task, State.COMPLETED).id == agent.id
