"""`squadron agents`: who is there, who needs me, what is near its limit."""

import asyncio
import json
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli.main import app
from app.core.agents.agent import AgentId, Effect, EffectName, EffectState
from app.core.agents.events import Braked, HeldUp, Waits
from app.core.agents.lifecycle import State
from app.core.agents.steps import HoldBack, Pause, Sleep
from app.core.agents.stops import Hold, Layer
from app.core.limits import LimitName, Limits
from tests.contract.store_support import NOON
from tests.support.past import Past, a_past

PEOPLE_ARE_NEEDED_BY = {
    "asks": ("SLEEPING (answer)", "comment on #1"),
    "is paused": ("PAUSED (raise)", "/squadron resume on #2"),
    "was stopped": ("ESCALATED", "/squadron retry on #3"),
    "has no provider": ("QUEUED (provider)", "see to openai"),
    "has no budget": ("QUEUED (budget)", "raise the budget"),
    "is braked": ("QUEUED", "squadron resume"),
    "is refused": ("COMPLETED", "mend what GitHub refuses"),
    "does not start": ("QUEUED", "see squadron workers"),
}
NOBODY_IS_NEEDED_BY = ("is under review", "is done", "was taken over", "took it over")
HOLD = Hold(
    limit=LimitName.MAX_TOOL_CALLS,
    observed=50,
    maximum=50,
    layer=Layer.HOOK,
    at=NOON,
    reason="max_tool_calls reached: 50 of 50.",
)


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("SQUADRON_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SQUADRON_DATA_DIR", str(tmp_path))


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[dict[str, AgentId]]:
    """One of each kind, by what it does."""

    def held_up(waits_for: Waits, why: str) -> HoldBack:
        provider = "openai" if waits_for is Waits.PROVIDER else None
        told = HeldUp(at=NOON, waits_for=waits_for, why=why)
        return HoldBack(told, missing_provider=provider)

    async def lives(past: Past) -> dict[str, AgentId]:
        brake = Braked(at=NOON, why="maria paused octo/demo.", scope="octo/demo", since=NOON)
        refused = Effect(EffectName.COMMENT, EffectState.REFUSED, error="403: it is locked")
        there = {
            "asks": await past.went(Sleep(Waits.ANSWER, "Red or blue?")),
            "is paused": await past.went(Pause(HOLD), role="pm"),
            "was stopped": await past.worked(9, limits=Limits(max_tool_calls=5)),
            "has no provider": await past.went(held_up(Waits.PROVIDER, "openai is away.")),
            "has no budget": await past.went(held_up(Waits.BUDGET, "The day's is spent.")),
            "is braked": await past.went(HoldBack(brake)),
            "is refused": await past.worked(3),
            "does not start": await past.waits(),
            "is under review": await past.went(Sleep(Waits.REVIEW, "handed over")),
            "is done": await past.worked(3, tokens=100),
            "was taken over": await past.worked(9, limits=Limits(max_tool_calls=5)),
        }
        await past.published(there["is refused"], refused)
        there["took it over"] = await past.merged(3, after=there["was taken over"])
        return there

    with a_past(f"sqlite:///{tmp_path / 'squadron.sqlite3'}") as past:
        yield asyncio.run(lives(past))


def squadron(*arguments: str, columns: int = 80) -> Result:
    return CliRunner().invoke(app, ["agents", *arguments], env={"COLUMNS": str(columns)})


def test_each_agent_is_one_line_of_80_columns_and_the_last_is_their_sum(
    agents: dict[str, AgentId],
) -> None:
    told = squadron()
    assert told.exit_code == 0, told.output
    head, *lines = told.stdout.splitlines()
    assert head.split() == ["agent", "state", "nearest", "limit", "cost", "age"]
    *its, total, nobody_works = lines
    found = {line.split()[0]: line for line in its}
    assert len(its) == len(found) == len(agents)
    assert {*found} == {str(agent) for agent in agents.values()}
    assert max(map(len, lines)) <= 80
    assert " tool_calls 5/5 " in found[str(agents["was stopped"])]
    assert "… " in found[str(agents["asks"])]
    assert " active_duration 1m/2h " in found[str(agents["is under review"])]
    assert total == "12 agents: 8 need you, 4 queued, 5 ended"
    assert nobody_works == "No worker takes agents, and 1 in the queue: see squadron workers."


def test_who_waits_for_a_person_is_told_with_what_that_person_can_do(
    agents: dict[str, AgentId],
) -> None:
    told = squadron("--needs-me")
    assert told.exit_code == 0, told.output
    head, *lines = told.stdout.splitlines()
    assert head.split() == ["agent", "state", "needs", "you", "to", "for", "left"]
    found = {line.split()[0]: line for line in lines[:-1]}
    assert [*found] == [str(agents[what]) for what in PEOPLE_ARE_NEEDED_BY]
    for what, (state, action) in PEOPLE_ARE_NEEDED_BY.items():
        line = found[str(agents[what])]
        assert f" {state} " in line and f" {action} " in line, what
        assert len(line) <= 80
    assert not any(str(agents[what]) in told.stdout for what in NOBODY_IS_NEEDED_BY)
    assert lines[-1] == "8 agents: 8 need you, 4 queued, 2 ended"


def listed(*arguments: str) -> list[str]:
    told = squadron(*arguments, "--json")
    assert told.exit_code == 0, told.output
    return [agent["id"] for agent in json.loads(told.stdout)["agents"]]


def test_filters_and_orders(agents: dict[str, AgentId]) -> None:
    everybody = [str(agent) for agent in agents.values()]
    assert listed() == everybody
    assert listed("--role", "pm") == [str(agents["is paused"])]
    assert listed("--repo", "Octo/DEMO", "--state", "paused") == [str(agents["is paused"])]
    assert listed("--repo", "octo/nobody") == []
    asleep = listed("--state", "sleeping", "--state", "PAUSED")
    assert asleep == [str(agents[what]) for what in ("asks", "is paused", "is under review")]
    noon = listed("--since", (NOON + timedelta(hours=8)).isoformat())
    assert str(agents["is under review"]) in noon and str(agents["asks"]) not in noon
    assert listed("--since", "1h") == []
    nearest = str(agents["asks"])
    assert listed("--sort", "limit")[-1] == nearest, "it sleeps far longer than it may"
    last = {str(agents[what]) for what in ("was taken over", "took it over")}
    assert {*listed("--sort", "changed")[-2:]} == last


def test_what_is_no_filter_is_told(agents: dict[str, AgentId]) -> None:
    for wrong, words in (
        (("--state", "asleep"), "'asleep' is not one of"),
        (("--since", "yesterday"), "write 30m, 2h, 3d, or a date as 2026-11-29"),
        (("--sort", "size"), "'size' is not one of"),
    ):
        told = squadron(*wrong)
        assert told.exit_code == 2
        assert words in " ".join(told.stderr.replace("│", " ").split()), told.stderr


def test_an_id_that_is_too_long_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    role = "a-role-with-the-longest-name-of-them-all"

    async def life(past: Past) -> AgentId:
        return await past.worked(9, role=role, limits=Limits(max_tool_calls=5))

    with a_past(f"sqlite:///{tmp_path / 'squadron.sqlite3'}") as past:
        agent = asyncio.run(life(past))
    for columns, own_line in ((40, True), (80, True), (200, False)):
        lines = squadron(columns=columns).stdout.splitlines()
        assert (str(agent) in lines) == own_line, columns
        assert any(str(agent) in line for line in lines), columns
        state = [line for line in lines if State.ESCALATED.value in line]
        assert [line.startswith(" ") for line in state] == [own_line], columns


def test_a_terminal_has_colours_and_links_and_a_pipe_has_none(
    agents: dict[str, AgentId], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" not in squadron().stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    told = squadron().stdout
    assert ";https://github.com/octo/demo/issues/3\x1b" in told
    assert "\x1b[31mESCALATED" in told
