"""A real git remote over HTTP for the workspace's tests: `git http-backend` behind basic auth."""

import atexit
import base64
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from app.adapters.clock import new_name
from app.adapters.processes import ProcessGroups
from app.adapters.workspace import GitWorkspace
from app.adapters.workspace.remote import TokenFor
from app.core.text.redact import Redactor
from app.ports import CheckoutOrder, Repository

TOKEN = "ghs_canary-token.of-the-remote"
REPOSITORY = Repository("octo/demo", 1)
BRANCH = "squadron/bug-fix/issue-12"
ORDER = CheckoutOrder(
    agent="octo/demo#12/bug-fix/1",
    repository=REPOSITORY,
    repository_id=1,
    default_branch="main",
    branch=BRANCH,
    author_name="squadron[bot]",
    author_email="7+squadron[bot]@users.noreply.github.com",
)
_GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Person",
    "GIT_AUTHOR_EMAIL": "person@example.com",
    "GIT_COMMITTER_NAME": "Person",
    "GIT_COMMITTER_EMAIL": "person@example.com",
}


def git(directory: Path, *arguments: str) -> str:
    """Run git as a person would; its output."""
    done = subprocess.run(
        ["git", *arguments], cwd=directory, env=_GIT, check=True, capture_output=True, timeout=60
    )
    return done.stdout.decode().strip()


def workspaces(data: Path, url: str, token: TokenFor, *secrets: str) -> GitWorkspace:
    """Whose agents work without a sandbox, of an installation that has these secrets."""
    processes = ProcessGroups()
    return GitWorkspace(data, url, token, processes, processes, Redactor(secrets), new_name)


@cache
def _template() -> Path:
    """A served repository and a person's checkout of it, made once and copied for each test."""
    root = Path(tempfile.mkdtemp(prefix="squadron-remote-"))
    atexit.register(shutil.rmtree, root)
    bare, person = root / "served/octo/demo.git", root / "person"
    bare.mkdir(parents=True)
    git(bare, "init", "-q", "--bare", "--initial-branch=main", "--template=")
    git(bare, "config", "http.receivepack", "true")
    git(root, "init", "-q", "--initial-branch=main", "--template=", str(person))
    git(person, "remote", "add", "origin", "../served/octo/demo.git")
    (person / "app.py").write_text("print('hello')\n")
    (person / ".gitignore").write_text("*.log\n")
    git(person, "add", "-A")
    git(person, "commit", "-q", "-m", "First")
    git(person, "push", "-q", "origin", "main")
    return root


class GitRemote:
    """One repository that is served, and a person's checkout of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bare = root / "served/octo/demo.git"
        self.person = root / "person"
        self.failures_left = 0
        """That many requests are answered with 503 first."""
        self.purposes: list[str] = []
        self.url = ""
        shutil.copytree(_template(), root, symlinks=True)

    def commit(self, files: dict[str, str], *subjects: str, branch: str = "main") -> str:
        """Commit (files first, then nothing more) and push as a person; the new head."""
        git(self.person, "fetch", "-q", "origin")
        known = git(self.person, "branch", "-r", "--list", f"origin/{branch}")
        start = [f"origin/{branch}"] if known else []
        git(self.person, "checkout", "-q", "-B", branch, *start)
        for name, text in files.items():
            (self.person / name).parent.mkdir(parents=True, exist_ok=True)
            (self.person / name).write_text(text)
        git(self.person, "add", "-A")
        for subject in subjects:
            git(self.person, "commit", "-q", "--allow-empty", "-m", subject)
        git(self.person, "push", "-q", "origin", f"{branch}:{branch}")
        return git(self.person, "rev-parse", "HEAD")

    def head(self, branch: str) -> str | None:
        """Where a branch is, None if it does not exist."""
        return git(self.bare, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}") or (
            None
        )

    def show(self, branch: str, path: str) -> str:
        """A file of a branch."""
        return git(self.bare, "show", f"refs/heads/{branch}:{path}")

    def files(self, branch: str) -> list[str]:
        """All paths of a branch."""
        return git(self.bare, "ls-tree", "-r", "--name-only", f"refs/heads/{branch}").splitlines()

    def on(self, event: str, script: str) -> None:
        """Run a hook of the server: `update` sees ref, old and new, and may refuse as GitHub."""
        hook = self.bare / "hooks" / event
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{script}\n")
        hook.chmod(0o755)

    async def token(self, repository: Repository, purpose: str, refused: str | None = None) -> str:
        assert repository == REPOSITORY
        self.purposes.append(purpose)
        return TOKEN


@contextmanager
def serving(root: Path) -> Iterator[GitRemote]:
    """Serve a fresh repository until the end of the block."""
    remote = GitRemote(root)
    expected = "Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            self.answer(self.body())

        def body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def answer(self, body: bytes) -> None:
            if self.headers.get("Authorization") != expected:
                self.send_error(401)
            elif remote.failures_left:
                remote.failures_left -= 1
                self.send_error(503)
            else:
                self.run_backend(body)

        def run_backend(self, body: bytes) -> None:
            path, _, query = self.path.partition("?")
            done = subprocess.run(
                ["git", "http-backend"],
                input=body,
                capture_output=True,
                check=True,
                timeout=60,
                env={
                    **_GIT,
                    "GIT_PROJECT_ROOT": str(root / "served"),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "REQUEST_METHOD": self.command,
                    "REMOTE_USER": "x-access-token",
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                },
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Tests read no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    remote.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield remote
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
