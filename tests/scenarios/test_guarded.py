"""What one repository, pull request, agent or delivery does to a pass is its own trouble.

Issues, "What cannot wait", 9: one pull request of a stranger switched reconciliation off.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from app.cli.main import app
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from tests.scenarios.test_configuration import checks, opens, pushes
from tests.support.deliveries import deliver
from tests.support.people import REPOSITORY, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes, runs
from tests.support.waiting import until

pytestmark = pytest.mark.full

OTHER: Final = "octo/other"
TOO_MANY: Final = "roles:\n" + "".join(f"  r{number}: {{x: 1}}\n" for number in range(201))


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    pauses: dict[str, Any] = {"short": {"max_tool_calls": 1, "on_limit": "pause"}, "docs": {}}
    repositories = {REPOSITORY: repository(pauses), OTHER: repository({"docs": {}})}
    with squad(tmp_path_factory.mktemp("guarded"), repositories) as team:
        team.reconciles(1)
        yield team


def test_a_strangers_configuration_stops_no_pass(team: Squad) -> None:
    fork = team.github.orders("fork", {"repository": REPOSITORY, "user": "rita"})["full_name"]

    def change(clone: Path) -> None:
        (clone / ".squadron/config.yaml").write_text(TOO_MANY)

    with team.github.trouble(kind="lost", event=".*"):  # only passes find it
        head = pushes(team, "theirs", change, fork, by="rita")
        opens(team, "rita:theirs", by="rita")
        [check] = until(lambda: checks(team, head), "a check", failing=team.check_alive)
        task = team.issue("Elsewhere", completes("Done."), repository=OTHER).by("docs")
        team.label(task, "squadron:docs")
        team.until(task, State.COMPLETED)
    assert "403 mistakes" in check["output"]["title"]
    done = team.reconciles(2)[-1]
    assert (done["repositories"], done["failed"]) == (2, {})


def test_an_agent_with_an_impossible_row_is_listed_and_holds_nobody_up(team: Squad) -> None:
    """The log tells of it once, not in every pass."""
    steps = [runs("echo 1 > a.txt"), runs("echo 2 > b.txt"), completes("Done.")]
    broken = team.give("short", "Breaks", *steps)
    agent = team.until(broken, State.PAUSED, Waits.RAISE).id
    team.until_comment(broken, "[squadron:short] The agent is paused: ")
    team.settle()
    team.reconciles(1)
    team.tolerates("not reconciled: ValueError")
    with team.registry.impossible_parent(agent):
        failed = team.reconciles(3)[-1]["failed"]
        assert str(agent) in failed
        with team.github.trouble(kind="lost", event="issues.labeled"):
            task = team.issue("Next to it", completes("Done.")).by("docs")
            team.label(task, "squadron:docs")
            team.until(task, State.COMPLETED)
        told = team.asks_api("GET", "/api/agents")
        assert told.status_code == 200, told.text
        assert told.json()["last_pass"]["failed"] == failed
        shown = CliRunner().invoke(app, ["agents"], env=dict(team.service.environment))
        assert shown.exit_code == 0, shown.output
        assert str(agent) in shown.output
    assert team.reconciles(2)[-1]["failed"] == {}
    traces = [
        line
        for line in team.service.lines()
        if line["message"].startswith("not reconciled: ") and line.get("what") == str(agent)
    ]
    assert len(traces) == 1, traces


def test_a_delivery_that_nobody_can_handle_is_listed_and_holds_no_other_up(team: Squad) -> None:
    steps = [runs("echo 1 > a.txt"), runs("echo 2 > b.txt"), completes("Done.")]
    broken = team.give("short", "Breaks anew", *steps)
    agent = team.until(broken, State.PAUSED, Waits.RAISE).id
    team.until_comment(broken, "[squadron:short] The agent is paused: ")
    team.settle()
    for words in ("not reconciled: ", "not handled", "delivery given up: ValueError"):
        team.tolerates(words)
    with team.registry.unreadable(agent):
        team.comment(broken, "/squadron status")
        task = team.issue("Behind it", completes("Done.")).by("docs")
        team.label(task, "squadron:docs")
        team.until(task, State.COMPLETED)
        given_up = team.until_logged(
            "delivery given up: ValueError, which nobody has foreseen: see the log"
            " (after 4 attempts)"
        )
    told = team.asks_api("GET", "/api/agents").json()["dead_deliveries"]
    [dead] = [one for one in told if one["delivery"] == given_up["delivery"]]
    assert (dead["event"], dead["issue"]) == ("issue_comment", broken.number)


def test_half_a_character_in_a_name_is_handled_and_told(team: Squad) -> None:
    """It was dropped after four attempts, and the API answered 500."""
    task = team.issue("Surrogate", completes("Done.")).by("docs")
    team.settle()
    [labelled] = [
        one["payload"]
        for one in team.github.exchanges()
        if one.get("payload", {}).get("action") == "opened"
        and one["payload"].get("issue", {}).get("number") == task.number
    ]
    payload = json.loads(json.dumps({**labelled, "action": "labeled"}))
    payload["label"] = {"name": "squadron:docs"}
    payload["sender"]["login"] = "half\ud800"
    assert deliver(team, "issues", payload, "half-a-character").status_code == 202
    team.settle()
    told = team.asks_api("GET", "/api/agents")
    assert told.status_code == 200, told.text
    refused = [one for one in told.json()["not_started"] if one["issue"] == task.number]
    assert [one["by"] for one in refused] == ["half\ufffd"], told.text
