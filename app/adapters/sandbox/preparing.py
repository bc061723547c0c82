"""What prepares a workspace: the same walls as for an agent, and one door in them."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from app.adapters.sandbox import inside
from app.adapters.sandbox.bubblewrap import Door, SandboxedProcesses
from app.adapters.sandbox.system import interpreter
from app.adapters.sandbox.wayout import MOST_HEAD_BYTES, Egress, Proxy
from app.ports import Ended, Prepared, Processes

PORT: Final = 3128
"""Of the sandbox's own loopback, where nothing else listens."""
_PROXY: Final = f"http://127.0.0.1:{PORT}"
_NOT_THROUGH_IT: Final = "localhost,127.0.0.1,::1"
VARIABLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _PROXY),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), _NOT_THROUGH_IT),
}
"""What pip, npm, cargo, go, git and curl look at; each in the letters that it knows."""


@dataclass(frozen=True, slots=True)
class PlainPreparation:
    """`Preparation` without a way out of its own: as the agent's processes run."""

    processes: Processes

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        timeout_seconds: float,
    ) -> Prepared:
        """As `Preparation.run`."""
        ended = await self.processes.run(
            argv, cwd=cwd, environment=environment, timeout_seconds=timeout_seconds
        )
        return Prepared(ended)


@dataclass(frozen=True, slots=True)
class OpenedPreparation:
    """`Preparation` behind walls, with a way to the hosts of `egress`."""

    walls: SandboxedProcesses
    egress: Egress

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        timeout_seconds: float,
    ) -> Prepared:
        """As `Preparation.run`."""
        proxy = Proxy(self.egress)
        async with _listening(proxy) as door:
            ended: Ended = await self.walls.run(
                [*door.opener, *argv],
                cwd=cwd,
                environment={**environment, **VARIABLES},
                timeout_seconds=timeout_seconds,
                door=door,
            )
        return Prepared(ended, proxy.refused)


@asynccontextmanager
async def _listening(proxy: Proxy) -> AsyncIterator[Door]:
    """A door that the first who knocks, before anything of the command runs, opens to `proxy`."""
    with (
        TemporaryDirectory(prefix="squadron-") as directory,
        closing(socket.socket(socket.AF_UNIX)) as knocks,
    ):
        place = Path(directory, "door")
        _bind(knocks, place)
        knocks.listen(1)
        knocks.setblocking(False)
        opening = asyncio.create_task(_answered(knocks, proxy))
        try:
            yield Door(place, Path(inside.__file__), interpreter(), PORT)
        finally:
            opening.cancel()
            await asyncio.wait([opening])
            if not opening.cancelled() and opening.exception() is None:
                opening.result().close()
            await proxy.close()


def _bind(knocks: socket.socket, place: Path) -> None:
    """Whatever the length of its path, of which a socket's name has room for 107 bytes."""
    directory = os.open(place.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        knocks.bind(f"/proc/self/fd/{directory}/{place.name}")
    finally:
        os.close(directory)


async def _answered(knocks: socket.socket, proxy: Proxy) -> asyncio.Server:
    """Serve at the port that comes through the door; who knocks later is not heard. Raises
    `OSError` for anything else that comes."""
    loop = asyncio.get_running_loop()
    visitor, _ = await loop.sock_accept(knocks)
    with closing(visitor):
        await _readable(visitor)
        _, descriptors, _, _ = socket.recv_fds(visitor, 1, 1)
        if not descriptors:
            raise OSError("nothing came through the door of the sandbox")
        listener = socket.socket(fileno=descriptors[0])
        try:
            is_listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            if listener.family != socket.AF_INET or not is_listening:
                raise OSError("something else than a port came through the door of the sandbox")
            listener.setblocking(False)
            server = await asyncio.start_server(proxy.admit, sock=listener, limit=MOST_HEAD_BYTES)
        except BaseException:
            listener.close()
            raise
        await loop.sock_sendall(visitor, b"!")
        return server


async def _readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sock, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sock)
