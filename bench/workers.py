"""What more workers do: the same agents with one, two and four of them, on one PostgreSQL.

An agent here waits for its model for most of the time, as agents do. What it costs beside that is
the machine's: with few cores they are what bounds many workers.
"""

import tempfile
import time
from pathlib import Path
from time import perf_counter
from typing import Final

from app.core.agents.events import Waits
from app.scripted.script import Answer, Call
from bench import databases
from tests.crash.site import WORKERS, Processes, Site, site
from tests.support.steps import commits, completes

NUMBERS: Final = (1, 2, 4)
AGENTS: Final = 16
THINK_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 0.5
MOST_SECONDS: Final = 600.0
SEED: Final = 1


def main() -> None:
    """Print one line."""
    if "PostgreSQL" not in databases.KINDS:
        print("workers: not measured: SQUADRON_TEST_POSTGRES_URL names no server")
        return
    took = [_seconds(number) for number in NUMBERS]
    ratios = ", ".join(
        f"{number}: {took[0] / seconds:.2f}" for number, seconds in zip(NUMBERS, took, strict=True)
    )
    print(
        f"workers: {AGENTS} agents, {WORKERS} at once in each worker, in {took[0]:.0f} s by one;"
        f" throughput as a multiple of that: {ratios}"
    )


def _seconds(workers: int) -> float:
    """From the first label until all have handed over."""
    shape = Processes(takers=1, workers=workers, do_takers_work=False, share_a_directory=False)
    with (
        tempfile.TemporaryDirectory(prefix="squadron-bench-") as directory,
        databases.empty("PostgreSQL") as url,
        site(Path(directory) / "site", SEED, url, shape=shape) as here,
    ):
        for member in here.members:
            member.until_ready()
        begin = perf_counter()
        for number in range(AGENTS):
            here.crowd.open(("builder",), *_story(number))
        while _handed_over(here) < AGENTS:
            if perf_counter() - begin > MOST_SECONDS:
                raise SystemExit(f"{workers} workers: {_handed_over(here)} of {AGENTS} handed over")
            time.sleep(LOOK_SECONDS)
        return perf_counter() - begin


def _story(number: int) -> tuple[Answer, ...]:
    file = {"path": f"{number}.txt", "text": "built\n"}
    thinks = Answer("", (Call("create", file),), think_seconds=THINK_SECONDS)
    return (thinks, thinks, commits("Build it"), completes("It is built."))


def _handed_over(here: Site) -> int:
    return sum(agent.waits_for is Waits.REVIEW for agent in here.world.agents())


if __name__ == "__main__":
    main()
