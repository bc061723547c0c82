"""`python -m bench [PART …]`: all benchmarks, or some. Prints figures, asserts no times.

`python -m bench stops --help` is about recorded runs of yours.
"""

import os
import platform
import sys
from collections.abc import Callable, Mapping
from typing import Final

from bench import (
    agents,
    deadline,
    detector,
    flood,
    gate,
    hostile,
    idle,
    intake,
    ledger,
    lists,
    loops,
    pages,
    passes,
    replay,
    sandbox,
    startup,
    stops,
    storm,
    verdict,
    workers,
)

PARTS: Final[Mapping[str, Callable[[], None]]] = {
    "intake": intake.main,
    "flood": flood.main,
    "storm": storm.main,
    "verdict": verdict.main,
    "gate": gate.main,
    "hostile": hostile.main,
    "ledger": ledger.main,
    "lists": lists.main,
    "pages": pages.main,
    "startup": startup.main,
    "idle": idle.main,
    "detector": detector.main,
    "replay": replay.main,
    "loops": loops.main,
    "passes": passes.main,
    "sandbox": sandbox.main,
    "deadline": deadline.main,
    "agents": agents.main,
    "workers": workers.main,
}


def main() -> None:
    """Run the parts that are named, or all; `stops` is about recordings that it is told of."""
    if sys.argv[1:2] == ["stops"]:
        stops.main(sys.argv[2:])
        return
    unknown = set(sys.argv[1:]) - set(PARTS)
    if unknown:
        raise SystemExit(
            f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}"
        )
    for name in sys.argv[1:] or PARTS:
        print(f"[{_machine()}]", flush=True)
        PARTS[name]()


def _machine() -> str:
    load = "/".join(f"{each:.1f}" for each in os.getloadavg())
    return f"Python {platform.python_version()}, {os.cpu_count()} processors, load {load}"


if __name__ == "__main__":
    main()
