"""What containers are run with: the image, `compose.yaml`, `fly.toml` and the documents agree, and
with what the service and its sandbox need."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.bootstrap import DRAIN_SECONDS

PROJECT = Path(__file__).parents[2]
IMAGE = (PROJECT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((PROJECT / "compose.yaml").read_text())
SERVICE: dict[str, Any] = COMPOSE["services"]["squadron"]
FLY: dict[str, Any] = tomllib.loads((PROJECT / "fly.toml").read_text())

LIFTED = {"seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"}
"""What keeps bubblewrap from working in a container of Docker's."""


def said(instruction: str) -> list[str]:
    """Arguments of each such instruction of the Dockerfile."""
    return re.findall(rf"^{instruction} (.*)$", IMAGE, re.MULTILINE)


def test_compose_runs_the_image_of_this_tree_as_it_is_meant_to_be_run() -> None:
    assert (SERVICE["build"], SERVICE["image"]) == (".", "squadron")
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
