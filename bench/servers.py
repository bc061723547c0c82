"""The servers that are measured: each a process of its own, on loopback, ended with its group."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.cli.lives import PAGES_ARE
from bench import usage
from bench.deliveries import SECRET

READY_SECONDS: Final = 60.0
END_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 0.01
_LINK: Final = re.compile(rf"{re.escape(PAGES_ARE)}(\S+)")


@dataclass(frozen=True, slots=True)
class Server:
    """A process that answers on a port."""

    port: int
    pid: int
    ready_after: float
    """Seconds from the start of the process until it was ready."""
    database: str
    """Address, or empty if it has none."""
    pages: str
    """The link to its pages; empty: it has none."""

    def resident_megabytes(self) -> float:
        """Memory of the process that is in RAM now."""
        return usage.resident_megabytes(self.pid)

    def cpu_seconds(self) -> float:
        """What it used of the processors so far."""
        return usage.cpu_seconds(self.pid)


@contextmanager
def service(database: str | None = None, *, has_pages: bool = False) -> Iterator[Server]:
    """`squadron serve`; its GitHub is an address where nobody listens.

    `database`: an address; None is an empty one of SQLite in the data directory. `has_pages`: it
    shows pages to whoever is at this machine.
    """
    with tempfile.TemporaryDirectory(prefix="squadron-bench-") as directory:
        data = Path(directory) / "data"
        data.mkdir(mode=0o700)
        key = Path(directory) / "key.pem"
        key.write_bytes(_private_key())
        # It runs no agents here, and trying a sandbox is no part of what is measured.
        rules = Path(directory) / "operator.yaml"
        rules.write_text("sandbox: {mode: off}")
        address = database or f"sqlite:///{data / 'squadron.sqlite3'}"
        environment = {
            "SQUADRON_GITHUB_APP_ID": "1",
            "SQUADRON_GITHUB_PRIVATE_KEY_FILE": str(key),
            "SQUADRON_WEBHOOK_SECRET": SECRET.decode(),
            "SQUADRON_PAGES": "loopback" if has_pages else "off",
            "SQUADRON_PAGES_PORT": "0",
            "SQUADRON_GITHUB_API_URL": "http://127.0.0.1:9",
            "SQUADRON_DATA_DIR": str(data),
            "SQUADRON_DATABASE_URL": address,
            "SQUADRON_CONFIG": str(rules),
        }
        command = [sys.executable, "-m", "app.cli.main", "serve"]
        with _running(command, environment, "/readyz", address) as server:
            yield server


@contextmanager
def bare() -> Iterator[Server]:
    """An endpoint under the same server flags that only verifies the signature."""
    with _running([sys.executable, "-m", "bench.bare"], {}, "/") as server:
        yield server


@contextmanager
def sink() -> Iterator[Server]:
    """Answers everything without looking: what is measured here is the generator."""
    with _running([sys.executable, "-m", "bench.sink"], {}, "/") as server:
        yield server


def rows(database: str) -> set[str]:
    """The ids in the inbox."""
    engine = sa.create_engine(database)
    try:
        with engine.connect() as connection:
            return set(connection.scalars(sa.text("SELECT id FROM sq_deliveries")))
    finally:
        engine.dispose()


@contextmanager
def _running(
    command: list[str], environment: Mapping[str, str], ready_path: str, database: str = ""
) -> Iterator[Server]:
    port = _free_port()
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            env={"PATH": os.environ["PATH"], **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            while not _answers(port, ready_path):
                if process.poll() is not None or time.perf_counter() - begin > READY_SECONDS:
                    output.seek(0)
                    raise SystemExit(f"{command} did not start: {output.read().decode()[-3_000:]}")
                time.sleep(LOOK_SECONDS)
            ready_after = time.perf_counter() - begin
            output.seek(0)
            link = _LINK.search(output.read().decode())
            pages = "" if link is None else link[1]
            yield Server(port, process.pid, ready_after, database, pages)
        finally:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _answers(port: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2) as answer:
            return bool(answer.status < 300)
    except (urllib.error.URLError, OSError):
        return False


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _private_key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
