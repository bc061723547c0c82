"""Memory that large requests took goes back to the machine."""

import ctypes
import gc
from typing import Final

LARGE_BLOCK_BYTES: Final = 1024 * 1024
_MMAP_THRESHOLD: Final = -3  # <malloc.h>
_LIBRARY: Final = ctypes.CDLL(None)


def keep_large_blocks_apart() -> None:
    """From now on a large block is mapped by itself and goes back as soon as it is free. Of its
    own accord glibc lays blocks of up to 32 MiB among all others once it has freed the first.
    Other C libraries have no such setting."""
    if hasattr(_LIBRARY, "mallopt"):
        _LIBRARY.mallopt(_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)


def give_back() -> None:
    """Hand back what is free in small parts, which glibc keeps however much it is. Takes some
    milliseconds, in which other threads go on."""
    gc.collect()
    if hasattr(_LIBRARY, "malloc_trim"):
        _LIBRARY.malloc_trim(0)
