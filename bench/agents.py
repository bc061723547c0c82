"""What an agent costs beside its model: the start of a segment, memory, and many at once.

The real service on a scripted GitHub and a scripted model; its agents run in the sandbox where
the machine has bubblewrap. The start of a segment ends with its first tool call: the clone, the
walls, the runtime, and one model call that answers at once lie between.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

from app.adapters.runtimes import claude, copilot
from app.core.agents.events import SegmentStarted, ToolAsked
from app.core.agents.lifecycle import State
from app.scripted.script import Answer, Call
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.waiting import until

ROUNDS: Final = 5
"""Agents of each runtime, one after the other."""
CROWD: Final = 50
"""Embedded agents at once."""
MOST_SECONDS: Final = 600.0
ROLE: Final = "bench"


@dataclass(frozen=True, slots=True)
class Kind:
    """A runtime, and how a scripted model speaks to it."""

    runtime: str
    model: str
    shell: Callable[[str], Call]
    done: Call
    missing: str
    environment: Mapping[str, str]


def main() -> None:
    """Print the figures."""
    walls = "behind walls" if shutil.which("bwrap") else "WITHOUT WALLS: there is no bubblewrap"
    for kind in _kinds():
        if kind.missing:
            print(f"agents: {kind.runtime} not measured: {kind.missing}")
        else:
            print(f"agents: {_one_after_the_other(kind)}, {walls}", flush=True)
    print(f"agents: {_at_once()}, {walls}")


def _kinds() -> Iterator[Kind]:
    named = os.environ.get("SQUADRON_COPILOT_CLI")
    path = None if named is None else Path(named)
    done = {"summary": "Done."}
    yield Kind("embedded", "openai:scripted", _runs, Call("report_complete", done), "", {})
    yield Kind(
        "claude",
        "anthropic:claude-haiku-4-5",
        lambda command: Call("Bash", {"command": command}),
        Call("mcp__squadron__report_complete", done),
        claude.missing() or "",
        {},
    )
    yield Kind(
        "copilot",
        "openai:gpt-4o",
        lambda command: Call("bash", {"command": command, "description": "waits"}),
        Call("report_complete", done),
        copilot.missing(path) or "",
        {} if named is None else {"SQUADRON_COPILOT_CLI": named},
    )


def _runs(command: str) -> Call:
    return Call("bash", {"command": command})


@contextmanager
def _team(kind: Kind, workers: int) -> Iterator[Squad]:
    """Its agents see the signals that their shells wait for."""
    with tempfile.TemporaryDirectory(prefix="squadron-bench-", dir=Path.home()) as name:
        directory = Path(name)
        mode = "required" if shutil.which("bwrap") else "off"
        with squad(
            directory,
            {"octo/demo": repository({ROLE: {"runtime": kind.runtime}})},
            operator={"sandbox": {"mode": mode, "mounts": [str(directory / "signals")]}},
            workers=workers,
            model_name=kind.model,
            reconciliation_seconds=60,
            further_environment=kind.environment,
        ) as team:
            yield team


def _one_after_the_other(kind: Kind) -> str:
    starts, megabytes = list[float](), list[float]()
    with _team(kind, 1) as team:
        for number in range(ROUNDS):
            before = _megabytes(team)
            task = _gives(team, kind, f"go-{number}")
            _until_asked(team, [task])
            megabytes.append(_megabytes(team) - before)
            team.go(f"go-{number}")
            team.until(task, State.SLEEPING)
            starts.append(_start_seconds(team, task))
    each = ", ".join(f"{start:.1f}" for start in starts)
    return (
        f"{kind.runtime}: {median(starts):.1f} s from the start of a segment to its first tool call"
        f" (median of {each}), {median(megabytes):.0f} MB for an agent at work"
    )


def _at_once() -> str:
    kind = next(_kinds())
    with _team(kind, CROWD) as team:
        before, begin = _megabytes(team), perf_counter()
        tasks = [_gives(team, kind, "go") for _ in range(CROWD)]
        _until_asked(team, tasks)
        working, weight = perf_counter() - begin, _megabytes(team)
        team.go("go")
        for task in tasks:
            team.until(task, State.SLEEPING)
        ended = perf_counter() - begin
    return (
        f"{CROWD} embedded at once: all at work {working:.1f} s after the first was asked for, all"
        f" handed over after {ended:.1f} s; {weight:.0f} MB with all of them at work,"
        f" {(weight - before) / CROWD:.1f} MB for each"
    )


def _gives(team: Squad, kind: Kind, signal: str) -> Task:
    """One who waits for the signal in a shell, commits, and is done."""
    file = team.signal(signal)
    wait = f"for n in $(seq 6000); do [ -e {file} ] && break; sleep 0.1; done"
    work = f"{wait}; echo done >> README.md && git commit --quiet --all --message Work"
    return team.give(ROLE, signal, Answer("", (kind.shell(work),)), Answer("", (kind.done,)))


def _until_asked(team: Squad, tasks: list[Task]) -> None:
    """Until the shells of all of them run."""

    def are_at_work() -> bool:
        return all(_has_asked(team, task) for task in tasks)

    until(are_at_work, "all are at work", within_seconds=MOST_SECONDS, failing=team.check_alive)


def _has_asked(team: Squad, task: Task) -> bool:
    return any(isinstance(event, ToolAsked) for event in team.registry.log(team.agent(task).id))


def _start_seconds(team: Squad, task: Task) -> float:
    log: Any = team.registry.log(team.agent(task).id)
    began = next(event.at for event in log if isinstance(event, SegmentStarted))
    asked = next(event.at for event in log if isinstance(event, ToolAsked))
    return float((asked - began).total_seconds())


def _megabytes(team: Squad) -> float:
    """The service and all that runs below it; what they share is counted once."""
    return sum(_share(pid) for pid in _tree(team.service.pid)) / 1_000_000


def _tree(root: int) -> set[int]:
    """A process and all that it started, and they."""
    parents = dict[int, int]()
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            said = file.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        parents[int(file.parent.name)] = int(said.rpartition(")")[2].split()[1])
    tree, generation = set[int](), {root}
    while generation:
        tree |= generation
        generation = {pid for pid, parent in parents.items() if parent in generation} - tree
    return tree


def _share(pid: int) -> int:
    """Bytes of a process, of what it shares its part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it has ended
    [kilobytes] = [line.split()[1] for line in lines if line.startswith("Pss:")]
    return int(kilobytes) * 1_024


if __name__ == "__main__":
    main()
