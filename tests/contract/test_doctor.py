"""`squadron doctor`: is this installation safe and complete? EXAMPLES, `squadron doctor --json`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from app.adapters.sandbox import ATTACKS, OUT, Bounds, agents_are, in_force, second_wall
from tests.contract.github_support import app_key
from tests.support.github import GitHub, running_box
from tests.support.sandbox import BUBBLEWRAP, path_without_bubblewrap
from tests.support.waiting import MOST_SECONDS

pytestmark = pytest.mark.full

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitHub]:
    """Where the App is registered and installed."""
    place, nowhere = tmp_path_factory.mktemp("github") / "box", "http://127.0.0.1:1/webhook"
    with running_box(place, {"octo/demo": {"a.txt": "a"}}, {}, "s", nowhere) as box:
        yield box
        box.check_contract()


@pytest.fixture
def data_directory() -> Iterator[Path]:
    """Where a sandbox has nothing else in its place: pytest's own are below /tmp."""
    with TemporaryDirectory(prefix="squadron-test-", dir="/var/tmp") as directory:
        yield Path(directory)


def environment(directory: Path, operator: str = "sandbox: {mode: off}") -> dict[str, str]:
    (directory / "operator.yaml").write_text(operator)
    key = directory / "key.pem"
    key.write_text(app_key().get_secret_value())
    key.chmod(0o600)
    return {
        "PYTHONPATH": str(PROJECT),
        "PATH": os.environ["PATH"],
        "SQUADRON_GITHUB_APP_ID": "1",
        "SQUADRON_GITHUB_API_URL": "http://127.0.0.1:1",
        "SQUADRON_GITHUB_PRIVATE_KEY_FILE": str(key),
        "SQUADRON_WEBHOOK_SECRET": "not-to-be-shown",
        "SQUADRON_DATA_DIR": str(directory / "data"),
        "SQUADRON_CONFIG": str(directory / "operator.yaml"),
    }


def known(github: GitHub) -> dict[str, str]:
    """Whose App the service is there."""
    return {
        "SQUADRON_GITHUB_API_URL": github.url,
        "SQUADRON_GITHUB_APP_ID": str(github.about["app_id"]),
        "SQUADRON_GITHUB_PRIVATE_KEY_FILE": github.about["private_key_file"],
    }


def asked(variables: dict[str, str]) -> tuple[bool, dict[str, tuple[bool, str, str]]]:
    """Whether all is well, and of each check whether it is, what it says and what mends it."""
    done = subprocess.run(
        [sys.executable, "-m", "app.cli.main", "doctor", "--json"],
        env=variables, capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    assert "not-to-be-shown" not in done.stdout and "PRIVATE KEY" not in done.stdout
    found = json.loads(done.stdout)
    assert found["ok"] == (done.returncode == 0)
    checks = {one["name"]: (one["ok"], one["message"], one["fix"]) for one in found["checks"]}
    assert found["ok"] == all(ok for ok, _, _ in checks.values())
    assert all(bool(fix) != ok for ok, _, fix in checks.values()), "what is wrong can be mended"
    return found["ok"], checks


@BUBBLEWRAP
def test_an_installation_with_a_sandbox_that_holds_is_well(
    tmp_path: Path, data_directory: Path, github: GitHub
) -> None:
    variables = environment(tmp_path, "sandbox: {egress: [pypi.org]}") | known(github)
    ok, checks = asked({**variables, "SQUADRON_DATA_DIR": str(data_directory)})
    assert ok, checks
    assert "data directory: place" not in checks
    assert {f"sandbox: {name}" for name in (*(each.name for each in ATTACKS), OUT)} <= checks.keys()
    assert checks["sandbox: bounds"][1] == in_force(Bounds())
    assert "; 10 GiB of disk and 1,000,000 files for each agent" in checks["sandbox: bounds"][1]
    assert checks["sandbox: second wall"][1] == second_wall()
    assert checks["sandbox: user"][1] == agents_are()
    assert checks["git"][1].startswith("git version 2.")


def test_without_a_sandbox_it_is_not_safe(
    tmp_path: Path, data_directory: Path, github: GitHub
) -> None:
    variables = environment(tmp_path) | known(github)
    ok, checks = asked({**variables, "SQUADRON_DATA_DIR": str(data_directory)})
    assert not ok
    assert [name for name, (ok, _, _) in checks.items() if not ok] == ["sandbox"]
    assert "agents run as this user" in checks["sandbox"][1]
    assert "take `mode: off` out" in checks["sandbox"][2]


def test_data_below_tmp_which_a_sandbox_replaces_are_told(
    tmp_path: Path, data_directory: Path
) -> None:
    """Also through a link from elsewhere."""
    link = data_directory / "link"
    link.symlink_to("/tmp/of-a-service")
    for place in (Path("/tmp/of-a-service"), link):
        variables = {**environment(tmp_path), "SQUADRON_DATA_DIR": str(place)}
        ok, words, fix = asked(variables)[1]["data directory: place"]
        assert not ok and words.startswith(f"{place} is below /tmp")
        assert fix == "let SQUADRON_DATA_DIR name one elsewhere"


def test_a_sandbox_that_cannot_start_says_so_once(tmp_path: Path) -> None:
    variables = environment(tmp_path, "")
    ok, checks = asked({**variables, "PATH": path_without_bubblewrap(tmp_path)})
    assert not ok
    [(name, (_, why, fix))] = [(name, one) for name, one in checks.items() if "sandbox" in name]
    assert name == "sandbox: start a command"
    assert "install bubblewrap" in why and "docs/how-to/allow-the-sandbox.md" in fix


def test_what_is_open_to_others_is_named_with_the_command_that_closes_it(tmp_path: Path) -> None:
    variables = environment(tmp_path)
    (tmp_path / "key.pem").chmod(0o640)
    (tmp_path / "data").mkdir(mode=0o755)
    _, checks = asked(variables)
    key = checks["SQUADRON_GITHUB_PRIVATE_KEY_FILE"]
    assert key == (
        False, f"{tmp_path}/key.pem is open to others", f"chmod 600 {tmp_path}/key.pem"
    )  # fmt: skip
    assert checks["data directory"][2] == f"chmod 700 {tmp_path}/data"


def test_a_model_that_is_not_set_is_told_and_is_no_fault(tmp_path: Path) -> None:
    """Each role may name its own."""
    variables = environment(tmp_path)
    ok, words, _ = asked(variables)[1]["model"]
    assert ok and "SQUADRON_MODEL is not set" in words
    named = asked({**variables, "SQUADRON_MODEL": "openai:scripted"})[1]["model"]
    assert named == (True, "openai:scripted", "")


def test_a_file_in_place_of_the_data_directory_is_told(tmp_path: Path) -> None:
    variables = environment(tmp_path)
    (tmp_path / "data").touch()
    ok, checks = asked(variables)
    assert (ok, checks["data directory"]) == (
        False,
        (False, f"{tmp_path}/data is not a directory", "let SQUADRON_DATA_DIR name one"),
    )


def test_what_github_says_of_the_app_is_shown(tmp_path: Path, github: GitHub) -> None:
    variables = environment(tmp_path) | known(github)
    checks = asked(variables)[1]
    assert {name: checks[f"GitHub: {name}"] for name in ("key", "permissions", "events")} == {
        "key": (True, "GitHub takes it", ""),
        "permissions": (True, "all that are needed", ""),
        "events": (True, "all that are needed", ""),
    }
    assert checks["clock"][0] and checks["clock"][1].endswith(" s from GitHub's")
    assert checks["GitHub: installations"] == (True, "1, 0 of them suspended", "")


def test_an_app_that_is_installed_nowhere_is_told_where_to(tmp_path: Path, github: GitHub) -> None:
    variables = environment(tmp_path) | known(github)
    github.orders("installation", {"action": "deleted"})
    checks = asked(variables)[1]
    github.orders("installation", {"action": "created"})
    page = f"{github.url}/apps/squadron-box/installations/new"
    assert checks["GitHub: installations"] == (True, f"none yet: {page}", "")


def test_what_the_app_has_not_got_is_told_with_the_page_on_which_to_give_it(
    tmp_path: Path, github: GitHub
) -> None:
    variables = environment(tmp_path) | known(github)
    whole = github.orders("app", {})
    events = [each for each in whole["events"] if each != "push"]
    permissions = {**whole["permissions"], "checks": "read"}
    github.orders("app", {"permissions": permissions, "events": events})
    github.orders("permissions", {"withheld": ["contents"]})
    checks = asked(variables)[1]
    github.orders("permissions", {"withheld": []})
    github.orders("app", whole)
    settings = f"{github.url}/settings/apps/squadron-box/permissions"
    fix = f"add it in the App's settings: {settings}"
    assert checks["GitHub: permissions"] == (False, "the App lacks checks=write", fix)
    assert checks["GitHub: events"] == (False, "the App lacks push", fix)
    ok, words, _ = checks["GitHub: installations"]
    page = f"{github.url}/settings/installations/{github.about['installation_id']}"
    assert not ok and words == f"not all is granted by 1 of 1: octo (contents=write; {page})"


def test_a_key_and_a_clock_that_github_does_not_take_are_told(
    tmp_path: Path, github: GitHub
) -> None:
    variables = environment(tmp_path) | known(github)
    foreign = asked({**variables, "SQUADRON_GITHUB_PRIVATE_KEY_FILE": f"{tmp_path}/key.pem"})[1]
    ok, words, fix = foreign["GitHub: key"]
    assert not ok and "GitHub refused GET /app with 401" in words
    assert fix == f"put a key of App {github.about['app_id']} into SQUADRON_GITHUB_PRIVATE_KEY"
    assert foreign["clock"][0] and "GitHub: permissions" not in foreign

    github.orders("clock", {"seconds": -3_600})
    late = asked(variables)[1]
    github.orders("clock", {"seconds": 3_600})
    ok, words, fix = late["clock"]
    assert not ok and " s ahead of GitHub's, which may refuse what is signed here" in words
    assert "NTP" in fix and not late["GitHub: key"][0]


def test_a_github_that_does_not_answer_is_said_once(tmp_path: Path) -> None:
    checks = asked(environment(tmp_path))[1]
    assert checks["GitHub"] == (
        False,
        "GET /rate_limit: GitHub could not be reached (ConnectError)",
        "see that this machine reaches http://127.0.0.1:1",
    )
    assert not [name for name in checks if name == "clock" or name.startswith("GitHub: ")]


def test_github_is_not_asked_without_an_app_to_ask_for(tmp_path: Path) -> None:
    checks = asked({**environment(tmp_path), "SQUADRON_GITHUB_APP_ID": ""})[1]
    assert "SQUADRON_GITHUB_APP_ID is not set" in checks["settings"][1]
    assert not [name for name in checks if name == "clock" or name.startswith("GitHub")]


@pytest.mark.parametrize(
    ("name", "value", "check", "words"),
    [
        ("SQUADRON_WEBHOOK_SECRET", "", "settings", "anybody could send orders"),
        ("SQUADRON_GITHUB_APP_ID", "one", "settings", "must be the App's numeric id"),
        ("SQUADRON_DATABASE_URL", "postgresql://127.0.0.1:1/x", "database", "cannot be used"),
        ("SQUADRON_CONFIG", "/nowhere.yaml", "operator's file", "cannot be read"),
    ],
)
def test_what_is_missing_or_wrong_is_said(
    tmp_path: Path, name: str, value: str, check: str, words: str
) -> None:
    ok, checks = asked({**environment(tmp_path), name: value})
    assert not ok
    assert not checks[check][0] and words in checks[check][1]
