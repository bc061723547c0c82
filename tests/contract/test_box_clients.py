"""Other people's clients of GitHub drive the box: `gh`, PyGithub and octokit.js.

`make full` installs them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.box_support import git
from tests.support.github import GitHub, running_box

pytestmark = pytest.mark.full
HERE = "octo/demo"
CLIENTS = Path(sys.prefix) / "clis"
OCTOKIT = CLIENTS / "node_modules/@octokit/rest"
GH = shutil.which("gh") or str(CLIENTS / "gh/usr/bin/gh")
MOST_SECONDS = 60


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitHub]:
    directory = tmp_path_factory.mktemp("clients") / "box"
    files = {HERE: {"calc.py": "one\n"}}
    with running_box(directory, files, {"maria": "write", "rita": "read"}, "s", "") as box:
        content = {"title": "It is wrong", "body": "Look.", "labels": ["bug"]}
        box.does("maria", "POST", f"/repos/{HERE}/issues", content)
        yield box
        assert box.unknown_operations() == []


@pytest.fixture(scope="module")
def pull(github: GitHub) -> int:
    """A pull request of a real push."""
    clone = github.clone(HERE)
    (clone / "calc.py").write_text("one\ntwo\n")
    git("commit", "-q", "-am", "Add two", cwd=clone)
    git("push", "-q", "origin", "HEAD:work", cwd=clone)
    content = {"title": "Two", "head": "work", "base": "main", "body": "Fixes #1"}
    made = github.does("maria", "POST", f"/repos/{HERE}/pulls", content)
    review = {"event": "COMMENT", "body": "Nice."}
    github.does("rita", "POST", f"/repos/{HERE}/pulls/{made['number']}/reviews", review)
    return int(made["number"])


# --- gh ---------------------------------------------------------------------------------------


class Gh:
    """The command line of GitHub. It knows one host that it speaks to without TLS, and goes there
    by the proxy that it is told: the box."""

    def __init__(self, github: GitHub, home: Path) -> None:
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "GH_CONFIG_DIR": str(home / "gh"),
            "GH_HOST": "github.localhost",
            "GH_REPO": f"github.localhost/{HERE}",
            "GH_NO_UPDATE_NOTIFIER": "1",
            "GH_PROMPT_DISABLED": "1",
            "NO_COLOR": "1",
            "http_proxy": github.about["url"],
            "HTTP_PROXY": github.about["url"],
            "GH_TOKEN": github.about["users"]["maria"],
            "GH_ENTERPRISE_TOKEN": github.about["users"]["maria"],
        }

    def __call__(self, *words: str, fails: bool = False) -> str:
        done = subprocess.run(
            [GH, *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        assert (done.returncode != 0) == fails, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr


@pytest.fixture
def gh(github: GitHub, tmp_path: Path) -> Gh:
    if not Path(GH).exists():
        pytest.skip("GitHub's gh is not installed: `make full` gets Debian's, or install it")
    return Gh(github, tmp_path)


def test_gh_lists_and_shows_issues(gh: Gh) -> None:
    assert gh("issue", "list").split("\t")[:3] == ["1", "OPEN", "It is wrong"]
    assert gh("issue", "list", "--state", "closed") == ""
    shown = gh("issue", "view", "1")
    assert "title:\tIt is wrong" in shown and "labels:\tbug" in shown and "Look." in shown
    assert "Could not resolve" in gh("issue", "view", "99", fails=True)


def test_gh_shows_a_pull_request_with_its_diff_and_checks(
    gh: Gh, github: GitHub, pull: int
) -> None:
    shown = gh("pr", "view", str(pull))
    for words in ("title:\tTwo", "state:\tOPEN", "author:\tmaria", "additions:\t1", "rita"):
        assert words in shown, shown
    assert gh("pr", "list").split("\t")[:3] == [str(pull), "Two", "work"]
    fields = (
        "number,title,files,commits,reviews,mergeable,statusCheckRollup,closingIssuesReferences"
    )
    told = json.loads(gh("pr", "view", str(pull), "--json", fields.rpartition(",")[0]))
    assert told["files"][0]["path"] == "calc.py" and told["mergeable"] == "MERGEABLE"
    assert told["commits"][0]["messageHeadline"] == "Add two"
    diff = gh("pr", "diff", str(pull))
    assert diff.startswith("diff --git a/calc.py b/calc.py") and "+two" in diff
    head = github.sees(f"/repos/{HERE}/pulls/{pull}")["head"]["sha"]
    status = {"state": "success", "context": "ci"}
    github.does("maria", "POST", f"/repos/{HERE}/statuses/{head}", status)
    assert "ci\tpass" in gh("pr", "checks", str(pull))


def test_gh_calls_rest(gh: Gh) -> None:
    assert gh("api", f"repos/{HERE}", "--jq", ".full_name").strip() == HERE
    raw = "Accept: application/vnd.github.raw"
    assert gh("api", f"repos/{HERE}/contents/calc.py", "-H", raw) == "one\n"
    version = "X-GitHub-Api-Version: 2000-01-01"
    assert "is not a supported version" in gh("api", "rate_limit", "-H", version, fails=True)


# --- PyGithub ---------------------------------------------------------------------------------


@pytest.mark.skipif(
    importlib.util.find_spec("github") is None, reason="PyGithub is not installed: `make full`"
)
def test_pygithub_reads_and_writes(github: GitHub, pull: int) -> None:
    from github import Auth, Github, GithubException

    def client(login: str) -> Any:
        return Github(
            base_url=github.about["url"], auth=Auth.Token(github.about["users"][login]), retry=None
        )

    repository = client("maria").get_repo(HERE)
    issue = repository.create_issue("By a library", body="b", labels=["new label"])
    assert [each.name for each in repository.get_issue(issue.number).labels] == ["new label"]
    issue.create_comment("Said.").edit("Said better.")
    assert [each.body for each in issue.get_comments()] == ["Said better."]
    issue.edit(state="closed", state_reason="not_planned")
    assert issue.number in [each.number for each in repository.get_issues(state="closed")]
    request = repository.get_pull(pull)
    assert [each.filename for each in request.get_files()] == ["calc.py"]
    head = repository.get_commit(request.head.sha)
    assert [each.status for each in head.get_check_suites()] == ["queued"]
    request.create_review(body="Half.")
    assert [each.state for each in request.get_reviews()] == ["COMMENTED", "PENDING"]
    assert repository.get_contents("calc.py").decoded_content == b"one\n"
    with pytest.raises(GithubException) as refused:
        client("rita").get_repo(HERE).get_issue(issue.number).edit(title="Mine")
    assert refused.value.status == 403
    assert refused.value.data["message"] == "Resource not accessible by personal access token"


# --- octokit.js -------------------------------------------------------------------------------

SCRIPT = """
import { Octokit } from "@octokit/rest";
const [baseUrl, auth, pull_number] = process.argv.slice(2);
const octokit = new Octokit({ baseUrl, auth });
const here = { owner: "octo", repo: "demo" };
const said = await octokit.issues.createComment({ ...here, issue_number: 1, body: "From octokit" });
const all = await octokit.paginate(octokit.issues.listComments, { ...here, issue_number: 1 });
const pull = await octokit.pulls.get({ ...here, pull_number });
const diff = await octokit.pulls.get({ ...here, pull_number, mediaType: { format: "diff" } });
const { repository } = await octokit.graphql(`
  query($owner: String!, $repo: String!) {
    repository(owner: $owner, name: $repo) { issue(number: 1) { title } }
  }`, here);
const refused = await octokit.issues.get({ ...here, issue_number: 99 }).catch((no) => no.status);
console.log(JSON.stringify({ created: said.status, bodies: all.map((one) => one.body),
  head: pull.data.head.ref, diff: diff.data, title: repository.issue.title, refused }));
"""


@pytest.mark.skipif(
    not OCTOKIT.exists() or shutil.which("node") is None,
    reason="octokit.js is not installed: `make full`",
)
def test_octokit_reads_and_writes(github: GitHub, pull: int) -> None:
    script = OCTOKIT.parents[2] / "drive.mjs"
    script.write_text(SCRIPT)
    words = [github.about["url"], github.about["users"]["maria"], str(pull)]
    done = subprocess.run(
        ["node", str(script), *words], capture_output=True, text=True, timeout=MOST_SECONDS
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["created"], told["refused"], told["head"]) == (201, 404, "work")
    assert told["bodies"][-1] == "From octokit" and told["title"] == "It is wrong"
    assert told["diff"].startswith("diff --git a/calc.py b/calc.py")
