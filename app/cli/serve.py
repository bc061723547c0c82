"""`squadron serve` and `squadron worker`."""

import gc
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import uvicorn

from app.bootstrap import Adapters, Service
from app.cli.failing import fail
from app.cli.lives import Life
from app.web.application import BODY_BYTES, Application
from app.web.connections import protocol
from app.web.guests import Guests, bounds
from app.web.memory import keep_large_blocks_apart
from app.web.waiting import Waiting, Works
from app.web.worker import WorkerApplication

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


def serve_with(
    adapters: Adapters, host: str, port: int, *, runs_agents: bool = True, migrates: bool = True
) -> None:
    """Serve until a signal ends it; `adapters` take the place of parts of the world."""
    life = Life(adapters, runs_agents=runs_agents, migrates=migrates)
    sys.setswitchinterval(GIVE_WAY_SECONDS)
    keep_large_blocks_apart()
    _run(life, host, port, lambda service: Application(service, life.pages), has_pages=True)


def work_with(adapters: Adapters, host: str, port: int, *, migrates: bool = True) -> None:
    """Work until a signal ends it; `adapters` take the place of parts of the world."""
    _run(Life(adapters, migrates=migrates), host, port, _worker_application)


def _worker_application(service: Service) -> WorkerApplication:
    if service.database.dialect.name != "postgresql":
        fail("a further worker needs PostgreSQL: SQLite serves one process a data directory")
    return WorkerApplication(service)


def _run(
    life: Life, host: str, port: int, make: Callable[[Service], Works], *, has_pages: bool = False
) -> None:
    """`make`: the application of the service, which works while that is served."""
    life.listen(host, port)
    if has_pages:
        life.open_pages(lambda: server.should_exit)

    def failed(error: Exception) -> None:
        life.fails(error)
        server.should_exit = True

    async def made() -> Works:
        return make(await life.come_back())

    application = make(life.built()) if life.is_first else Waiting(made, failed)
    flags = {**SERVER_FLAGS, "http": protocol(Guests(bounds(), BODY_BYTES.get))}
    server = uvicorn.Server(uvicorn.Config(application, **flags))
    gc.collect()
    gc.freeze()  # what was imported stays: looking through it again and again holds deliveries up
    with suppress(KeyboardInterrupt):
        server.run([*life.listeners, *life.page_listeners])
    life.end()
