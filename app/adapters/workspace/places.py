"""Where things lie under the data directory, and which names may become paths or branches."""

import asyncio
import fcntl
import os
import re
import shutil
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from app.ports import CheckoutOrder, Whereabouts, WorkspaceFailed

DIRECTORY_ID: Final = "directory-id"
TIDIED: Final = "tidied"
MOST_NAME_CHARACTERS: Final = 200
LOCK_SECONDS: Final = 600.0
_LOCK_POLL_SECONDS: Final = 0.02
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}")
_BRANCH_PART: Final = re.compile(r"(?![.-])[\w.+@=#-]+(?<!\.)(?<!\.lock)")


def agent_directory(data_directory: Path, agent_id: str) -> Path:
    """The directory of one agent: `workspace`, `session` and what the host keeps beside them.

    Different ids have different directories: all but letters, digits, `.`, `-` and `~` is written
    as `_` and two hexadecimal digits. Raises `WorkspaceFailed` for an id that no agent has.
    """
    name = quote(agent_id, safe="").replace("_", "%5F").replace("%", "_")
    if not name or name.startswith(".") or len(name) > MOST_NAME_CHARACTERS:
        raise WorkspaceFailed(f"Not an agent's id: {agent_id[:MOST_NAME_CHARACTERS]!r}.")
    return data_directory / "agents" / name


def agents_in(data_directory: Path) -> list[str]:
    """Ids of the agents that have a directory; the opposite of `agent_directory`. May raise
    `OSError`."""
    agents = data_directory / "agents"
    if not agents.exists():
        return []
    return sorted(unquote(each.name.replace("_", "%")) for each in agents.iterdir())


def last_tidied(data_directory: Path) -> datetime | None:
    """When the data directory was tidied. May raise `OSError`."""
    file = data_directory / TIDIED
    if not file.exists():
        return None
    try:
        return datetime.fromisoformat(file.read_text())
    except ValueError:
        return None


def note_tidied(data_directory: Path, at: datetime) -> None:
    """Remember that it was. May raise `OSError`."""
    new = data_directory / f"{TIDIED}.new"
    new.write_text(at.isoformat())
    new.replace(data_directory / TIDIED)


def directory_id(data_directory: Path, new_name: Callable[[], str]) -> str:
    """Of this data directory, made up when somebody asks first. May raise `OSError`."""
    file = data_directory / DIRECTORY_ID
    if not file.exists():
        data_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        made_up = data_directory / f"{DIRECTORY_ID}.{new_name()}"
        made_up.write_text(new_name())
        with suppress(FileExistsError):  # somebody was faster
            file.hardlink_to(made_up)
        made_up.unlink()
    return file.read_text()


def holds(data_directory: Path, place: "Place", whereabouts: Whereabouts) -> bool:
    """Whether these are the agent's files. Newer ones than is known are, too: who noted them died
    before anybody knew. May raise `OSError`."""
    ours, noted = data_directory / DIRECTORY_ID, place.generation
    if not (ours.exists() and noted.exists() and ours.read_text() == whereabouts.directory):
        return False
    generation = noted.read_text()
    return generation.isdecimal() and int(generation) >= whereabouts.generation


@dataclass(frozen=True, slots=True)
class Place:
    """The files of one agent. The agent may write in `workspace`, `home` and `temporary` only."""

    root: Path

    @property
    def workspace(self) -> Path:
        """The agent's clone."""
        return self.root / "workspace"

    @property
    def unfinished(self) -> Path:
        """A clone that is being made or deleted; of no worth after a crash."""
        return self.root / "workspace.unfinished"

    @property
    def session(self) -> Path:
        """The agent's conversation."""
        return self.root / "session"

    @property
    def home(self) -> Path:
        """The home directory of the agent's processes."""
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        """What the agent sees as /tmp in its sandbox."""
        return self.root / "tmp"

    @property
    def apart(self) -> "Place":
        """A clean checkout in which Squadron finds out whether work is sound, with a home and
        temporary files of its own."""
        return Place(self.root / "apart")

    @property
    def handover(self) -> Path:
        """The host's git directory about this agent's work."""
        return self.root / "handover.git"

    @property
    def incoming(self) -> Path:
        """Objects taken out of the clone, before they are checked."""
        return self.root / "incoming.git"

    @property
    def outgoing(self) -> Path:
        """Where objects are checked before they are pushed."""
        return self.root / "outgoing.git"

    @property
    def bundle(self) -> Path:
        """News of the default branch, for the agent to fetch."""
        return self.root / "news.bundle"

    @property
    def refused_patch(self) -> Path:
        """What GitHub would not take."""
        return self.root / "refused.patch"

    @property
    def generation(self) -> Path:
        """How many times the agent had begun, here or elsewhere, when it began here last."""
        return self.root / "generation"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    def has_workspace(self) -> bool:
        """Whether there is a clone. Raises `WorkspaceFailed` if something else is in its place."""
        try:
            mode = self.workspace.lstat().st_mode
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(mode):
            raise WorkspaceFailed(
                f"{self.workspace} is not a directory any more: it was replaced. Look at it and "
                "move it away; the agent's next segment then starts from its branch."
            )
        return True


def mirror_path(data_directory: Path, order: CheckoutOrder) -> Path:
    """The bare mirror of a repository, wherever that has moved: clones borrow from it. Raises
    `WorkspaceFailed` for a name GitHub cannot have."""
    name = order.repository.full_name
    if not _REPOSITORY.fullmatch(name) or name.endswith(("/.", "/..")):
        raise WorkspaceFailed(f"Not a repository's name: {name[:MOST_NAME_CHARACTERS]!r}.")
    return data_directory / "mirrors" / f"{order.repository_id}.git"


def check_branches(order: CheckoutOrder) -> None:
    """Raise `WorkspaceFailed` unless both branch names are plain and different."""
    for name in (order.default_branch, order.branch):
        parts = name.split("/")
        is_plain = all(_BRANCH_PART.fullmatch(part) and ".." not in part for part in parts)
        if not is_plain or len(name) > MOST_NAME_CHARACTERS or name in ("HEAD", "@"):
            raise WorkspaceFailed(
                f"{name[:MOST_NAME_CHARACTERS]!r} cannot be used as a branch. "
                "Change `branch_naming` in .squadron/config.yaml."
            )
    if order.branch == order.default_branch:
        raise WorkspaceFailed(
            f"The agent's branch would be the default branch `{order.branch}`. "
            "Change `branch_naming` in .squadron/config.yaml."
        )


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Hold the file's lock, against coroutines of this process and against other workers.

    A lock belongs to the open file, so one mechanism serves both; the kernel frees it with the
    process. Raises `WorkspaceFailed` after `LOCK_SECONDS`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            async with asyncio.timeout(LOCK_SECONDS):
                while not _try_lock(descriptor):  # noqa: ASYNC110 (other processes hold it too)
                    await asyncio.sleep(_LOCK_POLL_SECONDS)
        except TimeoutError:
            raise WorkspaceFailed(f"{path} is held by another worker for too long.") from None
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def clear_git_locks(git_directory: Path) -> None:
    """Remove what a killed git left behind; call it only while holding the directory's lock."""
    for lock in [*git_directory.glob("*.lock"), *git_directory.glob("refs/**/*.lock")]:
        lock.unlink(missing_ok=True)


def delete_tree(directory: Path) -> None:
    """Delete a directory that an agent wrote: no link is followed, read-only parts go as well.

    A directory that is not there is fine. Raises `OSError` for what cannot be deleted.
    """

    def open_up(function: object, path: str, failure: tuple[object, BaseException, object]) -> None:
        if isinstance(failure[1], FileNotFoundError):
            return
        locked_up = Path(path)
        for shut in (locked_up.parent, locked_up):
            if stat.S_ISDIR(shut.lstat().st_mode):
                shut.chmod(0o700)
        if stat.S_ISDIR(locked_up.lstat().st_mode):
            shutil.rmtree(locked_up)
        else:
            locked_up.unlink()

    shutil.rmtree(directory, onerror=open_up)
