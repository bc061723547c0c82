"""Whether the one door in the walls opens here and now, and lets through nobody who is not listed.

As with the walls, what Python, kernel and container make of it is found out by trying.
"""

import os
import secrets
import shutil
from pathlib import Path
from typing import Final

from app.adapters.sandbox.attacks import Broken
from app.ports import SEGMENT_VARIABLE, Preparation

OUT: Final = "reach hosts that are not listed"
TRIED: Final = ("169.254.169.254:80", "127.0.0.1:80", "[::1]:443", "not-listed.invalid:443")
"""The metadata address, the machine in two ways, and a name; the list holds none of them."""
_SECONDS: Final = 30.0
_MOST_SAID: Final = 300
_ASK: Final = """\
for host in "$@"; do
  exec 3<>"/dev/tcp/127.0.0.1/${http_proxy##*:}"
  printf 'CONNECT %s HTTP/1.1\\r\\n\\r\\n' "$host" >&3
  read -r -t 10 -u 3 _ status _ && echo "$status"
  exec 3>&-
done"""


async def broken_door(opened: Preparation, directory: Path) -> list[Broken]:
    """What is wrong with it, within seconds; nothing: it can be relied on. All lies below
    `directory`, and is gone afterwards. Raises `OSError` if nothing can be laid out there."""
    room = directory / f"room-{secrets.token_hex(8)}"
    for name in ("workspace", "home", "tmp"):
        (room / name).mkdir(parents=True)
    try:
        prepared = await opened.run(
            ["bash", "-c", _ASK, "bash", *TRIED],
            cwd=room / "workspace",
            environment={
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": str(room / "home"),
                "LANG": "C.UTF-8",
                SEGMENT_VARIABLE: f"attack:{room.name}",
            },
            timeout_seconds=_SECONDS,
        )
    except OSError as error:
        return [Broken(OUT, f"it cannot be started: {error}")]
    finally:
        shutil.rmtree(room)
    answers = prepared.ended.output.split()
    if answers == ["403"] * len(TRIED):
        return []
    if "200" in answers:
        return [Broken(OUT, "it can be done from inside the sandbox")]
    said = " / ".join(prepared.ended.output.split("\n"))[:_MOST_SAID]
    return [Broken(OUT, f"the way out for setup commands does not open: {said}")]
