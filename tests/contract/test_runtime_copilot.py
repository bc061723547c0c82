"""The Copilot runtime under its gate: the real CLI against a scripted model, no network, no key."""

import asyncio
from pathlib import Path

import pytest

from app.adapters.runtimes.copilot import Bounds
from app.core.agents.events import ToolKind
from app.core.breaker.verdict import Answer, Verdict
from app.ports import (
    Halted,
    Idle,
    ReportedBlocked,
    ReportedComplete,
    ToolCall,
    ToolResult,
)
from app.scripted.script import Answer as Said
from app.scripted.script import Call, calls
from app.scripted.server import ScriptedServer
from tests.contract.copilot import MakeBench, offered
from tests.contract.embedded import (
    COMPACTIONS,
    SUMMARY_PROMPT,
    RecordingGate,
    bash,
    processes_holding,
    story,
    until,
)
from tests.support.clis import NEEDS_COPILOT

pytestmark = [pytest.mark.full, NEEDS_COPILOT]

GO = "SCENARIO:story go"
MANY = 60.0
"""Seconds: far more than anything here takes, on a machine that is busy with other things."""


def told(server: ScriptedServer) -> str:
    """All that the model was told in the newest request."""
    return "\n".join(each.text for each in server.requests[-1].conversation.messages)


async def test_work_is_asked_for_counted_and_reported(copilot: MakeBench, tmp_path: Path) -> None:
    path = str(tmp_path / "workspace" / "n.txt")
    made = copilot(
        story(
            calls(bash("echo hi; exit 3", description="says hi")),
            Said("I write it.", (Call("create", {"path": path, "file_text": "N"}),)),
            calls(Call("report_complete", {"summary": "did it"})),
        )
    )
    gate = made.recording
    async with made.session() as session:
        assert not session.is_resumed
        end = await session.turn(GO)
    assert end == ReportedComplete("did it")
    assert [(each.tool, each.kind) for each in gate.allowed] == [
        ("bash", ToolKind.SHELL),
        ("create", ToolKind.WRITE),
    ]
    assert gate.allowed[0].args == {"command": "echo hi; exit 3"}
    shell, written = (result for _, result in gate.ended)
    assert shell == ToolResult(ok=False, exit_code=3, output="hi")
    assert written.ok and (made.workspace / "n.txt").read_text() == "N"
    assert len(gate.requests) == len(gate.usage) == len(made.server.requests) == 3
    assert [each.has_text for each in gate.usage] == [False, True, False]
    assert "You are a test." in made.server.requests[0].conversation.messages[0].text


async def test_usage_is_what_the_model_said(copilot: MakeBench) -> None:
    cached = Said("done", cache_read_tokens=1_000)
    made = copilot(story(calls(bash("true", description="d")), cached))
    async with made.session() as session:
        assert await session.turn(GO) == Idle("done")
    first, last = made.recording.usage
    assert first.input_tokens > 1_000 and first.output_tokens > 0
    assert last.cache_read_tokens == 1_000 and last.input_tokens > 1_000
    assert first.model == made.model


async def test_a_compaction_is_asked_for_and_counted_like_any_call(copilot: MakeBench) -> None:
    """It has no hook; the CLI sums up beside its work, and goes on with what was said."""
    long = Said("", (bash("true", description="d"),), cache_read_tokens=250_000)
    made = copilot(
        story(
            long,
            calls(bash("true", description="d")),
            calls(bash("touch AFTER", description="d")),
            calls(Call("report_complete", {"summary": "did it"})),
        )
    )
    async with made.session() as session:
        assert await session.turn(GO) == ReportedComplete("did it")
    requests, gate = made.server.requests, made.recording
    told = [each.conversation.messages[-1].text for each in requests]
    assert sum(COMPACTIONS[-1] in each for each in told) == 1
    assert len(gate.requests) == len(gate.usage) == len(requests) == 5
    assert (made.workspace / "AFTER").exists()


async def test_a_denied_tool_does_not_run(copilot: MakeBench) -> None:
    made = copilot(story(calls(bash("touch DENIED", description="d")), Said("gave up")))
    made.gate = Denying()
    async with made.session() as session:
        assert await session.turn(GO) == Idle("gave up")
    assert not (made.workspace / "DENIED").exists()
    assert "not while I watch" in told(made.server)


async def test_a_halt_lets_what_was_allowed_end_and_leaves_a_summary(copilot: MakeBench) -> None:
    made = copilot(
        story(
            Said("Three.", tuple(bash(f"sleep 0.3; touch {n}", description=n) for n in "abc")),
            Said("never said"),
            summary=Said("I made one of three."),
        )
    )
    made.gate = RecordingGate(most_tools=1)
    async with made.session() as session:
        end = await session.turn(GO)
        assert end == Halted("Three.")
        assert sorted(each.name for each in made.workspace.iterdir()) == ["a"]
        assert len(made.recording.ended) == 1
        summary = await session.summarise(SUMMARY_PROMPT, 2)
    assert isinstance(summary, Idle) and summary.text.startswith("I made one of three.")
    assert len(made.server.requests) == 2


async def test_parallel_calls_are_counted_exactly(copilot: MakeBench) -> None:
    made = copilot(story(Said("", tuple(bash(f"touch {n}", description="d") for n in range(8)))))
    made.gate = RecordingGate(most_tools=5)
    async with made.session() as session:
        assert isinstance(await session.turn(GO), Halted)
    assert len(list(made.workspace.iterdir())) == len(made.recording.ended) == 5


async def test_a_warning_reaches_the_model(copilot: MakeBench) -> None:
    made = copilot(story(calls(bash("true", description="d")), Said("done")))
    made.gate = RecordingGate(warn_at=1)
    async with made.session() as session:
        await session.turn(GO)
    assert "WRAP UP: close to max_tool_calls" in told(made.server)


@pytest.mark.parametrize("kind", ["raises", "is slow", "returns nonsense"])
async def test_a_tool_without_a_verdict_does_not_run(copilot: MakeBench, kind: str) -> None:
    made = copilot(story(calls(bash("touch RAN", description="d")), Said("gave up")))
    made.gate = Broken(kind)
    made.bounds = Bounds(gate_seconds=0.5 if kind == "is slow" else 20.0)
    async with made.session() as session:
        assert await session.turn(GO) == Idle("gave up")
    assert not (made.workspace / "RAN").exists()
    assert "gave no verdict" in told(made.server)


async def test_a_session_goes_on_in_a_new_process(copilot: MakeBench) -> None:
    made = copilot(story(Said("half"), calls(bash("touch later", description="d")), Said("whole")))
    async with made.session() as session:
        assert await session.turn(GO) == Idle("half")
    async with made.session() as again:
        assert again.is_resumed
        assert await again.turn("Go on.") == Idle("whole")
    assert (made.workspace / "later").exists()
    assert len(made.recording.allowed) == 1  # the hooks are there again


async def test_interrupted_while_the_model_thinks(copilot: MakeBench) -> None:
    made = copilot(story(Said("never heard", think_seconds=MANY)))
    async with made.session() as session:
        turn = asyncio.create_task(session.turn(GO))
        await until(lambda: made.server.requests, MANY)
        await session.interrupt()
        assert await asyncio.wait_for(turn, MANY) == Halted("")


async def test_interrupted_while_a_command_runs_it_ends_and_nothing_follows(
    copilot: MakeBench,
) -> None:
    command = "touch STARTED; until [ -e GO ]; do sleep 0.05; done"
    made = copilot(story(Said("I wait.", (bash(command, description="d"),)), Said("never said")))
    async with made.session() as session:
        turn = asyncio.create_task(session.turn(GO))
        await until((made.workspace / "STARTED").exists, MANY)
        await session.interrupt()
        (made.workspace / "GO").touch()
        assert await asyncio.wait_for(turn, MANY) == Halted("I wait.")
    assert [result.exit_code for _, result in made.recording.ended] == [0]
    assert len(made.server.requests) == 1


async def test_closing_leaves_no_survivors(copilot: MakeBench, tmp_path: Path) -> None:
    mark = f"86{abs(hash(str(tmp_path))) % 10_000:04}"
    command = f"setsid sleep {mark} & (trap '' TERM; touch STARTED; sleep {mark})"
    made = copilot(story(calls(bash(command, description="d"))))
    async with made.session() as session:
        turn = asyncio.create_task(session.turn(GO))
        await until((made.workspace / "STARTED").exists, MANY)
        await session.close()
        assert await turn == Halted("")
    assert not processes_holding(mark)
    assert len(made.recording.ended) == 1  # the gate knows that the command is over


async def test_the_tools_of_a_role(copilot: MakeBench) -> None:
    made = copilot(story(calls(Call("report_blocked", {"reason": "why?", "blocked_by": "#3"}))))
    made.more = {"tools": ("view",)}
    async with made.session() as session:
        assert await session.turn(GO) == ReportedBlocked("why?", (3,))
    assert offered(made.server) == {
        *("view", "grep", "glob"),
        *("report_complete", "report_blocked", "request_increase"),
    }


async def test_the_gate_stops_a_model_call(copilot: MakeBench) -> None:
    made = copilot(story(calls(bash("true", description="d")), Said("never said")))
    made.gate = RecordingGate(most_requests=1)
    async with made.session() as session:
        assert isinstance(await session.turn(GO), Halted)
    assert len(made.server.requests) == 1


async def test_an_agent_that_is_only_denied_is_stopped(copilot: MakeBench) -> None:
    step = calls(bash("true", description="d"))
    made = copilot(story(*[step] * 30))
    made.gate = Denying()
    made.bounds = Bounds(most_fruitless_calls=3)
    async with made.session() as session:
        assert isinstance(await session.turn(GO), Halted)
    assert len(made.server.requests) == 3


class Denying(RecordingGate):
    """Denies every tool."""

    async def before_tool(self, call: ToolCall) -> Verdict:
        return Verdict(Answer.DENY, "not while I watch")


class Broken(RecordingGate):
    """Has no verdict to give."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    async def before_tool(self, call: ToolCall) -> Verdict:
        if self.kind == "raises":
            raise OSError("the store is away")
        if self.kind == "is slow":
            await asyncio.sleep(MANY)
        return None  # type: ignore[return-value]
