"""What a pass of reconciliation costs: many repositories in which nobody waits, and the same with
many agents that wait for people. Nothing happens there, as on most days in most repositories.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.usage import cpu_seconds, resident_megabytes
from tests.support.crowd import Crowd, crowd

REPOSITORIES: Final = 200
SLEEPERS: Final = 25
"""In each of them."""
EVERY_SECONDS: Final = 10
PASSES: Final = 5
MOST_BEFORE: Final = 60
"""Passes within which all is looked at that is new to the process."""
AIM_REQUESTS: Final = 250
AIM_CPU_SECONDS: Final = 2
AIM_MEGABYTES: Final = 20


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a pass in which nothing was to be done."""

    requests: int
    """The median; each configuration is read again now and then, most of them in one pass."""
    cpu_seconds: float
    """The median, with what the service does between passes."""
    megabytes: float
    """In RAM after the last."""


def main() -> None:
    """Print the figures."""
    with (
        tempfile.TemporaryDirectory(prefix="squadron-bench-", dir=Path.home()) as name,
        crowd(Path(name), REPOSITORIES) as here,
    ):
        here.reconciles_every(EVERY_SECONDS)
        empty = _cost(here)
        here.falls_asleep(SLEEPERS)
        full = _cost(here)
    print(
        f"passes: {REPOSITORIES} repositories, nobody waits: {_words(empty)};"
        f" {REPOSITORIES * SLEEPERS:,} agents wait: {_words(full)}"
        f" = {full.cpu_seconds / empty.cpu_seconds:.1f} times,"
        f" {full.megabytes - empty.megabytes:+.0f} MB (aims: {AIM_REQUESTS} requests,"
        f" {AIM_CPU_SECONDS} s, {AIM_MEGABYTES} MB more)",
        flush=True,
    )


def _words(cost: Cost) -> str:
    return (
        f"{cost.requests} requests, {cost.cpu_seconds:.2f} s of a processor,"
        f" {cost.megabytes:.0f} MB"
    )


def _cost(here: Crowd) -> Cost:
    here.one_pass()
    for _ in range(MOST_BEFORE):
        done = here.next_pass(len(here.passes()))
        if not done["repairs"] and "looks" not in done["put_off"]:
            break
    else:
        raise AssertionError(f"after {MOST_BEFORE} passes there is something to do still")
    pid, used = here.team.service.pid, list[float]()
    cpu = cpu_seconds(pid)
    first = len(here.passes())
    for _ in range(PASSES):
        here.next_pass(len(here.passes()))
        before, cpu = cpu, cpu_seconds(pid)
        used.append(cpu - before)
    requests = median(one["requests"] for one in here.passes()[first:])
    megabytes = resident_megabytes(pid)
    here.team.service.stop()
    return Cost(requests, median(used), megabytes)


if __name__ == "__main__":
    main()
