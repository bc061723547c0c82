"""README says what the code does: its tables are compared with what they describe."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

from app.adapters.github.registration import APP_EVENTS, APP_PERMISSIONS
from app.adapters.github.tokens import PERMISSIONS
from app.cli.main import app
from app.config.operator import read_operator
from app.config.settings import load_settings
from app.core.agents.lifecycle import State
from app.core.commands.grammar import USAGE
from app.core.github.hints import read
from app.services.intake.dispatch import ACCESS_EVENTS
from docs.regenerate import CONTRACT, HELD, README, regenerated
from tests.contract.record import record

ROOT = README.parent
TEXT = README.read_text(encoding="utf-8")
PAGES = sorted([README, *ROOT.glob("docs/*.md"), ROOT / "CHANGELOG.md"])

SIGNALS: dict[str, dict[str, Any]] = {
    "issues": {"action": "labeled", "issue": {"number": 1}, "label": {"name": "bug"}},
    "issue_comment": {
        "action": "created",
        "issue": {"number": 1},
        "comment": {"id": 1, "body": "Go on."},
    },
    "check_run": {
        "action": "requested_action",
        "check_run": {"id": 1, "external_id": "squadron:octo/demo#1/docs/1:abc"},
        "requested_action": {"identifier": "stop"},
    },
    "repository": {"action": "renamed"},
    "status": {"state": "failure", "branches": [{"name": "squadron/docs/issue-1"}]},
    "pull_request": {"action": "closed", "pull_request": {"number": 1}},
    "pull_request_review": {
        "action": "submitted",
        "pull_request": {"number": 1},
        "review": {"state": "changes_requested"},
    },
    "pull_request_review_comment": {"action": "created", "pull_request": {"number": 1}},
    "push": {"ref": "refs/heads/main"},
}
"""A payload of each event that Squadron acts on."""


class Asked(Mapping[str, str]):
    """An empty environment that remembers what it was asked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def table(mark: str) -> dict[str, str]:
    """The table behind a mark: the name in its first column, and the second column."""
    _, _, rest = TEXT.partition(f"<!-- {mark} -->\n")
    rows = rest.partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {row[0].strip("`"): row[1] for row in cells}


def test_the_generated_tables_are_of_what_there_is() -> None:
    assert regenerated(TEXT) == TEXT, "run `python -m docs.regenerate`"


def test_the_runtimes_are_told_of_by_a_record_of_exactly_their_contract() -> None:
    recorded, stories = json.loads(CONTRACT.read_text(encoding="utf-8")), record({})
    assert list(recorded) == list(stories), "run `python -m tests.contract.record`"
    for story, runtimes in stories.items():
        assert recorded[story].keys() == runtimes.keys()
        for runtime, end in runtimes.items():
            possible = {HELD, "broken", "not run"} if end == "not run" else {end}
            assert recorded[story][runtime] in possible, (story, runtime)


def test_the_variables_are_those_that_are_read() -> None:
    asked = Asked()
    load_settings(asked)
    files = {name.removesuffix("_FILE") for name in asked.names if name.endswith("_FILE")}
    variables = table("variables")
    assert variables.keys() == {name for name in asked.names if not name.endswith("_FILE")}
    assert {name for name, default in variables.items() if "`…_FILE`" in default} == files


def test_the_required_variables_are_those_without_which_nothing_is_served() -> None:
    required = {name for name, default in table("variables").items() if "required" in default}
    missing = {problem.split()[0] for problem in load_settings({}).problems_for_serving()}
    assert required == missing


def test_the_permissions_are_those_that_tokens_are_asked_for() -> None:
    asked: dict[str, str] = {}
    for permissions in PERMISSIONS.values():
        for name, access in permissions.items():
            asked[name] = max(access, asked.get(name, ""), key=["", "read", "write"].index)
    assert table("permissions") == asked == APP_PERMISSIONS


def test_the_events_are_those_that_are_acted_on() -> None:
    where = {
        "repository": {"full_name": "octo/demo", "default_branch": "main"},
        "installation": {"id": 1},
        "sender": {"login": "ada", "type": "User"},
    }
    assert table("events").keys() == SIGNALS.keys() == set(APP_EVENTS)
    for event, payload in SIGNALS.items():
        said = read(event, {**where, **payload})
        assert said is not None or event in ACCESS_EVENTS, event


def test_the_commands_are_all_commands() -> None:
    group = typer.main.get_group(app)
    context = typer.Context(group)
    commands = {
        f"squadron {name}{f' {inner}' if inner else ''}"
        for name in group.list_commands(context)
        for inner in getattr(group.get_command(context, name), "commands", {"": None})
    }
    assert table("commands").keys() == commands


def test_the_commands_in_comments_are_all_of_them() -> None:
    assert table("comments") == USAGE


def test_the_states_are_all_states() -> None:
    assert table("states").keys() == {state.value for state in State}


def test_the_operators_file_is_valid() -> None:
    [example] = [
        block for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL) if "ceilings" in block
    ]
    assert read_operator(example, "example").problems == ()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        linked = (page.parent / path) if path else page
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {_anchor(heading) for heading in headings}, target


def _anchor(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_and_tests_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make (\w+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for path in re.findall(r"`((?:app|tests|bench|docs)/[\w/.]*)`", text):
        assert (ROOT / path).exists(), path
