"""The demo's stage: the box, the scripted model and the service, each as on a real day.

The box and the service are processes of their own and speak HTTP; everything they write lies in
one temporary directory. Leaving the stage ends both with their groups.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import httpx

from app.cli.lives import PAGES_ARE
from app.config.settings import Settings, load_local_settings
from app.core.rules.plan import RuntimeName
from app.core.words.prompts import COMPACTION_MARK, SUMMARY_MARK
from app.scripted.demo import files, scripts
from app.scripted.server import ScriptedServer

REPOSITORY: Final = "octo/demo"
PERSON: Final = "maria"
READY_SECONDS: Final = 60.0
END_SECONDS: Final = 20.0
ENDS_WITH_US: Final = ("setpriv", "--pdeathsig", "TERM", "--")
"""A demo that is killed leaves nothing behind."""

THINKING_SECONDS: Final[Mapping[RuntimeName, int]] = {"embedded": 8, "copilot": 20, "claude": 20}
"""After which the timer stops the thinker: a CLI has to start before it can think."""

OPERATOR_FILE: Final = """\
reconciliation_interval: 1
workers: {agents: 5}
sandbox: {mode: off}
"""
"""Without a sandbox, so that it runs anywhere: its agents do only what their script says."""


class StageFailed(Exception):
    """Something of the demo did not start; the text says what, with its last words."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A running demo: where the box is, how to act in it, and where the registry is."""

    box_url: str
    pages_url: str
    """The link that lets people in to the service's pages."""
    person: httpx.Client
    """Speaks to the box as Maria, who may write."""
    settings: Settings


@contextmanager
def stage(runtime: RuntimeName, copilot_cli: Path | None) -> Iterator[Stage]:
    """Set everything up for agents of this runtime and take it down again. Raises `StageFailed`.

    `copilot_cli`: the program, if it is not the one in PATH.
    """
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="squadron-demo-")))
        model_key, secret = secrets.token_hex(16), secrets.token_hex(16)
        model = stack.enter_context(
            ScriptedServer(scripts(runtime, SUMMARY_MARK, COMPACTION_MARK), api_key=model_key)
        )
        port = _free_port()
        box = stack.enter_context(_box(directory, runtime, secret, port))
        environment = {
            **_base_environment(),
            "SQUADRON_GITHUB_APP_ID": str(box["app_id"]),
            "SQUADRON_GITHUB_PRIVATE_KEY_FILE": str(box["private_key_file"]),
            "SQUADRON_WEBHOOK_SECRET": secret,
            "SQUADRON_GITHUB_API_URL": str(box["url"]),
            "SQUADRON_GITHUB_GIT_URL": str(box["git_url"]),
            "SQUADRON_DATA_DIR": str(directory / "data"),
            "SQUADRON_CONFIG": str(directory / "operator.yaml"),
            "SQUADRON_PAGES_PORT": "0",
            **_model_settings(runtime, model.url),
            "SQUADRON_MODEL_API_KEY": model_key,
        }
        if copilot_cli is not None:
            environment["SQUADRON_COPILOT_CLI"] = str(copilot_cli)
        (directory / "operator.yaml").write_text(OPERATOR_FILE)
        pages_url = stack.enter_context(_service(directory, environment, port))
        users = box["users"]
        assert isinstance(users, dict)
        person = stack.enter_context(
            httpx.Client(
                base_url=str(box["url"]),
                headers={"Authorization": f"Bearer {users[PERSON]}"},
                timeout=10,
            )
        )
        yield Stage(str(box["url"]), pages_url, person, load_local_settings(environment))


def _model_settings(runtime: RuntimeName, url: str) -> dict[str, str]:
    if runtime == "claude":
        return {"SQUADRON_MODEL": "anthropic:scripted", "SQUADRON_MODEL_BASE_URL": url}
    return {"SQUADRON_MODEL": "openai:scripted", "SQUADRON_MODEL_BASE_URL": f"{url}/v1"}


@contextmanager
def _box(
    directory: Path, runtime: RuntimeName, secret: str, port: int
) -> Iterator[Mapping[str, object]]:
    repository = directory / "repository"
    for name, text in files(runtime, THINKING_SECONDS[runtime]).items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (directory / "webhook-secret").write_text(secret)
    command = [
        *(sys.executable, "-m", "app.githubbox", "--port", "0"),
        *("--webhook-url", f"http://127.0.0.1:{port}/webhook"),
        *("--webhook-secret-file", str(directory / "webhook-secret")),
        *("--repo", f"{REPOSITORY}={repository}"),
        *("--user", f"{PERSON}=write"),
    ]
    log = directory / "box.log"
    with log.open("w") as stderr, _process(command, _base_environment(), stderr) as process:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        if not first_line:
            raise StageFailed(f"the box did not start: {log.read_text()[-2_000:]}")
        facts = json.loads(first_line)
        assert isinstance(facts, dict)
        yield facts


@contextmanager
def _service(directory: Path, environment: Mapping[str, str], port: int) -> Iterator[str]:
    command = [sys.executable, "-m", "app.cli.main", "serve", "--port", str(port)]
    log = directory / "service.log"
    with log.open("w") as stderr, _process(command, environment, stderr) as process:
        deadline = time.monotonic() + READY_SECONDS
        while not _is_ready(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise StageFailed(f"the service did not start: {log.read_text()[-3_000:]}")
            time.sleep(0.05)
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix(PAGES_ARE).strip()


@contextmanager
def _process(
    command: list[str], environment: Mapping[str, str], stderr: IO[str]
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*ENDS_WITH_US, *command],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _base_environment() -> dict[str, str]:
    return {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TERM") if name in os.environ
    } | {"PYTHONUNBUFFERED": "1"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert isinstance(port, int)
    return port


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=2).status_code == 200
    except httpx.TransportError:
        return False
