"""`squadron doctor`: is this installation safe and complete? EXAMPLES, `squadron doctor --json`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import httpx
import pytest

from app.adapters.runtimes import claude, copilot
from app.adapters.sandbox import ATTACKS, OUT, Bounds, agents_are, in_force, second_wall
from app.doctor.check import Check
from app.doctor.github import NOT_FOR_STRANGERS, strangers
from app.scripted.script import Failure, Scripts
from app.scripted.server import ScriptedServer
from tests.contract.github_support import app_key
from tests.support.github import GitHub, running_box
from tests.support.sandbox import BUBBLEWRAP, path_without_bubblewrap
from tests.support.waiting import MOST_SECONDS, until

pytestmark = pytest.mark.full

MODEL_KEY = "not-to-be-shown-either"
PROJECT = Path(__file__).parents[2]


class Taken(BaseHTTPRequestHandler):
    """Takes every delivery."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def taking() -> Iterator[str]:
    """The address of a webhook."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Taken) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/webhook"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitHub]:
    """Where the App is registered and installed, and what it tells is taken."""
    place, people = tmp_path_factory.mktemp("github") / "box", {"maria": "write"}
    files = {"octo/demo": {"a.txt": "a"}}
    with taking() as webhook, running_box(place, files, people, "s", webhook) as box:
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


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    """An endpoint that answers whoever has the key."""
    with ScriptedServer(Scripts(()), api_key=MODEL_KEY) as server:
        yield server


def answered_by(model: ScriptedServer) -> dict[str, str]:
    """The settings of an operator who uses it."""
    return {
        "SQUADRON_MODEL": "openai:scripted",
        "SQUADRON_MODEL_BASE_URL": f"{model.url}/v1",
        "SQUADRON_MODEL_API_KEY": MODEL_KEY,
    }


def asked(
    variables: dict[str, str], *options: str
) -> tuple[bool, dict[str, tuple[bool, str, str]]]:
    """Whether all is well, and of each check whether it is, what it says and what mends it."""
    done = subprocess.run(
        [sys.executable, "-m", "app.cli.main", "doctor", "--json", *options],
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
    tmp_path: Path, data_directory: Path, github: GitHub, model: ScriptedServer
) -> None:
    variables = environment(tmp_path, "sandbox: {egress: [pypi.org]}") | known(github)
    variables |= answered_by(model)
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
    tmp_path: Path, data_directory: Path, github: GitHub, model: ScriptedServer
) -> None:
    variables = environment(tmp_path) | known(github) | answered_by(model)
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


def test_where_artifacts_are_kept_is_tried(tmp_path: Path, data_directory: Path) -> None:
    place = data_directory / "kept"
    variables = {**environment(tmp_path), "SQUADRON_ARTIFACTS": str(place)}
    assert "artifacts" not in asked(environment(tmp_path))[1], "in the database, which is looked at"
    checks = asked(variables)[1]
    assert checks["artifacts"] == (True, f"{place} can be written and read", "")
    assert checks["artifacts: place"][0] and not list(place.iterdir())
    place.chmod(0o755)
    is_private, _, fix = asked(variables)[1]["artifacts: place"]
    assert not is_private and fix == f"chmod 700 {place}"


def test_a_bucket_that_does_not_answer_is_told(tmp_path: Path) -> None:
    bucket = {
        "SQUADRON_ARTIFACTS": "s3://bucket/kept",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ACCESS_KEY_ID": "squadron",
        "AWS_SECRET_ACCESS_KEY": "not-to-be-shown",
    }
    is_well, words, fix = asked(environment(tmp_path) | bucket)[1]["artifacts"]
    assert not is_well and words.startswith("s3://bucket/kept: ") and "127.0.0.1:1" in words
    assert fix == "look at SQUADRON_ARTIFACTS"


def test_a_model_is_asked_for_one_token(tmp_path: Path, model: ScriptedServer) -> None:
    before = len(model.requests)
    found = asked(environment(tmp_path) | answered_by(model))[1]["model"]
    assert found == (True, "openai:scripted answers", "")
    [request] = [*model.requests][before:]
    assert 1 in (request.body.get("max_tokens"), request.body.get("max_completion_tokens"))
    offline = asked(environment(tmp_path) | answered_by(model), "--offline")[1]
    assert offline["model"] == (True, "openai:scripted, which was not asked (--offline)", "")
    assert len(model.requests) == before + 1
    assert not [name for name in offline if name.startswith("GitHub")]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"SQUADRON_MODEL": ""}, "SQUADRON_MODEL is not set"),
        ({"SQUADRON_MODEL_API_KEY": "another"}, "HTTP status 401 (1 try): check the model's API"),
        ({"SQUADRON_MODEL_BASE_URL": "http://127.0.0.1:1/v1"}, "cannot be reached or broke off"),
        ({"SQUADRON_MODEL": "scripted"}, "provider"),
    ],
    ids=["none", "another key", "a dead endpoint", "no provider"],
)
def test_a_model_that_cannot_answer_is_told(
    tmp_path: Path, model: ScriptedServer, wrong: dict[str, str], words: str
) -> None:
    ok, checks = asked(environment(tmp_path) | answered_by(model) | wrong)
    found = [one for name, one in checks.items() if name in ("model", "settings") and not one[0]]
    assert not ok and any(words in said for _, said, _ in found), checks
    assert not any("another" in said for _, said, _ in checks.values())


def test_a_provider_without_a_key_is_told(tmp_path: Path, model: ScriptedServer) -> None:
    variables = environment(tmp_path) | answered_by(model)
    del variables["SQUADRON_MODEL_BASE_URL"]
    ok, words, fix = asked({**variables, "SQUADRON_MODEL_API_KEY": ""})[1]["model"]
    assert not ok and "key" in words and "SQUADRON_MODEL_API_KEY" in fix


@pytest.mark.parametrize(
    ("mode", "content", "wrong"),
    [
        (0o600, MODEL_KEY, set()),
        (0o644, MODEL_KEY, {"providers.anthropic"}),
        (0o600, "", {"providers"}),
    ],
    ids=["sound", "open to others", "empty"],
)
def test_the_file_of_a_providers_key_is_looked_at(
    tmp_path: Path, mode: int, content: str, wrong: set[str]
) -> None:
    (tmp_path / "anthropic.key").write_text(content)
    (tmp_path / "anthropic.key").chmod(mode)
    operator = "{sandbox: {mode: off}, providers: {anthropic: {api_key_file: anthropic.key}}}"
    checks = asked(environment(tmp_path, operator), "--offline")[1]
    assert {name for name, one in checks.items() if "providers" in name and not one[0]} == wrong


def test_an_answer_that_fails_is_told_without_the_providers_words(
    tmp_path: Path, model: ScriptedServer
) -> None:
    model.fail_next(Failure(404, '{"error": {"message": "not-to-be-shown"}}'))
    ok, words, _ = asked(environment(tmp_path) | answered_by(model))[1]["model"]
    assert not ok and "HTTP status 404 (1 try): check the model's name and base URL" in words


@pytest.mark.parametrize(
    ("operator", "ok", "words"),
    [
        ("pricing: {scripted: {input: 1, output: 2}}", True, "$1 in and $2 out per million"),
        ("{}", True, "nobody knows what openai:scripted costs: its cost is not counted"),
        ("ceilings: {max_cost_usd: 5}", False, "so its agents are stopped"),
        ("on_unmeasurable: stop", False, "so its agents are stopped"),
    ],
)
def test_whether_somebody_knows_the_price_is_told(
    tmp_path: Path, model: ScriptedServer, operator: str, ok: bool, words: str
) -> None:
    variables = environment(tmp_path, operator) | answered_by(model)
    found = asked(variables, "--offline")[1]["price"]
    assert found[0] is ok and words in found[1] and ("pricing" in found[2]) is not ok


def test_a_cli_that_is_another_version_is_told(tmp_path: Path) -> None:
    if copilot.missing(Path("/bin/true")) is not None:
        pytest.skip(f"{copilot.missing(Path('/bin/true'))}")
    variables = environment(tmp_path) | {"SQUADRON_COPILOT_CLI": "/bin/true"}
    ok, words, fix = asked(variables, "--offline")[1]["runtime copilot"]
    assert not ok and "/bin/true says 'true" in words and copilot.CLI_VERSION in fix
    cli = os.environ.get("SQUADRON_TEST_COPILOT_CLI")
    if cli is not None:
        found = asked({**variables, "SQUADRON_COPILOT_CLI": cli}, "--offline")[1]
        assert found["runtime copilot"] == (True, f"{cli} is version {copilot.CLI_VERSION}", "")


def test_the_cli_that_came_with_the_sdk_is_the_one_that_it_names(tmp_path: Path) -> None:
    if claude.missing():
        pytest.skip(claude.missing())
    program, version = claude.bundled()
    found = asked(environment(tmp_path), "--offline")[1]["runtime claude"]
    assert found == (True, f"{program} is version {version}", "")


def test_what_github_delivered_last_is_told_and_tried_again_on_demand(
    tmp_path: Path, github: GitHub
) -> None:
    variables = environment(tmp_path) | known(github)
    with github.trouble(kind="unreachable", event="issues.opened"):
        github.does("maria", "POST", "/repos/octo/demo/issues", {"title": "Look"})
        until(github.is_idle, "all is sent")
    checks = asked(variables)[1]
    ok, words, fix = checks["GitHub: deliveries"]
    assert not ok and words.startswith("failed to connect to host: `issues` at ")
    assert words.endswith("/webhook") and "doctor --ping" in fix
    assert checks["strangers"][0] and checks["strangers"][1].endswith("is this machine alone")
    tries = len(github.deliveries())
    ok, words, _ = asked(variables, "--ping")[1]["GitHub: deliveries"]
    assert ok and words.startswith("the last was taken: `issues` at ")
    assert len(github.deliveries()) == tries + 1


@pytest.mark.parametrize("path", NOT_FOR_STRANGERS)
def test_what_strangers_can_read_at_the_public_address_is_told(
    path: str,
) -> None:
    answers = {path: 200}

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(answers.get(request.url.path, 404))

    transport = httpx.MockTransport(answer)
    found = strangers("https://squadron.example", transport)
    said = f"{path} at https://squadron.example can be read by everybody"
    assert found == Check("strangers", False, said, "let the proxy hand on /webhook alone")
    answers[path] = 401
    assert strangers("https://squadron.example", transport).ok


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
