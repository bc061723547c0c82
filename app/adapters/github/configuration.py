"""The files of `.squadron/`, read over the contents endpoint within bounds."""

from collections.abc import Awaitable, Callable
from typing import Final

from app.adapters.github.reading import file_content, needed_number, needed_text, text
from app.ports import Refused

DIRECTORY: Final = ".squadron"
MAX_FILES: Final = 64
MAX_FILE_BYTES: Final = 256_000

Contents = Callable[[str], Awaitable[object]]
"""What GitHub answers for a path of the default branch; None if there is nothing."""


async def configuration(contents: Contents) -> dict[str, bytes]:
    """`config.yaml` and `agents/*.md` by their path below the directory; empty without one.

    Raises `Refused` where a bound is passed or a link lies: a part of a configuration would be
    another configuration.
    """
    top = {_name(each): each for each in await _listed(contents, DIRECTORY)}
    found = [top["config.yaml"]] if "config.yaml" in top else []
    if "agents" in top:
        listed = await _listed(contents, f"{DIRECTORY}/agents")
        found += [each for each in listed if _name(each).endswith(".md")]
    if len(found) > MAX_FILES:
        raise Refused(f"{DIRECTORY} holds {len(found)} files; at most {MAX_FILES} are read", 422)
    files = {}
    for each in found:
        path = needed_text(each, "path")
        files[path.removeprefix(f"{DIRECTORY}/")] = await _file(contents, path, each)
    return files


async def _listed(contents: Contents, path: str) -> list[object]:
    listed = await contents(path)
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise Refused(f"{path} is no directory; Squadron reads a directory of that name", 422)
    return listed


async def _file(contents: Contents, path: str, listed: object) -> bytes:
    kind, size = text(listed, "type"), needed_number(listed, "size")
    if kind != "file":
        raise Refused(f"{path} is a {kind}; Squadron reads plain files only", 422)
    if size > MAX_FILE_BYTES:
        raise Refused(f"{path} has {size} bytes; at most {MAX_FILE_BYTES} are read", 422)
    return file_content(await contents(path))


def _name(listed: object) -> str:
    return needed_text(listed, "name")
