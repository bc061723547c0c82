"""Large and repeated tool results: cut with a note, kept whole, read on demand, never said twice.

Seed 003's `tool_result_guard`, over the real wires and with real shells.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from app.adapters.runtimes.embedded import Bounds
from app.adapters.runtimes.embedded.kept import MOST_LINE_CHARACTERS, KeptResults, NotKept
from app.adapters.runtimes.embedded.results import ResultGuard, for_model
from app.core.agents.events import ToolKind
from app.ports import ReportedComplete, ToolResult
from app.scripted.script import Answer, Call, Conversation, Scripts, Speaker, calls, text
from app.scripted.server import ScriptedServer
from tests.contract.embedded import KEY, QUICK, WIRES, World, bash, flood, story

DONE = Call("report_complete", {"summary": "fixed"})
NUMBERS = "seq 1 20000"
"""108,893 characters in 20,000 lines."""


@pytest.fixture(params=WIRES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with ScriptedServer(Scripts(()), api_key=KEY) as server:
        yield World(tmp_path, Scripts(()), request.param, server=server)


@pytest.fixture
def local(tmp_path: Path) -> World:
    return World(tmp_path, Scripts(()))


async def results_of(world: World, *answers: Answer) -> tuple[str, ...]:
    """What the model has read when it has played these answers, result by result."""
    read: list[tuple[str, ...]] = []

    def last(conversation: Conversation) -> Answer:
        read.append(conversation.said_by(Speaker.TOOL))
        return calls(DONE)

    world.scripts = story(*answers, last, summary=text("I flooded it."))
    if world.server is not None:
        world.server.scripts = world.scripts
    async with world.session() as session:
        assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    return read[0]


def kept(world: World) -> Path:
    return world.directory / "session" / "results"


async def test_a_large_result_is_cut_kept_and_read_on_demand(world: World) -> None:
    asks = calls(Call("result", {"id": 1, "first_line": 9_999, "last_line": 10_001}))
    cut, asked = await results_of(world, calls(bash(NUMBERS)), asks)
    assert cut.startswith("1\n2\n3\n")
    assert cut.endswith("\n20000\n\n[exit code 0]")
    assert "78894 characters cut; call result with id 1 to read them" in cut
    assert 30_000 < len(cut) < 30_200
    assert asked.split("\n") == [
        "9999\t9999",
        "10000\t10000",
        "10001\t10001",
        "(20000 lines in all)",
    ]


async def test_the_gate_sees_the_whole_result(local: World) -> None:
    await results_of(local, calls(bash(NUMBERS)))
    ((_, result),) = local.gate.ended
    assert result.output == "".join(f"{number}\n" for number in range(1, 20_001))


async def test_the_gate_hears_whose_status_that_of_a_pipe_is(local: World) -> None:
    await results_of(local, calls(bash("false | cat")))
    ((call, result),) = local.gate.ended
    assert (call.pipefail, result.exit_code) == (True, 1)


async def test_kept_results_are_for_nobody_else_to_read(local: World) -> None:
    await results_of(local, calls(bash(NUMBERS)))
    file = kept(local) / "1.txt"
    assert file.read_text() == local.gate.ended[0][1].output
    assert file.stat().st_mode & 0o777 == 0o600
    assert kept(local).stat().st_mode & 0o777 == 0o700


async def test_reading_a_kept_result_is_a_counted_call_and_keeps_nothing(local: World) -> None:
    read_all = calls(Call("result", {"id": 1}))
    _, page = await results_of(local, calls(bash(NUMBERS)), read_all)
    assert [(call.tool, call.kind) for call in local.gate.allowed] == [
        ("bash", ToolKind.SHELL),
        ("result", ToolKind.READ),
    ]
    assert 19_000 < len(page) < 21_000
    assert page.split("\n")[-1].startswith("(cut here: ask for line 2")
    assert [file.name for file in kept(local).iterdir()] == ["1.txt"]


async def test_what_is_read_of_a_kept_result_is_never_kept_again(local: World) -> None:
    pages = [Call("result", {"id": 1, "first_line": line}) for line in range(1, 7_000, 1_000)]
    _, *read = await results_of(local, calls(bash(NUMBERS)), calls(*pages))
    assert all("characters cut …" in page for page in read)
    assert [file.name for file in kept(local).iterdir()] == ["1.txt"]


@pytest.mark.parametrize(
    "args", [{"id": 2}, {"id": 0}, {"id": "../../secret"}, {"id": "1.txt/../1"}, {}]
)
async def test_nothing_else_can_be_read_as_a_result(local: World, args: dict[str, object]) -> None:
    (local.directory / "session").mkdir()
    (local.directory / "session" / "2.txt").write_text("canary")
    _, refused = await results_of(local, calls(bash(NUMBERS)), calls(Call("result", args)))
    assert "canary" not in refused
    assert not local.gate.ended[1][1].ok


async def test_a_planted_link_is_not_followed(local: World) -> None:
    (local.directory / "secret").write_text("canary\n" * 9)
    plant = f"ln -sf {local.directory}/secret {kept(local)}/1.txt"
    answers = (calls(bash(NUMBERS)), calls(bash(plant)), calls(Call("result", {"id": 1})))
    *_, refused = await results_of(local, *answers)
    assert "canary" not in refused
    assert "links are not followed" in refused


async def test_results_of_one_answer_share_its_room(local: World) -> None:
    answer = calls(*(bash(f"seq {first} 20000") for first in (1, 2, 3, 4, 5, 6)))
    results = await results_of(local, answer)
    assert all(10_000 < len(result) < 10_200 for result in results)
    assert sorted(file.name for file in kept(local).iterdir()) == [
        f"{number}.txt" for number in range(1, 7)
    ]


async def test_a_result_that_fits_is_neither_cut_nor_kept(local: World) -> None:
    (result,) = await results_of(local, flood("a", 30_000))
    assert result == "a" * 30_000 + "\n[exit code 0]"
    assert not list(kept(local).iterdir())


async def test_an_identical_result_is_a_reference_to_the_first(world: World) -> None:
    again = calls(bash("cat numbers"))
    first, second, third = await results_of(
        world, calls(bash("seq 1 900 | tee numbers")), again, again
    )
    assert first.startswith("1\n2\n")
    for reference in (second, third):
        assert "identical to the result of your earlier call bash" in reference
        assert "seq 1 900 | tee numbers" in reference
        assert reference.endswith("[exit code 0]")
        assert len(reference) < 250


async def test_an_identical_cut_result_leads_to_the_kept_one(local: World) -> None:
    first, second = await results_of(local, calls(bash(NUMBERS)), calls(bash(NUMBERS)))
    assert "call result with id 1" in first
    assert "identical" in second
    assert "call result with id 1" in second
    assert len(list(kept(local).iterdir())) == 1
    assert [len(result.output) for _, result in local.gate.ended] == [108_894] * 2


async def test_identical_results_of_one_answer_are_said_once(local: World) -> None:
    results = await results_of(local, calls(*[bash("seq 1 900")] * 3))
    assert ["identical" in result for result in results] == [False, True, True]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("seq 1 900", "seq 1 901"),
        ("seq 1 900", "seq 1 900; exit 3"),
        ("seq 1 20000", "seq 1 9999; echo changed; seq 10001 20000"),
    ],
)
async def test_what_differs_anywhere_is_not_identical(local: World, one: str, other: str) -> None:
    results = await results_of(local, calls(bash(one)), calls(bash(other)))
    assert not any("identical" in result for result in results)


async def test_short_results_are_simply_said_again(local: World) -> None:
    command = calls(bash("head -c 500 /dev/zero | tr '\\0' x"))
    first, second = await results_of(local, command, command)
    assert first == second == "x" * 500 + "\n[exit code 0]"


async def test_a_first_result_that_was_compacted_away_is_said_again(local: World) -> None:
    local.bounds = Bounds(context_tokens=10_000)
    results = await results_of(local, *map(flood, "aba"))
    assert len(results) == 1, "the others were compacted away"
    assert results[0] == "a" * 20_000 + "\n[exit code 0]"


async def test_a_resumed_session_still_knows_what_it_has_said(local: World) -> None:
    look = calls(bash("seq 1 900"))
    await results_of(local, look)
    heard: list[str] = []

    def last(conversation: Conversation) -> Answer:
        heard.append(conversation.last_tool_result)
        return calls(DONE)

    local.scripts = story(look, text("first turn"), look, last)
    async with local.session() as session:
        await session.turn("go on")
    assert "identical" in heard[0]


async def test_a_resumed_session_goes_on_numbering(local: World) -> None:
    await results_of(local, calls(bash(NUMBERS)))
    local.scripts = story(text("x"), text("y"), calls(bash("seq 2 20000")), calls(DONE))
    async with local.session() as session:
        await session.turn("go on")
    assert sorted(file.name for file in kept(local).iterdir()) == ["1.txt", "2.txt"]


async def test_the_model_is_not_sent_what_the_guard_remembers(world: World) -> None:
    await results_of(world, calls(bash("seq 1 900")))
    saved = (world.directory / "session" / "session.json").read_text()
    (digest,) = [
        part["metadata"]["digest"]
        for message in json.loads(saved)
        for part in message["parts"]
        if part.get("metadata")
    ]
    assert world.server is not None
    assert digest not in json.dumps([each.body for each in world.server.requests])


async def test_results_over_the_bounds_push_the_oldest_out(local: World) -> None:
    local.bounds = replace(QUICK, most_kept_results=2)
    floods = [calls(bash(f"seq {first} 20000")) for first in (1, 2, 3)]
    *_, gone = await results_of(local, *floods, calls(Call("result", {"id": 1})))
    assert "result 1 is not kept (any more); kept are: 2, 3" in gone
    assert sorted(file.name for file in kept(local).iterdir()) == ["2.txt", "3.txt"]


async def test_what_was_pushed_out_is_said_again_when_it_comes_again(local: World) -> None:
    local.bounds = replace(QUICK, most_kept_results=1)
    floods = [calls(bash(f"seq {first} 20000")) for first in (1, 2, 1)]
    *_, again = await results_of(local, *floods)
    assert "identical" not in again
    assert "call result with id 3" in again


async def test_all_kept_results_together_are_bounded(local: World) -> None:
    local.bounds = replace(QUICK, most_kept_bytes=250_000)
    await results_of(local, *(calls(bash(f"seq {first} 20000")) for first in range(1, 6)))
    assert sorted(file.name for file in kept(local).iterdir()) == ["4.txt", "5.txt"]


async def test_without_room_on_the_disk_a_result_is_only_cut(local: World) -> None:
    locked = f"rm -r {kept(local)} && touch {kept(local)}"
    _, cut, again = await results_of(
        local, calls(bash(locked)), calls(bash(NUMBERS)), calls(bash(NUMBERS))
    )
    for result in (cut, again):
        assert "78894 characters cut …" in result
        assert "call result" not in result


async def test_every_part_of_an_endless_line_can_be_read(local: World) -> None:
    print_line = calls(bash("seq 1 20000 | tr '\\n' ' '"))
    asks = calls(*(Call("result", {"id": 1, "first_line": n, "last_line": n}) for n in (27, 28)))
    *_, one, other = await results_of(local, print_line, asks)
    line = " ".join(str(number) for number in range(1, 20_001)) + " "
    pieces = [shown.split("\n")[0].split("\t")[1] for shown in (one, other)]
    start = 26 * MOST_LINE_CHARACTERS
    assert "".join(pieces) == line[start : start + 2 * MOST_LINE_CHARACTERS]


async def test_a_large_file_is_kept_as_it_was_when_it_was_viewed(local: World) -> None:
    local.workspace.mkdir()
    (local.workspace / "large.txt").write_text("".join(f"line {n}\n" for n in range(9_000)))
    look = calls(Call("view", {"path": "large.txt"}))
    change = calls(bash("echo other > large.txt"))
    ask = calls(Call("result", {"id": 1, "first_line": 5_000, "last_line": 5_000}))
    *_, asked = await results_of(local, look, change, ask)
    assert asked.startswith("5000\t5000\tline 4999\n")


@settings(deadline=None, max_examples=60)
@given(
    outputs=st.lists(st.sampled_from(["x" * 501, "y" * 700, "z" * 90_000, "ok"]), max_size=8),
    share=st.sampled_from([60, 300, 30_000]),
)
def test_what_the_model_reads_is_never_longer_for_being_guarded(
    tmp_path_factory: pytest.TempPathFactory, outputs: list[str], share: int
) -> None:
    guard = ResultGuard(KeptResults(tmp_path_factory.mktemp("session"), 3, 10**9), Bounds())
    told: list[ToolReturnPart] = []
    for number, output in enumerate(outputs):
        result = ToolResult(ok=True, exit_code=0, output=output)
        call = ToolCallPart("bash", {"command": "c" * 400}, str(number))
        part = guard.told(call, result, share, told, keep=True)
        unguarded = for_model(result, share, 999)
        assert len(part.model_response_str()) <= len(unguarded)
        told.append(part)


def test_a_number_that_was_never_given_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(NotKept, match=r"result 1 is not kept .* kept are: none"):
        KeptResults(tmp_path, 3, 1_000).read(1, 1, None, 1_000)


@pytest.mark.parametrize("text", ["é" * 2_000_000, "\udc80" * 700, "x" * 1_000_001])
def test_the_largest_and_strangest_texts_can_be_read_again(tmp_path: Path, text: str) -> None:
    results = KeptResults(tmp_path, 3, 10**9)
    assert results.keep(text) == 1
    assert (tmp_path / "results" / "1.txt").stat().st_size <= 1_000_000
    assert results.read(1, 1, 1, 5_000).startswith("1\t")
