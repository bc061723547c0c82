"""`squadron session export` of an agent that began last on another machine."""

import asyncio
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.adapters.workspace.packed import packed
from app.cli.main import app
from app.core.agents.agent import AgentId
from app.ports import Artifact
from tests.support.past import a_past

TOKENS = 900
"""Of the one call of the model that it made."""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where all machines keep conversations."""
    for name in [name for name in os.environ if name.startswith("SQUADRON_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SQUADRON_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SQUADRON_ARTIFACTS", str(tmp_path / "kept"))
    return tmp_path / "kept"


def an_agent(kept: Path, *, calls: int) -> AgentId:
    """Of whose conversation so many calls of the model were kept."""
    said = kept.parent / "said"
    said.mkdir()
    (said / "a note").write_text("of a conversation")
    content = packed(said, (), 2**20)

    async def life() -> AgentId:
        agent = await past.worked(3, tokens=TOKENS)
        await past.is_elsewhere(agent, Artifact(content, calls), str(kept))
        return agent

    with a_past(f"sqlite:///{kept.parent / 'squadron.sqlite3'}") as past:
        return asyncio.run(life())


def export(agent: AgentId) -> Result:
    return CliRunner().invoke(app, ["session", "export", str(agent)])


def test_what_was_kept_is_read_where_all_machines_keep_it(kept: Path) -> None:
    agent = an_agent(kept, calls=0)
    done = export(agent)
    assert done.exit_code == 0, done.output
    assert (
        f"the conversation is partial: {agent} began last on another machine, and of its 1 calls"
        " of the model 0 were kept for others"
    ) in done.stderr
    assert '"type": "event"' in done.stdout


def test_what_is_gone_there_was_not_kept(kept: Path) -> None:
    agent = an_agent(kept, calls=1)
    assert "partial" not in export(agent).stderr
    [file] = (each for each in kept.rglob("*") if each.is_file())
    file.unlink()
    said = export(agent).stderr
    assert f"the conversation of {agent} is on another machine, and nothing of it was kept" in said


def test_a_place_that_cannot_be_read_is_said(kept: Path) -> None:
    agent = an_agent(kept, calls=1)
    for file in kept.rglob("*"):
        if file.is_file():
            file.unlink()
            file.mkdir()
    done = export(agent)
    assert done.exit_code == 1 and not done.stdout
    assert f"what was kept of {agent} cannot be read: {kept}: " in done.stderr
