"""Runs the contract of the runtimes and records what held: ``python -m tests.contract.record``.

`docs/reference/runtimes.md` is made from the record: `make docs`.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from xml.etree import ElementTree

from docs.from_code.runtimes import CONTRACT, HELD
from tests.contract.benches import BENCHES, CANNOT_BE_TOLD
from tests.contract.runtime_contract import STORIES

MOST_SECONDS: Final = 3_600.0
"""Of the whole run."""
_RUN: Final = Path(__file__).with_name("test_runtime_contract.py")
_WORDS: Final = {"failure": "broken", "error": "broken", "skipped": "not run"}
_TEST: Final = re.compile(r"test_contract\[(\w+)-(\w+)\]")


def ends(report: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """How each story of a JUnit report ended, by runtime and story."""
    for case in ElementTree.parse(report).iter("testcase"):
        if told := _TEST.fullmatch(case.get("name", "")):
            found = (word for tag, word in _WORDS.items() if case.find(tag) is not None)
            yield (told[1], told[2]), next(found, HELD)


def record(seen: Mapping[tuple[str, str], str]) -> dict[str, dict[str, str]]:
    """Story → runtime → `held`, `broken`, `not run`, or why it cannot be told of that runtime."""
    return {
        story.__name__: {
            runtime: CANNOT_BE_TOLD[runtime].get(story)
            or seen.get((runtime, story.__name__), "not run")
            for runtime in BENCHES
        }
        for story in STORIES
    }


def main() -> int:
    """The exit code of the run."""
    with TemporaryDirectory() as directory:
        report = Path(directory, "report.xml")
        command = [sys.executable, "-m", "pytest", str(_RUN), f"--junitxml={report}"]
        done = subprocess.run([*command, *sys.argv[1:]], timeout=MOST_SECONDS, check=False)
        recorded = record(dict(ends(report)))
    CONTRACT.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
