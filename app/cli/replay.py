"""`squadron replay`: what the limits would have done to recorded runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Final

import typer

from app.adapters.pricing import price_of_recorded
from app.adapters.shell import parse
from app.adapters.transcripts import TranscriptProblem, load
from app.cli.directories import USAGE_ERROR, operator_of, reading_of
from app.cli.failing import fail
from app.cli.terminal import say
from app.config.repository import read_repository
from app.config.wording import did_you_mean
from app.core.breaker.verdict import money
from app.core.history.onward import Mark
from app.core.history.prompts import replay_prompts
from app.core.history.replay import Replay, Rules, Spent
from app.core.history.replay import replay as replayed
from app.core.history.transcript import Format, Transcript
from app.core.money import usd
from app.services.views import Json, amount, instant, number


def replay_files(
    files: Sequence[Path],
    form: str,
    config: Path | None,
    role: str | None,
    compare: Path | None,
    *,
    is_interactive: bool,
    as_json: bool,
) -> None:
    """Judge each file. Ends the command with 1 if one of them cannot be read."""
    known = [each.value for each in Format]
    if form not in ("auto", *known):
        fail(f"--format {form}: must be auto or one of {', '.join(known)}", USAGE_ERROR)
    rules = _rules(config, role)
    others = _rules(compare, role) if compare is not None else None
    judged = replay_prompts if is_interactive else replayed
    whose, failed = _whose(config, role, interactive=is_interactive), False
    others_of = _whose(compare, role, interactive=is_interactive)
    if not as_json:
        say(f"Judged by the {whose}.")
    for file in files:
        try:
            transcript = load(file, None if form == "auto" else Format(form))
        except TranscriptProblem as problem:
            say(f"{file}:{problem.line}: {problem.message}", err=True)
            failed = True
            continue
        except OSError as error:
            say(f"{file}: cannot be read: {error.strerror}", err=True)
            failed = True
            continue
        result = judged(transcript, rules)
        other = judged(transcript, others) if others is not None else None
        if as_json:
            shown = _json(file, transcript, result, whose)
            if other is not None:
                shown["compared"] = _json(file, transcript, other, others_of)
            say(json.dumps(shown))
        else:
            _print(file, transcript, result, other, others_of)
    if failed:
        raise typer.Exit(1)


def _whose(directory: Path | None, role: str | None, *, interactive: bool) -> str:
    """Which limits are used, for people."""
    is_built_in = directory is None and not Path(".squadron").is_dir()
    where = "built in" if is_built_in else f"of {(directory or Path()) / '.squadron'}"
    limits = f"default limits {where}" if role is None else f"limits of the role {role} {where}"
    return f"{limits}, each prompt by itself" if interactive else limits


def _rules(directory: Path | None, role: str | None) -> Rules:
    """The limits that a directory's configuration comes to. Ends the command if it is wrong."""
    operator = operator_of()
    if directory is None and not Path(".squadron").is_dir():
        reading = read_repository({}, operator)
    else:
        reading = reading_of(directory or Path())
    plan = reading.plan
    problems = reading.problems if role is None or plan is None else plan.broken.get(role, ())
    if plan is None or problems:
        fail("\n".join(map(str, problems or reading.problems)))
    if role is not None and role not in plan.roles:
        fail(f"there is no role {role}{did_you_mean(role, plan.roles)}", USAGE_ERROR)
    limits = plan.default_limits if role is None else plan.roles[role].limits
    return Rules(
        limits=limits,
        suites=plan.suites,
        parse=parse,
        price_of=partial(price_of_recorded, overrides=operator.pricing),
    )


def _json(file: Path, transcript: Transcript, result: Replay, limits_of: str) -> Json:
    """One line of `--json`; `stops` and `passed` tell of the limits behind the first trip."""
    return {
        "file": str(file),
        "format": transcript.format.value,
        "limits_of": limits_of,
        "events": result.events,
        "tool_calls": result.tool_calls,
        "unread": [{"line": each.line, "reason": each.reason} for each in transcript.unread],
        "model_calls": result.spent.model_calls,
        "trip": _mark(result.trip) if result.trip is not None else None,
        "warnings": [_mark(mark) for mark in result.warnings],
        "saved": _spent(result.saved),
        "stops": [_mark(mark) for mark in result.stops],
        "passed": [_mark(mark) for mark in result.passed],
        "not_judged": [
            {"limit": each.limit.value, "reason": each.reason} for each in result.not_judged
        ],
    }


def _mark(mark: Mark) -> Json:
    return {
        "limit": str(mark.limit),
        "reason": mark.reason,
        "observed": amount(mark.limit, mark.observed),
        "maximum": amount(mark.limit, mark.maximum),
        "tool_call": mark.tool_call,
        "at": instant(mark.at),
        "layer": mark.layer.value,
        "action": mark.action,
    }


def _spent(spent: Spent) -> Json:
    return {
        "tool_calls": spent.tool_calls,
        "model_calls": spent.model_calls,
        "tokens": spent.tokens,
        "cost_usd": None if spent.cost_nanousd is None else usd(spent.cost_nanousd),
        "seconds": number(spent.seconds),
    }


def _lines(transcript: Transcript, result: Replay) -> Iterator[str]:
    """What is to be said of one replay, a line a fact, the first stop in full."""
    for each in transcript.unread[:_MOST_UNREAD]:
        yield f"line {each.line} was not read: {each.reason}"
    if len(transcript.unread) > _MOST_UNREAD:
        yield f"and {len(transcript.unread) - _MOST_UNREAD} further lines were not read"
    trip = result.trip
    if trip is None:
        yield "nothing stops it"
    else:
        yield f"{_STOPS[trip.action]} behind tool call {trip.tool_call}, {instant(trip.at)}"
        yield f"  {trip.reason}"
        yield f"  saved: {_saved_words(result.saved)}"
    for mark in result.stops[1:]:
        yield f"later stop behind tool call {mark.tool_call}: {mark.reason}"
    for mark in result.passed:
        yield f"passed ({mark.action}) at tool call {mark.tool_call}: {mark.reason}"
    for mark in result.warnings:
        yield f"warning at tool call {mark.tool_call}: {mark.reason}"
    for reason, same in groupby(result.not_judged, key=lambda each: each.reason):
        yield f"not judged, {', '.join(each.limit for each in same)}: {reason}"


_MOST_UNREAD: Final = 5
"""Lines that are named one by one."""
_STOPS: Final = {
    "escalate": "stopped",
    "pause": "paused",
    "request_increase": "paused, and a human asked for more,",
}


def _print(
    file: Path, transcript: Transcript, result: Replay, other: Replay | None, others_of: str
) -> None:
    counted = result.spent.tool_calls
    uncounted = result.tool_calls - counted
    beside = f" and {uncounted} that count for nothing (denied, or to close)" if uncounted else ""
    say(f"{file} ({transcript.format}): {result.events} events, {counted} tool calls{beside}")
    _indented(_lines(transcript, result))
    if other is not None:
        say(f"  compared with the {others_of}:")
        _indented(_lines(transcript, other), "    ")
        _indented([_difference(result, other)])


def _indented(lines: Iterable[str], indent: str = "  ") -> None:
    """Within the terminal, and never in the middle of a word."""
    width = min(max(get_terminal_size().columns, 60), 100)
    for line in lines:
        more = indent + " " * (len(line) - len(line.lstrip()))
        for part in wrap(line.lstrip(), width - len(more) - 2, break_long_words=False):
            say(more + part)
            more = more if more.endswith("    ") else more + "  "


def _difference(one: Replay, other: Replay) -> str:
    """What the second configuration would change."""
    if one.trip is None and other.trip is None:
        return "difference: none, nothing stops it either way"
    if one.trip is None or other.trip is None:
        stops = "only the second stops it" if one.trip is None else "only the first stops it"
        return f"difference: {stops}"
    later = other.trip.tool_call - one.trip.tool_call
    if later:
        when = f"{abs(later)} tool calls {'later' if later > 0 else 'earlier'}"
        return f"difference: the second stops it {when}, by {other.trip.limit}"
    seconds = (other.trip.at - one.trip.at).total_seconds()
    if seconds:
        when = f"{abs(seconds):.0f} s {'later' if seconds > 0 else 'earlier'}"
        return f"difference: the second stops it {when}, by {other.trip.limit}"
    if one.trip.limit != other.trip.limit:
        return f"difference: at the same step, by {other.trip.limit}"
    return "difference: none, both stop it at the same step"


def _saved_words(saved: Spent) -> str:
    cost = "unknown cost" if saved.cost_nanousd is None else money(usd(saved.cost_nanousd))
    tokens = "unknown tokens" if saved.tokens is None else f"{saved.tokens:,} tokens"
    return (
        f"{saved.tool_calls:,} tool calls, {saved.model_calls:,} model calls, {tokens}, {cost},"
        f" {saved.seconds:,.0f} s"
    )
