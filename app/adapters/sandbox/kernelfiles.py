"""What agents could change of the machine by writing below /proc: found by trying every file."""

import os
import subprocess
from errno import EPERM
from functools import cache
from pathlib import Path
from typing import Final

from app.adapters.sandbox.user import agents_user, is_root

PROC: Final = "/proc"
SECONDS: Final = "60"
_MOST_SAID: Final = 300
WRITABLE: Final = """\
find {0} -regex '/proc/[0-9]+' -prune -o -type f -print0 2>/dev/null |
while read -r -d '' file; do
  {{ : >>"$file"; }} 2>/dev/null && printf '%s\\n' "$file"
done
true"""
"""For bash: the files below these directories that open for writing, but for those of processes.
They are closed again, and nothing is written."""


@cache
def writable_in_proc() -> tuple[str, ...]:
    """What lies directly in /proc, belongs to no process, and is or holds a file that
    `agents_user` may open for writing. Raises `OSError` where that cannot be found out."""
    user = agents_user()
    try:
        done = subprocess.run(
            ["timeout", "--signal=KILL", SECONDS, "bash", "-c", WRITABLE.format(PROC)],
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},  # no secret in it
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            user=user if is_root() else None,
            group=user if is_root() else None,
            extra_groups=() if is_root() else None,
        )
    except subprocess.SubprocessError as error:
        why = f"what user {user} may write below {PROC} is not known: {error}"[:_MOST_SAID]
        raise OSError(EPERM, why, PROC) from error
    entries = {Path(line).parts[2] for line in done.stdout.decode().splitlines()}
    return tuple(f"{PROC}/{entry}" for entry in sorted(entries))
