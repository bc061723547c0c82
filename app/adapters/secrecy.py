"""What keeps other processes of this user out of this one."""

import ctypes
import os
from typing import Final

_SET_DUMPABLE: Final = 4  # <linux/prctl.h>


def keep_to_itself() -> None:
    """From now on nobody but root reads this process's memory, environment and descriptors, or
    traces it, and it leaves no core: without a sandbox agents are the same user, and the keys are
    in there. What it starts is as readable as ever. Raises `OSError`."""
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
