"""The box as a process: its command line, real git over HTTP, webhooks over a socket, its end."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.box_support import CONTRACT, REPO, SECRET, app_jwt, git, seed

LARGE_BYTES = 5_000_000


@dataclass(slots=True)
class Running:
    """A box in a process of its own, as it introduced itself."""

    process: subprocess.Popen[str]
    about: dict[str, Any]
    record: Path
    heard: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def client(self, token: str | None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.about["url"], headers=headers, timeout=10)

    def installation_token(self, **narrowing: object) -> str:
        key = Path(self.about["private_key_file"]).read_bytes()
        with self.client(app_jwt(self.about["app_id"], key)) as client:
            answer = client.post(
                f"/app/installations/{self.about['installation_id']}/access_tokens",
                json=narrowing,
            )
            token = answer.json()["token"]
            assert isinstance(token, str)
            return token

    def remote(self, token: str | None, name: str = "octo/demo") -> str:
        login = f"x-access-token:{token}@" if token else ""
        return f"{self.about['git_url']}/{name}.git".replace("://", f"://{login}")

    def events(self, name: str) -> list[dict[str, Any]]:
        with self.client(None) as client:
            assert client.get("/_box/idle?seconds=10").status_code == 200
        return [body for event, body in self.heard if event == name]


@contextmanager
def listener(heard: list[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            heard.append((self.headers["x-github-event"], json.loads(body)))
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/webhook"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root = tmp_path_factory.mktemp("process")
    plain, history = seed(root / "plain"), seed(root / "history")
    git("init", "--quiet", "--initial-branch=trunk", cwd=history)
    for message in ("one", "two"):
        (history / "log.txt").write_text(message)
        git("add", ".", cwd=history)
        git("commit", "--quiet", "-m", message, cwd=history)
    (root / "secret").write_text(SECRET + "\n")
    command = [
        sys.executable,
        "-m",
        "app.githubbox",
        "--webhook-secret-file",
        str(root / "secret"),
        "--repo",
        f"octo/demo={plain}",
        "--repo",
        f"octo/history={history}",
        "--user",
        "ann=admin",
        "--user",
        "rita=read",
        "--record",
        str(root / "record.jsonl"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process, process.stdout:
        running = Running(process, json.loads(process.stdout.readline()), root / "record.jsonl")
        with listener(running.heard) as url, running.client(None) as client:
            client.post("/_box/webhook", json={"url": url}).raise_for_status()
            yield running
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=10) == 0
    assert not Path(running.about["private_key_file"]).parent.exists()
    lines = [json.loads(line) for line in running.record.read_text().splitlines()]
    for one in lines:
        if "webhook" in one:
            CONTRACT.check_webhook(one["webhook"], one["action"], one["payload"])
        else:
            CONTRACT.check_exchange(
                one["method"],
                one["path"],
                one["query"],
                one["request"],
                one["status"],
                one["response"],
            )
    assert len(lines) > 5 and "ghs_" not in running.record.read_text()


def clone(box: Running, token: str | None, into: Path, name: str = "octo/demo") -> Path:
    git("clone", "--quiet", box.remote(token, name), str(into), cwd=into.parent)
    return into


def test_it_introduces_itself(box: Running) -> None:
    assert set(box.about) == {
        "url",
        "git_url",
        "app_id",
        "private_key_file",
        "installation_id",
        "users",
    }
    assert box.about["url"].startswith("http://127.0.0.1:")
    key = Path(box.about["private_key_file"])
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert set(box.about["users"]) == {"ann", "rita"}


def test_a_git_directory_keeps_its_history_and_a_plain_one_becomes_one_commit(
    box: Running, tmp_path: Path
) -> None:
    old = clone(box, None, tmp_path / "old", "octo/history")
    assert git("log", "--format=%s", cwd=old).split() == ["two", "one"]
    assert git("branch", "--show-current", cwd=old).strip() == "trunk"
    new = clone(box, None, tmp_path / "new")
    assert git("log", "--format=%s", cwd=new).strip() == "Initial commit"
    shallow = tmp_path / "shallow"
    git(
        "clone",
        "--quiet",
        "--depth=1",
        "--filter=blob:none",
        box.remote(None, "octo/history"),
        str(shallow),
        cwd=tmp_path,
    )
    assert (shallow / "log.txt").read_text() == "two"


def test_a_large_push_arrives_intact_and_is_told(box: Running, tmp_path: Path) -> None:
    token = box.installation_token()
    work = clone(box, token, tmp_path / "work")
    content = os.urandom(LARGE_BYTES)
    (work / "large.bin").write_bytes(content)
    git("checkout", "--quiet", "-b", "large", cwd=work)
    git("add", ".", cwd=work)
    git("commit", "--quiet", "-m", "large", cwd=work)
    git("push", "--quiet", "origin", "large", cwd=work)
    again = clone(box, token, tmp_path / "again")
    git("checkout", "--quiet", "large", cwd=again)
    assert (again / "large.bin").read_bytes() == content
    push = box.events("push")[-1]
    head = git("rev-parse", "HEAD", cwd=work).strip()
    assert (push["ref"], push["after"], push["created"]) == ("refs/heads/large", head, True)
    assert push["head_commit"]["added"] == ["large.bin"]
    assert push["sender"]["login"] == "squadron-box[bot]"


def test_parallel_pushes_tell_each_of_its_own_reference(box: Running, tmp_path: Path) -> None:
    token, told = box.installation_token(), len(box.events("push"))
    works = [clone(box, token, tmp_path / f"work{number}") for number in range(4)]

    def push(work: Path) -> None:
        git("commit", "--quiet", "--allow-empty", "-m", work.name, cwd=work)
        git("push", "--quiet", "origin", f"HEAD:refs/heads/{work.name}", cwd=work)

    with ThreadPoolExecutor() as pool:
        list(pool.map(push, works))
    pushes = box.events("push")[told:]
    assert sorted(one["ref"] for one in pushes) == [f"refs/heads/work{n}" for n in range(4)]
    assert all(
        [commit["message"] for commit in one["commits"]] == [one["ref"][11:]] for one in pushes
    )


def test_git_is_refused_what_its_token_may_not(box: Running, tmp_path: Path) -> None:
    work = clone(box, None, tmp_path / "work")
    git("commit", "--quiet", "--allow-empty", "-m", "mine", cwd=work)

    def push(token: str | None, name: str = "octo/demo") -> str:
        quiet = ["-c", "core.askPass=true"]
        return git(*quiet, "push", box.remote(token, name), "HEAD:refused", cwd=work, ok=False)

    assert "403" in push(box.about["users"]["rita"])
    assert "403" in push(box.installation_token(permissions={"contents": "read"}))
    assert "Authentication failed" in push("ghp_wrong")
    assert "not found" in push(box.about["users"]["ann"], "octo/none")


def test_protected_branches_and_workflows_are_refused_whole(box: Running, tmp_path: Path) -> None:
    bot, ann = box.installation_token(), box.about["users"]["ann"]
    work = clone(box, bot, tmp_path / "work")
    (work / ".github" / "workflows").mkdir(parents=True)
    (work / ".github" / "workflows" / "ci.yml").write_text("on: push\n")
    git("add", ".", cwd=work)
    git("commit", "--quiet", "-m", "workflow", cwd=work)
    refused = git(
        "push",
        "origin",
        "HEAD:refs/heads/workflow",
        "HEAD~1:refs/heads/without",
        cwd=work,
        ok=False,
    )
    assert (
        "refusing to allow a GitHub App to create or update workflow "
        "`.github/workflows/ci.yml` without `workflows` permission" in refused
    )
    assert "without" not in git("ls-remote", "origin", cwd=work)
    git("push", "--quiet", box.remote(ann), "HEAD:refs/heads/workflow", cwd=work)
    with box.client(None) as client:
        client.post("/_box/protect", json={"repository": "octo/demo", "branch": "main"})
    refused = git("push", box.remote(ann), "HEAD:main", cwd=work, ok=False)
    assert "GH006: Protected branch update failed for refs/heads/main" in refused


def test_a_dropped_connection_is_dropped(box: Running) -> None:
    with box.client(box.about["users"]["ann"]) as client:
        drop = {"kind": "timeout", "path": "/issues$", "phase": "after", "count": 1}
        client.post("/_box/faults", json=drop).raise_for_status()
        with pytest.raises(httpx.RemoteProtocolError):
            client.post(f"{REPO}/issues", json={"title": "it happened all the same"})
        assert [one["title"] for one in client.get(f"{REPO}/issues").json()] == [
            "it happened all the same"
        ]
    assert box.events("issues")[-1]["action"] == "opened"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "--webhook-secret"),
        (["--webhook-secret", ""], "secret is empty"),
        (["--webhook-secret", "s", "--user", "ann=boss"], "'boss' is no permission"),
        (["--webhook-secret", "s", "--repo", "demo=/nowhere"], "is not OWNER/NAME=DIR"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_explained(
    arguments: list[str], complaint: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app.githubbox", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2 and complaint in done.stderr
