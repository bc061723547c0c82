"""`squadron replay`: what a person, or another program, is told of recorded runs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.cli.main import app
from tests.support.transcripts import DATA, LABELS, json_lines

PROJECT = Path(__file__).parents[2]
START = datetime(2026, 1, 1, tzinfo=UTC)
Event = dict[str, Any]

NO_LIMITS: dict[str, Any] = {
    "max_iterations": None,
    "max_tool_calls": None,
    "max_turns": None,
    "max_active_duration": 31_536_000,
    "max_repeated_errors": None,
    "max_repeated_calls": None,
    "max_spawns": None,
    "max_depth": None,
    "max_idle_duration": None,
}


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a folder without `.squadron`, and with no settings of the machine."""
    for name in [name for name in os.environ if name.startswith("SQUADRON_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def replay(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


def folder(name: str, defaults: dict[str, Any] | None = None, **config: Any) -> Path:
    """A repository with these limits and no others."""
    directory = Path(name) / ".squadron"
    directory.mkdir(parents=True)
    limits = {**NO_LIMITS, **(defaults or {})}
    content = {"circuit_breakers": {"defaults": limits, **config}}
    (directory / "config.yaml").write_text(json.dumps(content, indent=1))
    return directory.parent


def recorded(events: Iterable[Event], name: str = "run.jsonl") -> Path:
    """A file in Squadron's own form."""
    file = Path(name)
    file.write_bytes(json_lines(*events))
    return file


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def call(seconds: float = 0, tool: str = "view", kind: str = "read", **args: Any) -> Event:
    return {"type": "tool_call", "at": at(seconds), "tool": tool, "kind": kind, "args": args}


def result(output: str = "", *, ok: bool = True, code: int | None = None, **more: Any) -> Event:
    return {"type": "tool_result", "ok": ok, "exit_code": code, "output": output, **more}


def text() -> Event:
    return {"type": "message", "text": "Now the next file."}


def model_call(
    tokens: int | None = 1_000, output: int | None = 0, model: str | None = "gpt-4o"
) -> Event:
    return {
        "type": "model_call",
        "model": model,
        "input_tokens": tokens,
        "output_tokens": output,
    }


def looks(count: int, seconds_each: float = 0) -> list[Event]:
    """So many calls, each another one."""
    events = []
    for number in range(count):
        events += [call(number * seconds_each, path=f"{number}.py"), result(f"{number}")]
    return events


def red(seconds: float = 0) -> list[Event]:
    asked = call(seconds, "bash", "shell", command="python -m pytest -q tests")
    return [asked, result("1 failed, 41 passed in 0.31s", ok=False, code=1)]


def green(seconds: float = 0) -> list[Event]:
    return [*red(seconds)[:1], result("42 passed in 0.31s", code=0)]


def edit(seconds: float = 0) -> list[Event]:
    return [call(seconds, "edit", "write", path="a.py", new=f"{seconds}"), result("done")]


def answer(file: Path, *arguments: str | Path) -> dict[str, Any]:
    """The one JSON object about a file."""
    done = replay(file, "--json", *arguments)
    assert done.exit_code == 0, done.output
    (line,) = done.stdout.splitlines()
    shown = json.loads(line)
    assert isinstance(shown, dict)
    return shown


def trip(events: Iterable[Event], **limits: Any) -> dict[str, Any] | None:
    """Where these limits alone stop a run."""
    number = sum(1 for _ in Path().glob("config-*"))
    config = folder(f"config-{number}", limits)
    found = answer(recorded(events), "--config", config)["trip"]
    assert found is None or isinstance(found, dict)
    return found


def at_limit(found: dict[str, Any] | None) -> tuple[Any, ...]:
    assert found is not None
    return found["limit"], found["observed"], found["maximum"], found["tool_call"]


# --- the shape --------------------------------------------------------------------------------


def test_each_file_is_one_line_of_the_promised_shape() -> None:
    config = folder("repository", {"max_tool_calls": 10})
    events = [step for pair in zip(*[iter(looks(15, 1))] * 2, strict=True)
              for step in (model_call(1_000, 100), *pair)]  # fmt: skip
    done = replay(
        recorded(events), recorded(looks(2, 1), "short.jsonl"), "--json", "--config", config
    )
    assert done.exit_code == 0
    long, short = map(json.loads, done.stdout.splitlines())
    assert long == {
        "file": "run.jsonl",
        "format": "squadron",
        "limits_of": "default limits of repository/.squadron",
        "events": 45,
        "tool_calls": 15,
        "unread": [],
        "model_calls": 15,
        "trip": {
            "limit": "max_tool_calls",
            "reason": "max_tool_calls reached: 10 of 10 tool calls.",
            "observed": 10,
            "maximum": 10,
            "tool_call": 10,
            "at": "2026-01-01T00:00:10Z",
            "layer": "hook",
            "action": "escalate",
        },
        "warnings": [
            {
                "limit": "max_tool_calls",
                "reason": "max_tool_calls at 8 of 10 tool calls.",
                "observed": 8,
                "maximum": 10,
                "tool_call": 8,
                "at": "2026-01-01T00:00:07Z",
                "layer": "hook",
                "action": "warning",
            }
        ],
        # The model had been asked for the 11th call when it was denied.
        "saved": {
            "tool_calls": 5,
            "model_calls": 4,
            "tokens": 4 * 1_100,
            "cost_usd": pytest.approx(4 * (1_000 * 2.5 + 100 * 10) / 1e6),
            "seconds": 4,
        },
        "stops": [long["trip"]],
        "passed": [],
        "not_judged": [],
    }
    assert (short["file"], short["trip"], short["warnings"]) == ("short.jsonl", None, [])
    assert short["saved"]["tool_calls"] == 0


def test_lines_that_could_not_be_read_are_named_and_the_rest_is_judged() -> None:
    path = next(DATA / label["file"] for label in LABELS if label["format"] == "claude")
    whole = path.read_bytes()
    Path("whole.jsonl").write_bytes(whole)
    Path("torn.jsonl").write_bytes(b'{"type":"us\n' * 7 + whole)
    torn, unbroken = answer(Path("torn.jsonl")), answer(Path("whole.jsonl"))
    assert [each["line"] for each in torn["unread"]] == [*range(1, 8)]
    assert unbroken["unread"] == []
    assert {**torn, "file": "", "unread": []} == {**unbroken, "file": ""}
    said = replay("torn.jsonl").stdout
    assert "line 5 was not read: expected JSON: Unterminated string" in " ".join(said.split())
    assert "line 6 was" not in said and "and 2 further lines were not read" in said


def test_it_says_whose_limits_it_used() -> None:
    folder("repository", {})
    of_role = answer(recorded(looks(2)), "--config", Path("repository"), "--role", "bug-fix")
    assert of_role["limits_of"] == "limits of the role bug-fix of repository/.squadron"
    assert answer(recorded(looks(2)))["limits_of"] == "default limits built in"
    told = answer(recorded(looks(2)), "--interactive")["limits_of"]
    assert told == "default limits built in, each prompt by itself"


# --- a person led it --------------------------------------------------------------------------


def led(*pieces: int, pause_hours: float = 3, tool_seconds: float = 1) -> Path:
    """A session of Copilot with so many different calls behind each prompt, and a person who is
    away between the prompts."""
    at, events = datetime(2026, 1, 1, tzinfo=UTC), list[dict[str, Any]]()

    def told(kind: str, **data: Any) -> None:
        events.append({"type": kind, "timestamp": at.isoformat(), "data": data})

    for prompt, count in enumerate(pieces):
        told("user.message", content="Go on.")
        for number in range(count):
            own_id = f"{prompt}-{number}"
            command = {"command": f"cat {own_id}.txt"}
            told("tool.execution_start", toolName="bash", toolCallId=own_id, arguments=command)
            at += timedelta(seconds=tool_seconds)
            told("tool.execution_complete", toolCallId=own_id, success=True)
        at += timedelta(hours=pause_hours)
    path = Path("led.jsonl")
    path.write_bytes(json_lines(*events))
    return path


def test_limits_hold_for_each_prompt_of_a_session_that_a_person_led() -> None:
    config = folder("repository", {"max_tool_calls": 5})
    file = led(5, 5, 5)
    alone, each = (answer(file, "--config", config, *more) for more in ((), ("--interactive",)))
    assert at_limit(alone["trip"]) == ("max_tool_calls", 5, 5, 5)
    assert (each["trip"], each["tool_calls"], each["events"]) == (None, 15, alone["events"])
    longer = answer(led(5, 6, 7), "--config", config, "--interactive")
    assert [at_limit(stop) for stop in longer["stops"]] == [
        ("max_tool_calls", 5, 5, 10),
        ("max_tool_calls", 5, 5, 16),
    ]
    assert longer["saved"]["tool_calls"] == 1 + 2


def test_a_run_without_prompts_is_one_piece_of_work() -> None:
    for label in LABELS:
        if label["format"] not in ("copilot", "claude"):
            alone = answer(DATA / label["file"])
            each = answer(DATA / label["file"], "--interactive")
            assert {**each, "limits_of": ""} == {**alone, "limits_of": ""}


def test_while_a_person_is_away_no_time_of_the_agent_passes() -> None:
    config = folder("repository", {"max_idle_duration": 600, "max_active_duration": 600})
    shown = answer(led(5, 5, pause_hours=9), "--config", config, "--interactive")
    assert (shown["trip"], shown["warnings"]) == (None, [])
    slow = answer(led(5, 5, tool_seconds=200), "--config", config, "--interactive")
    assert {stop["limit"] for stop in slow["stops"]} == {"max_active_duration"}


def test_the_built_in_limits_hold_where_there_is_no_configuration() -> None:
    shown = answer(recorded(looks(201)))
    assert at_limit(shown["trip"]) == ("max_tool_calls", 200, 200, 200)
    assert answer(recorded(looks(200)))["trip"] is None


def test_a_role_brings_its_own_limits() -> None:
    config = folder("repository", {"max_tool_calls": 5}, roles={"pm": {"max_tool_calls": 3}})
    file = recorded(looks(9))
    assert at_limit(answer(file, "--config", config)["trip"])[1] == 5
    assert at_limit(answer(file, "--config", config, "--role", "pm")["trip"])[1] == 3
    unknown = replay(file, "--config", config, "--role", "bugfix")
    assert unknown.exit_code == 2
    assert "there is no role bugfix (did you mean bug-fix?)" in unknown.stderr


def test_two_configurations_are_compared() -> None:
    one = folder("one", {"max_tool_calls": 5})
    two = folder("two", {"max_tool_calls": 7})
    file = recorded(looks(9))
    shown = answer(file, "--config", one, "--compare", two)
    other = shown.pop("compared")
    assert shown.keys() == other.keys()
    assert [at_limit(each["trip"])[1] for each in (shown, other)] == [5, 7]
    assert [each["saved"]["tool_calls"] for each in (shown, other)] == [4, 2]
    told = replay(file, "--config", one, "--compare", two).stdout
    assert "difference: the second stops it 2 tool calls later, by max_tool_calls" in told
    assert "  compared with the default limits of two/.squadron:" in told.splitlines()
    assert other["limits_of"] == "default limits of two/.squadron"
    same = replay(file, "--config", one, "--compare", one).stdout
    assert "difference: none, both stop it at the same step" in same


def test_what_people_read_fits_80_columns_and_cuts_no_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    limits = {"max_tool_calls_per_turn": 5, "max_consecutive_tools": 6, "max_tokens": 50}
    config = folder("repository", limits)
    told = replay(recorded(looks(9, 1)), "--config", config).stdout
    assert max(map(len, told.splitlines())) <= 80
    assert told == (
        "Judged by the default limits of repository/.squadron.\n"
        "run.jsonl (squadron): 18 events, 9 tool calls\n"
        "  stopped behind tool call 5, 2026-01-01T00:00:05Z\n"
        "    max_tool_calls_per_turn reached: 5 of 5 tool calls.\n"
        "    saved: 4 tool calls, 0 model calls, 0 tokens, unknown cost, 3 s\n"
        "  later stop behind tool call 6: max_consecutive_tools reached: 6 of 6 tool\n"
        "    calls.\n"
        "  warning at tool call 4: max_tool_calls_per_turn at 4 of 5 tool calls.\n"
        "  warning at tool call 5: max_consecutive_tools at 5 of 6 tool calls.\n"
        "  not judged, max_tokens: The transcript has no model calls.\n"
    )


def test_calls_that_count_for_nothing_are_told_apart() -> None:
    """docs/design.md, Words, "tool call"."""
    config = folder("repository", {})
    closing = call(3, "report_complete", "other", summary="Done.")
    told = replay(recorded([*looks(2), closing]), "--config", config).stdout
    assert told.splitlines()[1].endswith(
        "2 tool calls and 1 that count for nothing (denied, or to close)"
    )


# --- each limit, at its maximum and one beyond ------------------------------------------------


@pytest.mark.parametrize("limit", ["max_tool_calls", "max_tool_calls_per_turn"])
def test_so_many_calls_may_happen_and_no_more(limit: str) -> None:
    assert trip(looks(7), **{limit: 7}) is None
    assert at_limit(trip(looks(8), **{limit: 7})) == (limit, 7, 7, 7)


def test_text_lets_tools_go_on() -> None:
    limit = {"max_consecutive_tools": 3}
    assert trip([*looks(3), text(), *looks(3)], **limit) is None
    assert at_limit(trip([text(), *looks(4)], **limit)) == ("max_consecutive_tools", 3, 3, 3)


def test_so_many_model_calls_may_happen_and_no_more() -> None:
    asks = [model_call(), *looks(1)]
    assert trip(asks * 4, max_model_calls=4) is None
    assert at_limit(trip(asks * 5, max_model_calls=4)) == ("max_model_calls", 4, 4, 4)


@pytest.mark.parametrize(("maximum", "stops"), [(2_999, 2), (3_000, 2), (3_001, None)])
def test_tokens_stop_a_run_as_soon_as_they_are_reached(maximum: int, stops: int | None) -> None:
    events = [*looks(1), model_call(1_900, 100), *looks(1), model_call(900, 100)]
    found = trip(events, max_tokens=maximum)
    assert (found and at_limit(found)) == (stops and ("max_tokens", 3_000, maximum, stops))


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        ("gpt-4o", 0.0125),
        ("openai:gpt-4o", 0.0125),
        ("gpt-4o-mini", 0.00075),
        ("claude-sonnet-4-5", 0.018),
    ],
)
def test_money_is_counted_by_the_list_price_of_the_model(model: str, usd: float) -> None:
    events = [*looks(1), *[model_call(1_000, 1_000, model), *looks(1)] * 200]
    calls = next(n for n in range(1, 201) if round(n * usd, 9) >= 0.15)
    shown = answer(recorded(events), "--config", folder("repository", {"max_cost_usd": 0.15}))
    assert at_limit(shown["trip"]) == (
        "max_cost_usd",
        pytest.approx(calls * usd),
        0.15,
        calls,
    )
    assert shown["saved"]["cost_usd"] == pytest.approx((200 - calls) * usd)
    assert shown["saved"]["model_calls"] == 200 - calls


def test_the_operators_own_prices_count_before_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    prices = {"pricing": {"gpt-4o": {"input": 1_000, "output": 1_000}}}
    Path("operator.yaml").write_text(json.dumps(prices))
    monkeypatch.setenv("SQUADRON_CONFIG", "operator.yaml")
    assert at_limit(trip([model_call(1_000, 0), *looks(1)], max_cost_usd=1.0))[1] == 1.0


def test_a_model_that_nobody_knows_costs_an_unknown_amount() -> None:
    config = folder("repository", {"max_cost_usd": 0.01, "max_tool_calls": 2})
    events = [step for each in range(5) for step in (model_call(model="acme-7"), *looks(1))]
    shown = answer(recorded(events), "--config", config)
    assert shown["trip"]["limit"] == "max_tool_calls"
    assert (shown["saved"]["cost_usd"], shown["saved"]["tokens"]) == (None, 2_000)
    assert [each["limit"] for each in shown["not_judged"]] == [
        "max_active_duration",  # all in one instant
        "max_cost_usd",
    ]


@pytest.mark.parametrize(("gap", "stops"), [(29.999, False), (30, True), (31, True)])
def test_a_silent_session_is_stopped_when_its_bound_comes(gap: float, stops: bool) -> None:
    events = [call(0, path="a"), {**result(), "at": at(gap)}, *[call(gap, path="b"), result()]]
    found = trip(events, max_idle_duration=30)
    assert (found is not None) is stops
    if found is not None:
        assert at_limit(found) == ("max_idle_duration", 30, 30, 1)
        assert (found["at"], found["layer"]) == ("2026-01-01T00:00:30Z", "timer")


@pytest.mark.parametrize(("maximum", "stops"), [(50, True), (51, False)])
def test_active_time_is_added_up_over_the_run(maximum: int, stops: bool) -> None:
    found = trip(looks(6, seconds_each=10), max_active_duration=maximum)
    assert (found is not None) is stops
    if found is not None:
        assert at_limit(found) == ("max_active_duration", 50, 50, 5)


def test_the_first_red_run_is_no_cycle_and_a_green_one_gives_its_own_back() -> None:
    cycles = [*red(), *edit(1), *red(2), *edit(3), *red(4)]
    assert trip(cycles, max_iterations=2) is None
    assert trip([*cycles, *edit(5), *green(6)], max_iterations=3) is None
    assert at_limit(trip([*cycles, *edit(5), *red(6)], max_iterations=2)) == (
        "max_iterations", 2, 2, 6,
    )  # fmt: skip
    assert trip([*red(), *red(1), *red(2)], max_iterations=1) is None


def test_every_test_run_counts_where_that_is_wanted() -> None:
    limits = {"max_iterations": 2, "iteration_mode": "test_runs"}
    assert trip([*green(), *green(1)], **limits) is None
    assert at_limit(trip([*green(), *green(1), *green(2)], **limits)) == (
        "max_iterations", 2, 2, 2,
    )  # fmt: skip


def test_tests_of_a_repositorys_own_script_count() -> None:
    config = folder("repository", {"max_iterations": 1})
    file = config / ".squadron" / "config.yaml"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "test_commands": {"add": ["./check.sh"]}}))
    asked = call(0, "bash", "shell", command="./check.sh")
    tries = [asked, result("boom", ok=False, code=1)]
    events = [*tries, *edit(), *tries, *edit(), *tries]
    assert at_limit(answer(recorded(events), "--config", config)["trip"])[3] == 4


def test_equal_calls_with_equal_results_are_rounds() -> None:
    same = [call(0, path="a.py"), result("the same")]
    assert trip(same * 5, max_repeated_calls=5) is None
    assert at_limit(trip(same * 6, max_repeated_calls=5)) == ("max_repeated_calls", 5, 5, 5)
    changing = [step for n in range(9) for step in (call(0, path="a.py"), result(f"row {n}"))]
    assert trip(changing, max_repeated_calls=5) is None
    warned = answer(recorded(same * 5), "--config", folder("w", {"max_repeated_calls": 5}))
    assert [(each["observed"], each["tool_call"]) for each in warned["warnings"]] == [(3, 4)]


def test_equal_errors_of_one_tool_are_counted_in_a_row() -> None:
    def failing(number: int) -> list[Event]:
        asked = call(0, "bash", "shell", command=f"./build --try {number}")
        return [asked, result("no space left on device", ok=False, code=1)]

    three = [step for number in range(3) for step in failing(number)]
    assert trip(three, max_repeated_errors=3) is None
    assert at_limit(trip([*three, *failing(3)], max_repeated_errors=3)) == (
        "max_repeated_errors", 3, 3, 3,
    )  # fmt: skip
    assert trip([*three, *edit(), *failing(3)], max_repeated_errors=3) is None


def test_sub_agents_calls_count_and_their_number_is_bounded() -> None:
    helped = [{**event, "agent": "helper"} for event in looks(4)]
    events = [call(0, "task", "other", prompt="look"), *helped, result("done"), *looks(1)]
    assert trip(events, max_tool_calls=6) is None
    assert at_limit(trip(events, max_tool_calls=5)) == ("max_tool_calls", 5, 5, 5)
    again = [*events[:-2], call(9, "task", "other", prompt="again"), result("done")]
    assert at_limit(trip(again, max_spawns=1)) == ("max_spawns", 1, 1, 5)
    assert trip(events, max_spawns=0) is None, "it is refused, and the agent goes on"
    assert trip(events, max_consecutive_tools=2) is None


def test_what_a_limit_does_there_is_said() -> None:
    for action, where in (("pause", "stops"), ("request_increase", "stops"), ("warn", "passed")):
        config = folder(action, {"max_tool_calls": 3, "on_limit": action})
        shown = answer(recorded(looks(5)), "--config", config)
        assert [each["action"] for each in shown[where]] == [action]
        assert (shown["trip"] is None) is (action == "warn")
    shadow = folder("shadow", {"max_tool_calls": 3, "shadow": ["max_tool_calls"]})
    shown = answer(recorded(looks(5)), "--config", shadow)
    assert (shown["trip"], [each["action"] for each in shown["passed"]]) == (None, ["shadow"])


def test_a_ceiling_of_the_operator_caps_what_a_repository_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("operator.yaml").write_text(json.dumps({"ceilings": {"max_tool_calls": 4}}))
    monkeypatch.setenv("SQUADRON_CONFIG", "operator.yaml")
    assert at_limit(trip(looks(9), max_tool_calls=None)) == ("max_tool_calls", 4, 4, 4)


# --- files of all kinds -----------------------------------------------------------------------


@pytest.mark.parametrize("label", LABELS, ids=lambda label: Path(label["file"]).name)
def test_a_recorded_run_of_any_system_is_recognised_and_stopped_by_no_false_alarm(
    label: dict[str, Any],
) -> None:
    shown = answer(DATA / label["file"])
    assert (shown["format"], shown["tool_calls"]) == (label["format"], label["tool_calls"])
    loops = [each["limit"] for each in shown["stops"] if "repeat" in each["limit"]]
    assert not loops or label.get("loop", True)
    if "loop" in label and not label["loop"]:
        assert shown["trip"] is None
    assert answer(DATA / label["file"], "--format", label["format"]) == shown


def test_loops_in_the_labelled_runs_are_caught() -> None:
    labelled = [label for label in LABELS if label.get("loop")]
    caught = [
        label["source"]
        for label in labelled
        if any("repeat" in each["limit"] for each in answer(DATA / label["file"])["stops"])
    ]
    assert {"repairagent Closure_141", "repairagent Math_28"} <= set(caught)


@pytest.mark.parametrize(
    ("content", "place", "expected"),
    [
        (b"", 1, "the file is empty"),
        (b"a diary\nof mine\n", 1, "expected JSON"),
        (b'{"hello": 1}\n', 1, "squadron, copilot, claude, gemini, swe-agent, mini-swe-agent"),
        (b"[1, 2]", 1, "no list of messages"),
        (b"\xff\xfe\x00", 1, "UTF-8"),
        (json_lines(text(), {"type": "tool_call"}), 2, "at: expected a string"),
        (json_lines(text(), text(), {"type": "dance"}), 3, "one of tool_call, tool_result"),
        (json_lines(call(5), call(4)), 2, "no instant before"),
        (json_lines(text()) + b"{broken\n", 2, "expected JSON"),
    ],
)
def test_a_file_that_is_no_transcript_is_told_with_its_line(
    content: bytes, place: int, expected: str
) -> None:
    Path("bad.jsonl").write_bytes(content)
    done = replay("bad.jsonl", recorded(looks(1)), "--json")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"bad.jsonl:{place}: ")
    assert expected in done.stderr
    assert [json.loads(line)["file"] for line in done.stdout.splitlines()] == ["run.jsonl"]


def test_a_file_that_cannot_be_opened_is_told_by_name() -> None:
    Path("sub").mkdir()
    done = replay("none.jsonl", "sub")
    assert done.exit_code == 1
    assert done.stderr.splitlines() == [
        "none.jsonl: cannot be read: No such file or directory",
        "sub: cannot be read: Is a directory",
    ]


def test_a_format_that_is_not_known_and_a_wrong_configuration_end_the_command() -> None:
    unknown = replay(recorded(looks(1)), "--format", "cursor")
    assert unknown.exit_code == 2
    assert "--format cursor: must be auto or one of squadron, copilot" in unknown.stderr
    wrong = replay(recorded(looks(1)), "--config", folder("wrong", {"max_tool_calls": -1}))
    assert wrong.exit_code == 1
    assert "config.yaml:" in wrong.stderr
    assert wrong.stdout == ""
    assert replay(recorded(looks(1)), "--format", "claude").exit_code == 1


def test_the_installed_command_prints_nothing_but_json_on_stdout(tmp_path: Path) -> None:
    file = recorded(looks(201))
    command = [sys.executable, "-m", "app.cli.main", "replay", str(file), "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(PROJECT)}, capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["trip"]["tool_call"] == 200
