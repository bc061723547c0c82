"""The documents say what the code does, lead somewhere, and can be finished."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.adapters.github.registration import APP_EVENTS, APP_PERMISSIONS, PERMISSION_REASONS
from app.adapters.github.tokens import PERMISSIONS
from app.config.operator import read_operator
from app.config.settings import OF_S3, load_settings
from app.config.variables import PREFIX, VARIABLES
from app.core.github.hints import read
from app.services.intake.dispatch import ACCESS_EVENTS
from docs.from_code.pages import PLACES, ROOT, pages, renewed
from docs.from_code.runtimes import CONTRACT, HELD
from tests.contract.record import record

PAGES = pages()
README = ROOT / "README.md"
MOST_README_LINES = 150
GLOSSARY = ROOT / "docs/design.md"

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


def test_readme_can_be_finished() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MOST_README_LINES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_comes_from_the_code_is_what_the_code_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert renewed(text) == text, "run `make docs`"


def test_every_place_that_is_known_stands_on_a_page() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    shown = {name for text in texts for name in re.findall(r"<!-- from the code: (.+) -->", text)}
    assert shown == PLACES.keys()


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
    known = {f"{PREFIX}{name}": variable for name, variable in VARIABLES.items()}
    files = {f"{name}_FILE" for name, variable in known.items() if variable.is_secret}
    assert known.keys() | files | set(OF_S3) == asked.names
    assert not known.keys() & files


def test_the_required_variables_are_those_without_which_nothing_is_served() -> None:
    required = {f"{PREFIX}{name}" for name, variable in VARIABLES.items() if variable.is_required}
    missing = {problem.split()[0] for problem in load_settings({}).problems_for_serving()}
    assert required == missing


def test_the_permissions_are_those_that_tokens_are_asked_for() -> None:
    asked: dict[str, str] = {}
    for permissions in PERMISSIONS.values():
        for name, access in permissions.items():
            asked[name] = max(access, asked.get(name, ""), key=["", "read", "write"].index)
    assert asked == APP_PERMISSIONS
    assert asked.keys() == PERMISSION_REASONS.keys()


def test_the_events_are_those_that_are_acted_on() -> None:
    where = {
        "repository": {"full_name": "octo/demo", "default_branch": "main"},
        "installation": {"id": 1},
        "sender": {"login": "ada", "type": "User"},
    }
    assert SIGNALS.keys() == APP_EVENTS.keys()
    for event, payload in SIGNALS.items():
        said = read(event, {**where, **payload})
        assert said is not None or event in ACCESS_EVENTS, event


def test_the_examples_of_the_operators_file_are_valid() -> None:
    marks = ("ceilings:", "alerts:", "sandbox:")
    examples = [
        block
        for page in PAGES
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        if block.startswith(("defaults:", "# the operator's file"))
    ]
    assert any(mark in example for example in examples for mark in marks)
    for example in examples:
        assert read_operator(example, "example").problems == ()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        linked = (page.parent / path) if path else page
        assert linked.exists(), target
        assert linked.resolve().is_relative_to(ROOT), target
        if anchor:
            assert anchor in _anchors(linked.read_text(encoding="utf-8")), target


def test_every_document_is_found_from_the_readme() -> None:
    reached, left = set(), [README]
    while left:
        page = left.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        targets = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
        left += [(page.parent / each).resolve() for each in targets if "://" not in each]
    assert {*PAGES} - reached <= {ROOT / "CHANGELOG.md"}


def _anchors(text: str) -> set[str]:
    """Where a link into the page can lead: its headings, named as GitHub names them, and marks."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {_anchor(heading) for heading in headings} | {*re.findall(r'<a id="([^"]+)">', text)}


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_and_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make (\w+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for path in re.findall(r"`((?:app|tests|bench|docs)/[\w/.]*)`", text):
        assert (ROOT / path).exists(), path


TERMS = ("breaker", "brake", "ceiling", "iteration", "layer", "segment", "trip", "verdict")
"""Words of ours that a page explains, or links to the glossary, where it first uses them."""


def _prose(text: str) -> str:
    """What stands on a page in words of its own: no code, no headings, nothing from the code."""
    text = re.sub(r"<!-- from the code.*?<!-- end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`]*`", "``", text)


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize(
    "page", sorted({*PAGES} - {GLOSSARY, ROOT / "CHANGELOG.md"}), ids=lambda page: page.stem
)
def test_a_word_of_ours_is_linked_where_a_page_first_uses_it(page: Path, term: str) -> None:
    text = _prose(page.read_text(encoding="utf-8"))
    if first := re.search(rf"\b{term}s?\b", text, re.IGNORECASE):
        begins = text.rfind("[", 0, first.start())
        link = re.match(r"\[[^\]]*\]\(([^)]*)\)", text[begins:]) if begins >= 0 else None
        line = text[text.rfind("\n", 0, first.start()) + 1 :].partition("\n")[0]
        assert link and begins + link.end() > first.start(), line
        assert link[1].endswith((f"design.md#{term}", f"{term}s.md")), line


SHOULD_NOT_BE_SAID = ("(00", "so many", "once more if nobody", "Seed 0", "seed 0")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_are_plain(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [words for words in SHOULD_NOT_BE_SAID if words in text] == []
