"""Memory that large requests took goes back to the machine: with glibc, and in a process of its own
each time, for what a process has done before decides where it lays its blocks."""

import ctypes
import subprocess
import sys
from typing import Final

import pytest

from tests.support.waiting import MOST_SECONDS

pytestmark = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another C library than glibc"
)

PROGRAM: Final = """\
import sys
from pathlib import Path
from app.web.memory import give_back, keep_large_blocks_apart

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

size, how = int(sys.argv[1]), sys.argv[2]
if how == "apart":
    keep_large_blocks_apart()
first = bytearray(size)
del first  # from its first free block on glibc lays such blocks among others
before = resident()
blocks = [b"x" * size for _ in range(200_000_000 // size)]
above = [bytearray(1000) for _ in range(1000)]  # what is used above them holds the heap up
taken = resident() - before
del blocks
if how == "given back":
    give_back()
print((resident() - before) / taken)
"""
LARGE, SMALL = 4_000_000, 50_000


def still_held(size: int, how: str) -> float:
    """The share of 200 MB in blocks of that size that the process holds after it has freed them."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(size), how],
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=True,
    )
    return float(done.stdout)


def test_large_blocks_go_back_by_themselves_where_they_are_kept_apart() -> None:
    assert still_held(LARGE, "") > 0.9
    assert still_held(LARGE, "apart") < 0.1


def test_what_is_free_in_small_parts_goes_back_when_it_is_told_to() -> None:
    assert still_held(SMALL, "apart") > 0.9
    assert still_held(SMALL, "given back") < 0.1
