"""Turns of the embedded runtime: the gate's verdicts, closing tools, and the ends of a turn.

The shells and files are real, and the stories run over every wire format.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.runtimes.embedded import Bounds
from app.core.breaker.verdict import Verdict
from app.ports import (
    Halted,
    Idle,
    ModelUsage,
    ReportedBlocked,
    ReportedComplete,
    RuntimeFailed,
    ToolCall,
    ToolResult,
)
from app.scripted.script import Answer, Call, Conversation, Scripts, Speaker, calls, text
from app.scripted.server import ScriptedServer
from tests.contract.embedded import (
    KEY,
    QUICK,
    SUMMARY_PROMPT,
    WIRES,
    RecordingGate,
    World,
    bash,
    story,
)

DONE = Call("report_complete", {"summary": "fixed"})


@pytest.fixture(params=WIRES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, Scripts(()), request.param)
    if request.param == "scripted:":
        yield world
        return
    with ScriptedServer(Scripts(()), api_key=KEY) as server:
        world.server = server
        yield world


@pytest.fixture
def local(tmp_path: Path) -> World:
    return World(tmp_path, Scripts(()))


def play(world: World, scripts: Scripts) -> None:
    world.scripts = scripts
    if world.server is not None:
        world.server.scripts = scripts


async def test_tools_work_until_the_agent_reports(world: World) -> None:
    heard: list[str] = []

    def last(conversation: Conversation) -> Answer:
        heard.append(conversation.last_tool_result)
        return calls(DONE, say="all done")

    play(
        world,
        story(
            calls(Call("create", {"path": "src/a.txt", "text": "one\ntwo\n"})),
            calls(Call("edit", {"path": "src/a.txt", "old": "two", "new": "three"})),
            calls(bash("cat src/a.txt; exit 3")),
            last,
        ),
    )
    async with world.session() as session:
        assert await session.turn("SCENARIO:story fix it") == ReportedComplete("fixed")
    assert (world.workspace / "src/a.txt").read_text() == "one\nthree\n"
    assert "one\nthree\n\n[exit code 3]" in heard[0].replace("\\n", "\n")
    tools = [(call.tool, result.ok, result.exit_code) for call, result in world.gate.ended]
    assert tools == [("create", True, None), ("edit", True, None), ("bash", False, 3)]
    assert len(world.gate.usage) == 4
    assert all(each.model == world.model and each.input_tokens for each in world.gate.usage)


async def test_the_model_sees_the_system_prompt_and_the_prompt_apart(world: World) -> None:
    seen: list[Conversation] = []

    def look(conversation: Conversation) -> Answer:
        seen.append(conversation)
        return text("hello")

    play(world, story(look))
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == Idle("hello")
    assert seen[0].said_by(Speaker.SYSTEM) == ("You are a test.",)
    assert seen[0].said_by(Speaker.USER) == ("SCENARIO:story",)


async def test_a_warning_reaches_the_model_and_the_tool_runs(world: World) -> None:
    seen: list[Conversation] = []

    def look(conversation: Conversation) -> Answer:
        seen.append(conversation)
        return calls(DONE)

    play(world, story(calls(bash("echo ran > proof")), look))
    world.gate.warn_at = 1
    async with world.session() as session:
        await session.turn("SCENARIO:story")
    assert (world.workspace / "proof").exists()
    assert "WRAP UP: close to max_tool_calls" in seen[0].said_by(Speaker.USER)


async def test_after_a_halt_the_summary_turn_can_still_report(world: World) -> None:
    play(
        world,
        story(
            calls(bash("echo 1 >> proof"), say="first"),
            calls(bash("echo 2 >> proof"), say="second"),
            calls(bash("echo never >> proof")),
            summary=calls(Call("report_complete", {"summary": "half"}), bash("echo no >> proof")),
        ),
    )
    world.gate.most_tools = 1
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == Halted("second")
        asked = len(world.gate.usage)
        assert asked == 2
        assert await session.summarise(SUMMARY_PROMPT, 3) == ReportedComplete("half")
    assert (world.workspace / "proof").read_text() == "1\n"
    assert len(world.gate.refused) == 2
    assert [call.id for call, _ in world.gate.ended] == [call.id for call in world.gate.allowed]


async def test_parallel_calls_run_exactly_as_often_as_the_gate_allows(world: World) -> None:
    play(world, story(calls(*(bash(f"echo {n} >> proof") for n in range(40)))))
    world.gate.most_tools = 17
    async with world.session() as session:
        assert isinstance(await session.turn("SCENARIO:story"), Halted)
    assert len((world.workspace / "proof").read_text().split()) == 17
    assert len(world.gate.ended) == 17
    assert len(world.gate.refused) == 23
    assert len(world.gate.usage) == 1


async def test_unknown_and_malformed_calls_are_counted_and_answered(world: World) -> None:
    heard: list[tuple[str, ...]] = []

    def look(conversation: Conversation) -> Answer:
        heard.append(conversation.said_by(Speaker.TOOL))
        return calls(DONE)

    play(
        world,
        story(
            calls(
                Call("launch_rocket", {"to": "moon"}),
                Call("bash", '{"command": '),
                Call("bash", {"command": "true", "timeout_seconds": 100_000}),
            ),
            look,
        ),
    )
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert [call.tool for call in world.gate.allowed] == ["launch_rocket", "bash", "bash"]
    assert [result.ok for _, result in world.gate.ended] == [False, False, False]
    assert "unknown tool 'launch_rocket'" in heard[0][0]
    assert "bash" in heard[0][1]
    assert "timeout_seconds" in heard[0][2]


async def test_only_the_tools_of_the_order_work(local: World) -> None:
    play(local, story(calls(bash("echo no > proof"), Call("view", {"path": "."})), calls(DONE)))
    local.tools = ("view",)
    async with local.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert not (local.workspace / "proof").exists()
    assert {call.tool: result.ok for call, result in local.gate.ended} == {
        "bash": False,
        "view": True,
    }


async def test_working_tools_run_before_the_closing_tool_of_the_same_answer(local: World) -> None:
    play(local, story(calls(DONE, bash("echo ran > proof"))))
    async with local.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert (local.workspace / "proof").exists()
    assert [call.tool for call in local.gate.allowed] == ["bash"]


@pytest.mark.parametrize("blocked_by", [[4, 7], ["#4", "7"]])
async def test_a_blocked_report_names_issues(local: World, blocked_by: list[object]) -> None:
    report = Call("report_blocked", {"reason": "needs an API", "blocked_by": blocked_by})
    play(local, story(calls(report)))
    async with local.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedBlocked("needs an API", (4, 7))
    assert not local.gate.allowed


async def test_the_first_of_two_reports_counts(world: World) -> None:
    blocked = Call("report_blocked", {"reason": "changed my mind"})
    play(world, story(calls(DONE, blocked, bash("echo denied")), text("still here")))
    world.gate.most_tools = 0
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
        assert await session.turn("go on") == Idle("still here")


async def test_a_turn_may_end_without_a_word(world: World) -> None:
    play(world, story(lambda told: text("now" if "speak!" in told.said_by(Speaker.USER) else "")))
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == Idle("")
        assert await session.turn("speak!") == Idle("now")


async def test_a_malformed_report_does_not_end_the_turn(local: World) -> None:
    play(local, story(calls(Call("report_blocked", {"blocked_by": "soon"})), calls(DONE)))
    async with local.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")


async def test_answers_of_which_nothing_runs_end_the_turn(local: World) -> None:
    play(local, story(*[calls(Call("report_complete", {})) for _ in range(50)]))
    async with local.session() as session:
        assert isinstance(await session.turn("SCENARIO:story"), Halted)
    assert len(local.gate.usage) == QUICK.most_fruitless_answers


async def test_a_turn_ends_at_its_bound_of_model_calls(local: World) -> None:
    look = Call("view", {"path": "."})
    play(local, story(*[calls(look, say=f"step {n}") for n in range(60)]))
    async with local.session() as session:
        assert await session.summarise("SCENARIO:story", 3) == Halted("step 2")
        assert len(local.gate.usage) == 3
        assert await session.turn("go on") == Idle("done")
    assert len(local.gate.usage) == 61


async def test_long_last_words_are_shortened(local: World) -> None:
    play(local, story(text("x" * 100_000)))
    async with local.session() as session:
        end = await session.turn("SCENARIO:story")
    assert isinstance(end, Idle)
    assert len(end.text) < 8_200


class Raising(RecordingGate):
    async def before_tool(self, call: ToolCall) -> Verdict:
        raise ConnectionError("the database is gone")


class Hanging(RecordingGate):
    async def before_tool(self, call: ToolCall) -> Verdict:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


@pytest.mark.parametrize("gate", [Raising, Hanging])
async def test_without_a_verdict_nothing_runs(local: World, gate: type[RecordingGate]) -> None:
    play(local, story(*[calls(bash("echo ran > proof"))] * 50))
    local.gate = gate()
    local.bounds = Bounds(gate_seconds=0.05)
    async with local.session() as session:
        assert isinstance(await session.turn("SCENARIO:story"), Halted)
    assert not (local.workspace / "proof").exists()
    assert not local.gate.ended
    assert len(local.gate.usage) == local.bounds.most_fruitless_answers


class Forgetful(RecordingGate):
    async def used(self, usage: ModelUsage) -> None:
        raise ConnectionError("the database is gone")


class Deaf(RecordingGate):
    async def after_tool(self, call: ToolCall, result: ToolResult) -> str:
        raise ConnectionError("the database is gone")


@pytest.mark.parametrize("gate", [Forgetful, Deaf])
async def test_what_cannot_be_counted_ends_the_turn(
    local: World, gate: type[RecordingGate]
) -> None:
    play(local, story(calls(bash("true")), calls(DONE)))
    local.gate = gate()
    async with local.session() as session:
        end = await session.turn("SCENARIO:story")
    assert isinstance(end, RuntimeFailed)
    assert "could not be recorded" in end.reason
