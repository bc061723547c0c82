"""Whom the limits stop: runs with a known outcome, replayed against the defaults.

    python -m bench stops DIR --outcomes FILE [--sweep LIMIT=3,5,8]

FILE has a JSON object a line: `file`, below DIR, and `resolved`, whether the run did what it was
for. Bounds on time and money are left out: a recording knows little of either.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from app.adapters.pricing import price_of_recorded
from app.adapters.shell import parse
from app.adapters.transcripts import TranscriptProblem, load
from app.core.agents.events import ToolKind
from app.core.agents.signs import Sign
from app.core.history.replay import Replay, Rules, replay
from app.core.history.transcript import ToolCall, ToolResult, Transcript
from app.core.limits import CATALOGUE, Action, LimitName, Limits, Trips
from app.testruns import SuiteRules

ANY = "any stop"
_ON_TIME = (LimitName.MAX_ACTIVE_DURATION, LimitName.MAX_IDLE_DURATION)
_SWEPT = tuple(name.value for name, info in CATALOGUE.items() if info.trips is not Trips.SENT)


@dataclass(frozen=True, slots=True)
class Run:
    """A recorded run, and whether it did what it was for."""

    transcript: Transcript
    resolved: bool
    edits: tuple[int, ...]
    """The number of each call that changed a file, counted from 1."""


@dataclass(frozen=True, slots=True)
class Halt:
    """Where a limit stopped, or warned, a run."""

    limit: str
    tool_calls: int
    """That had happened by then."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one limit did to all runs."""

    name: str
    good: int
    bad: int
    already: int
    """Good runs that were stopped when their last change had been made."""


def main(arguments: Sequence[str] = ()) -> None:
    """Print a table. Ends with a message if a file cannot be read as what it should be."""
    asked = _parsed(arguments)
    runs, unread = _runs(asked.directory, asked.outcomes)
    if not runs:
        raise SystemExit(f"no run of {asked.outcomes} can be replayed")
    good = sum(run.resolved for run in runs)
    bad = len(runs) - good
    print(f"{len(runs)} runs: {good} good, {bad} bad")
    for problem in unread:
        print(f"not read: {problem}")
    print(f"{'limit':<34} {'good':>14} {'bad':>14} {'ratio':>6} {'p':>8}  had their last change")
    replays = [(run, _replayed(run, Limits())) for run in runs]
    for row in _rows(replays):
        _print(row, good, bad)
    for name, values in asked.sweep:
        for value in values:
            limits = replace(Limits(), actions={name: Action.ESCALATE}).with_maximum(name, value)
            halts = [(run, list(_stops(_replayed(run, limits)))) for run in runs]
            _print(_row(f"{name} = {value:g}", name, halts), good, bad)


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    reader = argparse.ArgumentParser("python -m bench stops", description=__doc__)
    reader.add_argument("directory", type=Path)
    reader.add_argument("--outcomes", type=Path, required=True)
    reader.add_argument("--sweep", type=_sweep, action="append", default=[])
    return reader.parse_args(arguments)


def _sweep(text: str) -> tuple[LimitName, tuple[float, ...]]:
    name, _, values = text.partition("=")
    if name not in _SWEPT:
        raise argparse.ArgumentTypeError(f"no limit {name!r}; there are {', '.join(_SWEPT)}")
    return LimitName(name), tuple(map(float, values.split(",")))


def _runs(directory: Path, outcomes: Path) -> tuple[list[Run], list[str]]:
    runs, unread = [], []
    for line in outcomes.read_text(encoding="utf-8").splitlines():
        label = json.loads(line)
        if not isinstance(label.get("resolved"), bool):
            continue
        try:
            transcript = load(directory / label["file"])
        except (TranscriptProblem, OSError) as problem:
            unread.append(f"{label['file']}: {problem}")
            continue
        runs.append(Run(transcript, label["resolved"], tuple(_edits(transcript))))
    return runs, unread


def _edits(transcript: Transcript) -> Iterator[int]:
    number, writing = 0, dict[str, int]()
    denied = {step.id for step in transcript.steps if isinstance(step, ToolResult) and step.denied}
    for step in transcript.steps:
        match step:
            case ToolCall(id=call, kind=kind) if call not in denied:
                number += 1
                if kind is ToolKind.WRITE:
                    writing[call] = number
            case ToolResult(id=call, ok=True) if call in writing:
                yield writing.pop(call)
            case _:
                pass


def _replayed(run: Run, limits: Limits) -> Replay:
    prices = partial(price_of_recorded, overrides={})
    return replay(run.transcript, Rules(limits, SuiteRules(), parse, prices))


def _rows(replays: Sequence[tuple[Run, Replay]]) -> Iterator[Row]:
    stops = [(run, list(_stops(result))) for run, result in replays]
    warnings = [(run, list(_warnings(result))) for run, result in replays]
    names = [name.value for name in LimitName if name not in _ON_TIME]
    for name in (*names, ANY):
        row = _row(name, name, stops)
        if row.good or row.bad or name == ANY:
            yield row
    for name in (*names, *(sign.value for sign in Sign)):
        row = _row(f"{name} (warns)", name, warnings)
        if row.good or row.bad or name in set(Sign):
            yield row


def _stops(result: Replay) -> Iterator[Halt]:
    marks = [mark for mark in result.stops if mark.limit not in _ON_TIME]
    yield from (Halt(mark.limit, mark.tool_call) for mark in marks)
    yield from (Halt(ANY, mark.tool_call) for mark in marks[:1])


def _warnings(result: Replay) -> Iterator[Halt]:
    signs = (mark for mark in result.warnings if mark.limit in set(Sign))
    yield from (Halt(mark.limit, mark.tool_call) for mark in (*signs, *result.passed))


def _row(shown: str, name: str, runs: Sequence[tuple[Run, Sequence[Halt]]]) -> Row:
    good = bad = already = 0
    for run, halts in runs:
        at = next((halt.tool_calls for halt in halts if halt.limit == name), None)
        if at is None:
            continue
        good += run.resolved
        bad += not run.resolved
        already += run.resolved and max(run.edits, default=0) <= at
    return Row(shown, good, bad, already)


def _print(row: Row, good: int, bad: int) -> None:
    of_good, of_bad = row.good / max(good, 1), row.bad / max(bad, 1)
    ratio = f"{of_bad / of_good:.1f}" if of_good else "-" if not of_bad else "inf"
    p = fisher(row.good, good, row.bad, bad)
    already = f"{row.already} of {row.good}" if row.good else "-"
    print(
        f"{row.name:<34} {row.good:>5} ={of_good:>6.1%} {row.bad:>6} ={of_bad:>6.1%}"
        f" {ratio:>6} {p:>8.3g}  {already}"
    )


def fisher(hits: int, total: int, other_hits: int, other_total: int) -> float:
    """How probable a difference as large as this is by chance (Fisher's exact test, two-sided)."""
    all_hits = hits + other_hits
    ways = math.comb(total + other_total, all_hits)
    seen = math.comb(total, hits) * math.comb(other_total, other_hits)
    least = max(0, all_hits - other_total)
    each = (
        math.comb(total, n) * math.comb(other_total, all_hits - n)
        for n in range(least, min(total, all_hits) + 1)
    )
    return sum(one for one in each if one <= seen) / ways
