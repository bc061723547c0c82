"""What a process uses, as /proc tells it."""

import os
from pathlib import Path


def resident_megabytes(pid: int) -> float:
    """Memory of the process that is in RAM now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000


def cpu_seconds(pid: int) -> float:
    """What it used of the processors so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
