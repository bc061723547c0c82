"""Requests of the embedded runtime to its model: asked for before, bounded, counted after."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.runtimes.embedded import Bounds
from app.adapters.runtimes.embedded.conversation import counted
from app.core.agents.events import Phase
from app.core.breaker.verdict import Answer as Says
from app.core.breaker.verdict import Verdict
from app.ports import (
    Halted,
    Idle,
    IncreaseRequested,
    ModelRequest,
    ProviderAway,
    ReportedComplete,
)
from app.scripted.script import Answer, Call, Conversation, Failure, Scripts, Speaker, calls, text
from app.scripted.server import Recorded, ScriptedServer
from tests.contract.embedded import (
    KEY,
    QUICK,
    WIRES,
    RecordingGate,
    World,
    bash,
    flood,
    story,
    until,
)

DONE = Call("report_complete", {"summary": "fixed"})
MORE = Call("request_increase", {"limit": "max_turns", "amount": 5, "evidence": "nearly there"})
ENDPOINTS = WIRES[:3]
PLANNING, EXECUTION = Phase.PLANNING, Phase.EXECUTION


@pytest.fixture(params=ENDPOINTS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with ScriptedServer(Scripts(()), api_key=KEY) as server:
        yield World(tmp_path, Scripts(()), request.param, server=server)


@pytest.fixture
def local(tmp_path: Path) -> World:
    return World(tmp_path, Scripts(()))


def play(world: World, scripts: Scripts) -> None:
    world.scripts = scripts
    if world.server is not None:
        world.server.scripts = scripts


def sent(world: World) -> list[Recorded]:
    assert world.server is not None
    return list(world.server.requests)


async def test_each_request_is_asked_for_at_the_gate_before_it_is_sent(world: World) -> None:
    play(world, story(calls(bash("true")), calls(bash("true")), calls(DONE)))
    already_sent: list[int] = []

    class Watching(RecordingGate):
        async def before_model(self, request: ModelRequest) -> Verdict:
            already_sent.append(len(sent(world)))
            return await super().before_model(request)

    world.gate = Watching()
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert already_sent == [0, 1, 2]
    assert [each.model for each in world.gate.requests] == [world.model] * 3
    assert {each.phase for each in world.gate.requests} == {EXECUTION}


@pytest.mark.parametrize("refusal", [Says.HALT, Says.DENY])
@pytest.mark.parametrize("most", [0, 1, 2])
async def test_a_refused_request_ends_the_turn_and_never_leaves(
    world: World, refusal: Says, most: int
) -> None:
    play(world, story(*[calls(bash("echo ran >> proof"), say="working")] * 9))
    world.gate.most_requests, world.gate.refusal = most, refusal
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == Halted("working" if most else "")
    assert len(sent(world)) == len(world.gate.usage) == len(world.gate.allowed) == most


async def test_a_gate_that_gives_no_verdict_lets_no_request_out(world: World) -> None:
    class Broken(RecordingGate):
        async def before_model(self, request: ModelRequest) -> Verdict:
            raise ConnectionError("the database is gone")

    play(world, story(text("hello")))
    world.gate = Broken()
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == Halted("")
    assert not sent(world)


async def test_a_turn_interrupted_while_the_gate_decides_sends_nothing(local: World) -> None:
    asked, decides = asyncio.Event(), asyncio.Event()
    reached: list[Conversation] = []

    class Slow(RecordingGate):
        async def before_model(self, request: ModelRequest) -> Verdict:
            asked.set()
            await decides.wait()
            return await super().before_model(request)

    def step(conversation: Conversation) -> Answer:
        reached.append(conversation)
        return text("hello")

    play(local, story(step))
    local.gate = Slow()
    async with local.session() as session:
        turn = asyncio.create_task(session.turn("SCENARIO:story"))
        await asked.wait()
        await session.interrupt()
        decides.set()
        assert await turn == Halted("")
    assert not reached


async def test_a_warning_before_a_request_is_in_that_request(world: World) -> None:
    play(world, story(calls(bash("true")), calls(DONE)))
    world.gate.warn_at_request = 2
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    told = [each.conversation.said_by(Speaker.USER) for each in sent(world)]
    assert [any("WRAP UP" in words for words in said) for said in told] == [False, True]


async def test_a_repeated_request_is_asked_for_and_counted_once(world: World) -> None:
    play(world, story(text("hello")))
    assert world.server is not None
    world.server.fail_next(*[Failure(500)] * 2)
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == Idle("hello")
    assert len(sent(world)) == 3
    assert len(world.gate.requests) == len(world.gate.usage) == 1


async def test_a_request_that_fails_for_good_is_billed_to_nobody(world: World) -> None:
    play(world, story(text("hello")))
    assert world.server is not None
    world.server.fail_next(Failure(401))
    async with world.session() as session:
        assert isinstance(await session.turn("SCENARIO:story"), ProviderAway)
    assert len(world.gate.requests) == 1
    assert not world.gate.usage


async def test_the_estimate_is_what_was_measured_and_what_came_since(local: World) -> None:
    play(local, story(flood("a"), calls(bash("echo short")), calls(DONE)))
    async with local.session() as session:
        await session.turn(f"SCENARIO:story {'word ' * 4_000}")
    first, second, third = (each.input_tokens for each in local.gate.requests)
    measured = [each.input_tokens + each.output_tokens for each in local.gate.usage]
    assert first > 5_000
    assert measured[0] + 5_000 < second < measured[0] + 6_000
    assert measured[1] < third < measured[1] + 500


async def test_the_first_estimate_knows_of_the_system_prompt_and_the_tools(local: World) -> None:
    play(local, story(text("hello")))
    async with local.session() as session:
        await session.turn("SCENARIO:story")
    assert local.gate.requests[0].input_tokens > 500


async def test_a_compaction_is_asked_for_like_any_request(world: World) -> None:
    play(world, story(*map(flood, "abcd"), calls(DONE), summary=text("I flooded it.")))
    world.bounds = Bounds(context_tokens=10_000)
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert len(world.gate.requests) == len(world.gate.usage) == len(sent(world)) == 7
    assert world.gate.requests[2].input_tokens > 8_000


async def test_a_compaction_that_is_refused_never_leaves(world: World) -> None:
    play(world, story(*map(flood, "abcd")))
    world.bounds, world.gate.most_requests = Bounds(context_tokens=10_000), 2
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == Halted("")
    assert len(sent(world)) == 2


async def test_a_warning_before_a_compaction_is_told_after_it(world: World) -> None:
    play(world, story(*map(flood, "ab"), calls(DONE), summary=text("I flooded it.")))
    world.bounds, world.gate.warn_at_request = Bounds(context_tokens=10_000), 3
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert any("WRAP UP" in words for words in sent(world)[3].conversation.said_by(Speaker.USER))


async def test_the_bound_on_an_answer_is_sent_to_the_provider(world: World) -> None:
    play(world, story(calls(bash("true")), calls(DONE)))
    world.most_output_tokens = 1_234
    async with world.session() as session:
        await session.turn("SCENARIO:story")
    name = "max_completion_tokens" if world.model.startswith("openai:") else "max_tokens"
    assert [each.body[name] for each in sent(world)] == [1_234, 1_234]
    assert [each.most_output_tokens for each in world.gate.requests] == [1_234, 1_234]


async def test_a_closer_bound_of_the_gate_is_sent_in_its_place(world: World) -> None:
    """As what is left of money and tokens has it, in a compaction too."""
    play(world, story(*map(flood, "ab"), calls(DONE), summary=text("I flooded it.")))
    world.bounds, world.most_output_tokens = Bounds(context_tokens=10_000), 1_234
    world.gate.most_output_tokens = 600
    async with world.session() as session:
        await session.turn("SCENARIO:story")
    name = "max_completion_tokens" if world.model.startswith("openai:") else "max_tokens"
    assert [each.body[name] for each in sent(world)] == [600] * 4
    assert {each.most_output_tokens for each in world.gate.requests} == {1_234}


async def test_without_a_bound_the_provider_has_its_own(world: World) -> None:
    play(world, story(text("hello")))
    async with world.session() as session:
        await session.turn("SCENARIO:story")
    (request,) = sent(world)
    assert "max_completion_tokens" not in request.body
    assert world.gate.requests[0].most_output_tokens is None


async def test_a_compaction_is_bounded_too(world: World) -> None:
    play(world, story(*map(flood, "ab"), calls(DONE), summary=text("I flooded it.")))
    world.bounds, world.most_output_tokens = Bounds(context_tokens=10_000), 777
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    name = "max_completion_tokens" if world.model.startswith("openai:") else "max_tokens"
    assert {each.body[name] for each in sent(world)} == {777}


async def test_words_that_are_cut_off_are_gone_on_with(world: World) -> None:
    play(world, story(Answer("I will now expl", is_cut_off=True), text("in short: no")))
    world.gate.most_output_tokens = 50
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == Idle("in short: no")
    said = sent(world)[1].conversation.said_by(Speaker.USER)
    assert "cut off" in said[-1]
    assert "50 tokens" in said[-1]
    assert sent(world)[1].conversation.said_by(Speaker.MODEL) == ("I will now expl",)


async def test_a_call_that_is_cut_off_does_not_run_and_the_whole_ones_do(world: World) -> None:
    half = Call("create", {"path": "b.txt", "text": "the first hal"})
    whole = Call("create", {"path": "a.txt", "text": "all of it"})
    play(world, story(Answer("", (whole, half), is_cut_off=True), calls(DONE)))
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert (world.workspace / "a.txt").read_text() == "all of it"
    assert not (world.workspace / "b.txt").exists()
    assert [call.args["path"] for call in world.gate.allowed] == ["a.txt"]
    results = sent(world)[1].conversation.said_by(Speaker.TOOL)
    assert results[0] == "wrote a.txt"
    assert "This call was cut off" in results[1]


async def test_a_report_that_is_cut_off_is_no_report(world: World) -> None:
    half = Call("report_complete", {"summary": "I fixed the fi"})
    play(world, story(Answer("", (half,), is_cut_off=True), calls(DONE)))
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")


async def test_thoughts_that_use_up_the_whole_answer_are_told_so(world: World) -> None:
    def step(conversation: Conversation) -> Answer:
        is_told = any("cut off" in words for words in conversation.said_by(Speaker.USER))
        return calls(DONE) if is_told else Answer(thinking="hm", is_cut_off=True)

    play(world, story(*[step] * 3))
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert len(sent(world)) == 2


@pytest.mark.parametrize(
    "cut_off",
    [Answer("and on", is_cut_off=True), Answer("", (Call("bash", '{"comm'),), is_cut_off=True)],
)
async def test_answers_that_are_all_cut_off_end_the_turn(local: World, cut_off: Answer) -> None:
    play(local, story(*[cut_off] * 50))
    async with local.session() as session:
        assert isinstance(await session.turn("SCENARIO:story"), Halted)
    assert len(local.gate.usage) == QUICK.most_fruitless_answers
    assert not local.gate.allowed


async def test_cached_tokens_are_part_of_the_input(world: World) -> None:
    cached = replace(text("hello"), cache_read_tokens=4_000, cache_write_tokens=300)
    play(world, story(cached))
    async with world.session() as session:
        await session.turn("SCENARIO:story")
    (usage,) = world.gate.usage
    # OpenAI bills nothing for writing, and says nothing about it.
    written = 300 if world.model.startswith("anthropic:") else 0
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (4_000, written)
    assert 4_300 < usage.input_tokens < 4_400
    assert 0 < usage.output_tokens < 100


async def test_an_answer_that_reports_nothing_is_told_as_what_was_seen_of_it(world: World) -> None:
    play(world, story(replace(calls(DONE, say="x" * 400), reports_usage=False)))
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    (usage,) = world.gate.usage
    assert (usage.input_tokens, usage.is_estimate) == (0, True), "the gate knows what was asked for"
    assert 100 < usage.output_tokens < 130


@pytest.mark.parametrize("figure", [-5, -(10**12), 10**12])
def test_a_figure_that_can_be_none_is_not_believed(figure: int) -> None:
    assert counted(figure) == 0


@pytest.mark.parametrize(
    ("answer", "has_text"),
    [
        (calls(DONE), False),
        (calls(DONE, say="done"), True),
        (calls(DONE, say=" \n"), False),
        (replace(calls(DONE), thinking="what to say?"), False),
    ],
)
async def test_only_words_are_text(tmp_path: Path, answer: Answer, has_text: bool) -> None:
    for model in ("anthropic:scripted", "anthropic:claude-haiku-4-5", "scripted:"):
        with ScriptedServer(story(answer)) as server:
            world = World(tmp_path / model[:-1], server.scripts, model, server=server)
            world.directory.mkdir()
            async with world.session() as session:
                await session.turn("SCENARIO:story")
        assert [each.has_text for each in world.gate.usage] == [has_text], model


async def test_a_summary_for_itself_is_nothing_that_the_agent_says(local: World) -> None:
    play(local, story(*map(flood, "ab"), calls(DONE), summary=text("I flooded it.")))
    local.bounds = Bounds(context_tokens=10_000)
    async with local.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    assert [each.has_text for each in local.gate.usage] == [False] * 4


PLANNER = {
    "openai:gpt-4o": "openai:gpt-4.1",
    "anthropic:scripted": "anthropic:planner",
    "anthropic:claude-haiku-4-5": "anthropic:claude-opus-4-1",
}


def asked_models(world: World) -> list[object]:
    prefix = world.model.partition(":")[0]
    return [f"{prefix}:{each.body['model']}" for each in sent(world)]


async def test_the_first_turn_plans_and_the_rest_works(world: World) -> None:
    play(world, story(calls(bash("true")), text("a plan"), calls(bash("true")), calls(DONE)))
    planner = world.planning_model = PLANNER[world.model]
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == Idle("a plan")
        assert await session.turn("go on") == ReportedComplete("fixed")
    asked = [(planner, PLANNING)] * 2 + [(world.model, EXECUTION)] * 2
    assert asked_models(world) == [model for model, _ in asked]
    assert [(each.model, each.phase) for each in world.gate.requests] == asked
    assert [(each.model, each.phase) for each in world.gate.usage] == asked


async def test_a_later_session_does_not_plan_again(local: World) -> None:
    play(local, story(text("a plan"), text("work")))
    local.planning_model = "scripted:planner"
    async with local.session() as session:
        await session.turn("SCENARIO:story")
    async with local.session() as session:
        await session.turn("go on")
    assert [each.phase for each in local.gate.usage] == [PLANNING, EXECUTION]


async def test_a_first_turn_that_was_broken_off_is_planned_to_its_end(local: World) -> None:
    play(
        local,
        story(
            calls(bash("true")),
            calls(bash("touch begun; until test -e go; do sleep 0.01; done")),
            text("a plan"),
            text("work"),
        ),
    )
    local.planning_model = "scripted:planner"
    async with local.session() as session:
        turn = asyncio.create_task(session.turn("SCENARIO:story"))
        await until((local.workspace / "begun").exists)
        await session.close()
        assert await turn == Halted("")
    async with local.session() as session:
        assert await session.turn("you were interrupted") == Idle("a plan")
        assert await session.turn("go on") == Idle("work")
    assert [each.phase for each in local.gate.usage] == [PLANNING] * 3 + [EXECUTION]


async def test_more_that_is_asked_for_while_planning_is_for_planning(local: World) -> None:
    play(local, story(calls(MORE), calls(DONE)))
    local.planning_model = "scripted:planner"
    async with local.session() as session:
        assert isinstance(await session.turn("SCENARIO:story"), IncreaseRequested)
        assert await session.turn("granted") == ReportedComplete("fixed")
        await session.turn("changes were requested")
    assert [each.phase for each in local.gate.usage] == [PLANNING, PLANNING, EXECUTION]


async def test_a_compaction_belongs_to_the_phase_of_its_turn(local: World) -> None:
    play(local, story(*map(flood, "ab"), text("a plan"), summary=text("I flooded it.")))
    local.planning_model = "scripted:planner"
    local.bounds = Bounds(context_tokens=10_000)
    async with local.session() as session:
        assert await session.turn("SCENARIO:story") == Idle("a plan")
    assert [each.phase for each in local.gate.usage] == [PLANNING] * 4
    assert {each.model for each in local.gate.usage} == {"scripted:planner"}


async def test_without_a_planning_model_nothing_is_planning(local: World) -> None:
    play(local, story(text("a plan"), text("work")))
    async with local.session() as session:
        await session.turn("SCENARIO:story")
        await session.turn("go on")
    assert [each.phase for each in local.gate.usage] == [EXECUTION, EXECUTION]
