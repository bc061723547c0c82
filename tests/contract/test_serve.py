"""`squadron serve` and `squadron worker` from start to end: what they make, say and refuse."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.cli.listening import CannotListen, address_of, taken
from tests.contract.github_support import app_key
from tests.contract.store_support import own_postgresql_database
from tests.support import processes
from tests.support.waiting import MOST_SECONDS, until

PRINTED = "printed.txt"
"""The file of what a process prints that is no log."""


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """All that is needed to serve; nobody listens where GitHub would be."""
    (tmp_path / "operator.yaml").write_text("sandbox: {mode: off}")
    return {
        **processes.base_environment(tmp_path),
        "SQUADRON_GITHUB_APP_ID": "1",
        "SQUADRON_GITHUB_PRIVATE_KEY": app_key().get_secret_value(),
        "SQUADRON_WEBHOOK_SECRET": "not-to-be-shown",
        "SQUADRON_GITHUB_API_URL": "http://127.0.0.1:9",
        "SQUADRON_DATA_DIR": str(tmp_path / "data"),
        "SQUADRON_CONFIG": str(tmp_path / "operator.yaml"),
    }


def refused(variables: dict[str, str], *options: str, command: str = "serve") -> str:
    """What a process says that does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "app.cli.main", command, *(options or ("--port", "0"))],
        env=variables, capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr and '"serving"' not in done.stderr
    return done.stderr.strip()


def served(variables: dict[str, str], directory: Path) -> list[dict[str, Any]]:
    """The log of a service on any free port, which was reached where it says that it is."""
    with running("serve", variables, directory):
        pass
    return lines(directory)


def lines(directory: Path) -> list[dict[str, Any]]:
    """The whole lines of the log there."""
    whole = (directory / "service.log").read_text().rpartition("\n")[0].splitlines()
    return [json.loads(line) for line in whole]


@contextmanager
def running(command: str, variables: dict[str, str], directory: Path) -> Iterator[str]:
    """The address of a process on any free port, reached where it says that it is; asked to end
    afterwards, as it does."""
    log = directory / "service.log"
    arguments = [sys.executable, "-m", "app.cli.main", command, "--port", "0"]
    with log.open("a") as stderr, (directory / PRINTED).open("a") as stdout:
        process = processes.start(arguments, variables, stderr, stdout)

    def address() -> str:
        [said] = [line["address"] for line in lines(directory) if line["message"] == "serving"]
        return str(said)

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        if all(line["message"] != "serving" for line in lines(directory)):
            return False
        try:
            return httpx.get(f"{address()}/healthz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    try:
        until(answers, "it answers where it says that it serves", within_seconds=MOST_SECONDS)
        yield address()
    finally:
        code = processes.end(process)
    assert code == -signal.SIGTERM, log.read_text()


def mode_of(directory: Path) -> int:
    return directory.stat().st_mode & 0o777


@pytest.mark.full
def test_a_service_says_where_it_is_and_what_it_lacks_and_keeps_its_data_to_itself(
    variables: dict[str, str], tmp_path: Path
) -> None:
    told = served(variables, tmp_path)
    assert mode_of(tmp_path / "data") == 0o700
    words = [str(line["message"]) for line in told]
    [place] = [number for number, each in enumerate(words) if "SQUADRON_MODEL is not set" in each]
    assert told[place]["level"] == "WARNING" and place < words.index("serving")


@pytest.mark.full
def test_a_data_directory_that_is_there_stays_as_it_is_and_a_model_is_no_news(
    variables: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o750)
    told = served({**variables, "SQUADRON_MODEL": "openai:scripted"}, tmp_path)
    assert mode_of(tmp_path / "data") == 0o750
    assert not [line for line in told if "SQUADRON_MODEL" in line["message"]]


@pytest.mark.full
def test_a_data_directory_that_cannot_be_is_named_with_its_setting(
    variables: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "data"
    file.touch()
    said = refused(variables)
    assert said == f"SQUADRON_DATA_DIR: {file} is not a directory: name another"
    below = file / "below"
    said = refused({**variables, "SQUADRON_DATA_DIR": str(below)})
    assert said == f"SQUADRON_DATA_DIR: {below} cannot be made: Not a directory"


@pytest.mark.parametrize("mode", [0o755, 0o701, 0o704])
def test_a_data_directory_that_everybody_can_enter_is_refused(
    variables: dict[str, str], tmp_path: Path, mode: int
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(mode)
    said = refused(variables)
    assert said.startswith(f"SQUADRON_DATA_DIR: {tmp_path / 'data'} is open to every user")
    assert f"(mode {mode:o}): `chmod o= {tmp_path / 'data'}`" in said
    assert mode_of(tmp_path / "data") == mode and not [*(tmp_path / "data").iterdir()]


@pytest.mark.full
@pytest.mark.skipif(os.getuid() == 0, reason="the superuser may write everywhere")
def test_a_data_directory_that_is_read_only_is_named_with_its_setting(
    variables: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir(mode=0o500)
    assert "cannot be written by user" in refused(variables)


def test_a_worker_answers_whoever_asks_how_it_does_and_takes_nothing(
    variables: dict[str, str], tmp_path: Path
) -> None:
    """It is alone here, as after the web process has died: its figures are those of the database,
    and there is nobody whom it would have to ask for them."""
    with (
        own_postgresql_database() as url,
        running("worker", {**variables, "SQUADRON_DATABASE_URL": url}, tmp_path) as address,
        httpx.Client(base_url=address, timeout=MOST_SECONDS) as asked,
    ):
        until(lambda: asked.get("/readyz").status_code == 200, "it is ready")
        figures = asked.get("/metrics")
        assert figures.status_code == 200
        assert "squadron_queue_age_seconds 0.0" in figures.text
        assert "squadron_limit_events" in figures.text
        assert "one of its workers" in asked.get("/").text
        assert asked.post("/webhook", content=b"{}").status_code == 404
        assert asked.get("/api/agents").status_code == 404


def test_a_worker_on_sqlite_is_refused(variables: dict[str, str]) -> None:
    said = refused(variables, command="worker")
    assert said.splitlines()[-1] == (
        "a further worker needs PostgreSQL: SQLite serves one process a data directory"
    )


@pytest.mark.full
@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_port_of_somebody_else_is_told_before_anything_is_made(
    variables: dict[str, str], tmp_path: Path, command: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = refused(variables, "--port", f"{port}", command=command)
    assert said == (
        f"port {port} of 127.0.0.1 cannot be listened on: Address already in use;"
        " --port takes another"
    )
    assert not (tmp_path / "data").exists()


@pytest.mark.full
def test_each_address_of_a_host_is_taken_on_one_port() -> None:
    listeners = taken("127.0.0.1", 0)
    try:
        [port] = {each.getsockname()[1] for each in listeners}
        assert address_of(listeners[0]) == f"http://127.0.0.1:{port}"
        with pytest.raises(ConnectionRefusedError):  # nobody waits unheard while it starts
            socket.create_connection(("127.0.0.1", port), timeout=MOST_SECONDS)
    finally:
        for each in listeners:
            each.close()


@pytest.mark.full
@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_is_none_of_this_machine_is_told(host: str, port: int) -> None:
    with pytest.raises(CannotListen, match=f"port {port} of {host} cannot be listened on: "):
        taken(host, port)
