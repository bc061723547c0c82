"""Going round in circles: equal calls with equal results, cycles of them, and equal errors.

Results are compared without times, process ids, addresses and temporary paths; a waiting command
is compared to the letter, because waiting is no loop as long as anything changes. Only rows
count, never "six of the same somewhere", which stops healthy runs.

A tool that fails in the same words has met the same wall, whatever its arguments. Two kinds are
told by their arguments where to look and what to write: another place or another edit is another
try, so of them only the same call counts. Any call in between ends the row, except that of a
shell, which goes on over whatever was looked at. `docs/explanation/loops.md` has the figures
that decided this.
"""

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from app.core.agents.events import ToolKind

LONGEST_CYCLE: Final = 5
"""Calls in the longest cycle that is recognised."""
MOST_SHELLS: Final = 8
"""Shell tools whose last error is remembered."""
_MOST_COMPARED_CHARACTERS: Final = 64_000
_SAID_OF_A_COMMAND: Final = frozenset({"description"})
"""Arguments in which the shells of the CLIs take words for people."""
_ARGUMENTS_DECIDE: Final = (ToolKind.READ, ToolKind.WRITE)
"""Tools whose arguments say where to look or what to write."""

_MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_WEEKDAY: Final = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_CLOCK: Final = r"\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?"
_VOLATILE: Final = re.compile(
    rf"""
    \b(?=[\da-fpPJFMASONDTW])(?:                                         # only to be quick
      \d{{4}}[-/]\d\d[-/]\d\d(?:[T\x20]{_CLOCK}(?:Z|[ ]?[+-]\d\d:?\d\d)?)?  # 2026-03-01T09:00Z
    | \d{{8}}T\d{{6}}(?:Z|\b)                                            # 20260301T090000Z
    | \d\d?[ /-]{_MONTH}[a-z]*(?:[ /-]\d{{4}}\b)?(?::{_CLOCK})?          # 01/Mar/2026:09:00
    | (?:{_WEEKDAY}[a-z]*,?[ ])?{_MONTH}[a-z]*[ ]{{1,2}}\d\d?(?:,?[ ]\d{{4}})?\b  # Mar  1, 2026
    | (?<![:.]){_CLOCK}(?!\w|:\d)                                       # 09:00:01, not file:9:00
    | 1[6-9]\d{{8}}(?:\.\d+|\d{{3}}|\d{{6}}|\d{{9}})?\b                  # since 1970
    | 0x[0-9a-fA-F]+\b                                                  # addresses
    | [0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{12}}\b    # uuids
    | (?:pid|PID|process)[ =:#]{{1,3}}\d+                               # processes
    | \d+(?:[.,]\d+)?[ ]?(?:ns|µs|us|ms|s|sec|secs|seconds?|m|min|minutes?|h)\b  # durations
    )
    | (?:/private)?(?:/var)?/tmp/[^\s'":,;)\]]+                          # scratch
    """,
    re.VERBOSE,
)


def call_key(tool: str, args: Mapping[str, object], command: str | None = None) -> str:
    """Equal for calls of the same tool with the same arguments, in whatever order they stand.

    `command`: of a shell, what it reads (`ShellLine.text`); what the model says about it beside
    the command runs nothing, and decides nothing.
    """
    if command is not None:
        args = {name: args[name] for name in args.keys() - _SAID_OF_A_COMMAND}
        args["command"] = command
    return _digest(f"{tool}\0{json.dumps(args, sort_keys=True, default=str)}")


def result_key(ok: bool, exit_code: int | None, output: str, *, waits: bool = False) -> str:
    """Equal for equal results; `waits`: of a waiting command, of which everything counts."""
    text = output if waits else normalised(output)
    return _digest(f"{ok}\0{exit_code}\0{text}")


def error_key(output: str) -> str:
    """Equal for equal errors; empty for a tool that failed without a word."""
    text = normalised(output).strip()
    return _digest(text) if text else ""


def normalised(output: str) -> str:
    """A result without what differs from one run of the same thing to the next."""
    if len(output) > _MOST_COMPARED_CHARACTERS:
        half = _MOST_COMPARED_CHARACTERS // 2
        output = output[:half] + output[-half:]
    return _VOLATILE.sub("·", output)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _rounds(keys: Sequence[str], streaks: Sequence[int], key: str) -> int:
    """Rounds that a call would continue behind calls of these keys, oldest first."""
    rounds = 0
    if key:
        for length in range(1, min(len(keys), LONGEST_CYCLE) + 1):
            if keys[-length] == key:
                times = (streaks[length - 1] + length) // length
                rounds = times if times > rounds else rounds
    return rounds


class _Call(NamedTuple):
    key: str
    result: str


class _Open(NamedTuple):
    call: str
    key: str
    tool: str
    kind: ToolKind


class _Failing(NamedTuple):
    """A row of equal errors."""

    tool: str
    is_shell: bool
    key: str
    """The call that fails, of a tool that reads or edits; empty where any call goes on with it."""
    error: str
    result: str
    times: int


class Loops(NamedTuple):
    """What the last calls have in common. A value; every change makes a new one."""

    rounds: int = 0
    """Rounds of a cycle (of one to five calls) that the last asked call would continue."""
    errors: int = 0
    """Equal errors in a row that the last asked call would go on with."""
    rounds_ahead: int = 0
    """Rounds that the last asked call would continue if all calls end as the same ones did that
    still ran when it was asked for. 0: none ran."""
    errors_ahead: int = 0
    """Likewise, equal errors if the same call ends so as often as it still ran."""
    recent: tuple[_Call, ...] = ()
    """The last calls that have ended, oldest first, as many as the longest cycle has."""
    streaks: tuple[int, ...] = (0,) * LONGEST_CYCLE
    """For each length of a cycle: how many of the last calls equal the one that long before."""
    open: tuple[_Open, ...] = ()
    failing: tuple[_Failing, ...] = ()

    def asked(self, call: str, key: str, tool: str, kind: ToolKind) -> "Loops":
        """A call is about to run. Without a key it equals no other."""
        row = self._row(tool, key if kind in _ARGUMENTS_DECIDE else "")
        errors, ahead = row.times if row is not None else 0, 0
        beside = [each.key for each in self.open] if key and self.open else []
        if key in beside:
            keys, streaks = self._all_the_same()
            ahead = _rounds(keys, streaks, key)
        return Loops(
            _rounds([each.key for each in self.recent], self.streaks, key),
            errors,
            ahead,
            errors + beside.count(key) if ahead else 0,
            self.recent,
            self.streaks,
            (*self.open, _Open(call, key, tool, kind)),
            self.failing,
        )

    def ended(self, call: str, result: str, error: str, *, changed: bool) -> "Loops":
        """A call has ended. `changed`: it changed files, which is progress if it is new."""
        this = next((each for each in self.open if each.call == call), None)
        if this is None:
            return self
        ended = _Call(this.key, result)
        recent = self.recent
        streaks = [0] * LONGEST_CYCLE
        if this.key:
            for n, earlier in enumerate(reversed(recent)):
                if earlier == ended:
                    streaks[n] = self.streaks[n] + 1
        is_new = ended not in recent
        return Loops(
            self.rounds,
            self.errors,
            self.rounds_ahead,
            self.errors_ahead,
            (*recent, ended)[-LONGEST_CYCLE:],
            tuple(streaks),
            tuple(each for each in self.open if each is not this),
            () if changed and is_new else self._failing_after(this, result, error),
        )

    def cut_off(self, call: str | None = None) -> "Loops":
        """A call that was running has no result; None: none that was running has."""
        left = () if call is None else tuple(each for each in self.open if each.call != call)
        return self._replace(open=left) if self.open else self

    def _all_the_same(self) -> tuple[list[str], Sequence[int]]:
        """The keys of the last calls, and the streaks, once those that run have ended as the same
        did before them."""
        calls, streaks = list(self.recent), list(self.streaks)
        for running in self.open:
            key = running.key
            ended = next((each for each in reversed(calls) if each.key == key), _Call(key, ""))
            earlier = [*calls[: -LONGEST_CYCLE - 1 : -1], *[None] * LONGEST_CYCLE]
            streaks = [
                streak + 1 if key and one == ended else 0
                for one, streak in zip(earlier, streaks, strict=False)
            ]
            calls.append(ended)
        return [each.key for each in calls], streaks

    def _row(self, tool: str, key: str) -> _Failing | None:
        for each in self.failing:
            if each.tool == tool and each.key == key:
                return each
        return None

    def _failing_after(self, this: _Open, result: str, error: str) -> tuple[_Failing, ...]:
        """The rows of other shells go on; those of other tools end with any call."""
        others = tuple(each for each in self.failing if each.is_shell and each.tool != this.tool)
        is_told = this.kind in _ARGUMENTS_DECIDE
        if not error or (is_told and not this.key):
            return others
        key = this.key if is_told else ""
        row = self._row(this.tool, key)
        is_same = row is not None and row.error == error and row.result == result
        times = row.times + 1 if row is not None and is_same else 1
        is_shell = this.kind is ToolKind.SHELL
        failing = _Failing(this.tool, is_shell, key, error, result, times)
        return (*others[1 - MOST_SHELLS :], failing)
