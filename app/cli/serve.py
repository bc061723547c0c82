"""`squadron serve` and `squadron worker`."""

import asyncio
import gc
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Final

import typer
import uvicorn

from app.bootstrap import Adapters, Service
from app.cli.failing import fail
from app.cli.lives import Life
from app.web.application import BODY_BYTES, Application
from app.web.connections import protocol
from app.web.guests import Guests, bounds
from app.web.memory import keep_large_blocks_apart
from app.web.waiting import Waiting

SERVER_FLAGS: Final[Mapping[str, Any]] = {
    "loop": "uvloop",
    "http": "httptools",
    "ws": "none",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "backlog": 2_048,
    "timeout_keep_alive": 30,
    "timeout_graceful_shutdown": 5,
}
"""uvicorn's; the benchmarks measure other applications under the same ones."""

GIVE_WAY_SECONDS: Final = 0.001
"""How long the web server keeps the interpreter from the thread that commits its deliveries."""


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes any free one.")] = 8000,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Take deliveries, but run no agents.")
    ] = False,
) -> None:
    """Web, scheduler and worker in one process."""
    serve_with(Adapters(), host, port, runs_agents=not no_worker)


def serve_with(adapters: Adapters, host: str, port: int, *, runs_agents: bool = True) -> None:
    """Serve until a signal ends it; `adapters` take the place of parts of the world."""
    life = Life(adapters, runs_agents=runs_agents)
    sys.setswitchinterval(GIVE_WAY_SECONDS)
    keep_large_blocks_apart()
    life.listen(host, port)

    def failed(error: Exception) -> None:
        life.fails(error)
        server.should_exit = True

    flags = {**SERVER_FLAGS, "http": protocol(Guests(bounds(), BODY_BYTES.get))}
    server = uvicorn.Server(uvicorn.Config(_application(life, failed), **flags))
    gc.collect()
    gc.freeze()  # what was imported stays: looking through it again and again holds deliveries up
    with suppress(KeyboardInterrupt):
        server.run([*life.listeners])
    life.end()


def _application(life: Life, failed: Callable[[Exception], None]) -> Application | Waiting:
    if life.is_first:
        return Application(life.built())

    async def made() -> Application:
        return Application(await life.come_back())

    return Waiting(made, failed)


def worker() -> None:
    """A further worker on the same PostgreSQL database."""
    work_with(Adapters())


def work_with(adapters: Adapters) -> None:
    """Work until a signal ends it; `adapters` take the place of parts of the world."""
    life = Life(adapters, runs_agents=True)
    first = life.built() if life.is_first else None
    if first is not None and first.database.dialect.name != "postgresql":
        fail("a further worker needs PostgreSQL: SQLite serves one process a data directory")
    try:
        asyncio.run(_work(life, first))
    except Exception as error:
        if first is not None:
            raise
        life.fails(error)
    life.end()


async def _work(life: Life, first: Service | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    service = first or await _come_back(life, stop)
    if service is None:
        return
    await service.start()
    try:
        await stop.wait()
    finally:
        await service.stop()


async def _come_back(life: Life, stop: asyncio.Event) -> Service | None:
    """None: it was told to stop before."""
    coming = asyncio.create_task(life.come_back())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({coming, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if coming.done():
        return coming.result()
    coming.cancel()
    return None
