"""How large git's objects are, asked for many at once."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from app.adapters.workspace.host_git import HostGit

MOST_LINE_BYTES: Final = 100
"""Of what git says of one object."""
_OBJECT: Final = re.compile(r"(?P<id>[0-9a-f]{40}) (?:blob|commit|tree) (?P<size>\d+)")


async def sizes(git: HostGit, directory: Path, ids: Collection[str]) -> Mapping[str, int]:
    """In bytes, by id, in the order of `ids`; those that are not there are left out."""
    if not ids:
        return {}
    described = await git(
        directory,
        *("cat-file", "--batch-check"),
        stdin="\n".join(ids).encode(),
        most_output_bytes=MOST_LINE_BYTES * len(ids),
    )
    found = (_OBJECT.fullmatch(line) for line in described.splitlines())
    return {match["id"]: int(match["size"]) for match in found if match}
