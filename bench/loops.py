"""How the limits on loops do on labelled runs, and what they cost a tool call."""

from __future__ import annotations

import time
from functools import partial

from app.adapters.pricing import price_of
from app.adapters.shell import parse
from app.adapters.transcripts import load
from app.core.agents.events import ToolKind
from app.core.agents.loops import Loops
from app.core.history.replay import Rules, replay
from app.core.limits import LimitName, Limits
from app.testruns import SuiteRules
from tests.support.transcripts import DATA, LABELS

CALLS = 20_000
BATCHES = 5
AIM_MICROSECONDS = 6


def main() -> None:
    """Prints caught loops and false stops over the labelled runs, then the cost of one call."""
    _print_score()
    _print_cost()


def _print_score() -> None:
    prices = partial(price_of, overrides={})
    rules = Rules(Limits(), SuiteRules(), parse, prices)
    on_loops = {LimitName.MAX_REPEATED_ERRORS, LimitName.MAX_REPEATED_CALLS}
    stopped: dict[bool, list[bool]] = {True: [], False: []}
    for label in LABELS:
        if "labels" in label:
            marks = replay(load(DATA / label["file"]), rules).stops
            stopped[label["loop"]].append(any(mark.limit in on_loops for mark in marks))
    loops, others = stopped[True], stopped[False]
    print(
        f"loops: {sum(loops)} of {len(loops)} labelled loops stopped, "
        f"{sum(others)} of {len(others)} other runs (aim: none)"
    )


def _print_cost() -> None:
    """A shell that sometimes fails, and one that repeats itself: the row is as long as it gets."""
    for name, calls, errors in (("varied", 7, 4), ("repeated", 1, 1)):
        loops, best = Loops(), float("inf")
        for _ in range(BATCHES):
            start = time.perf_counter_ns()
            for n in range(CALLS):
                loops = loops.asked("call", f"{n % calls}", "bash", ToolKind.SHELL)
                error = "" if n % errors else "error"
                loops = loops.ended("call", f"{n % calls}", error, changed=False)
            best = min(best, (time.perf_counter_ns() - start) / CALLS / 1_000)
        print(f"loops: {name} call asked and ended: {best:.1f} us (aim: {AIM_MICROSECONDS} us)")


if __name__ == "__main__":
    main()
