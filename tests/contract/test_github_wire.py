"""The adapter over a real socket, against the box in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.clock import SystemClock
from app.adapters.github import GitHubApp
from app.ports import Repository, Unreachable
from tests.contract.github_support import app_key

MARKER = "<!-- squadron:effect:a1:comment -->"
START_SECONDS = 20


@pytest.fixture
def about(tmp_path: Path) -> Iterator[dict[str, object]]:
    """What the box says of itself on its first line."""
    (tmp_path / "a.txt").write_text("a")
    command = [sys.executable, "-m", "app.githubbox", "--webhook-secret", "s"]
    command += ["--repo", f"octo/demo={tmp_path}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(START_SECONDS)


@pytest.fixture
def github(about: dict[str, str]) -> GitHubApp:
    key = SecretStr(Path(about["private_key_file"]).read_text())
    return GitHubApp(int(about["app_id"]), [key], about["url"], SystemClock())


async def test_a_comment_over_the_wire(
    about: dict[str, str], github: GitHubApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    demo = Repository("octo/demo", int(about["installation_id"]))
    assert [*(await github.repositories()).repositories.values()] == [demo]
    issue = await github.open_issue(demo, "Help", "", [], [])

    cut = {"kind": "timeout", "method": "POST", "path": "comments$", "phase": "after", "count": 1}
    async with httpx.AsyncClient(base_url=about["url"], trust_env=False) as tester:
        (await tester.post("/_box/faults", json=cut)).raise_for_status()
    with pytest.raises(Unreachable, match="could not be reached"):
        await github.comment(demo, issue.number, MARKER)
    assert len(await github.comments(demo, issue.number, MARKER)) == 1


async def test_nobody_there() -> None:
    github = GitHubApp(7, [app_key()], "http://127.0.0.1:9", SystemClock())
    with pytest.raises(Unreachable, match="ConnectError"):
        await github.bot_login()
