"""The files of `.squadron/`, read over the contents endpoint within bounds."""

from collections.abc import Awaitable, Callable
from typing import Final

from app.adapters.github.reading import dig, file_content, text
from app.ports import Refused

DIRECTORY: Final = ".squadron"
MAX_FILES: Final = 64
MAX_FILE_BYTES: Final = 256_000

Contents = Callable[[str], Awaitable[object]]
"""What GitHub answers for a path of the default branch; None if there is nothing."""


async def configuration(contents: Contents) -> dict[str, bytes]:
    """`config.yaml` and `agents/*.md` by their path below the directory; empty without one.

    Raises `Refused` where a bound is passed: a part of a configuration would be another one.
    """
    found = [each for each in await _listed(contents, DIRECTORY) if _name(each) == "config.yaml"]
    found += [
        each
        for each in await _listed(contents, f"{DIRECTORY}/agents")
        if _name(each).endswith(".md")
    ]
    if len(found) > MAX_FILES:
        raise Refused(f"{DIRECTORY} holds {len(found)} files; at most {MAX_FILES} are read", 422)
    return {
        path.removeprefix(f"{DIRECTORY}/"): await _file(contents, path, each)
        for each in found
        if (path := text(each, "path")) is not None
    }


async def _listed(contents: Contents, path: str) -> list[object]:
    """The files in a directory; links and directories are left out."""
    listed = await contents(path)
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise Refused(f"{path} is a file; Squadron reads a directory of that name", 422)
    return [each for each in listed if text(each, "type") == "file"]


async def _file(contents: Contents, path: str, listed: object) -> bytes:
    size = dig(listed, "size")
    if not isinstance(size, int) or size > MAX_FILE_BYTES:
        raise Refused(f"{path} has {size} bytes; at most {MAX_FILE_BYTES} are read", 422)
    return file_content(await contents(path))


def _name(listed: object) -> str:
    return text(listed, "name") or ""
