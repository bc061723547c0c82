"""The command: serve the page until GitHub has answered, or an hour is over."""

import asyncio
import os
import shlex
import signal
import socket
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
import uvicorn

from app.adapters.clock import SystemClock, new_name
from app.adapters.github.registration import NewApp, convert
from app.cli.failing import fail
from app.cli.setup.folder import AppFolder, CannotKeep
from app.cli.setup.page import NOTHING_WRITTEN, Means, Registration
from app.cli.terminal import say
from app.config.settings import SettingsError, git_url_of, load_local_settings
from app.core.github.registration import LIFE, Order, organization_login, webhook_address

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
DEFAULT_PORT: Final = 8001
LAST_ANSWER_SECONDS: Final = 5
"""For the browser to fetch the last page."""


def _webhook_url(given: str) -> str:
    try:
        return webhook_address(given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _organization(given: str | None) -> str | None:
    try:
        return given if given is None else organization_login(given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _loopback(given: str) -> str:
    if given not in LOOPBACK:
        raise typer.BadParameter(
            f"must be one of {', '.join(LOOPBACK)}: secrets pass here. From another machine use"
            " `ssh -L PORT:127.0.0.1:PORT HOST`"
        )
    return given


def setup(
    webhook_url: Annotated[
        str,
        typer.Option(
            prompt="Where does GitHub reach Squadron, as https://HOST/webhook",
            help="Where GitHub reaches Squadron: https://HOST/webhook.",
            callback=_webhook_url,
        ),
    ],
    organization: Annotated[
        str | None,
        typer.Option(help="Organization that owns the App; else you do.", callback=_organization),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Where squadron.env is written; else SQUADRON_DATA_DIR."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Loopback address of the page.", callback=_loopback)
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Its port; 0 takes any free one.")] = DEFAULT_PORT,
) -> None:
    """Register your GitHub App in a browser, with one click, and keep its secrets."""
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
