"""What one durable write costs on this disk: no commit can be faster than that."""

import os
import tempfile
from time import perf_counter
from typing import Final

WRITES: Final = 300
PAGE_BYTES: Final = 4_096


def floor() -> str:
    """Centiles of writing a page and having it on disk, where the databases of the runs are."""
    took = []
    with tempfile.TemporaryFile(prefix="squadron-bench-") as file:
        for _ in range(WRITES):
            begin = perf_counter()
            os.write(file.fileno(), bytes(PAGE_BYTES))
            os.fdatasync(file.fileno())
            took.append(1_000 * (perf_counter() - begin))
    took.sort()
    p50, p99 = took[WRITES // 2], took[WRITES * 99 // 100]
    return f"the disk alone: 4 kB and fdatasync p50 {p50:.2f} ms, p99 {p99:.2f} ms"
