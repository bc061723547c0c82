"""Limits that follow what agents used: by a pull request, or step by step (`adaptive`).

The past is written into the registry; the rest is real: GitHub, git, configuration, database. The
weekly work is handed to the service's own handler, so that a test need not wait for a week.
"""

import asyncio
import base64
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from app.bootstrap import Service, build
from app.cli.main import app
from app.config.settings import load_settings
from app.core.agents.lifecycle import State
from app.core.limits import LimitName
from app.ports import Reconcile
from app.services.handlers.reconciliation import ADAPT
from tests.support import processes
from tests.support.github import BOT, GitHub, running_box
from tests.support.past import Past, a_past
from tests.support.people import REPOSITORY
from tests.support.squad import WEBHOOK_SECRET, WITHOUT_SANDBOX, squad
from tests.support.steps import completes
from tests.support.waiting import until

pytestmark = pytest.mark.full

CONFIG = """\
# What we agreed on in March.
circuit_breakers:
  defaults: {max_turns: 40}   # enough
  roles:
    bug-fix:
      max_tool_calls: 200     # seed 002
    # pm: nothing special
test_commands: {add: ["./try.sh"]}
"""
FILES = {"README.md": "# Demo\n", ".squadron/config.yaml": CONFIG}
PULLS = f"/repos/{REPOSITORY}/pulls?state=all"


async def twelve_agents(past: Past) -> None:
    """They needed 100 calls: 130 are suggested instead of 200."""
    for _ in range(12):
        await past.worked(100)


async def nine_agents(past: Past) -> None:
    for _ in range(9):
        await past.worked(100)


@contextmanager
def house(
    directory: Path,
    adaptive: str,
    history: Callable[[Past], Coroutine[Any, Any, None]] = twelve_agents,
    files: dict[str, str] = FILES,
    **operator: Any,
) -> Iterator[tuple[GitHub, Service, dict[str, str]]]:
    """A service that was built and not started, with its GitHub and its past."""
    data = directory / "data"
    data.mkdir(mode=0o700, parents=True)
    url = f"sqlite:///{data / 'squadron.sqlite3'}"
    with a_past(url) as past:
        asyncio.run(history(past))
    rules = directory / "operator.yaml"
    rules.write_text(json.dumps({"adaptive": adaptive, "sandbox": WITHOUT_SANDBOX, **operator}))
    with ExitStack() as stack:
        github = stack.enter_context(
            running_box(
                directory / "box",
                {REPOSITORY: files},
                {"maria": "write"},
                WEBHOOK_SECRET,
                "http://127.0.0.1:9/webhook",
            )
        )
        environment = {
            **processes.base_environment(directory),
            "SQUADRON_GITHUB_APP_ID": str(github.about["app_id"]),
            "SQUADRON_GITHUB_PRIVATE_KEY_FILE": github.about["private_key_file"],
            "SQUADRON_WEBHOOK_SECRET": WEBHOOK_SECRET,
            "SQUADRON_GITHUB_API_URL": github.url,
            "SQUADRON_GITHUB_GIT_URL": github.about["git_url"],
            "SQUADRON_DATA_DIR": str(data),
            "SQUADRON_DATABASE_URL": url,
            "SQUADRON_CONFIG": str(rules),
            "SQUADRON_MODEL": "openai:scripted",
        }
        service = build(load_settings(environment))
        stack.callback(service.database.dispose)
        stack.callback(service.writer.close)
        stack.callback(lambda: asyncio.run(service.engine.stop(0)))
        yield github, service, environment
        github.check_contract()


def weeks(service: Service, count: int = 1) -> None:
    """So many Mondays."""

    async def all_of_them() -> None:
        for number in range(count):
            work = Reconcile(ADAPT, f"adapt:{number}")
            await service.perform(work)

    asyncio.run(all_of_them())


def content(github: GitHub, branch: str) -> str:
    found = github.sees(f"/repos/{REPOSITORY}/contents/.squadron/config.yaml?ref={branch}")
    return base64.b64decode(found["content"]).decode()


def test_one_pull_request_says_what_to_change_and_why_and_is_not_repeated(tmp_path: Path) -> None:
    with house(tmp_path, "propose") as (github, service, _):
        weeks(service)
        (request,) = github.lists(PULLS)
        assert request["user"]["login"] == BOT
        assert request["title"] == "Limits of bug-fix from what their agents used"
        assert "max_tool_calls: 200 -> 130" in request["body"]
        assert "would have stopped none that finished" in request["body"]
        new = content(github, request["head"]["ref"])
        kept = [line for line in CONFIG.splitlines() if "max_tool_calls" not in line]
        assert [line for line in new.splitlines() if line in kept] == kept
        assert "      max_tool_calls: 130     # seed 002\n" in new
        assert yaml.safe_load(new)["test_commands"] == {"add": ["./try.sh"]}
        assert content(github, "main") == CONFIG
        assert github.commits(REPOSITORY, request["head"]["ref"])[0]["author"]["login"] == BOT

        weeks(service, 2)  # people still read it
        assert len(github.lists(PULLS)) == 1
        number = request["number"]
        github.does("maria", "PATCH", f"/repos/{REPOSITORY}/pulls/{number}", {"state": "closed"})
        weeks(service, 2)  # they said no
        assert len(github.lists(PULLS)) == 1


def test_while_people_read_a_proposal_there_is_no_other(tmp_path: Path) -> None:
    async def two_larger_ones(past: Past) -> None:
        for _ in range(2):
            await past.worked(120)

    with house(tmp_path, "propose") as (github, service, environment):
        weeks(service)
        with a_past(environment["SQUADRON_DATABASE_URL"], issues=12) as past:
            asyncio.run(two_larger_ones(past))
        weeks(service)
        (request,) = github.lists(PULLS)
        path = f"/repos/{REPOSITORY}/pulls/{request['number']}"
        github.does("maria", "PATCH", path, {"state": "closed"})
        weeks(service)
        new = github.lists(PULLS)[0]
        assert "max_tool_calls: 150" in content(github, new["head"]["ref"])


def test_a_merged_proposal_is_what_new_agents_get(tmp_path: Path) -> None:
    with house(tmp_path, "propose") as (github, service, _):
        weeks(service)
        (request,) = github.lists(PULLS)
        github.does("maria", "PUT", f"/repos/{REPOSITORY}/pulls/{request['number']}/merge", {})
        assert "max_tool_calls: 130" in content(github, "main")
        weeks(service)  # nothing is left to say
        assert len(github.lists(PULLS)) == 1


def test_a_pass_that_died_between_push_and_request_goes_on(tmp_path: Path) -> None:
    with house(tmp_path, "propose") as (github, service, _):
        fault = {"kind": "error", "method": "POST", "path": "pulls", "status": 500, "count": 1}
        github.orders("faults", {**fault, "phase": "before"})
        weeks(service)
        assert github.lists(PULLS) == []
        weeks(service)
        (request,) = github.lists(PULLS)
        assert "max_tool_calls: 130" in content(github, request["head"]["ref"])


@pytest.mark.parametrize("adaptive", ["propose", "apply", "off"])
def test_too_little_history_and_off_change_nothing(tmp_path: Path, adaptive: str) -> None:
    past = twelve_agents if adaptive == "off" else nine_agents
    with house(tmp_path, adaptive, past) as (github, service, _):
        weeks(service)
        assert github.lists(PULLS) == []
        assert asyncio.run(service.store.adapted(REPOSITORY)) == []


def test_a_broken_configuration_is_left_alone(tmp_path: Path) -> None:
    broken = {**FILES, ".squadron/config.yaml": "circuit_breakers: [1]\n"}
    with house(tmp_path, "propose", files=broken) as (github, service, _):
        weeks(service)
        assert github.lists(PULLS) == []


def test_a_limit_moves_by_a_quarter_a_week_and_is_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with house(tmp_path, "apply") as (github, service, environment):
        weeks(service)
        moved = {each.name: each for each in asyncio.run(service.store.adapted(REPOSITORY))}
        assert (moved[LimitName.MAX_TOOL_CALLS].base, moved[LimitName.MAX_TOOL_CALLS].value) == (
            200, 150,
        )  # fmt: skip
        lines = [vars(each) for each in caplog.records if each.message == "LIMIT_ADAPTED"]
        assert ("max_tool_calls", 150) in {(line["limit"], line["value"]) for line in lines}
        weeks(service, 3)
        moved = {each.name: each for each in asyncio.run(service.store.adapted(REPOSITORY))}
        assert moved[LimitName.MAX_TOOL_CALLS].value == 130
        assert github.lists(PULLS) == []

        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        told = CliRunner().invoke(app, ["limits", "suggest"]).stdout
        assert f"  {REPOSITORY} bug-fix max_tool_calls: 200 -> 130 (since" in told
        shown = json.loads(CliRunner().invoke(app, ["limits", "suggest", "--json"]).stdout)
        values = {each["limit"]: each["value"] for each in shown["adapted"]}
        assert values["max_tool_calls"] == 130


def test_new_agents_work_under_the_limits_that_were_moved(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'past.sqlite3'}"
    with a_past(url, issues=100) as past:
        asyncio.run(twelve_agents(past))
    with squad(
        tmp_path, {REPOSITORY: FILES}, database_url=url, operator={"adaptive": "apply"}
    ) as team:
        team.until_logged("LIMIT_ADAPTED", limit="max_tool_calls", value=150, configured=200)
        task = team.give("bug-fix", "Look", completes("Nothing to do."))
        assert team.agent(task).assignment.limits.max_tool_calls == 150
        team.until(task, State.COMPLETED)


def test_the_service_looks_by_itself_when_it_starts(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'past.sqlite3'}"
    with a_past(url) as past:
        asyncio.run(twelve_agents(past))
    with squad(
        tmp_path, {REPOSITORY: FILES}, database_url=url, operator={"adaptive": "propose"}
    ) as team:
        (request,) = until(lambda: team.github.lists(PULLS), "a proposal", failing=team.check_alive)
        assert request["head"]["ref"].startswith("squadron/limits-")
