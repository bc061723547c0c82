"""`squadron setup`: from nothing to a GitHub App that works, as a person does it in a browser."""

import html
import json
import re
import signal
import stat
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from app.adapters.github.registration import APP_EVENTS, APP_PERMISSIONS
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.scripted.script import Scripts
from app.scripted.server import ScriptedServer
from tests.support import processes
from tests.support.github import GitHub, running_box
from tests.support.people import PEOPLE, repository
from tests.support.registry import open_registry
from tests.support.service import Service
from tests.support.squad import MODEL_KEY, WITHOUT_SANDBOX, Squad
from tests.support.steps import commits, completes, writes
from tests.support.waiting import MOST_SECONDS, until

pytestmark = pytest.mark.full

HOOK = "https://squadron.example/webhook"


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitHub]:
    directory = tmp_path_factory.mktemp("setup") / "box"
    demo = {"octo/demo": repository({})}
    with running_box(directory, demo, PEOPLE, "secret of another App", "") as github:
        yield github
        github.check_contract()


class Setup:
    """The running command, and a browser on this machine."""

    def __init__(self, process: subprocess.Popen[str], errors: Path, directory: Path) -> None:
        self.directory = directory
        self._process = process
        self._errors = errors
        assert process.stdout is not None
        self._out = process.stdout
        self.said = self._out.readline()
        found = re.search(r"http://\S+:\d+", self.said)
        assert found, f"{self.said!r} {errors.read_text()}"
        self.address = found[0]
        self.browser = httpx.Client(timeout=MOST_SECONDS, trust_env=False)
        self.pages: list[str] = []

    def get(self, url: str, **headers: str) -> httpx.Response:
        """A page, in the browser."""
        answer = self.browser.get(url, headers=headers)
        self.pages.append(answer.text)
        return answer

    def post(self, page: httpx.Response) -> httpx.Response:
        """Press the one button of the one form on a page."""
        [action] = re.findall(r'<form method="post" action="([^"]+)"', page.text)
        fields = re.findall(r'<input[^>]* name="(\w+)" value="([^"]*)"', page.text)
        url = httpx.URL(str(page.url)).join(html.unescape(action))
        return self.browser.post(url, data={name: html.unescape(it) for name, it in fields})

    def answer_of_github(self) -> str:
        """Go through the pages up to GitHub's redirect; the address that it leads to."""
        confirm = self.post(self.get(f"{self.address}/"))
        assert confirm.status_code == 200, confirm.text
        created = self.post(confirm)
        assert created.status_code == 302, created.text
        return str(created.headers["location"])

    def ends(self) -> tuple[int, str]:
        """The exit code, and everything that was said on both channels."""
        code = self._process.wait(MOST_SECONDS)
        self.said += self._out.read() + self._errors.read_text()
        return code, self.said

    def tells(self) -> str:
        """What the terminal shows as errors so far."""
        return self._errors.read_text()

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def written(self) -> set[str]:
        """Names in the directory for the secrets."""
        return {path.name for path in self.directory.iterdir()}

    def close(self) -> None:
        """Whatever happened: hang up, and end the command."""
        self.browser.close()
        if self._process.poll() is None:
            processes.end(self._process)
        self._out.close()


def command(directory: Path, github: GitHub, *words: str) -> tuple[list[str], dict[str, str]]:
    environment = {
        **processes.base_environment(directory),
        "SQUADRON_GITHUB_API_URL": github.url,
        "SQUADRON_DATA_DIR": str(directory / "data"),
    }
    line = [sys.executable, "-m", "app.cli.main", "setup", "--webhook-url", HOOK, "--port", "0"]
    return [*line, *words], environment


@contextmanager
def setup(directory: Path, github: GitHub, *words: str, api_url: str = "") -> Iterator[Setup]:
    """The command, listening; `api_url`: another GitHub than the box."""
    line, environment = command(directory, github, *words)
    if api_url:
        environment["SQUADRON_GITHUB_API_URL"] = api_url
    errors = directory / "errors"
    with errors.open("w") as stderr:
        process = processes.start(line, environment, stderr)
    running = Setup(process, errors, directory / "data")
    try:
        yield running
    finally:
        running.close()


def refused(directory: Path, github: GitHub, *words: str) -> str:
    """The command, which does not even listen; what it says."""
    line, environment = command(directory, github, *words)
    done = subprocess.run(
        line, env=environment, capture_output=True, text=True, timeout=MOST_SECONDS, check=False
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", done.stdout + done.stderr).split())


def settings_of(file: Path) -> dict[str, str]:
    """A settings file as a shell reads it, and nothing but what it sets."""
    script = f"set -a; . {file}; env"
    done = subprocess.run(
        ["env", "-i", "sh", "-c", script], capture_output=True, text=True, check=True
    )
    lines = (line.partition("=") for line in done.stdout.splitlines())
    return {name: value for name, _, value in lines if name.startswith("SQUADRON_")}


def as_docker_reads(file: Path) -> dict[str, str]:
    """The same by `docker run --env-file`: whatever follows the first `=`, quotes too."""
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def as_systemd_reads(file: Path) -> dict[str, str]:
    """The same by `EnvironmentFile=`: as it stands, but for quotes and backslashes."""
    assert not re.search(r"['\"\\]", file.read_text()), "systemd would read them in its own way"
    return as_docker_reads(file)


def test_one_click_makes_an_app_with_which_the_service_works(
    tmp_path: Path, github: GitHub
) -> None:
    """Issue, "Many repositories, one click": the App, its secrets, then a whole piece of work."""
    port = processes.free_port()
    with setup(tmp_path, github, "--webhook-url", f"http://127.0.0.1:{port}") as running:
        first = running.get(f"{running.address}/")
        for asked in (*APP_PERMISSIONS, *APP_EVENTS):
            assert f"<code>{asked}</code>" in first.text
        assert str(running.directory) in first.text
        confirm = running.post(first)
        assert "Create GitHub App for octo" in confirm.text
        assert f"http://127.0.0.1:{port}/webhook" in confirm.text
        done = running.get(running.post(confirm).headers["location"])
        assert done.status_code == 200
        code, said = running.ends()
    assert code == 0, said
    data = running.directory
    assert running.written() == {"squadron.env"}
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "squadron.env").stat().st_mode) == 0o600

    # Nobody but the file was told the secrets.
    written = settings_of(data / "squadron.env")
    encoded, secret = (
        written[f"SQUADRON_{name}"] for name in ("GITHUB_PRIVATE_KEY", "WEBHOOK_SECRET")
    )
    key = b64decode(encoded).decode()
    assert key.startswith("-----BEGIN")
    for text in (said, *running.pages):
        assert secret not in text and encoded not in text
        assert key.splitlines()[1] not in text and "PRIVATE KEY" not in text

    # The terminal says what is next: to install it …
    [install] = re.findall(r"http\S+/installations/new", said)
    with httpx.Client(timeout=MOST_SECONDS, trust_env=False) as browser:
        page = browser.get(install)
        assert browser.post(str(page.url).removesuffix("/new")).status_code == 302
    # … and to start the service, with nothing but what was written, and a model.
    assert f". {data}/squadron.env" in said
    assert written.keys() == {
        "SQUADRON_GITHUB_APP_ID",
        "SQUADRON_GITHUB_PRIVATE_KEY",
        "SQUADRON_WEBHOOK_SECRET",
        "SQUADRON_GITHUB_API_URL",
        "SQUADRON_MODEL",
        "SQUADRON_MODEL_API_KEY",
    }
    for reader in (as_docker_reads, as_systemd_reads):
        assert reader(data / "squadron.env") == written
    with working(tmp_path, github, written, port) as team:
        task = team.give(
            "bug-fix",
            "Say 42",
            writes("answer", "42\n"),
            commits("Say 42"),
            completes("The answer is 42."),
        )
        team.until(task, State.SLEEPING, Waits.REVIEW)
        number = until(
            lambda: team.agent(task).pull_request, "a pull request", failing=team.check_alive
        )
        pull = github.sees(f"/repos/octo/demo/pulls/{number}")
        assert pull["user"]["login"] == "squadron[bot]"
        team.settle()
    assert not github.unknown_operations()


@contextmanager
def working(
    directory: Path, github: GitHub, written: Mapping[str, str], port: int
) -> Iterator[Squad]:
    """The service with those settings; all that it hears, it hears by signed deliveries."""
    rules = directory / "operator.yaml"
    rules.write_text(json.dumps({"reconciliation_interval": 3600, "sandbox": WITHOUT_SANDBOX}))
    with ScriptedServer(Scripts(()), api_key=MODEL_KEY) as model:
        environment = {
            **processes.base_environment(directory),
            **written,
            "SQUADRON_DATA_DIR": str(directory / "data"),
            "SQUADRON_CONFIG": str(rules),
            "SQUADRON_MODEL": "openai:scripted",
            "SQUADRON_MODEL_BASE_URL": f"{model.url}/v1",
            "SQUADRON_MODEL_API_KEY": MODEL_KEY,
        }
        service = Service(environment, port, directory / "service.log")
        team = Squad(github, model, service, directory)
        try:
            service.start()
            database = f"sqlite:///{directory / 'data' / 'squadron.sqlite3'}"
            with open_registry(database) as team.registry:
                yield team
        finally:
            service.stop()
            service.close()


def test_an_organization_gets_the_app(tmp_path: Path, github: GitHub) -> None:
    with setup(tmp_path, github, "--organization", "octo") as running:
        answer = running.answer_of_github()
        assert running.get(answer).status_code == 200
        code, said = running.ends()
    assert code == 0
    assert "/apps/squadron-octo, which belongs to octo" in said


def manifest_of(page: str) -> Any:
    [text] = re.findall(r'name="manifest" value="([^"]*)"', page)
    return json.loads(html.unescape(text))


def test_the_manifest_asks_for_what_is_needed_and_nothing_else(
    tmp_path: Path, github: GitHub
) -> None:
    with setup(tmp_path, github) as running:
        page = running.get(f"{running.address}/")
        assert manifest_of(page.text) == {
            "name": "Squadron",
            "url": "https://squadron.example",
            "hook_attributes": {"url": HOOK},
            "redirect_url": f"{running.address}/created",
            "public": False,
            "default_permissions": dict(APP_PERMISSIONS),
            "default_events": list(APP_EVENTS),
        }
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert page.headers["cache-control"] == "no-store"


def test_an_enterprise_server_is_where_the_button_leads(tmp_path: Path, github: GitHub) -> None:
    """GHES by `SQUADRON_GITHUB_API_URL`: its pages are on the same host, without `/api/v3`."""
    ghes = "https://git.example.org/api/v3"
    with setup(tmp_path, github, "--organization", "octo", api_url=ghes) as running:
        page = running.get(f"{running.address}/").text
        target = "https://git.example.org/organizations/octo/settings/apps/new?state="
        assert re.search(rf'action="{re.escape(target)}[0-9a-f]{{32}}"', page)


def test_an_answer_with_another_state_is_not_ours(tmp_path: Path, github: GitHub) -> None:
    """Somebody lures the browser here with the code of an App of their own."""
    with setup(tmp_path, github) as running:
        form = manifest_of(running.get(f"{running.address}/").text) | {"name": "Mallory's"}
        action = f"{github.url}/settings/apps/new?state=guessed"
        confirm = running.browser.post(action, data={"manifest": json.dumps(form)})
        theirs = running.post(confirm).headers["location"]
        assert "state=guessed" in theirs
        answer = running.get(theirs)
        assert (answer.status_code, "its state differs" in answer.text) == (403, True)
        for odd in ("", "&state=", "&state=%C3%A9", "&state=a&state=b"):
            code = parse_qs(urlsplit(theirs).query)["code"][0]
            assert running.get(f"{running.address}/created?code={code}{odd}").status_code == 403
        assert running.written() == set()
        assert "Nothing was written" in running.tells()
        # The code was not even spent, and the right answer still counts.
        spent = running.browser.post(f"{github.url}/app-manifests/{code}/conversions")
        assert spent.status_code == 201
        assert theirs.partition("code=")[2] not in running.tells()


def test_an_answer_in_another_browser_does_not_count(tmp_path: Path, github: GitHub) -> None:
    """Somebody has learnt the state, and brings the answer in a browser of their own."""
    github.orders("users", {"login": "another-browser", "permission": "admin"})
    with setup(tmp_path, github, "--organization", "another-browser") as running:
        answer = running.answer_of_github()
        theirs = httpx.get(answer, timeout=MOST_SECONDS, trust_env=False)
        assert (theirs.status_code, "has not opened the page" in theirs.text) == (403, True)
        opened = httpx.get(f"{running.address}/", timeout=MOST_SECONDS, trust_env=False)
        theirs = httpx.get(
            answer, timeout=MOST_SECONDS, trust_env=False, cookies=dict(opened.cookies)
        )
        assert (theirs.status_code, "its state differs" in theirs.text) == (403, True)
        assert running.written() == set()
        assert running.get(answer).status_code == 200
        assert running.ends()[0] == 0


def test_a_code_that_was_used_before_is_refused_and_the_page_begins_anew(
    tmp_path: Path, github: GitHub
) -> None:
    with setup(tmp_path, github, "--organization", "maria") as running:
        answer = running.answer_of_github()
        code = parse_qs(urlsplit(answer).query)["code"][0]
        used = running.browser.post(f"{github.url}/app-manifests/{code}/conversions")
        assert used.status_code == 201
        said = running.get(answer)
        assert (said.status_code, "The code was used before" in said.text) == (502, True)
        assert running.written() == set()
        # That state is spent too: the same answer cannot come again.
        assert running.get(answer).status_code == 403
        told = running.tells()
        assert "The code was used before" in told and code not in told


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ({"kind": "error", "status": 404}, 502, "older than an hour"),
        ({"kind": "error", "status": 422}, 502, "with 422"),
        ({"kind": "error", "status": 500}, 503, "Reload this page"),
        ({"kind": "secondary_limit"}, 503, "Reload this page"),
        ({"kind": "timeout"}, 503, "Reload this page"),
    ],
    ids=["404", "422", "500", "limit", "timeout"],
)
def test_a_conversion_that_github_refuses_writes_nothing(
    tmp_path: Path, github: GitHub, fault: dict[str, Any], status: int, words: str
) -> None:
    name = f"org-{fault['kind'].replace('_', '-')}-{status}-{fault.get('status', '')}"
    github.orders("users", {"login": name, "permission": "admin"})
    with setup(tmp_path, github, "--organization", name) as running:
        answer = running.answer_of_github()
        with github.trouble(**fault, path="/conversions$"):
            said = running.get(answer)
        assert (said.status_code, words in said.text) == (status, True), said.text
        assert running.written() == set()
        again = running.get(answer)
        if status == 503:  # nothing says that the code was used: the same answer may come again
            assert again.status_code == 200
            assert running.ends()[0] == 0
        else:
            assert again.status_code == 403


def test_malformed_codes_never_reach_github(tmp_path: Path, github: GitHub) -> None:
    with setup(tmp_path, github) as running:
        page = running.get(f"{running.address}/")
        [state] = re.findall(r"\?state=(\w+)", page.text)
        before = len(list(github.exchanges()))
        for code in ("", "..%2Fapp", "a%20b", "x" * 201):
            answer = running.get(f"{running.address}/created?code={code}&state={state}")
            assert (answer.status_code, "missing or malformed" in answer.text) == (403, True)
        assert len(list(github.exchanges())) == before


def test_another_host_name_for_this_machine_is_not_served(tmp_path: Path, github: GitHub) -> None:
    """A page of somebody else could otherwise read the state by DNS rebinding."""
    with setup(tmp_path, github) as running:
        for path in ("/", "/created?code=a&state=b"):
            answer = running.get(f"{running.address}{path}", Host="evil.example")
            assert answer.status_code == 421
            assert "state=" not in answer.text


def test_what_is_there_is_left_alone(tmp_path: Path, github: GitHub) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "squadron.env").write_text("mine")
    said = refused(tmp_path, github)
    assert "squadron.env: there already, and left as it is" in said
    assert (data / "squadron.env").read_text() == "mine"
    # The same if it appears while the page is open.
    (data / "squadron.env").unlink()
    with setup(tmp_path, github, "--organization", "ada") as running:
        answer = running.answer_of_github()
        (data / "squadron.env").write_text("mine too")
        page = running.get(answer)
        assert (page.status_code, "there already" in page.text) == (500, True)
        code, said = running.ends()
        assert (code, "Nothing was written" in said) == (1, True)
        assert (data / "squadron.env").read_text() == "mine too"
        code_of_github = parse_qs(urlsplit(answer).query)["code"][0]
        unspent = running.browser.post(f"{github.url}/app-manifests/{code_of_github}/conversions")
        assert unspent.status_code == 201


def test_a_directory_that_others_can_enter_is_refused(tmp_path: Path, github: GitHub) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o750)
    said = refused(tmp_path, github)
    assert "is open to others (mode 750): `chmod 700" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "secrets pass here"),
        (("--webhook-url", "ftp://squadron.example"), "must be an address like"),
        (("--webhook-url", "https://u:p@squadron.example"), "must be an address like"),
        (("--organization", "octo/demo"), "must be the organization's login"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_begins(
    tmp_path: Path, github: GitHub, words: tuple[str, ...], said: str
) -> None:
    assert said in refused(tmp_path, github, *words)
    assert not (tmp_path / "data").exists()


def test_a_port_that_is_taken_is_named(tmp_path: Path, github: GitHub) -> None:
    taken = str(urlsplit(github.url).port)
    assert f"port {taken} of 127.0.0.1 cannot be listened on" in refused(
        tmp_path, github, "--port", taken
    )


def test_ctrl_c_ends_it_without_an_app(tmp_path: Path, github: GitHub) -> None:
    with setup(tmp_path, github) as running:
        running.get(f"{running.address}/")
        running.interrupt()
        code, said = running.ends()
        assert (code, "Ended. Nothing was written." in said) == (1, True), said
        assert running.written() == set()
