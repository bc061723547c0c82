"""What containers are run with: the image, `compose.yaml`, `fly.toml` and the documents agree, and
with what the service and its sandbox need."""

import re
import subprocess
import tomllib
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import yaml

from app.adapters.sandbox import Bounds
from app.adapters.sandbox.setups import Room
from app.bootstrap import DRAIN_SECONDS
from app.cli.failing import EXIT_CONFIGURATION
from app.cli.setup.folder import AppFolder
from app.config.operator import OperatorConfig
from app.config.variables import DEFAULT_DATA_DIR
from app.services.intake.intake import MOST_BODY_BYTES
from tests.support.waiting import MOST_SECONDS

PROJECT = Path(__file__).parents[2]
IMAGE = (PROJECT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((PROJECT / "compose.yaml").read_text())
SERVICE: dict[str, Any] = COMPOSE["services"]["squadron"]
UNIT = (PROJECT / "deploy/squadron.service").read_text()
FLY: dict[str, Any] = tomllib.loads((PROJECT / "fly.toml").read_text())

LIFTED = {"seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"}
"""What keeps bubblewrap from working in a container of Docker's."""


def said(instruction: str) -> list[str]:
    """Arguments of each such instruction of the Dockerfile."""
    return re.findall(rf"^{instruction} (.*)$", IMAGE, re.MULTILINE)


def test_compose_runs_the_image_of_this_tree_as_it_is_meant_to_be_run() -> None:
    assert SERVICE["build"] == {"context": ".", "args": {"EXTRAS": "${EXTRAS:-}"}}
    assert SERVICE["image"] == "squadron"
    assert not {"command", "entrypoint", "user", "privileged", "cap_add"} & SERVICE.keys()
    assert set(SERVICE["security_opt"]) == LIFTED | {"no-new-privileges"}
    assert SERVICE["cap_drop"] == ["ALL"]


def test_data_outlive_their_container() -> None:
    [directory] = said("VOLUME")
    assert f"SQUADRON_DATA_DIR={directory}" in IMAGE
    assert f"data:{directory}" in SERVICE["volumes"] and "data" in COMPOSE["volumes"]
    assert FLY["mounts"]["destination"] == FLY["env"]["SQUADRON_DATA_DIR"] == directory


def test_who_stops_the_service_lets_it_drain() -> None:
    for patience in (SERVICE["stop_grace_period"], FLY["kill_timeout"]):
        assert int(patience.removesuffix("s")) > DRAIN_SECONDS
    assert said("STOPSIGNAL") == [FLY["kill_signal"]] == ["SIGTERM"]


def test_the_port_is_the_services() -> None:
    [port] = said("EXPOSE")
    assert FLY["http_service"]["internal_port"] == int(port)
    assert SERVICE["ports"] == [f"127.0.0.1:{port}:{port}"], "for this machine's reverse proxy"
    assert f'"--port", "{port}"' in said("CMD")[-1]


@pytest.mark.parametrize("document", ["Dockerfile", "docs/how-to/run-in-containers.md"])
def test_every_run_command_has_the_options_of_compose(document: str) -> None:
    lines = (PROJECT / document).read_text().splitlines()
    text = "\n".join(line.removeprefix("#").strip() for line in lines)
    [command] = re.findall(r"docker run (?:.*\\\n)*.*", text)
    assert set(re.findall(r"--security-opt (\S+)", command)) == set(SERVICE["security_opt"])
    assert re.findall(r"--cap-drop (\S+)", command) == SERVICE["cap_drop"]


def test_the_documents_say_why_each_is_lifted() -> None:
    page = (PROJECT / "docs/how-to/allow-the-sandbox.md").read_text()
    for option in LIFTED:
        assert re.search(rf"^ *\|.*\| `{option}` \| \w.{{40,}}\|$", page, re.MULTILINE), option


def test_what_setup_writes_is_what_compose_and_systemd_read() -> None:
    assert SERVICE["env_file"] == f"${{SQUADRON_FOLDER:-{DEFAULT_DATA_DIR}}}/squadron.env"
    page = (PROJECT / "docs/how-to/run-under-systemd.md").read_text()
    [folder] = re.findall(r"setup --folder (\S+)", page)
    [file] = re.findall(r"^EnvironmentFile=(.*)$", UNIT, re.MULTILINE)
    assert Path(file) == AppFolder(Path(folder)).environment


def test_a_unit_lets_the_service_drain_and_keeps_its_data_to_itself() -> None:
    [patience] = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    assert int(patience) > DRAIN_SECONDS
    [data] = re.findall(r"^Environment=SQUADRON_DATA_DIR=(.*)$", UNIT, re.MULTILINE)
    [state] = re.findall(r"^StateDirectory=(.*)$", UNIT, re.MULTILINE)
    assert Path(data).is_relative_to(Path("/var/lib", state))


def test_a_unit_does_not_try_again_what_ends_alike() -> None:
    [code] = re.findall(r"^RestartPreventExitStatus=(\d+)$", UNIT, re.MULTILINE)
    assert int(code) == EXIT_CONFIGURATION


@pytest.mark.skipif(which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    known = UNIT.replace("/opt/squadron/.venv/bin/squadron", "/bin/true")
    unit = tmp_path / "squadron.service"
    unit.write_text(known)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
    )  # fmt: skip
    assert [line for line in done.stderr.splitlines() if "squadron" in line] == []


@pytest.mark.skipif(which("caddy") is None, reason="Caddy is not installed")
def test_caddy_understands_its_file() -> None:
    file = PROJECT / "deploy/Caddyfile"
    done = subprocess.run(
        ["caddy", "adapt", "--adapter", "caddyfile", "--config", str(file)],
        capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"127.0.0.1:8000"' in done.stdout


@pytest.mark.parametrize("file", ["deploy/Caddyfile", "deploy/nginx.conf"])
def test_a_proxy_lets_in_what_github_sends_and_nothing_else(file: str) -> None:
    text = (PROJECT / file).read_text()
    [size] = re.findall(r"(?:max_size|client_max_body_size) (\d+)", text)
    assert int(size) * 1024 * 1024 >= MOST_BODY_BYTES
    assert "/webhook {" in text and "404" in text


def test_the_image_is_built_from_the_same_bytes_each_time() -> None:
    first, *others = said("FROM")
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-bookworm@sha256:[0-9a-f]{64} AS base", first)
    assert all(each.partition(" ")[0] == "base" for each in others)


def test_the_image_takes_extras_and_its_code_comes_after_what_it_needs() -> None:
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert {"claude", "copilot"} <= extras["optional-dependencies"].keys()
    assert said("ARG") == ["EXTRAS="]
    needed, code, itself = (
        IMAGE.index(text)
        for text in ('pip install --constraint constraints.txt ".${EXTRAS:+[$EXTRAS]}"',
                     "COPY app ./app", "pip install --no-deps")
    )  # fmt: skip
    assert needed < code < itself


def test_a_volume_holds_what_agents_may_write() -> None:
    [size] = re.findall(r"fly volumes create \S+ --size (\d+)", (PROJECT / "fly.toml").read_text())
    most = OperatorConfig().worker_agents * Bounds().disk_bytes + Room().all_bytes
    assert int(size) * 1_000_000_000 > most
