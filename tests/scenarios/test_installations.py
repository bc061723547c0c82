"""Two installations of the App, and two processes that work on one PostgreSQL database."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import SegmentStarted
from app.core.agents.lifecycle import State
from tests.contract.store_support import own_postgresql_database
from tests.crash.cluster import SQUADRON, Member
from tests.support.github import git
from tests.support.people import Task, repository
from tests.support.processes import free_port
from tests.support.service import Service
from tests.support.squad import Squad, squad
from tests.support.steps import completes, waits_for
from tests.support.waiting import MOST_SECONDS, until

pytestmark = pytest.mark.full

PLACES = ("octo/demo", "acme/shop")
SLOTS = 2
"""Of each of the two processes."""
EACH = 3
IMPORTS = """
import importlib, pkgutil, app
for each in pkgutil.walk_packages(app.__path__, "app."):
    if not each.name.endswith(("__main__", ".env")) and ".versions." not in each.name:
        try:
            importlib.import_module(each.name)
        except ModuleNotFoundError as error:  # what an extra brings
            if error.name.partition(".")[0] not in ("claude_agent_sdk", "copilot"):
                raise
"""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("installations")
    places = {name: repository({"docs": {}}) for name in PLACES}
    most = {"rate": {"starts_per_user_per_hour": EACH * len(PLACES)}}
    with (
        own_postgresql_database() as url,
        squad(directory, places, database_url=url, workers=SLOTS, operator=most) as team,
    ):
        team.github.orders("install_further", {"owner": "acme"})
        command, log = (*SQUADRON, "worker"), directory / "worker.log"
        settings = team.service.environment
        data = Path(settings["SQUADRON_DATA_DIR"])
        further = Member(command, settings, log, free_port(), data)
        further.start()
        try:
            further.until_ready()
            yield team
        finally:
            further.end()


def test_peers_30_two_installations_stay_apart_and_two_workers_run_each_agent_once(
    team: Squad,
) -> None:
    """Peers, scenario 30: tokens and webhooks apart, slots added up, one rate for both."""
    wait = waits_for(team.signal("apart"))
    tasks = [
        team.give("docs", f"{place} {number}", wait, completes("Done."), repository=place)
        for number in range(EACH)
        for place in PLACES
    ]

    def at_work() -> list[Agent]:
        agents = [team.agent(task) for task in tasks]
        return [one for one in agents if one.state is State.ACTIVE and team.processes(one.id)]

    busy = until(
        lambda: found if len(found := at_work()) == 2 * SLOTS else [],
        "both processes have all they can do",
        failing=team.check_alive,
    )
    assert len({agent.worker for agent in busy}) == 2
    team.go("apart")
    ended = [team.until(task, State.COMPLETED) for task in tasks]
    installations = {agent.id.repository: agent.installation_id for agent in ended}
    assert len(set(installations.values())) == 2
    for task, agent in zip(tasks, ended, strict=True):
        starts = [e for e in team.registry.log(agent.id) if isinstance(e, SegmentStarted)]
        assert len(team.agents(task)) == len(starts) == 1
        assert agent.installation_id == installations[task.repository]
    assert_told_and_let_in_apart(team, installations)

    for place in PLACES:  # whatever process hears of it, and wherever it is asked for
        one_more: Task = team.give("docs", "One more", completes("No."), repository=place)
        team.settle()
        assert team.agents(one_more) == []
    team.until_logged("too many starts and commands", by="maria")


def test_what_is_pushed_counts_at_once_in_the_process_that_did_not_hear_of_it(
    team: Squad,
) -> None:
    """Whoever hears of a label starts the agent: here it is another one than hears of the push."""
    place, port = PLACES[0], free_port()
    url = team.service.url
    second = Service(team.service.environment, port, team.directory / "second.log")
    second.start()
    try:
        team.github.orders("webhook", {"url": f"{second.url}/webhook"})
        before, after = (
            team.issue(name, completes("Done."), by="ada", repository=place).by("docs")
            for name in ("Before", "After")
        )
        team.label(before, "squadron:docs", by="ada")
        assert team.until(before, State.COMPLETED).assignment.limits.max_tool_calls == 200
        team.github.orders("webhook", {"url": f"{url}/webhook"})
        clone = team.github.clone(place)
        (clone / ".squadron/agents/docs.md").write_text("---\nmax_tool_calls: 7\n---\nDocs.\n")
        git("commit", "--quiet", "--all", "--message", "Fewer calls", cwd=clone)
        git("push", "--quiet", "origin", "main", cwd=clone)
        team.settle()
        team.github.orders("webhook", {"url": f"{second.url}/webhook"})
        team.label(after, "squadron:docs", by="ada")
        assert team.until(after, State.COMPLETED).assignment.limits.max_tool_calls == 7
        team.settle()
    finally:
        team.github.orders("webhook", {"url": f"{url}/webhook"})
        second.stop()
        second.close()


def assert_told_and_let_in_apart(team: Squad, installations: dict[str, int]) -> None:
    """Every webhook names the installation of its repository, and each has tokens of its own."""
    exchanges = list(team.github.exchanges())
    for one in exchanges:
        if one.get("webhook") == "issues" and one["action"] == "labeled":
            payload = one["payload"]
            place = payload["repository"]["full_name"]
            assert payload["installation"]["id"] == installations[place]
    asked = {
        (one["path"], *one["request"].get("repositories", ()))
        for one in exchanges
        if one.get("path", "").endswith("/access_tokens") and one["status"] == 201
    }
    for place, number in installations.items():
        name = place.partition("/")[2]
        own = {path for path, *names in asked if name in names}
        assert own == {f"/app/installations/{number}/access_tokens"}, asked


def test_peers_30_a_clean_install_imports(tmp_path: Path) -> None:
    """Peers, scenario 30. That every documented command exists: `tests/core/test_documents.py`."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
