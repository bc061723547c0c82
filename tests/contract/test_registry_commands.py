"""`squadron explain` and `squadron limits suggest`, on a registry that agents have written."""

import asyncio
import json
import os
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from app.cli.main import app
from app.core.agents.agent import AgentId, Effect, EffectName, EffectState
from app.core.limits import Limits
from app.ports import HeardCommands
from tests.contract.store_support import NOON
from tests.support.past import Past, a_past


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("SQUADRON_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SQUADRON_DATA_DIR", str(tmp_path))


def squadron(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments])


def registry(directory: Path) -> AbstractContextManager[Past]:
    return a_past(f"sqlite:///{directory / 'squadron.sqlite3'}")


def test_explain_tells_the_story_of_a_stop(tmp_path: Path) -> None:
    async def life(past: Past) -> AgentId:
        agent = await past.worked(9, limits=Limits(max_tool_calls=5))
        await past.published(
            agent,
            Effect(
                EffectName.CHECK, EffectState.DONE, url="https://github.example/check/1", attempts=2
            ),
            Effect(
                EffectName.ISSUE, EffectState.REFUSED, attempts=1, error="410: issues are disabled"
            ),
        )
        return agent

    with registry(tmp_path) as past:
        agent = asyncio.run(life(past))
    told = squadron("explain", str(agent))
    assert told.exit_code == 0, told.output
    for line in (
        "octo/demo#1/bug-fix/1 is ESCALATED.",
        "Started by ada (label squadron:bug-fix) at 2026-05-04 12:00:00.",
        "It worked for 6 s: 5 tool calls, 0 model calls, 0 tokens, $0.00.",
        "Worker worker-1 ran it.",
        "Stopped at 12:00:06 by the hook layer: max_tool_calls reached: 5 of 5 tool calls.",
        "  max_tool_calls             5 of 5 tool calls: warned at 4 (12:00:04), stopped at 5"
        " (12:00:06)",
        "  5. 12:00:05 view: 4.py",
        "  then view was refused: 5.py",
        "  check: done https://github.example/check/1",
        "  issue: GitHub refuses it: 410: issues are disabled",
    ):
        assert line in told.stdout.splitlines(), told.stdout
    whole = squadron("explain", str(agent), "--timeline").stdout
    head, _, lines = whole.partition("\nTimeline (UTC)\n")
    assert head == told.stdout
    assert lines.splitlines()[:3] == [
        "  2026-05-04 12:00:00 ada started it: label squadron:bug-fix",
        "  2026-05-04 12:00:00 It went to work on worker-1",
        "  2026-05-04 12:00:01 view: 0.py",
    ]
    assert "  2026-05-04 12:00:06 view was refused: max_tool_calls" in lines
    with registry(tmp_path) as past:
        past.at_issue(1)
        at_work = asyncio.run(past.begun("worker-2"))
    told = squadron("explain", str(at_work))
    assert "Worker worker-2 runs it." in told.stdout.splitlines(), told.stdout
    assert json.loads(squadron("explain", str(at_work), "--json").stdout)["agent"]["worker"] == (
        "worker-2"
    )
    shown = json.loads(squadron("explain", str(agent), "--json").stdout)
    assert {"agent", "events", "warnings", "iterations", "effects"} <= shown.keys()
    assert shown["signs"] == []
    assert shown["agent"]["trip"]["observed"] == 5
    assert (shown["decision"], shown["stays"]) == (None, []), "its own segment ended it"
    assert shown["effects"] == [
        {
            "name": "check",
            "state": "done",
            "url": "https://github.example/check/1",
            "attempts": 2,
            "error": None,
        },
        {
            "name": "issue",
            "state": "refused",
            "url": None,
            "attempts": 1,
            "error": "410: issues are disabled",
        },
    ]


def test_explain_tells_who_told_the_agent_what(tmp_path: Path) -> None:
    """Issue 4, "Commands": everything is audited: who, when, what."""
    needs_human = 9
    given = {
        "before it was there": ("tom", 1, -1, ("/squadron stop",), False),
        "on its issue": ("maria", 1, 60, ("/squadron raise max_tool_calls +5", "\x1b[2J"), False),
        "of another issue": ("tom", 2, 61, ("/squadron stop",), False),
        "on its needs-human issue": ("ada", needs_human, 62, ("retry",), True),
    }

    async def life(past: Past) -> AgentId:
        agent = await past.worked(9, limits=Limits(max_tool_calls=5))
        issue = Effect(EffectName.ISSUE, EffectState.DONE, number=needs_human)
        await past.published(agent, issue)
        for name, (by, thread, after_seconds, lines, refused) in given.items():
            at = NOON + timedelta(seconds=after_seconds)
            await past.heard(HeardCommands("octo/demo", name, None, thread, by, lines, refused, at))
        return agent

    with registry(tmp_path) as past:
        agent = asyncio.run(life(past))
    told = squadron("explain", str(agent)).stdout
    assert told.endswith(
        "\nWhat people told it\n"
        "  2026-05-04 12:01:00 maria: /squadron raise max_tool_calls +5; ·[2J (done)\n"
        "  2026-05-04 12:01:02 ada: retry (not all of it was done)\n"
    ), told
    shown = json.loads(squadron("explain", str(agent), "--json").stdout)
    assert [(one["by"], one["thread"], one["refused"]) for one in shown["commands"]] == [
        ("maria", 1, False),
        ("ada", needs_human, True),
    ]
    assert shown["commands"][0]["lines"] == ["/squadron raise max_tool_calls +5", "\x1b[2J"]


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_an_id_can_be_copied_from_the_table_whatever_the_terminals_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    role = "a-role-with-the-longest-name-of-them-all"

    async def life(past: Past) -> AgentId:
        return await past.worked(9, role=role, limits=Limits(max_tool_calls=5))

    with registry(tmp_path) as past:
        agent = asyncio.run(life(past))
    monkeypatch.setenv("COLUMNS", columns)
    told = squadron("agents")
    assert told.exit_code == 0, told.output
    assert str(agent) in told.stdout
    assert "tool_calls 5/5" in told.stdout


def test_an_agent_that_is_not_there_is_told_by_its_name(tmp_path: Path) -> None:
    with registry(tmp_path):
        pass
    missing = squadron("explain", "octo/demo#9/pm/1")
    assert (missing.exit_code, "there is no agent octo/demo#9/pm/1" in missing.stderr) == (1, True)
    assert squadron("explain", "nonsense").exit_code == 2


def test_the_newest_agent_of_an_issue_is_told_by_the_issue(tmp_path: Path) -> None:
    async def lives(past: Past) -> tuple[AgentId, AgentId]:
        first = await past.worked(9, limits=Limits(max_tool_calls=5))
        return first, await past.merged(3, after=first)

    with registry(tmp_path) as past:
        first, second = asyncio.run(lives(past))
    assert (first.attempt, second.attempt) == (1, 2)
    for called in ("octo/demo#1", "Octo/Demo#1", "octo/demo#1/bug-fix"):
        assert squadron("explain", called).stdout.startswith(f"{second} is COMPLETED."), called
    assert squadron("explain", str(first)).stdout.startswith(f"{first} is ESCALATED.")
    for called in ("octo/demo#2", "octo/demo#1/pm"):
        missing = squadron("explain", called)
        assert (missing.exit_code, f"there is no agent {called} " in missing.stderr) == (1, True)


def test_limits_are_suggested_from_what_agents_used(tmp_path: Path) -> None:
    async def lives(past: Past) -> None:
        for _ in range(11):
            await past.worked(20)
        await past.worked(90)
        await past.worked(60, limits=Limits(max_tool_calls=50))
        await past.worked(3, role="pm")

    with registry(tmp_path) as past:
        asyncio.run(lives(past))
    done = squadron("limits", "suggest", "--json")
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert [each["role"] for each in shown["roles"]] == ["bug-fix", "pm"]
    bug_fix, pm = shown["roles"]
    assert (bug_fix["finished"], bug_fix["stopped"], bug_fix["enough"]) == (12, 1, True)
    assert bug_fix["limits"]["max_tool_calls"] == {
        "present": 50,
        "finished": {"median": 20, "p95": 90, "max": 90},
        "stopped": {"median": 50, "p95": 50, "max": 50},
        "tripped": 1,
        "held": 0,
        "warned": 1,
        "passed": 0,
        "wrong": 0,
        "judged": 1,
        "suggested": 120,
        "capped_by": None,
        "changes": {
            "finished_stopped": [],
            "stopped_gone_on": ["octo/demo#13/bug-fix/1"],
            "stopped_earlier": [],
        },
    }
    assert (pm["finished"], pm["enough"]) == (1, False)
    assert all(each["suggested"] is None for each in pm["limits"].values())
    block = yaml.safe_load(shown["yaml"])["circuit_breakers"]["roles"]
    assert block["bug-fix"]["max_tool_calls"] == 120

    told = squadron("limits", "suggest", "--role", "pm").stdout
    assert told == (
        "pm: 1 agent finished, 0 stopped by a limit (octo/demo)\n"
        "  Too little history: nothing is suggested before 10 have finished.\n\n"
    )
    assert "circuit_breakers:\n  roles:\n    bug-fix:" in squadron("limits", "suggest").stdout


def test_suggestions_stand_in_columns_whatever_their_figures(tmp_path: Path) -> None:
    """A session of 26 million tokens is nothing special."""

    async def lives(past: Past) -> None:
        for _ in range(10):
            await past.worked(1, tokens=26_000_000)
        await past.worked(60, limits=Limits(max_tool_calls=50, max_tokens=30_000_000))

    with registry(tmp_path) as past:
        asyncio.run(lives(past))
    told = squadron("limits", "suggest").stdout.splitlines()
    head, tokens = (
        next(line for line in told if line.startswith(f"  {word} "))
        for word in ("limit", "max_tokens")
    )
    assert head.split() == [
        "limit",
        "now",
        "median",
        "p95",
        "max",
        "stop",
        "pause",
        "warn",
        "wrong",
    ]
    assert tokens.split()[:5] == ["max_tokens", "30.0M", "26.0M", "26.0M", "26.0M"]
    calls = next(line for line in told if line.startswith("  max_tool_calls "))
    assert calls.split()[-4:] == ["1", "0", "1", "0/1"]
    assert len({len(head), len(tokens), len(calls)}) == 1
    assert len(head) <= 80


def test_every_stop_is_told_with_all_that_was_used_and_what_people_made_of_it(
    tmp_path: Path,
) -> None:
    async def lives(past: Past) -> tuple[AgentId, AgentId]:
        stopped = await past.worked(9, limits=Limits(max_tool_calls=5))
        retried = await past.merged(3, after=stopped)
        await past.worked(9, role="pm", limits=Limits(max_tool_calls=4))
        await past.worked(9, role="docs")
        return stopped, retried

    with registry(tmp_path) as past:
        stopped, retried = asyncio.run(lives(past))
    told = squadron("limits", "trips")
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines()[:6] == [
        f"2026-05-04 12:00 UTC  {stopped}",
        "  max_tool_calls, 5 of 5 tool calls: stopped it (hook)",
        "  It breaks; model openai:x",
        "  by then 0 turns, 5 tool calls, 0 model calls, 0 tokens, $0.00, 6 s",
        "  last call: view: 4.py",
        f"  wrong: retried as {retried}, and the work was taken",
    ]
    assert told.stdout.endswith("  right: nobody took it back\n2 times a limit was reached.\n")

    lines = squadron("limits", "trips", "--role", "bug-fix", "--json").stdout.splitlines()
    [shown] = [json.loads(line) for line in lines]
    assert (shown["agent"], shown["limit"], shown["came"]) == (
        str(stopped),
        "max_tool_calls",
        "stop",
    )
    assert (shown["observed"], shown["maximum"], shown["layer"]) == (5, 5, "hook")
    assert shown["limits"]["max_turns"]["observed"] == 0
    assert (shown["elapsed_seconds"], shown["cost_usd"], shown["last_call"]) == (6, 0, "view: 4.py")
    assert (shown["judged"], shown["taken_back"]) == ("wrong", f"retried as {retried}")


def test_how_often_limits_were_right_is_told(tmp_path: Path) -> None:
    async def lives(past: Past) -> None:
        stopped = await past.worked(9, limits=Limits(max_tool_calls=5))
        await past.merged(3, after=stopped)
        await past.worked(9, limits=Limits(max_tool_calls=5))
        await past.worked(9, role="pm", limits=Limits(max_tool_calls=4))

    with registry(tmp_path) as past:
        asyncio.run(lives(past))
    told = squadron("limits", "precision")
    assert (told.exit_code, told.stdout.splitlines()) == (
        0,
        [
            "limit              role  right  wrong  open  precision",
            "max_tool_calls  bug-fix      1      1     0        50%",
            "max_tool_calls       pm      1      0     0       100%",
            "all                          2      1     0        67%",
        ],
    )
    shown = json.loads(squadron("limits", "precision", "--role", "bug-fix", "--json").stdout)
    figures = {"right": 1, "wrong": 1, "open": 0, "precision": 0.5}
    where = {"limit": "max_tool_calls", "role": "bug-fix"}
    assert shown == {"limits": [{**where, **figures}], "all": figures}


def test_where_no_limit_was_reached_it_says_so(tmp_path: Path) -> None:
    with registry(tmp_path) as past:
        asyncio.run(past.worked(9, limits=Limits(max_tool_calls=5)))
    assert squadron("limits", "trips", "--days", "1").stdout == "No limit was reached.\n"
    nothing = "No limit has stopped or paused an agent.\n"
    assert squadron("limits", "precision", "--days", "1").stdout == nothing
    assert squadron("limits", "precision", "--role", "pm").exit_code == 1


def test_a_ceiling_of_the_operator_caps_a_suggestion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lives(past: Past) -> None:
        for _ in range(10):
            await past.worked(20)

    with registry(tmp_path) as past:
        asyncio.run(lives(past))
    operator = tmp_path / "operator.yaml"
    operator.write_text("ceilings: {max_tool_calls: 22}\n")
    monkeypatch.setenv("SQUADRON_CONFIG", str(operator))
    (shown,) = json.loads(squadron("limits", "suggest", "--json").stdout)["roles"]
    calls = shown["limits"]["max_tool_calls"]
    assert (calls["suggested"], calls["capped_by"]) == (22, "ceiling")


def test_a_repository_is_found_in_capitals_too(tmp_path: Path) -> None:
    with registry(tmp_path) as past:
        agent = asyncio.run(past.worked(2))
    told = squadron("explain", str(agent).replace("octo/demo", "OCTO/Demo"))
    assert (told.exit_code, told.stdout.splitlines()[0]) == (0, f"{agent} is COMPLETED.")
    (shown,) = json.loads(
        squadron("limits", "suggest", "--repository", "OCTO/Demo", "--json").stdout
    )["roles"]
    assert shown["repositories"] == ["octo/demo"]


def test_a_repository_in_which_nobody_ever_worked_is_told(tmp_path: Path) -> None:
    with registry(tmp_path) as past:
        asyncio.run(past.worked(2))
    elsewhere = squadron("limits", "suggest", "--repository", "octo/nobody")
    assert (elsewhere.exit_code, elsewhere.stdout) == (1, "")
    words = "no agent has ever worked in octo/nobody; `squadron agents` lists them\n"
    assert elsewhere.stderr == words
    both = squadron("limits", "suggest", "--repository", "octo/demo", "--role", "pm")
    assert "no agent of the role pm has ever worked in octo/demo" in both.stderr


def test_an_empty_registry_and_a_role_that_never_worked_are_told(tmp_path: Path) -> None:
    with registry(tmp_path):
        pass
    assert "nothing to learn from" in squadron("limits", "suggest").stdout
    unknown = squadron("limits", "suggest", "--role", "pm")
    assert (unknown.exit_code, "no agent of the role pm" in unknown.stderr) == (1, True)


def test_without_a_registry_the_command_says_what_is_missing() -> None:
    done = squadron("limits", "suggest")
    assert done.exit_code == 1
    assert "has `squadron serve` run here?" in done.stderr
