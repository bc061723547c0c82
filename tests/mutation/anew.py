"""`python -m tests.mutation.anew FILE SOURCE TESTS NOTE`: one mutant whose file has to be run."""

import sys
from pathlib import Path

from tests.mutation.judge import anew

if __name__ == "__main__":
    file, source, names, note = sys.argv[1:]
    sys.exit(anew(Path.cwd(), file, Path(source), Path(names), Path(note)))
