"""What makes a workspace ready: commands that reach what the operator lets them, and no more."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from app.config.operator import OperatorConfig
from app.config.repository import read_repository
from app.core.agents.agent import Assignment, Task
from app.core.agents.events import HostRefused
from app.core.agents.lifecycle import State
from app.core.rules.plan import RoleKind
from app.services.starting.predecessor import assignment_of
from app.services.world import PlanReading
from tests.scenarios import local_internet
from tests.support.github import git
from tests.support.people import repository
from tests.support.sandbox import BUBBLEWRAP
from tests.support.squad import Squad, json_text, squad
from tests.support.steps import completes, runs

pytestmark = [pytest.mark.full, BUBBLEWRAP]
FETCH = "python3 -c 'import urllib.request as r; print(r.urlopen(\"{}\").read().decode())'"
"""With a real client, which looks at the variables for proxies."""


SCRIPT = """\
#!/usr/bin/env bash
false | true && echo unnoticed >> .git/prepared
test -f README.md  # in the workspace
echo "$0 after $(cat .git/fetched 2>/dev/null)" >> .git/prepared
"""


class Packages(BaseHTTPRequestHandler):
    """A host that has what a setup wants."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(f"{self.headers['Host']}{self.path}")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"a package")

    def log_message(self, format: str, *words: object) -> None:
        pass


@dataclass
class World:
    team: Squad
    port: int

    def url(self, host: str) -> str:
        return f"http://{host}:{self.port}/package"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("prepared")
    with ThreadingHTTPServer(("127.0.0.1", 0), Packages) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        port = host.server_port
        fetch, lost = (
            FETCH.format(f"http://{name}.test:{port}/package") for name in ("packages", "other")
        )
        roles = {
            "docs": {"setup": [f"{lost} || true", f"{fetch} > .git/fetched"]},
            "lost": {"setup": [lost]},
            "installs": {"setup": ["sh install.sh"]},
            "changed": {"setup": ["echo 'echo theirs >> .git/prepared' > .squadron/setup.sh"]},
        }
        scripts = {
            ".squadron/setup.sh": SCRIPT,
            "install.sh": f"{fetch}; echo ours > installed\n",
            "package.json": "{}\n",
        }
        walls = {"mode": "required", "egress": ["packages.test"]}
        with squad(
            directory,
            {"octo/demo": repository(roles, files=scripts)},
            operator={"sandbox": walls},
            program="tests.scenarios.local_internet",
            further_environment={local_internet.PORT: str(port)},
        ) as team:
            yield World(team, port)
        host.shutdown()


def explained(world: World, agent: object) -> str:
    shown = world.team.service.commands("explain", str(agent))
    assert shown.returncode == 0, shown.stderr
    return shown.stdout


def test_a_setup_reaches_what_is_listed_and_the_agent_nothing(world: World) -> None:
    team, other = world.team, f"other.test:{world.port}"
    steps = [
        runs("cat .git/fetched .git/prepared; echo found in $PATH"),
        runs(FETCH.format(world.url("packages.test"))),
    ]
    task = team.give("docs", "Look", *steps, completes("Nothing to do."))
    agent = team.until(task, State.COMPLETED)
    told = json_text(team.prompts(task)[-1])
    assert "a package" in told, "what the setup has fetched is there"
    assert ".squadron/setup.sh after a package" in told, "the script runs after the commands"
    assert "unnoticed" not in told
    assert "found in /usr/local/sbin:" in told, "the service's own PATH plays no part"
    assert "urlopen error" in told, "an agent's own command has no network"
    assert Packages.asked == [f"packages.test:{world.port}/package"]
    [refused] = [each for each in team.registry.log(agent.id) if isinstance(each, HostRefused)]
    why = "is not on the operator's list, `sandbox.egress`"
    assert (refused.host, refused.why, refused.times) == (other, why, 1)
    assert f"Hosts that its setup did not reach\n  {other} {why} (once)\n" in explained(
        world, agent.id
    )
    team.until_logged(f"a setup did not reach a host: {why}", host=other, agent=str(agent.id))


def test_a_setup_that_fails_names_whom_it_did_not_reach(world: World) -> None:
    team = world.team
    task = team.give("lost", "Prepare", completes("Never asked."))
    agent = team.until_escalated(task)
    assert agent.failure is not None and agent.failure.cause == "setup_failed"
    assert "403: Forbidden by Squadron" in agent.failure.reason
    assert agent.failure.reason.endswith(
        f"It did not reach: other.test:{world.port} is not on the operator's list, `sandbox.egress`"
    )
    assert not (team.workspace(agent.id) / ".git/prepared").exists(), "nothing runs after it"
    counters = team.registry.counters(agent.id)
    assert (counters.fix_cycles, counters.model_calls, counters.turns) == (0, 0, 0)


def test_the_script_is_the_default_branchs_whatever_the_clone_holds(world: World) -> None:
    team = world.team
    steps = [runs("cat .git/prepared; git checkout --quiet .squadron"), completes("Nothing.")]
    task = team.give("changed", "Look", *steps)
    team.until(task, State.COMPLETED)
    told = json_text(team.prompts(task)[-1])
    assert ".squadron/setup.sh after" in told and "theirs" not in told


def proposes(world: World, branch: str, **files: str) -> str:
    """Somebody pushes a branch whose setup would tell a host what it finds; its name."""
    clone = world.team.github.clone("octo/demo")
    git("switch", "--quiet", "--force-create", branch, "origin/main", cwd=clone)
    tells = FETCH.format(world.url("packages.test").replace("package", "stolen"))
    written = {"install.sh": f"{tells}; echo theirs > installed\n", **files}
    for path, text in written.items():
        (clone / path).write_text(text)
    git("add", "--all", cwd=clone)
    git("commit", "--quiet", "--message", "Install otherwise", cwd=clone)
    git("push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{branch}", cwd=clone)
    return branch


SEES = runs("cat installed install.sh; git status --branch --porcelain")
LACKS = "dependencies that its branch adds or changes were not installed"


@pytest.mark.parametrize("manifest", ["{}", '{"dependencies": {"left-pad": "1"}}'])
def test_a_setup_works_on_the_default_branch_alone_whatever_the_agents_branch_holds(
    world: World, manifest: str
) -> None:
    team = world.team
    task = team.issue("Go on", SEES, completes("Nothing more.")).by("installs")
    files = {"package.json": f"{manifest}\n"}
    branch = proposes(world, f"squadron/installs/issue-{task.number}", **files)
    Packages.asked.clear()
    team.label(task, "squadron:installs")
    agent = team.until_handed_over(task)
    assert Packages.asked == [f"packages.test:{world.port}/package"]
    told = json_text(team.prompts(task)[-1])
    assert "ours" in told and "theirs > installed" in told, "the work is there"
    assert f"## {branch}" in told and "?? installed" in told
    is_other = manifest != "{}"
    assert (LACKS in explained(world, agent.id)) is is_other
    assert ("dependencies that your branch adds or changes are not installed" in told) is is_other


def test_who_reviews_runs_no_script() -> None:
    """What a pull request holds is a stranger's."""
    plan = read_repository({"setup.sh": SCRIPT}, OperatorConfig()).plan
    assert plan is not None
    kinds = {}
    for name in ("bug-fix", "pr-review", "pm"):
        assignment = assignment_of(PlanReading(plan, ()), name, Task("", ""), "openai:scripted")
        assert isinstance(assignment, Assignment)
        kinds[assignment.kind] = assignment.setup_script
    assert kinds == {RoleKind.WORK: SCRIPT, RoleKind.REVIEW: "", RoleKind.TRIAGE: ""}


def test_a_script_that_fails_is_the_reason_with_its_line(world: World) -> None:
    team = world.team
    clone = team.github.clone("octo/demo")
    with (clone / ".squadron/setup.sh").open("a") as file:
        file.write("echo broken >&2\nno-such-command\necho never\n")
    git("commit", "--quiet", "--all", "--message", "Break it", cwd=clone)
    git("push", "--quiet", cwd=clone)
    team.settle()
    agent = team.until_escalated(team.give("feat-dev", "Prepare", completes("Never asked.")))
    assert agent.failure is not None and agent.failure.cause == "setup_failed"
    assert "`.squadron/setup.sh` ended with exit code 127: broken" in agent.failure.reason
    assert ".squadron/setup.sh: line 6: no-such-command" in agent.failure.reason
    assert "never" not in agent.failure.reason
