"""GitHub as the stories see it: the box as a process, and people at work in its REST interface."""

import json
import re
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import jwt

from tests.contract.openapi import GRAPHQL, Contract
from tests.support import processes
from tests.support.waiting import MOST_SECONDS

Json = Any

BOT = "squadron-box[bot]"


def is_call(comment: Json) -> bool:
    """Whether our App calls people by this comment (docs/design.md, promise 14)."""
    return str(comment["body"]).startswith("<!-- squadron:call:")


KEEP_ALIVE = httpx.Limits(keepalive_expiry=2.0)
"""Less than servers keep a connection open, so that none is used that is just being closed."""


class GitHub:
    """The running box."""

    def __init__(
        self,
        about: Json,
        record: Path,
        directory: Path,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`transport`: how it is reached, if not by the network."""
        self.url: str = about["url"]
        self.about = about
        self._record = record
        self._directory = directory
        self._clients = {
            login: httpx.Client(
                base_url=self.url,
                headers={"Authorization": f"Bearer {token}"},
                timeout=MOST_SECONDS,
                limits=KEEP_ALIVE,
                transport=transport,
            )
            for login, token in about["users"].items()
        }
        self._box = httpx.Client(
            base_url=self.url, timeout=MOST_SECONDS, limits=KEEP_ALIVE, transport=transport
        )

    def close(self) -> None:
        """Hang up."""
        for client in (*self._clients.values(), self._box):
            client.close()

    # --- people ------------------------------------------------------------------------------

    def asks(self, login: str, method: str, path: str, content: Json = None) -> httpx.Response:
        """One REST call in a person's name, whatever the answer."""
        return self._clients[login].request(method, path, json=content)

    def does(self, login: str, method: str, path: str, content: Json = None) -> Json:
        """One REST call in a person's name, which GitHub has to allow."""
        answer = self.asks(login, method, path, content)
        assert answer.is_success, f"{login}: {method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def sees(self, path: str) -> Json:
        """What anybody with a browser sees at one address."""
        return self.does("maria", "GET", path)

    def lists(self, path: str, within: str = "") -> list[Json]:
        """The same of a list, which has to fit on one page; `within`: the key it stands under."""
        mark = "&" if "?" in path else "?"
        answer = self.asks("maria", "GET", f"{path}{mark}per_page=100")
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
        assert "next" not in answer.links, f"{path}: the list goes on"
        return list(answer.json()[within] if within else answer.json())

    def silently(self, login: str, method: str, path: str, content: Json = None) -> None:
        """The same as `does`, but no webhook tells of it."""
        answer = self.orders(
            "silently", {"user": login, "method": method, "path": path, "body": content}
        )
        assert answer["status"] < 300, answer

    # --- what a story looks at ---------------------------------------------------------------

    def comments(self, repository: str, issue: int) -> list[Json]:
        """Comments that our App wrote besides its calls, oldest first."""
        found = self.lists(f"/repos/{repository}/issues/{issue}/comments")
        return [one for one in found if one["user"]["login"] == BOT and not is_call(one)]

    def calls(self, repository: str, issue: int) -> list[Json]:
        """The comments by which our App calls people, oldest first."""
        found = self.lists(f"/repos/{repository}/issues/{issue}/comments")
        return [one for one in found if one["user"]["login"] == BOT and is_call(one)]

    def checks(self, repository: str, ref: str, role: str) -> list[Json]:
        """Check runs of a role on a commit or the head of a branch."""
        place = urllib.parse.quote(ref, safe="")
        return self.lists(
            f"/repos/{repository}/commits/{place}/check-runs?filter=all"
            f"&check_name=squadron%2F{role}",
            within="check_runs",
        )

    def escalations(self, repository: str, issue: int) -> list[Json]:
        """Open needs-human issues about an issue."""
        found = self.lists(f"/repos/{repository}/issues?state=open&labels=needs-human")
        return [one for one in found if f" (#{issue}, " in one["title"]]

    def commits(self, repository: str, branch: str) -> list[Json]:
        """Commits of a branch, newest first."""
        return self.lists(f"/repos/{repository}/commits?sha={urllib.parse.quote(branch)}")

    def clone(self, repository: str, by: str = "maria") -> Path:
        """A person's clone of a repository, made anew."""
        target = self._directory / f"clone-{len(list(self._directory.iterdir()))}"
        url = f"{self.about['git_url']}/{repository}.git".replace(
            "://", f"://x:{self.about['users'][by]}@"
        )
        git("clone", "--quiet", url, str(target), cwd=self._directory)
        return target

    # --- the box -----------------------------------------------------------------------------

    def orders(self, order: str, content: Json) -> Json:
        """One order to the box itself (`/_box/…`)."""
        answer = self._box.post(f"/_box/{order}", json=content)
        assert answer.is_success, f"{order}: {answer.status_code} {answer.text}"
        return answer.json()

    @contextmanager
    def trouble(self, **fault: Json) -> Iterator[None]:
        """A fault of REST, git or webhooks, as `app.githubbox.faults` describes them."""
        self.orders("faults", fault)
        try:
            yield
        finally:
            self._box.delete("/_box/faults").raise_for_status()

    def fired(self) -> int:
        """How often the faults that are switched on have struck."""
        faults = self._box.get("/_box/faults").raise_for_status().json()
        return sum(fault["fired"] for fault in faults)

    def is_idle(self) -> bool:
        """Whether no webhook is on its way any more."""
        return self._box.get("/_box/idle?seconds=10").status_code == 200

    def deliveries(self) -> list[Json]:
        """What became of all deliveries of the last three days, newest first."""
        key = Path(self.about["private_key_file"]).read_bytes()
        now = datetime.now(UTC)
        moments = {"iat": now - timedelta(seconds=10), "exp": now + timedelta(minutes=5)}
        token = jwt.encode({**moments, "iss": str(self.about["app_id"])}, key, algorithm="RS256")
        path = "/app/hook/deliveries?per_page=100"
        answer = self._box.get(path, headers={"Authorization": f"Bearer {token}"})
        assert answer.is_success and "next" not in answer.links, answer.text
        return list(answer.json())

    def asked_again(self) -> list[int]:
        """Ids of the tries to deliver that our App has asked for once more, oldest first."""
        asked = (
            re.fullmatch(r"/app/hook/deliveries/(\d+)/attempts", one.get("path", ""))
            for one in self.exchanges()
        )
        return [int(found.group(1)) for found in asked if found is not None]

    def unknown_operations(self) -> list[str]:
        """REST calls that the box did not know."""
        found = self._box.get("/_box/unknown").raise_for_status().json()
        return list(found)

    def exchanges(self) -> Iterator[Json]:
        """Everything that was said so far, in both directions; of a line that is just being
        written, the next look knows."""
        whole, _, _ = self._record.read_bytes().rpartition(b"\n")
        for line in whole.splitlines():
            yield json.loads(line)

    def comments_made(self) -> Iterator[str]:
        """Every comment that our App has made, as it was at first; edits make no noise."""
        for one in self.exchanges():
            is_comment = one.get("path", "").endswith("/comments") and one["method"] == "POST"
            if is_comment and one["status"] == 201 and one["response"]["user"]["login"] == BOT:
                yield one["response"]["body"]

    def check_contract(self) -> None:
        """Every exchange and every webhook is as GitHub's own description says."""
        contract = Contract.load()
        for one in self.exchanges():
            if "webhook" in one:
                contract.check_webhook(one["webhook"], one["action"], one["payload"])
            elif one["path"] != GRAPHQL:
                contract.check_exchange(
                    one["method"],
                    one["path"],
                    one["query"],
                    one["request"],
                    one["status"],
                    one["response"],
                )


@contextmanager
def running_box(
    directory: Path,
    repositories: Mapping[str, Mapping[str, str]],
    people: Mapping[str, str],
    secret: str,
    webhook_url: str,
) -> Iterator[GitHub]:
    """The box as a process. `repositories`: name → files; `people`: login → permission."""
    directory.mkdir()
    (directory / "webhook-secret").write_text(secret)
    record = directory / "record.jsonl"
    command = [
        *(sys.executable, "-m", "app.githubbox", "--port", "0", "--webhook-url", webhook_url),
        *("--webhook-secret-file", str(directory / "webhook-secret"), "--record", str(record)),
        *(part for login, may in people.items() for part in ("--user", f"{login}={may}")),
    ]
    for number, (name, files) in enumerate(repositories.items()):
        source = directory / f"repository-{number}"
        for path, text in files.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_text(text)
        command += ["--repo", f"{name}={source}"]
    (directory / "clones").mkdir()
    log = directory / "box.log"
    with log.open("w") as stderr:
        process = processes.start(command, processes.base_environment(directory), stderr)
        try:
            assert process.stdout is not None
            first_line = process.stdout.readline()
            assert first_line, f"the box did not start: {log.read_text()}"
            github = GitHub(json.loads(first_line), record, directory / "clones")
            try:
                yield github
            finally:
                github.close()
        finally:
            exit_code = processes.end(process)
    assert exit_code == 0, f"the box ended with {exit_code}: {log.read_text()}"


def git(*arguments: str, cwd: Path, ok: bool = True) -> str:
    """git as a person runs it; its output and error text."""
    who = ["-c", "user.name=Maria", "-c", "user.email=maria@users.noreply.github.com"]
    done = subprocess.run(
        ["git", *who, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    assert (done.returncode == 0) == ok, f"git {arguments}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr
