"""Sessions of the embedded runtime: interrupted, closed, resumed, compacted."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.adapters.runtimes.embedded import Bounds
from app.ports import Halted, Idle, ReportedComplete, RuntimeFailed, SessionDamaged
from app.scripted.script import Answer, Call, Conversation, Scripts, Speaker, calls, text
from app.scripted.server import ScriptedServer
from tests.contract.embedded import (
    QUICK,
    SUMMARY_PROMPT,
    World,
    bash,
    flood,
    processes_holding,
    story,
    until,
)

DONE = Call("report_complete", {"summary": "fixed"})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, Scripts(()))


def asked(server: ScriptedServer) -> int:
    return len(server.requests)


@pytest.mark.parametrize("model", ["openai:gpt-4o", "anthropic:claude-haiku-4-5"])
async def test_an_interrupted_model_request_ends_at_once(world: World, model: str) -> None:
    thinking = story(Answer("late", think_seconds=60.0), summary=calls(DONE))
    with ScriptedServer(thinking) as server:
        world.server, world.model = server, model
        async with world.session() as session:
            turn = asyncio.create_task(session.turn("SCENARIO:story"))
            await until(lambda: asked(server))
            await session.interrupt()
            async with asyncio.timeout(5):
                assert await turn == Halted("")
            assert await session.turn(SUMMARY_PROMPT) == ReportedComplete("fixed")
    assert asked(server) == 2


async def test_an_interrupted_shell_may_end_and_nothing_follows(world: World) -> None:
    world.scripts = story(
        calls(bash("touch begun; until test -e go; do sleep 0.01; done; touch ended")),
        calls(bash("touch never")),
    )
    async with world.session() as session:
        turn = asyncio.create_task(session.turn("SCENARIO:story"))
        await until((world.workspace / "begun").exists)
        await session.interrupt()
        (world.workspace / "go").touch()
        assert await turn == Halted("")
    assert (world.workspace / "ended").exists()
    assert not (world.workspace / "never").exists()
    assert [result.ok for _, result in world.gate.ended] == [True]
    assert len(world.gate.usage) == 1


async def test_closing_kills_what_a_shell_has_started(world: World) -> None:
    nap = f"sleep 61.{abs(hash(world.directory)) % 10**9}"
    world.scripts = story(calls(bash(f"({nap} & {nap}) & touch begun; {nap}")))
    async with world.session() as session:
        turn = asyncio.create_task(session.turn("SCENARIO:story"))
        await until((world.workspace / "begun").exists)
        await until(lambda: len(processes_holding(nap.replace(" ", "\0"))) == 3)
        await session.close()
        assert await turn == Halted("")
        await until(lambda: not processes_holding(nap))
        await session.close()
        assert isinstance(await session.turn("again"), RuntimeFailed)
    assert [(result.ok, result.output) for _, result in world.gate.ended] == [
        (False, "(cancelled)")
    ]


async def test_a_cancelled_caller_takes_the_shell_with_it(world: World) -> None:
    nap = f"sleep 62.{abs(hash(world.directory)) % 10**9}"
    world.scripts = story(calls(bash(f"touch begun; {nap}")))
    async with world.session() as session:
        turn = asyncio.create_task(session.turn("SCENARIO:story"))
        await until((world.workspace / "begun").exists)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert not processes_holding(nap)


async def test_one_turn_at_a_time(world: World) -> None:
    world.scripts = story(Answer("late", think_seconds=60.0))
    async with world.session() as session:
        turn = asyncio.create_task(session.turn("SCENARIO:story"))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="one turn at a time"):
            await session.turn("another")
        await session.close()
        assert await turn == Halted("")


async def test_a_command_ends_at_its_time_bound(world: World) -> None:
    heard: list[str] = []

    def look(conversation: Conversation) -> Answer:
        heard.append(conversation.last_tool_result)
        return calls(DONE)

    world.scripts = story(calls(bash("echo begun; sleep 60", timeout_seconds=1)), look)
    async with world.session() as session:
        await session.turn("SCENARIO:story")
    assert "begun" in heard[0]
    assert "killed after 1 seconds" in heard[0]
    assert [(result.ok, result.exit_code) for _, result in world.gate.ended] == [(False, None)]


async def test_a_new_session_goes_on_where_the_old_one_ended(world: World) -> None:
    world.scripts = story(text("first"), text("second"), text("third"))
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == Idle("first")
    async with world.session() as session:
        assert await session.turn("and then?") == Idle("second")
        assert await session.turn("and then?") == Idle("third")


@pytest.mark.parametrize("model", ["openai:gpt-4o", "anthropic:scripted"])
async def test_a_conversation_cut_by_a_crash_goes_on(world: World, model: str) -> None:
    with ScriptedServer(story(calls(bash("true"), bash("true")), calls(DONE))) as server:
        world.server, world.model = server, model
        async with world.session() as session:
            await session.turn("SCENARIO:story")
        saved = world.directory / "session" / "session.json"
        answer_last = json.loads(saved.read_text())[:2]
        assert [message["kind"] for message in answer_last] == ["request", "response"]
        saved.write_text(json.dumps(answer_last))
        saved.with_suffix(".new").write_text("torn")
        async with world.session() as session:
            assert await session.turn("you were interrupted") == ReportedComplete("fixed")
        told = server.requests[-1].conversation
    assert told.said_by(Speaker.USER)[-1] == "you were interrupted"
    assert len(told.said_by(Speaker.TOOL)) == 2


async def test_a_damaged_conversation_is_not_silently_forgotten(world: World) -> None:
    saved = world.directory / "session" / "session.json"
    saved.parent.mkdir()
    saved.write_text("[{]")
    with pytest.raises(SessionDamaged, match=r"session\.json: the saved conversation is damaged"):
        async with world.session():
            pass


@pytest.mark.parametrize("model", ["openai:gpt-4o", "anthropic:scripted", "scripted:"])
async def test_a_full_conversation_is_compacted(world: World, model: str) -> None:
    seen: list[Conversation] = []

    def look(conversation: Conversation) -> Answer:
        seen.append(conversation)
        return calls(DONE)

    scripts = story(*map(flood, "abcd"), look, summary=text("I flooded it."))
    world.scripts, world.model = scripts, model
    world.bounds = Bounds(context_tokens=10_000)
    with ScriptedServer(scripts) as server:
        world.server = server
        async with world.session() as session:
            assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert world.gate.turns == 0, "who prompts counts the turns; the prompt was sent once"
    assert len(world.gate.allowed) == 4
    assert len(world.gate.usage) == 5 + 2
    users = "\n".join(seen[0].said_by(Speaker.USER))
    assert "SCENARIO:story" in users
    assert "I flooded it." in users
    assert len(seen[0].messages) < 5
    assert max(each.input_tokens for each in world.gate.usage) < 13_000


async def test_a_refused_compaction_halts(world: World) -> None:
    world.scripts = story(*map(flood, "abcd"))
    world.bounds, world.gate.most_requests = Bounds(context_tokens=10_000), 2
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == Halted("")
    assert len(world.gate.usage) == 2


async def test_a_conversation_that_cannot_be_saved_fails_the_turn(world: World) -> None:
    world.scripts = story(text("first"))
    async with world.session() as session:
        unfinished = world.directory / "session" / "session.new"
        unfinished.mkdir()
        end = await session.turn("SCENARIO:story")
    assert isinstance(end, RuntimeFailed)
    assert "cannot be saved" in end.reason


def test_no_model_library_is_loaded_before_a_session_is_opened() -> None:
    loads = (
        "import sys, app.adapters.runtimes.embedded;"
        "print([name for name in ('pydantic_ai', 'openai', 'anthropic') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", loads], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "[]\n"


def test_the_bounds_of_product_use() -> None:
    assert Bounds().gate_seconds == 20.0
    assert Bounds().request_seconds == 300.0
    assert QUICK.most_retries == Bounds().most_retries == 2
