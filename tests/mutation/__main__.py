"""`python -m tests.mutation [PATH …] [--sample N --seed S] [--workers N]`, from the project's root.

Prints how many of the faults planted in `app/core` and `app/testruns` (or the files named) the
tests notice, and the survivors that `survivors.toml` gives no reason for. With one of those the
exit status is 1; of a sample, which each change of the code draws anew a little, if less than nine
in ten are noticed.
"""

import argparse
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.mutation.judge import Judge, Result
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.reach import PURE, Tracer, explore
from tests.mutation.report import LEFT, reasons, share, unexplained_words, written
from tests.mutation.session import Session

ROOT: Final = Path.cwd()
TESTS: Final = ("tests/core", "tests/detection")
"""What runs without a server, a process and a clock."""
LEAST_SHARE: Final = 0.9


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status."""
    options = _options(arguments)
    mutants = chosen(options.paths, options.sample, options.seed)
    session, tracer = Session(), Tracer(ROOT)
    status = [2]

    def work() -> None:
        sys.settrace(None)
        tracer.watches_imports = False
        with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
            status[0] = _work(session, tracer, mutants, options, Path(folder))

    tracer.watches_imports = True
    sys.settrace(tracer)
    is_collected = session.collect(TESTS, work)
    return status[0] if is_collected else 2


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutation", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, default=PURE)
    parser.add_argument("--sample", type=int, help="plant only so many, chosen by the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    return parser.parse_args(arguments)


def chosen(paths: Sequence[Path], sample: int | None, seed: int) -> list[Mutant]:
    """The faults to plant in these files and folders; `sample`: only so many of them.

    The seed and the fault itself draw the lots, so that a change of one file hardly moves the
    sample in the others.
    """
    files = sorted(
        {file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))}
    )
    mutants = [each for file in files for each in mutants_of(str(file), file.read_text())]
    lots = {mutant.key: _lot(seed, mutant) for mutant in mutants}
    drawn = set(sorted(lots, key=lots.__getitem__)[:sample])
    return [mutant for mutant in mutants if mutant.key in drawn]


def _lot(seed: int, mutant: Mutant) -> str:
    return hashlib.sha256("\0".join((str(seed), *mutant.key)).encode()).hexdigest()


def _work(
    session: Session,
    tracer: Tracer,
    mutants: Sequence[Mutant],
    options: argparse.Namespace,
    folder: Path,
) -> int:
    workers: int = options.workers
    began = time.monotonic()
    tests = explore(session, tracer, workers, folder)
    broken = [name for name, test in tests.items() if not test.passed]
    took = time.monotonic() - began
    print(f"{len(tests)} tests, {len(mutants)} mutants; the tests took {took:.0f} s", flush=True)
    judge = Judge(ROOT, session, tests, tracer.while_importing)
    results: list[Result] = []
    for result in judge.judged(mutants, workers, folder):
        results.append(result)
        if result.fate in LEFT:
            mutant = result.mutant
            words = f"{result.fate}: {mutant.file}:{mutant.line} {mutant.function}: {mutant.change}"
            print(words, file=sys.stderr, flush=True)
        if len(results) % 100 == 0:
            print(f"{len(results)} of {len(mutants)} are judged", file=sys.stderr, flush=True)
    known = reasons(ROOT / "tests/mutation/survivors.toml")
    print(written(results, known))
    print(f"in {time.monotonic() - began:.0f} s, with {workers} workers")
    for name in broken:
        print(f"FAILS WITHOUT ANY FAULT, and was left out: {name}")
    unexplained = unexplained_words(results, known)
    if unexplained:
        print(f"\nSurvivors without a reason in tests/mutation/survivors.toml:\n\n{unexplained}")
    is_enough = not unexplained if options.sample is None else share(results) >= LEAST_SHARE
    return 0 if is_enough and not broken else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
