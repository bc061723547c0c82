"""Whatever agents, tools and people wrote: on a terminal it is words, in every command."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from app.cli.main import app
from app.cli.terminal import cell, clean
from app.core.agents.agent import AgentId, Effect, EffectName, EffectState
from app.core.limits import Limits
from app.ports import HeardCommands
from tests.contract.store_support import NOON
from tests.support.past import a_past

HOSTILE = "[/red]\x1b[2J\x1b]0;owned\x07[bold]\r\x9b31m\u202egnp.exe"
"""Markup that closes what is not open, codes that clear the screen and set its title, a return to
the start of the line, and letters that run backwards."""
CONFIG = f"""
roles:
  "x{HOSTILE.encode("unicode_escape").decode()}": {{}}
"{HOSTILE.encode("unicode_escape").decode()}": 1
"""


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentId:
    """One that was stopped, and about which GitHub refuses something."""
    for name in [name for name in os.environ if name.startswith("SQUADRON_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SQUADRON_DATA_DIR", str(tmp_path))

    async def life() -> AgentId:
        stopped = await past.worked(9, limits=Limits(max_tool_calls=5))
        refused = Effect(EffectName.ISSUE, EffectState.REFUSED, attempts=1, error=HOSTILE)
        await past.published(stopped, refused)
        told = HeardCommands("octo/demo", "1", None, 1, HOSTILE, (HOSTILE,), False, NOON)
        await past.heard(told)
        return stopped

    with a_past(f"sqlite:///{tmp_path / 'squadron.sqlite3'}") as past:
        return asyncio.run(life())


def squadron(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "200"})


def is_harmless(said: str) -> bool:
    """Whether it is words in lines."""
    return all(each == "\n" or each.isprintable() for each in said)


def test_the_registry_is_words(agent: AgentId) -> None:
    for command in (("agents",), ("explain", str(agent)), ("costs",), ("limits", "suggest")):
        told = squadron(*command)
        assert told.exit_code == 0, told.output
        assert is_harmless(told.output), command
    assert "[/red]·[2J" in squadron("explain", str(agent)).stdout


def test_what_is_wrong_in_files_is_told_in_words(tmp_path: Path, agent: AgentId) -> None:
    directory = tmp_path / ".squadron"
    directory.mkdir()
    (directory / "config.yaml").write_text(CONFIG)
    told = squadron("config", "check", str(directory))
    assert told.exit_code != 0 and "[/red]" in told.output
    assert is_harmless(told.output), repr(told.output)


def test_a_transcript_is_replayed_in_words(tmp_path: Path, agent: AgentId) -> None:
    hostile = tmp_path / f"{HOSTILE.replace('/', '')}.jsonl"
    hostile.write_text(f'{{"type": "{HOSTILE}"\n')
    told = squadron("replay", str(hostile))
    assert told.exit_code != 0 and told.output
    assert is_harmless(told.output), repr(told.output)


def test_who_is_asked_for_in_vain_is_told_in_words(agent: AgentId) -> None:
    for command in (("explain", HOSTILE), ("explain", f"octo/demo#7/{HOSTILE}/1")):
        assert is_harmless(squadron(*command).output), command


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert is_harmless(clean(text))
    assert clean(text).count("\n") == text.count("\n")
    assert cell(text).plain == clean(text) and not cell(text).spans
