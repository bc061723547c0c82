"""The tools of the embedded runtime against hostile paths, files and commands."""

import asyncio
import os
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path

import pytest
from pydantic_ai.messages import ToolCallPart

from app.adapters.processes import ProcessGroups
from app.adapters.runtimes.embedded import files
from app.adapters.runtimes.embedded.kept import KeptResults
from app.adapters.runtimes.embedded.results import for_model
from app.adapters.runtimes.embedded.tools import MOST_SHELLS_AT_ONCE, Toolbox
from app.ports import SessionOrder, ToolResult

SECRET = "outside-canary"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with everything that may lead out of it."""
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text(SECRET)
    workspace = tmp_path / "workspace"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "a.txt").write_text("alpha\nbeta\nbeta\ngamma\n")
    (workspace / "link-file").symlink_to(tmp_path / "secret")
    (workspace / "link-relative").symlink_to("../secret")
    (workspace / "link-directory").symlink_to(tmp_path / "outside")
    (workspace / "link-nowhere").symlink_to(tmp_path / "made-by-a-link")
    os.mkfifo(workspace / "fifo")
    return workspace


@pytest.fixture
def toolbox(workspace: Path) -> Toolbox:
    order = SessionOrder(
        agent="a",
        system_prompt="",
        model="scripted:",
        planning_model=None,
        most_output_tokens=None,
        workspace=workspace,
        session_directory=workspace.parent / "session",
        environment={"PATH": "/usr/bin:/bin", "ONLY": "this"},
        tools=None,
    )
    return Toolbox(order, ProcessGroups(), KeptResults(order.session_directory, 100, 1_000_000))


async def use(toolbox: Toolbox, tool: str, **args: object) -> ToolResult:
    return await toolbox.run(ToolCallPart(tool, args))


ESCAPES = [
    "../secret",
    "src/../../secret",
    "link-file",
    "link-relative",
    "link-directory/secret",
    "link-nowhere",
    "fifo",
    "/etc/passwd",
    "/dev/zero",
    "src/a.txt/x",
    "nul\0byte",
    "..",
    "../workspace-two/x",
    "/agent/workspace/../secret",
    "/agent/workspace/link-file",
    "/agent/home/x",
]


@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("view", {}),
        ("create", {"text": "overwritten"}),
        ("edit", {"old": SECRET, "new": "overwritten"}),
    ],
)
async def test_no_path_leads_out(
    toolbox: Toolbox, workspace: Path, tool: str, args: Mapping[str, object], path: str
) -> None:
    result = await use(toolbox, tool, path=path, **args)
    assert not result.ok
    assert SECRET not in result.output
    assert (workspace.parent / "secret").read_text() == SECRET
    assert (workspace.parent / "outside" / "secret").read_text() == SECRET
    assert not (workspace.parent / "made-by-a-link").exists()


async def test_an_absolute_path_below_the_workspace_is_its_own(
    toolbox: Toolbox, workspace: Path
) -> None:
    result = await use(toolbox, "view", path=str(workspace / "src" / "a.txt"), first_line=4)
    assert result.output == "4\tgamma"
    by_its_other_name = await use(toolbox, "view", path="/agent/workspace/src/a.txt", first_line=4)
    assert by_its_other_name.output == "4\tgamma"
    assert not (await use(toolbox, "view", path=f"{workspace}-two/x")).ok


async def test_a_view_shows_numbered_lines_or_entries(toolbox: Toolbox) -> None:
    lines = await use(toolbox, "view", path="src/a.txt", first_line=2, last_line=3)
    assert lines.output == "2\tbeta\n3\tbeta"
    entries = await use(toolbox, "view", path=".")
    assert entries.output.split("\n") == [
        "fifo",
        "link-directory@",
        "link-file@",
        "link-nowhere@",
        "link-relative@",
        "src/",
    ]
    beyond = await use(toolbox, "view", path="src/a.txt", first_line=9)
    assert beyond.output == "(no such lines: the file has 4)"


async def test_an_edit_wants_exactly_one_place(toolbox: Toolbox, workspace: Path) -> None:
    for old, times in (("beta", 2), ("delta", 0)):
        refused = await use(toolbox, "edit", path="src/a.txt", old=old, new="x")
        assert f"occurs {times} times" in refused.output
    assert (await use(toolbox, "edit", path="src/a.txt", old="beta\ngamma", new="é")).ok
    assert (workspace / "src" / "a.txt").read_text() == "alpha\nbeta\né\n"
    assert not (await use(toolbox, "edit", path="src/a.txt", old="", new="x")).ok


async def test_a_shorter_file_keeps_its_mode_and_nothing_of_the_old_text(
    toolbox: Toolbox, workspace: Path
) -> None:
    file = workspace / "src" / "a.txt"
    file.chmod(0o755)
    assert (await use(toolbox, "create", path="src/a.txt", text="new\n")).ok
    assert file.read_text() == "new\n"
    assert file.stat().st_mode & 0o777 == 0o755


async def test_large_files_are_refused(toolbox: Toolbox, workspace: Path) -> None:
    (workspace / "large").write_bytes(b"x" * (files.MOST_FILE_BYTES + 1))
    for tool, args in (("view", {}), ("edit", {"old": "x", "new": "y"})):
        assert "larger than" in (await use(toolbox, tool, path="large", **args)).output
    text = "x" * (files.MOST_FILE_BYTES + 1)
    assert "larger than" in (await use(toolbox, "create", path="new", text=text)).output
    assert not (workspace / "new").exists()
    (workspace / "large").write_bytes(b"x" * files.MOST_FILE_BYTES)
    assert (await use(toolbox, "view", path="large")).ok


async def test_a_directory_of_many_files_is_cut(toolbox: Toolbox, workspace: Path) -> None:
    (workspace / "many").mkdir()
    for number in range(files.MOST_ENTRIES + 1):
        (workspace / "many" / str(number)).touch()
    shown = (await use(toolbox, "view", path="many")).output.split("\n")
    assert len(shown) == files.MOST_ENTRIES + 1
    assert shown[-1].startswith("(and more")


async def test_a_flood_of_output_is_bounded(toolbox: Toolbox) -> None:
    flood = "echo head; head -c 50000000 /dev/zero | tr '\\0' x; echo tail; exit 4"
    result = await use(toolbox, "bash", command=flood)
    assert result.exit_code == 4
    assert len(result.output) < 1_001_000
    shown = for_model(result, 2_000)
    assert len(shown) < 2_200
    assert shown.startswith("head\n")
    assert shown.endswith("tail\n\n[exit code 4]")


async def test_a_shell_gets_only_the_environment_of_the_order(toolbox: Toolbox) -> None:
    names = await use(toolbox, "bash", command="env | sed 's/=.*//' | sort | tr '\\n' ' '")
    assert names.output.split() == ["ONLY", "PATH", "PWD", "SHLVL", "_"]


async def test_only_so_many_shells_run_at_once(toolbox: Toolbox, workspace: Path) -> None:
    command = "echo + >> ../log; sleep 0.02; echo - >> ../log"
    async with asyncio.TaskGroup() as group:
        for _ in range(3 * MOST_SHELLS_AT_ONCE):
            group.create_task(use(toolbox, "bash", command=command))
    log = (workspace.parent / "log").read_text().split()
    running = list(accumulate(1 if sign == "+" else -1 for sign in log))
    assert len(running) == 6 * MOST_SHELLS_AT_ONCE
    assert max(running) <= MOST_SHELLS_AT_ONCE


async def test_a_pipe_fails_when_any_part_of_it_fails(toolbox: Toolbox) -> None:
    result = await use(toolbox, "bash", command="false | cat")
    assert (result.ok, result.exit_code) == (False, 1)


@pytest.mark.parametrize("command", ["echo \0", "echo \ud800", "x" * 5_000_000, ""])
async def test_a_command_that_cannot_start_is_answered(toolbox: Toolbox, command: str) -> None:
    result = await use(toolbox, "bash", command=command)
    assert not result.ok
    assert result.exit_code is None
    assert len(result.output) < 1_000
