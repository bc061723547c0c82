"""Names that people chose for scripts, tasks and targets: which of them say that tests are run?"""

from __future__ import annotations

import pytest

from app.testruns.names import (
    base_name,
    names_tests,
    program_runs_suite,
    script_runs_tests,
    script_takes_tasks,
    target_runs_tests,
)

NAMES = {
    "tests are named": (
        "test tests TEST runTests unitTest testUnit test2 testacc selftest e2e pytest ctest UITests"
        " test_all test.unit test-ci integrationTest myapp-test app:test test_all_services"
    ),
    "a kind of tests is named": "unit integration unit:ci coverage smoke-fast",
    "a part under test is named": "test:server test/server test::db server:test docs:test",
    "check is the whole name, or stands among words like it": (
        "check checks check-local full-check check:test check-doctest check-unit"
    ),
    "spec is named, whatever comes behind": "spec specs unit-spec spec:models all_specs",
    "it is done beside something else": (
        "build-and-test lint_then_test test_and_lint compile-and-build-and-test lint-n-test"
    ),
}
OTHER_NAMES = {
    "no tests are named": "start deploy server latest contest attest testimony",
    "nothing is said": ". / - :",
    "a word that may mean anything": "all world ci run local full",
    "something is done to the tests": (
        "build:test-utils lint-tests test-lint format:test install-tests test:watch-build"
        " clean-test make-test start-test-server db-test test-report"
    ),
    "the tests' own things": "test-server test_data test-image testFixtures",
    "a part of the project that is no test": "server-test docs_test shell/test",
    "a check or a spec of something else": "typo-check check-links check-format api-spec open-spec",
    "none of several things is a test": "build-and-deploy lint_then_run and",
}
TARGETS = {"test": True, "test-unit": True, "test=1": False, "tests.o": False, "test.xml": False}
SCRIPTS = {
    "test.sh": True,
    "./run_tests.sh": True,
    "script/test": True,
    "build\\tests\\unit_tests.exe": True,
    "tests/run.sh": True,
    "api/tests/run-all.sh": True,
    "tests\\run.sh": True,
    "scripts/run.sh": False,
    "run.sh": False,
    "tests/test_install.sh": True,
    "tests/test-build-all": True,
    "tests/test_install_helpers.sh": False,
    "tests/install_test.sh": False,
    "tests/install.sh": False,
    "scripts/test_install.sh": False,
    "tests/": False,
    "tests/.sh": False,
    "tests/---.sh": False,
    "deploy.sh": False,
}
TASK_SCRIPTS = {
    "./build.sh": True,
    "x.py": True,
    "tools\\run": True,
    "./Dev-Tool": True,
    "./dev_": True,
    "./-Make": True,
    "other.sh": False,
}
PROGRAMS = {
    "runtests.py": True,
    "unittests.py": True,
    "scripts/run_tests.py": True,
    "scripts/test_all.py": True,
    "test_suite.py": True,
    "test-runner.js": True,
    "tests/run.py": True,
    "api/tests/main.py": True,
    "tests/all.py": True,
    "all_tests.py": True,
    "test_testsuite.py": True,
    "tests/testthat.R": True,
    "run_tests_core.py": True,
    "test_all_things.py": False,
    "test_suite_of_forms.py": False,
    "test_runner_fix.py": False,
    "runtime_test.py": False,
    "test2.js": False,
    "selftest.py": False,
    "integration.py": False,
    "scripts/main.py": False,
    "tests/app.py": False,
    "test_a.py": False,
    "test.py": False,
    "tests.py": False,
    "check.py": False,
    "spec.js": False,
    "pkg/test_unit.py": False,
    "pkg/unit_integration.py": False,
    "app.py": False,
}


@pytest.mark.parametrize("name", " ".join(NAMES.values()).split())
def test_a_name_that_says_that_tests_are_run(name: str) -> None:
    assert names_tests(name) is True


@pytest.mark.parametrize("name", ["", *" ".join(OTHER_NAMES.values()).split()])
def test_a_name_that_says_something_else(name: str) -> None:
    assert names_tests(name) is False


@pytest.mark.parametrize(("target", "runs"), TARGETS.items())
def test_a_target_may_be_a_file_to_build(target: str, runs: bool) -> None:
    assert target_runs_tests(target) is runs


@pytest.mark.parametrize(("path", "runs"), SCRIPTS.items())
def test_a_script_of_the_repository(path: str, runs: bool) -> None:
    assert script_runs_tests(path) is runs


@pytest.mark.parametrize(("path", "takes"), TASK_SCRIPTS.items())
def test_a_script_that_is_told_what_to_do(path: str, takes: bool) -> None:
    assert script_takes_tasks(path) is takes


@pytest.mark.parametrize(("path", "runs"), PROGRAMS.items())
def test_a_source_file_that_runs_a_suite(path: str, runs: bool) -> None:
    assert program_runs_suite(path) is runs


@pytest.mark.parametrize(
    "path", ["pytest", "a/pytest", "a/b/pytest", "C:\\x\\pytest", "a\\b/pytest"]
)
def test_the_last_part_of_a_path(path: str) -> None:
    assert base_name(path) == "pytest"
