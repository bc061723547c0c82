"""`python -m app.githubbox`: the box as a process of its own, on the loopback interface."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from app.githubbox.box import Box
from app.githubbox.git import GitFailed
from app.githubbox.state import Role

HOST = "127.0.0.1"
SHUTDOWN_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Options:
    port: int
    webhook_url: str | None
    webhook_secret: str
    repositories: tuple[tuple[str, Path], ...]
    users: tuple[tuple[str, str], ...]
    record: Path | None


def _repository(text: str) -> tuple[str, Path]:
    name, equals, directory = text.partition("=")
    if not equals or name.count("/") != 1 or not Path(directory).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not OWNER/NAME=DIR with an existing DIR")
    return name, Path(directory)


def _user(text: str) -> tuple[str, str]:
    login, _, permission = text.partition("=")
    try:
        return login, Role.named(permission).label
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def options(arguments: Sequence[str]) -> Options:
    """Read the command line; ends the process with a message when it cannot be understood."""
    parser = argparse.ArgumentParser(prog="python -m app.githubbox", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("--webhook-url", help="may also be set later by POST /_box/webhook")
    secret = parser.add_mutually_exclusive_group(required=True)
    secret.add_argument("--webhook-secret")
    secret.add_argument("--webhook-secret-file", type=Path)
    parser.add_argument(
        "--repo",
        action="append",
        default=[],
        type=_repository,
        metavar="OWNER/NAME=DIR",
        help="copied; may be given several times",
    )
    parser.add_argument(
        "--user",
        action="append",
        default=[],
        type=_user,
        metavar="LOGIN=PERMISSION",
        help="none, read, triage, write, maintain or admin",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="append every REST exchange and webhook to FILE as JSON lines",
    )
    given = parser.parse_args(arguments)
    secret_file: Path | None = given.webhook_secret_file
    webhook_secret = secret_file.read_text().strip() if secret_file else given.webhook_secret
    if not webhook_secret:
        parser.error("the webhook secret is empty")
    return Options(
        given.port,
        given.webhook_url,
        webhook_secret,
        tuple(given.repo),
        tuple(given.user),
        given.record,
    )


async def serve(chosen: Options, root: Path) -> None:
    """Fill a box, print where it is on the first line of standard output, and serve it until a
    signal ends it."""
    async with Box(
        root / "repositories",
        webhook_secret=chosen.webhook_secret,
        webhook_url=chosen.webhook_url,
        record=chosen.record,
    ) as box:
        server = uvicorn.Server(
            uvicorn.Config(
                box.asgi,
                lifespan="off",
                log_level="error",
                access_log=False,
                date_header=False,  # the box has its own
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(
                number, setattr, server, "should_exit", True
            )
        box.root.mkdir()
        tokens = {login: box.add_user(login, permission) for login, permission in chosen.users}
        for name, directory in chosen.repositories:
            await box.add_repository(name, directory)
        key = root / "private-key.pem"
        key.touch(mode=0o600)
        key.write_bytes(box.identity.private_key_pem)
        with socket.create_server((HOST, chosen.port)) as listener:
            # Connections inherit it; without it the second piece of an answer waits 40 ms.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            box.url = f"http://{HOST}:{listener.getsockname()[1]}"
            print(
                json.dumps(
                    {
                        "url": box.url,
                        "git_url": box.url,
                        "app_id": box.identity.app_id,
                        "private_key_file": str(key),
                        "installation_id": box.identity.installation_id,
                        "users": tokens,
                    }
                ),
                flush=True,
            )
            await server.serve(sockets=[listener])


def main() -> int:
    chosen = options(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="squadron-box-") as root:
        try:
            asyncio.run(serve(chosen, Path(root)))
        except (GitFailed, OSError, ValueError) as error:
            print(f"box: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
