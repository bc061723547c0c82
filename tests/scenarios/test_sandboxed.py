"""Agents behind walls, where nobody says anything of them: they work as anywhere, and there is
nothing else for them."""

from collections.abc import Iterator

import pytest

from app.core.agents.lifecycle import State
from tests.support.github import git
from tests.support.people import repository
from tests.support.sandbox import BUBBLEWRAP
from tests.support.squad import CANARIES, Squad, json_text, squad
from tests.support.steps import commits, completes, runs, waits_for, writes
from tests.support.waiting import until

pytestmark = [pytest.mark.full, BUBBLEWRAP]
TREE = ("ls-tree", "-r", "--name-only")
SETUP = "echo 'made by the setup' > .git/made && command -v git"
WORKS = """\
set -e
git log --oneline -1
printf 'def test_it():\\n    assert 1 + 1 == 2\\n' > test_sum.py
python3 -c 'import test_sum; test_sum.test_it()'
cat .git/made
echo kept > /tmp/note
echo ALL-OF-IT-WORKS"""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("sandboxed")
    roles = {"docs": {"setup": [SETUP], "tests": "none"}}
    places = {"octo/demo": repository(roles)}
    with squad(directory, places, operator={"sandbox": None}) as team:
        yield team


def test_an_agent_works_in_its_sandbox_and_hands_over(team: Squad) -> None:
    """Setup, shell, tests, git, files that last from one command to the next; then a review."""
    steps = (runs(WORKS), runs("cat /tmp/note"), commits("A test"), completes("Tested."))
    task = team.give("docs", "Test", *steps)
    agent = team.until_handed_over(task)
    said = json_text(team.prompts(task)[-1])
    assert "ALL-OF-IT-WORKS" in said and "made by the setup" in said and "kept" in said
    changed = git(*TREE, f"origin/{agent.branch}", cwd=team.github.clone("octo/demo"))
    assert "test_sum.py" in changed.split()
    team.github.does("maria", "PUT", f"/repos/octo/demo/pulls/{agent.pull_request}/merge", {})
    team.until(task, State.COMPLETED)


def test_nothing_of_the_service_is_in_reach(team: Squad) -> None:
    """Its files, its processes, its environment, its network; and no other agent's work."""
    data, port = team.directory / "data", team.service.url.rpartition(":")[2]
    attempts = {
        "the database": f"test -e {data}/squadron.sqlite",
        "another agent": f"test $(ls {data}/agents | wc -l) != 1",
        "the service": f"exec 3<>/dev/tcp/127.0.0.1/{port}",
        "another machine": "echo x >/dev/udp/192.0.2.1/53",
        "the key": f"cat {team.github.about['private_key_file']}",
    }
    steps = [runs(f"{each} && echo REACHED $((40 + 2))") for each in attempts.values()]
    steps += [runs("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'"), runs("id")]
    task = team.give("docs", "Look around", *steps, completes("Seen."))
    team.until(task, State.COMPLETED)
    said = json_text(team.prompts(task)[-1])
    assert "REACHED 42" not in said
    assert "uid=1000(agent)" in said
    assert not [canary for canary in CANARIES if canary in said]


def test_what_runs_behind_the_walls_ends_with_its_agent(team: Squad) -> None:
    steps = (writes("half.txt", "half"), waits_for(team.signal("never")))
    task = team.issue("Close me", *steps).by("docs")
    team.label(task, "squadron:docs")
    agent = team.until(task, State.ACTIVE)
    half = team.workspace(agent.id) / "half.txt"
    until(half.exists, "it has begun", failing=team.check_alive)
    until(lambda: team.processes(agent.id), "it waits", failing=team.check_alive)
    team.close(task)
    team.until(task, State.CANCELLED)
    until(lambda: not team.processes(agent.id), "nothing of it runs", failing=team.check_alive)
    branch = git(*TREE, f"origin/{agent.branch}", cwd=team.github.clone("octo/demo"))
    assert "half.txt" in branch.split()
