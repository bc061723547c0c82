"""How good the detector is, and how long it needs for one command, over the tables of commands."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from app.adapters.shell import parse
from app.testruns import suite_of
from tests.detection.table import DEVELOPMENT, OWN, rows, score

ROUNDS = 5
AIM_MEDIAN_US = 200
AIM_PRECISION = 0.99
AIM_RECALL = 0.98
MOST_SHOWN = 10


def main() -> None:
    """Prints the score on each table, then median and 99th percentile of parse + judge."""
    for table in (DEVELOPMENT, OWN):
        _print_score(table)
    _print_times()


def _print_score(table: Path) -> None:
    reached = score(rows(table))
    print(
        f"detector, {table.name}: {reached.decided} decided calls: "
        f"{reached.found} runs found, {len(reached.missed)} missed; "
        f"{reached.correctly_none} others let pass, {len(reached.false)} taken for runs; "
        f"precision {reached.precision:.4f} (aim: {AIM_PRECISION}), "
        f"recall {reached.recall:.4f} (aim: {AIM_RECALL})"
    )
    for row in (reached.missed + reached.false)[:MOST_SHOWN]:
        print(f"  wrong: {row.tool} {row.args}")


def _print_times() -> None:
    commands = [
        row.args["command"]
        for table in (DEVELOPMENT, OWN)
        for row in rows(table)
        if row.args.get("command")
    ]
    spent_us: list[float] = []
    for _ in range(ROUNDS):
        for command in commands:
            start = time.perf_counter_ns()
            suite_of(parse(command))
            spent_us.append((time.perf_counter_ns() - start) / 1_000)
    centiles = statistics.quantiles(spent_us, n=100)
    print(
        f"detector: {len(commands)} commands, {ROUNDS} rounds: "
        f"median {centiles[49]:.0f} us, p99 {centiles[98]:.0f} us (aim: median {AIM_MEDIAN_US} us)"
    )


if __name__ == "__main__":
    main()
