"""What an agent asks of others: more of a limit from people, and work from sub-agents."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.core.agents.events import ToolKind
from app.core.limits import LimitName
from app.ports import (
    Continuation,
    Delegation,
    Halted,
    IncreaseRequested,
    ReportedComplete,
    ToolResult,
)
from app.scripted.script import Answer, Call, Conversation, Scripts, Speaker, calls
from app.scripted.server import ScriptedServer
from tests.contract.embedded import KEY, WIRES, World, bash, story, until

DONE = Call("report_complete", {"summary": "fixed"})
TASK = Call("task", {"role": "qa", "prompt": "test it", "limits": {"max_tool_calls": 5}})


@pytest.fixture(params=WIRES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with ScriptedServer(Scripts(()), api_key=KEY) as server:
        yield World(tmp_path, Scripts(()), request.param, server=server)


@pytest.fixture
def local(tmp_path: Path) -> World:
    return World(tmp_path, Scripts(()))


def play(world: World, *answers: Answer) -> list[tuple[str, ...]]:
    """Let the model play these answers and then report; what it has read by then is added."""
    read: list[tuple[str, ...]] = []

    def last(conversation: Conversation) -> Answer:
        read.append(conversation.said_by(Speaker.TOOL))
        return calls(DONE)

    world.scripts = story(*answers, last)
    if world.server is not None:
        world.server.scripts = world.scripts
    return read


def increase(**args: object) -> Call:
    asked = {"limit": "max_tool_calls", "amount": 100, "evidence": "7 of 9 tests pass"}
    return Call("request_increase", {**asked, **args})


@dataclass
class Delegated:
    """A delegate that remembers, and answers when it is told to."""

    result: ToolResult = field(
        default_factory=lambda: ToolResult(ok=True, exit_code=None, output="all tests pass")
    )
    asked: list[Delegation | Continuation] = field(default_factory=list)
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, asked: Delegation | Continuation) -> ToolResult:
        self.asked.append(asked)
        await self.answers.wait()
        return self.result


def ready() -> Delegated:
    delegate = Delegated()
    delegate.answers.set()
    return delegate


async def test_asking_for_more_ends_the_turn_and_is_no_tool_call(world: World) -> None:
    play(world, calls(increase()))
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == IncreaseRequested(
            LimitName.MAX_TOOL_CALLS, 100, "7 of 9 tests pass"
        )
        assert not world.gate.allowed
        assert await session.turn("granted: 100 more") == ReportedComplete("fixed")


async def test_asking_for_more_is_never_denied_beside_tools_that_are(world: World) -> None:
    play(world, calls(bash("echo ran > proof"), increase()))
    world.gate.most_tools = 0
    async with world.session() as session:
        assert isinstance(await session.turn("SCENARIO:story"), IncreaseRequested)
    assert not (world.workspace / "proof").exists()
    assert [call.tool for call in world.gate.refused] == ["bash"]


async def test_tools_beside_the_question_run_first(local: World) -> None:
    play(local, calls(increase(), bash("echo ran > proof")))
    async with local.session() as session:
        assert isinstance(await session.turn("SCENARIO:story"), IncreaseRequested)
    assert (local.workspace / "proof").exists()


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"limit": "max_tool_cals"}, "there are: max_iterations, max_tool_calls"),
        ({"limit": "max_sleep_duration"}, "there is no such limit to ask more of"),
        ({"limit": "max_output_tokens_per_call"}, "there is no such limit to ask more of"),
        ({"limit": ["max_turns"]}, "there is no such limit to ask more of"),
        ({"amount": 0}, "amount: Input should be greater than 0"),
        ({"amount": -5}, "amount: Input should be greater than 0"),
        ({"amount": "lots"}, "amount: Input should be a valid number"),
        ({"amount": 2.5}, "max_tool_calls is counted in whole tool calls"),
        ({"amount": 1e300}, "more than 1e+06 tool calls are never granted"),
        ({"evidence": ""}, "evidence: String should have at least 1 character"),
        ({"evidence": "x" * 4_001}, "evidence: String should have at most 4000 characters"),
    ],
)
async def test_a_question_that_makes_no_sense_is_told_what_is_expected(
    local: World, args: dict[str, object], expected: str
) -> None:
    read = play(local, calls(increase(**args)))
    async with local.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    ((told,),) = read
    assert expected in told


@pytest.mark.parametrize("amount", ["Infinity", "NaN"])
async def test_there_is_no_endless_amount(local: World, amount: str) -> None:
    args = f'{{"limit": "max_turns", "amount": {amount}, "evidence": "x"}}'
    play(local, calls(Call("request_increase", args)))
    async with local.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")


async def test_money_is_asked_for_with_its_fraction(local: World) -> None:
    play(local, calls(increase(limit="max_cost_usd", amount=0.25)))
    async with local.session() as session:
        end = await session.turn("SCENARIO:story")
    assert end == IncreaseRequested(LimitName.MAX_COST_USD, 0.25, "7 of 9 tests pass")


async def test_the_question_is_on_offer_whatever_tools_a_role_has(world: World) -> None:
    play(world)
    world.tools = ()
    async with world.session() as session:
        await session.turn("SCENARIO:story")
    if world.model != "scripted:":
        assert offered(world) == {"report_complete", "report_blocked", "request_increase"}


def offered(world: World) -> set[str]:
    """The names of the tools in the last request."""
    assert world.server is not None
    tools = world.server.requests[-1].body["tools"]
    assert isinstance(tools, list)
    return {tool.get("function", tool)["name"] for tool in tools}


async def test_a_sub_agent_reports_to_the_agent_that_started_it(world: World) -> None:
    read = play(world, calls(TASK))
    world.delegate = delegate = ready()
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert delegate.asked == [Delegation("qa", "test it", {"max_tool_calls": 5})]
    assert read == [("all tests pass",)]
    ((call, result),) = world.gate.ended
    assert (call.tool, call.kind, call.spawns) == ("task", ToolKind.OTHER, True)
    assert result == delegate.result


async def test_a_sub_agent_that_did_not_start_is_a_failed_call(local: World) -> None:
    read = play(local, calls(TASK))
    local.delegate = delegate = ready()
    delegate.result = ToolResult(ok=False, exit_code=None, output="nothing is left of max_spawns")
    async with local.session() as session:
        await session.turn("SCENARIO:story")
    assert "nothing is left of max_spawns" in read[0][0]
    assert [result.ok for _, result in local.gate.ended] == [False]


async def test_a_denied_sub_agent_never_starts(local: World) -> None:
    play(local, calls(TASK))
    local.delegate, local.gate.most_tools = ready(), 0
    async with local.session() as session:
        assert isinstance(await session.turn("SCENARIO:story"), Halted)
    assert not local.delegate.asked
    assert [call.spawns for call in local.gate.refused] == [True]


async def test_without_a_delegate_there_are_no_sub_agents(world: World) -> None:
    read = play(world, calls(TASK))
    async with world.session() as session:
        await session.turn("SCENARIO:story")
    assert "unknown tool 'task'" in read[0][0]
    assert [call.spawns for call in world.gate.allowed] == [False]
    if world.model != "scripted:":
        assert "task" not in offered(world)


@pytest.mark.parametrize(("tools", "runs"), [(("task",), True), (("bash", "view"), False)])
async def test_a_role_may_have_no_sub_agents(
    world: World, tools: tuple[str, ...], runs: bool
) -> None:
    play(world, calls(TASK))
    world.delegate, world.tools = ready(), tools
    async with world.session() as session:
        await session.turn("SCENARIO:story")
    assert bool(world.delegate.asked) is runs
    if world.model != "scripted:":
        assert ("task" in offered(world)) is runs
        assert "result" in offered(world)


@pytest.mark.parametrize(
    "args", [{"role": "qa"}, {"role": "", "prompt": "x"}, {"role": "qa", "prompt": "x", "depth": 2}]
)
async def test_a_malformed_task_starts_nothing_and_counts_as_no_start(
    local: World, args: dict[str, object]
) -> None:
    read = play(local, calls(Call("task", args)))
    local.delegate = delegate = ready()
    async with local.session() as session:
        await session.turn("SCENARIO:story")
    assert not delegate.asked
    assert [call.spawns for call in local.gate.allowed] == [False]
    assert "bad arguments of task" in read[0][0]


GOES_ON = Call(
    "continue_task", {"agent": "octo/demo#1/qa/2", "limits": {"max_turns": 3}, "prompt": "Go on."}
)


async def test_a_paused_sub_agent_goes_on_and_reports_and_is_no_new_one(world: World) -> None:
    read = play(world, calls(GOES_ON), calls(Call("continue_task", {"agent": "a"})))
    world.delegate = delegate = ready()
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert delegate.asked == [
        Continuation("octo/demo#1/qa/2", {"max_turns": 3}, "Go on."),
        Continuation("a", {}, ""),
    ]
    assert read == [("all tests pass", "all tests pass")]
    assert [(call.tool, call.kind, call.spawns) for call, _ in world.gate.ended] == [
        ("continue_task", ToolKind.OTHER, False)
    ] * 2


@pytest.mark.parametrize("args", [{}, {"agent": ""}, {"agent": "a", "limits": [3]}])
async def test_a_malformed_continuation_lets_nobody_go_on(
    local: World, args: dict[str, object]
) -> None:
    read = play(local, calls(Call("continue_task", args)))
    local.delegate = delegate = ready()
    async with local.session() as session:
        await session.turn("SCENARIO:story")
    assert not delegate.asked
    assert "bad arguments of continue_task" in read[0][0]


@pytest.mark.parametrize(
    ("tools", "runs"), [(None, True), (("task",), True), (("bash", "view"), False)]
)
async def test_who_may_start_sub_agents_may_let_them_go_on(
    world: World, tools: tuple[str, ...] | None, runs: bool
) -> None:
    play(world, calls(GOES_ON))
    world.delegate, world.tools = ready(), tools
    async with world.session() as session:
        await session.turn("SCENARIO:story")
    assert bool(world.delegate.asked) is runs
    if world.model != "scripted:":
        assert ("continue_task" in offered(world)) is runs


async def test_sub_agents_work_side_by_side(local: World) -> None:
    play(local, calls(TASK, TASK, TASK))
    local.delegate = delegate = Delegated()
    async with local.session() as session:
        turn = asyncio.create_task(session.turn("SCENARIO:story"))
        await until(lambda: len(delegate.asked) == 3)
        delegate.answers.set()
        assert await turn == ReportedComplete("fixed")


async def test_closing_a_session_cancels_its_sub_agents(local: World) -> None:
    play(local, calls(TASK))
    local.delegate = delegate = Delegated()
    async with local.session() as session:
        turn = asyncio.create_task(session.turn("SCENARIO:story"))
        await until(lambda: delegate.asked)
        await session.close()
        assert await turn == Halted("")
    assert [(result.ok, result.output) for _, result in local.gate.ended] == [
        (False, "(cancelled)")
    ]


async def test_a_delegate_that_breaks_does_not_break_the_agent(local: World) -> None:
    async def broken(asked: Delegation | Continuation) -> ToolResult:
        raise ConnectionError("the database at 10.0.0.1 is gone")

    read = play(local, calls(TASK))
    local.delegate = broken
    async with local.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert "the sub-agent could not be run (ConnectionError)" in read[0][0]
    assert "10.0.0.1" not in read[0][0]


async def test_each_tool_says_what_it_can_do(local: World) -> None:
    asked = (
        bash("true"),
        Call("create", {"path": "a", "text": "a"}),
        Call("edit", {"path": "a", "old": "a", "new": "b"}),
        Call("view", {"path": "a"}),
        Call("result", {"id": 1}),
        Call("rocket", {}),
    )
    play(local, *(calls(call) for call in asked))
    async with local.session() as session:
        await session.turn("SCENARIO:story")
    assert [(call.tool, call.kind) for call in local.gate.allowed] == [
        ("bash", ToolKind.SHELL),
        ("create", ToolKind.WRITE),
        ("edit", ToolKind.WRITE),
        ("view", ToolKind.READ),
        ("result", ToolKind.READ),
        ("rocket", ToolKind.OTHER),
    ]
    assert not any(call.spawns for call in local.gate.allowed)
