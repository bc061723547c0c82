"""`docs/tutorial.md`, word by word: its lines for the box are typed as they stand on the page."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import free_port
from tests.support.waiting import until

PAGE = Path(__file__).parents[2] / "docs/tutorial.md"
END_SECONDS = 30
pytestmark = pytest.mark.full


def blocks(ports: Mapping[str, int]) -> Mapping[str, str]:
    """The page's lines that are meant for the box, by their marks; ports may be others."""
    text = PAGE.read_text(encoding="utf-8")
    for shown, port in ports.items():
        assert shown in text
        text = text.replace(shown, str(port))
    text = text.replace("\nsquadron serve\n", f"\nsquadron serve --port {ports['8000']}\n")
    return dict(re.findall(r"<!-- box: (\w+) -->\n```sh\n(.*?)```", text, re.DOTALL))


class Terminal:
    """A shell that somebody types into. What it prints is kept in a file."""

    def __init__(self, directory: Path, name: str, environment: Mapping[str, str]) -> None:
        self._said = directory / f"{name}.said"
        self._typed = 0
        with self._said.open("wb") as said:
            self._shell = subprocess.Popen(
                ["bash"],
                cwd=directory,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def starts(self, lines: str) -> None:
        """Type lines of which the last one goes on running."""
        assert self._shell.stdin is not None
        self._shell.stdin.write(lines.encode())
        self._shell.stdin.flush()

    def types(self, lines: str) -> str:
        """Type lines, wait until they have run, and say what they printed; the last one has to
        end well."""
        before = len(self.said())
        self._typed += 1
        end = f"<end of {self._typed}: "
        self.starts(f'{lines}\necho "{end}$?>"\n')
        until(lambda: end in self.said()[before:], f"the end of {lines}")
        said, _, code = self.said()[before:].partition(end)
        assert code.startswith("0>"), said
        return said

    def said(self) -> str:
        """All that was printed until now."""
        return self._said.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """End the shell with all that it has started."""
        os.killpg(self._shell.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._shell.wait(END_SECONDS)
        with suppress(ProcessLookupError):  # all of its group have ended
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate()


@contextmanager
def terminals(directory: Path) -> Iterator[list[Terminal]]:
    """Three of them, as the page wants."""
    (directory / "squadron").mkdir()
    (directory / "squadron/.venv").symlink_to(sys.prefix)
    (directory / "operator.yaml").write_text("sandbox: {mode: off}\nreconciliation_interval: 2\n")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "LANG": "C.UTF-8",
        "SQUADRON_CONFIG": str(directory / "operator.yaml"),
    }
    opened: list[Terminal] = []
    try:
        for name in ("box", "service", "person"):
            opened.append(Terminal(directory, name, environment))
        yield opened
    finally:
        for terminal in opened:
            terminal.close()


def test_a_newcomer_gets_from_nothing_to_a_merged_pull_request_and_a_stop(tmp_path: Path) -> None:
    says = blocks({"8000": free_port(), "8003": free_port()})
    with terminals(tmp_path) as (box, service, person):

        def agents() -> dict[str, Any]:
            registry = json.loads(person.types("squadron agents --json"))
            return {each["id"]: each for each in registry["agents"]}

        def answer(path: str = "") -> Any:
            if path:
                person.types(f"github '{path}'")
            return json.loads((tmp_path / "answer.json").read_text())

        def is_in(agent: str, state: str) -> bool:
            return bool(agents().get(agent, {}).get("state") == state)

        for terminal in (box, service, person):
            terminal.types(says["terminal"])
        assert "AssertionError: 7 != 12" in box.types(says["repository"])
        box.starts(says["box"])
        until(lambda: '"users"' in box.said(), "the box says where it is")
        service.types(says["app"] + says["model"])
        service.starts(says["serve"])
        until(lambda: '"message": "serving"' in service.said(), "the service")

        person.types(says["issue"])
        mending = "you/shapes#1/bug-fix/1"
        until(lambda: is_in(mending, "SLEEPING"), "the agent waits for its review")
        person.types(says["merge"])
        assert answer()["merged"]
        assert [each["filename"] for each in answer("pulls/2/files")] == ["shapes.py"]
        until(lambda: is_in(mending, "COMPLETED"), "the agent is done")

        person.types(says["hopeless"])
        hopeless = "you/shapes#3/feat-dev/1"
        until(lambda: is_in(hopeless, "ESCALATED"), "a limit stops the other one")
        told = person.types(says["explain"])
        assert "max_iterations reached: 5 of 5 fix cycles" in told
        assert [each["title"][:13] for each in answer("issues?labels=needs-human")] == [
            "[needs-human]"
        ]
