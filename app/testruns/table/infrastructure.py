"""Tests of infrastructure, data and services."""

from typing import Final

from app.testruns.rows import Runner, program, verb

RUNNERS: Final[tuple[Runner, ...]] = (
    verb(
        "terraform tofu terragrunt",
        "test",
        "run-all test",
        valued="-filter -var -var-file -test-directory",
        narrows="-filter -test-directory",
    ),
    verb(
        "helm",
        "unittest",
        "test",
        valued="-f --file -n --namespace --filter",
        narrows="-f --file --filter",
    ),
    verb("ct chart-testing", "install", "lint-and-install"),
    verb("molecule", "test", "verify", valued="-s --scenario-name", narrows="-s --scenario-name"),
    verb(
        "ansible-test",
        "units",
        "integration",
        "network-integration",
        "windows-integration",
        idle="--list-targets",
    ),
    verb("kitchen", "test", "verify"),
    verb("inspec cinc-auditor", "exec"),
    verb("dgoss dcgoss kgoss", "run"),
    verb("goss", "validate"),
    verb("opa regal", "test", valued="-r --run -t --timeout", narrows="-r --run"),
    verb("conftest", "test", "verify"),
    verb("kyverno", "test"),
    verb("chainsaw kuttl kubectl-kuttl", "test"),
    verb("kubectl", "kuttl test"),
    verb("container-structure-test", "test"),
    verb(
        "dbt dbtf",
        "test",
        valued="-s --select -m --models --exclude --selector --target -t "
        "--profiles-dir --project-dir",
        narrows="-s --select -m --models --exclude --selector",
    ),
    verb("sqlmesh dataform soda evidently", "test"),
    verb("pact-provider-verifier pact", "verify"),
    program("pact_verifier_cli pact-verifier"),
    program(
        "hurl",
        requires="--test",
        valued="--variable --variables-file --jobs --glob",
        narrows="--glob",
    ),
    verb("venom stepci", "run", "test"),
    program("dredd", other_verbs="init"),
    verb("pdk", "test unit", "test"),
    program("py.testinfra"),
    verb("devenv", "test"),
    verb("promtool", "test rules", "test"),
    verb("sonobuoy", "run"),
    verb("ddev lando", "test", "phpunit", "pest", "e2e", "playwright"),
    verb("planemo", "test"),
    verb("nf-test", "test"),
    verb("nf-core", "pipelines test", "modules test", "subworkflows test"),
)
