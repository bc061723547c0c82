"""The files of `.squadron/`, read over the contents endpoint within bounds."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from app.adapters.github.reading import file_content, needed_number, needed_text, text
from app.ports import Unreadable

DIRECTORY: Final = ".squadron"
NAMES: Final = ("config.yaml", "config.yml", "setup.sh", "verify.sh")
"""What is read there besides the agents' files."""
MAX_FILES: Final = 64
MAX_FILE_BYTES: Final = 256 * 1024
MOST_KEPT: Final = 2_000
"""Files and directories of all repositories that need not be read again."""

Contents = Callable[[str], Awaitable[object]]
"""What GitHub answers for a path of the default branch; None if there is nothing."""


class KeptContents:
    """What GitHub answered, by git's hash of it: that never changes."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, object] = OrderedDict()

    async def get(self, contents: Contents, path: str, listed: object) -> object:
        """What is at a path, of which the listing tells the hash."""
        name = needed_text(listed, "sha")
        if name in self._answers:
            self._answers.move_to_end(name)
            return self._answers[name]
        answer = await contents(path)
        if answer is not None:
            self._answers[name] = answer
            if len(self._answers) > MOST_KEPT:
                self._answers.popitem(last=False)
        return answer


async def configuration(contents: Contents, kept: KeptContents) -> dict[str, bytes]:
    """`config.yaml`, `setup.sh`, `verify.sh` and `agents/*.md` by their path below the directory;
    empty without one. Also `config.yml`: who reads them has to say that nobody reads that.

    Raises `Unreadable` where a bound is passed or a link lies: a part of a configuration would be
    another configuration.
    """
    top = {_name(each): each for each in _entries(DIRECTORY, await contents(DIRECTORY))}
    found = [top[name] for name in NAMES if name in top]
    if "agents" in top:
        path = f"{DIRECTORY}/agents"
        listed = _entries(path, await kept.get(contents, path, top["agents"]))
        found += [each for each in listed if _name(each).endswith(".md")]
    if len(found) > MAX_FILES:
        raise Unreadable(DIRECTORY, f"holds {len(found)} files; at most {MAX_FILES} are read")
    files = {}
    for each in found:
        path = needed_text(each, "path")
        files[path.removeprefix(f"{DIRECTORY}/")] = await _file(contents, kept, path, each)
    return files


def _entries(path: str, listed: object) -> list[object]:
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise Unreadable(path, "is no directory; Squadron reads a directory of that name")
    return listed


async def _file(contents: Contents, kept: KeptContents, path: str, listed: object) -> bytes:
    kind, size = text(listed, "type"), needed_number(listed, "size")
    if kind != "file":
        raise Unreadable(path, f"is a {kind}; Squadron reads plain files only")
    if size > MAX_FILE_BYTES:
        raise Unreadable(path, f"has {size} bytes; at most {MAX_FILE_BYTES} are read")
    return file_content(await kept.get(contents, path, listed))


def _name(listed: object) -> str:
    return needed_text(listed, "name")
