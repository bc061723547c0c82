"""What several machines are run with: the files of `deploy/` are what Compose, Caddy and Kubernetes
read, and agree with the image, with each other and with what a process needs."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from shutil import which
from typing import Any

import kubernetes_validate
import pytest
import yaml
from jsonschema_rs import Draft201909Validator

from app.adapters.sandbox import Bounds
from app.adapters.sandbox.setups import Room
from app.bootstrap import DRAIN_SECONDS
from app.config.operator import OperatorConfig
from app.config.variables import DEFAULT_DATABASE_POOL
from app.services.intake.intake import MOST_BODY_BYTES
from tests.support.waiting import MOST_SECONDS

PROJECT = Path(__file__).parents[2]
COMPOSE_SCHEMA = json.loads((PROJECT / "tests/data/compose/compose-spec.json").read_text())
ALONE: Mapping[str, Any] = yaml.safe_load((PROJECT / "compose.yaml").read_text())
CLUSTER: Mapping[str, Any] = yaml.safe_load((PROJECT / "deploy/compose.cluster.yaml").read_text())
CADDYFILE = PROJECT / "deploy/cluster.Caddyfile"
MANIFESTS = PROJECT / "deploy/kubernetes.yaml"
RESOURCES: list[dict[str, Any]] = list(yaml.safe_load_all(MANIFESTS.read_text()))
OLDEST_KUBERNETES = "1.33"
"""Its pods may have user namespaces without a feature gate."""

PROCESSES = {
    name: service
    for name, service in CLUSTER["services"].items()
    if service["image"] == ALONE["services"]["squadron"]["image"]
}
WORKLOADS = {
    resource["metadata"]["name"]: resource
    for resource in RESOURCES
    if resource["kind"] in {"Deployment", "StatefulSet"}
}
INGRESS = next(resource for resource in RESOURCES if resource["kind"] == "Ingress")


def pod(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = WORKLOADS[name]["spec"]["template"]["spec"]
    return spec


# --- Compose -------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", [ALONE, CLUSTER], ids=["compose.yaml", "compose.cluster.yaml"])
def test_compose_understands_the_file(file: Mapping[str, Any]) -> None:
    Draft201909Validator(COMPOSE_SCHEMA).validate(file)


def test_two_take_deliveries_and_three_run_agents() -> None:
    commands = [" ".join(service["command"]) for service in PROCESSES.values()]
    assert [command.split(" --host")[0] for command in commands] == [
        "squadron serve --no-worker"
    ] * 2 + ["squadron worker"] * 3
    assert {command.split(" --host ")[1] for command in commands} == {"0.0.0.0 --port 8000"}


def test_each_process_is_run_as_the_only_one_is() -> None:
    alone = ALONE["services"]["squadron"]
    same = alone.keys() - {"image", "ports", "volumes"}
    for service in PROCESSES.values():
        assert {key: service[key] for key in same} == {key: alone[key] for key in same}
        assert service.keys().isdisjoint({"user", "privileged", "cap_add", "entrypoint"})


def test_each_process_has_a_data_directory_of_its_own_that_outlives_it() -> None:
    volumes = [service["volumes"] for service in PROCESSES.values()]
    assert volumes == [[f"{name}:/data"] for name in PROCESSES]
    assert PROCESSES.keys() <= CLUSTER["volumes"].keys()
    assert {service["environment"]["SQUADRON_DATA_DIR"] for service in PROCESSES.values()} == {
        "/data"
    }


def test_all_have_one_database_which_takes_their_connections() -> None:
    [url] = {service["environment"]["SQUADRON_DATABASE_URL"] for service in PROCESSES.values()}
    postgres = CLUSTER["services"]["postgres"]
    password = postgres["environment"]["POSTGRES_PASSWORD"]
    assert url == f"postgresql://squadron:{password}@postgres/squadron"
    assert "command" not in postgres, "PostgreSQL has its own max_connections"
    assert len(PROCESSES) * (DEFAULT_DATABASE_POOL + 3) + 5 <= 100 - 3


def test_no_secret_is_written_into_the_file() -> None:
    postgres = CLUSTER["services"]["postgres"]["environment"]
    assert postgres["POSTGRES_PASSWORD"] == "${SQUADRON_POSTGRES_PASSWORD:?}"


@pytest.mark.skipif(which("caddy") is None, reason="Caddy is not installed")
def test_caddy_understands_its_file_and_asks_whoever_takes_deliveries() -> None:
    done = subprocess.run(
        ["caddy", "adapt", "--adapter", "caddyfile", "--config", str(CADDYFILE)],
        capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": "/", "SQUADRON_HOST": "squadron.example.org"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    asked = set(re.findall(r'"dial": ?"([^"]+)"', done.stdout))
    serving = [name for name, service in PROCESSES.items() if "serve" in service["command"]]
    assert asked == {f"{name}:8000" for name in serving}
    assert "/readyz" in done.stdout and "squadron.example.org" in done.stdout


def test_caddy_lets_in_what_github_sends_and_nothing_else() -> None:
    text = CADDYFILE.read_text()
    [size] = re.findall(r"max_size (\d+)MiB", text)
    assert int(size) * 1024 * 1024 >= MOST_BODY_BYTES
    assert re.findall(r"handle (\S*) ?\{", text) == ["/webhook", ""] and "respond 404" in text
    mounted = CLUSTER["services"]["caddy"]["volumes"][0].split(":")[0]
    assert PROJECT / mounted == CADDYFILE, "from the project's directory"


# --- Kubernetes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each["kind"])
@pytest.mark.parametrize("version", [OLDEST_KUBERNETES, "1.37"])
def test_kubernetes_understands_the_manifest(resource: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(resource, version, strict=True)


def test_all_are_of_one_namespace_that_lets_a_sandbox_be_made() -> None:
    namespace, *others = RESOURCES
    assert namespace["kind"] == "Namespace"
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    assert {each["metadata"]["namespace"] for each in others} == {namespace["metadata"]["name"]}


def test_pods_run_the_same_as_containers_of_compose() -> None:
    for name, replicas, command in (
        ("web", 2, PROCESSES["web-1"]["command"]),
        ("worker", 3, PROCESSES["worker-1"]["command"]),
    ):
        [container] = pod(name)["containers"]
        assert WORKLOADS[name]["spec"]["replicas"] == replicas
        assert container["args"] == command and "command" not in container, "tini stays before it"


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_pod_may_make_a_sandbox_and_is_not_root(name: str) -> None:
    image = (PROJECT / "Dockerfile").read_text()
    [user] = re.findall(r"useradd --uid (\d+)", image)
    its, [container] = pod(name)["securityContext"], pod(name)["containers"]
    assert its["runAsNonRoot"] and its["runAsUser"] == its["fsGroup"] == int(user)
    assert its["seccompProfile"] == its["appArmorProfile"] == {"type": "Unconfined"}
    assert pod(name)["hostUsers"] is False, "procMount: Unmasked is refused without"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "procMount": "Unmasked",
        "capabilities": {"drop": ["ALL"]},
    }


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_pod_drains_is_asked_how_it_does_and_gets_nothing_that_it_does_not_know(
    name: str,
) -> None:
    [container] = pod(name)["containers"]
    assert pod(name)["terminationGracePeriodSeconds"] > DRAIN_SECONDS
    paths = [container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]
    assert paths == [
        {"path": f"/{path}", "port": "http"} for path in ("healthz",) * 2 + ("readyz",)
    ]
    assert container["ports"] == [{"name": "http", "containerPort": 8000}]
    assert pod(name)["automountServiceAccountToken"] is False
    assert pod(name)["enableServiceLinks"] is False, "they are variables that nobody named"


@pytest.mark.parametrize("name", WORKLOADS)
def test_data_are_below_a_volume_of_the_pods_own(name: str) -> None:
    [container] = pod(name)["containers"]
    [mount] = container["volumeMounts"]
    [directory] = [each["value"] for each in container["env"]]
    assert Path(directory).parent == Path(mount["mountPath"]), "Squadron makes it for itself alone"


def test_a_workers_volume_holds_what_agents_may_write() -> None:
    [claim] = WORKLOADS["worker"]["spec"]["volumeClaimTemplates"]
    size = int(claim["spec"]["resources"]["requests"]["storage"].removesuffix("Gi"))
    most = OperatorConfig().worker_agents * Bounds().disk_bytes + Room().all_bytes
    assert size * 1024**3 > most
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]


def test_github_reaches_the_webhook_and_nothing_else() -> None:
    [rule] = INGRESS["spec"]["rules"]
    [path] = rule["http"]["paths"]
    assert (path["path"], path["pathType"]) == ("/webhook", "Exact")
    services = {each["metadata"]["name"]: each for each in RESOURCES if each["kind"] == "Service"}
    service = services[path["backend"]["service"]["name"]]
    assert service["spec"]["selector"] == WORKLOADS["web"]["spec"]["selector"]["matchLabels"]
    [size] = INGRESS["metadata"]["annotations"].values()
    assert int(size.removesuffix("m")) * 1024 * 1024 >= MOST_BODY_BYTES


def test_the_page_creates_the_secret_that_pods_read() -> None:
    page = (PROJECT / "docs/how-to/several-machines.md").read_text()
    [created] = re.findall(r"create secret generic (\S+) --from-env-file", page)
    for name in WORKLOADS:
        [container] = pod(name)["containers"]
        assert container["envFrom"] == [{"secretRef": {"name": created}}]
