"""Commands that make an installation, and let it run."""

from pathlib import Path
from typing import Annotated, Final

import typer

from app.cli.commands.options import AsJson

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
SETUP_PORT: Final = 8001

Host = Annotated[str, typer.Option(help="Address to listen on.")]
NoMigrate = Annotated[
    bool, typer.Option("--no-migrate", help="Leave an older database as it is, and end with 78.")
]
Port = Annotated[int, typer.Option(help="Port; 0 takes any free one.")]


def _webhook_url(given: str) -> str:
    from app.core.github.registration import webhook_address

    try:
        return webhook_address(given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _organization(given: str | None) -> str | None:
    from app.core.github.registration import organization_login

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
    port: Annotated[int, typer.Option(help="Its port; 0 takes any free one.")] = SETUP_PORT,
) -> None:
    """Register your GitHub App in a browser, with one click, and keep its secrets."""
    from app.cli.setup.command import register

    register(webhook_url, organization, folder, host, port)


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Take deliveries, but run no agents.")
    ] = False,
    no_migrate: NoMigrate = False,
) -> None:
    """Web, scheduler and worker in one process."""
    from app.bootstrap import Adapters
    from app.cli.serve import serve_with

    serve_with(Adapters(), host, port, runs_agents=not no_worker, migrates=not no_migrate)


def worker(host: Host = "127.0.0.1", port: Port = 8000, no_migrate: NoMigrate = False) -> None:
    """A further worker on the same PostgreSQL database: it runs agents, takes no deliveries, and
    answers whoever asks how it does."""
    from app.bootstrap import Adapters
    from app.cli.serve import work_with

    work_with(Adapters(), host, port, migrates=not no_migrate)


def migrate() -> None:
    """Bring the database up to this version of Squadron, as `squadron serve` does at its start.
    Processes of the version before may go on meanwhile."""
    from app.cli.migrate import bring_up

    bring_up()


def doctor(
    as_json: AsJson = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask neither the model nor GitHub.")
    ] = False,
    ping: Annotated[
        bool, typer.Option("--ping", help="Let GitHub deliver its last delivery once more.")
    ] = False,
) -> None:
    """Is this installation safe and complete? Ends with 1 if it is not."""
    from app.cli.doctor import examine

    examine(as_json=as_json, is_offline=offline, pings=ping)
