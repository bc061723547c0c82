"""How long the detector needs for one command, over the table of commands."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

from app.adapters.shell import parse
from app.core.testruns import suite_of

TABLE = Path(__file__).parent.parent / "tests" / "detection" / "commands.jsonl"
ROUNDS = 5
AIM_MEDIAN_US = 200


def main() -> None:
    """Prints median and 99th percentile of parse + judge, in microseconds."""
    calls = [json.loads(line)["args"] for line in TABLE.read_text(encoding="utf-8").splitlines()]
    commands = [args["command"] for args in calls if "command" in args]
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
