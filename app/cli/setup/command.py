"""The command: serve the page until GitHub has answered, or an hour is over."""

import asyncio
import os
import shlex
import signal
import socket
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import typer
import uvicorn

from app.adapters.clock import SystemClock, new_name
from app.adapters.github.registration import NewApp, convert
from app.cli.failing import fail
from app.cli.setup.folder import AppFolder, CannotKeep
from app.cli.setup.page import NOTHING_WRITTEN, Means, Registration
from app.cli.terminal import say
from app.config.settings import SettingsError, git_url_of, load_local_settings
from app.core.github.registration import LIFE, Order

LAST_ANSWER_SECONDS: Final = 5
"""For the browser to fetch the last page."""


def register(
    webhook_url: str, organization: str | None, folder: Path | None, host: str, port: int
) -> None:
    """Serve the page that registers the App, and keep what GitHub answers. `host`: a loopback
    address; `folder`: None is the data directory."""
    try:
        settings = load_local_settings(os.environ)
        kept = AppFolder(
            (folder or settings.data_dir).absolute(), settings.model or "", settings.github_api_url
        )
        kept.prepare()
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except (SettingsError, CannotKeep) as error:
        fail(f"{error}")
    except OSError as error:
        fail(f"port {port} of {host} cannot be listened on: {error.strerror}; --port takes another")
    clock = SystemClock()
    registration = Registration(
        Order(git_url_of(kept.api_url), webhook_url, organization),
        clock.now() + LIFE,
        Means(
            partial(convert, api_url=kept.api_url, clock=clock),
            _new_state,
            kept,
            clock,
            partial(say, err=True),
        ),
    )
    with listener:
        app = asyncio.run(served(registration, listener, LIFE))
    if app is None:
        raise typer.Exit(1)
    _tell_next_steps(app, kept)


async def served(
    registration: Registration, listener: socket.socket, within: timedelta
) -> NewApp | None:
    """Serve the page until the registration is over; the App, or None if there is none."""
    host, port = listener.getsockname()[:2]
    registration.address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    server = uvicorn.Server(
        uvicorn.Config(
            registration.asgi(),
            lifespan="off",
            log_config=None,  # its lines would hold codes and states
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=LAST_ANSWER_SECONDS,
        )
    )
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    say(
        f"Open {registration.address}/ in a browser on this machine, within"
        f" {within.total_seconds() / 60:.0f} minutes. Ctrl-C ends this without an App."
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    waiting = [asyncio.create_task(each.wait()) for each in (registration.over, stop)]
    done, _ = await asyncio.wait(
        [serving, *waiting],
        timeout=within.total_seconds(),
        return_when=asyncio.FIRST_COMPLETED,
    )
    server.should_exit = True
    await serving
    for task in waiting:
        task.cancel()
    if not done:
        say(f"The time is over. {NOTHING_WRITTEN} Start again when you like.", err=True)
    elif registration.app is None and not registration.over.is_set():
        say(f"Ended. {NOTHING_WRITTEN}", err=True)
    return registration.app


def _new_state() -> str:
    """128 random bits."""
    return new_name() + new_name()


def _tell_next_steps(app: NewApp, kept: AppFolder) -> None:
    environment = shlex.quote(str(kept.environment))
    say(
        f"Registered {app.page}, which belongs to {app.owner}. Its key and its secret are in\n"
        f"  {kept.environment}\n"
        "for you alone to read. Next:\n"
        f"1. install it on your repositories: {app.page}/installations/new\n"
        "2. name a model and its key at the end of that file\n"
        "3. install bubblewrap, which locks agents in (Debian: apt-get install bubblewrap)\n"
        f"4. set -a; . {environment}; set +a\n"
        "5. look whether all is well, and start: squadron doctor && squadron serve"
    )
