"""`squadron serve` and `squadron worker`."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Final

import typer
import uvicorn

from app.adapters.engine import AlreadyRunning
from app.adapters.logs import log_to_stderr
from app.adapters.secrecy import keep_to_itself
from app.bootstrap import Adapters, CannotServe, Service, build
from app.cli.failing import fail
from app.cli.listening import CannotListen, address_of, taken
from app.config.settings import SettingsError, load_settings
from app.core.text.redact import Redactor
from app.web.application import BODY_BYTES, Application
from app.web.connections import protocol
from app.web.guests import Guests, bounds
from app.web.memory import keep_large_blocks_apart

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
    keep_to_itself()
    redact = Redactor()
    log_to_stderr(redact)
    sys.setswitchinterval(GIVE_WAY_SECONDS)
    keep_large_blocks_apart()
    try:
        listeners = taken(host, port)
    except CannotListen as error:
        fail(str(error))
    address = address_of(listeners[0])
    service = _built(redact, adapters, runs_agents=runs_agents, address=address)
    gc.collect()
    gc.freeze()  # what was imported stays: looking through it again and again holds deliveries up
    flags = {**SERVER_FLAGS, "http": protocol(Guests(bounds(), BODY_BYTES.get))}
    server = uvicorn.Server(uvicorn.Config(Application(service), **flags))
    with suppress(KeyboardInterrupt):
        server.run([*listeners])


def worker() -> None:
    """A further worker on the same PostgreSQL database."""
    work_with(Adapters())


def work_with(adapters: Adapters) -> None:
    """Work until a signal ends it; `adapters` take the place of parts of the world."""
    keep_to_itself()
    redact = Redactor()
    log_to_stderr(redact)
    service = _built(redact, adapters, runs_agents=True)
    if service.database.dialect.name != "postgresql":
        fail("a further worker needs PostgreSQL: SQLite serves one process a data directory")
    asyncio.run(_work(service))


async def _work(service: Service) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await service.start()
    try:
        await stop.wait()
    finally:
        await service.stop()


def _built(
    redact: Redactor, adapters: Adapters, *, runs_agents: bool, address: str | None = None
) -> Service:
    try:
        return build(
            load_settings(os.environ),
            runs_agents=runs_agents,
            address=address,
            redact=redact,
            adapters=adapters,
        )
    except (SettingsError, CannotServe, AlreadyRunning, OSError) as error:
        fail(str(error))
