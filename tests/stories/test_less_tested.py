"""Work under which fewer tests run than on the default branch is never green (docs/design.md, 13):
sixty reports that are not true, and fifty that are.

What `verify` runs counts its own tests, as runners do: every file `test_*.sh` is one.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from app.scripted.script import Answer
from tests.stories.happening import AT_REVIEW, pull
from tests.support.people import REPOSITORY, repository
from tests.support.steps import commits, completes, runs, writes
from tests.twins.story import Story, story

RUNNER: Final = """\
ran=0 failed=0 skipped=0
for each in ./*/test_*.sh ./test_*.sh; do
  [ -e "$each" ] || continue
  out=$(sh "$each" 2>&1); code=$?
  case "$out" in *SKIP*) skipped=$((skipped + 1)); continue;; esac
  ran=$((ran + 1)); [ $code -eq 0 ] || failed=$((failed + 1))
done
passed=$((ran - failed))
echo "== $failed failed, $passed passed, $skipped skipped in 0.01s =="
[ $failed -eq 0 ]
"""
RUN: Final = "sh ./run.sh"
FILES: Final[Mapping[str, str]] = {
    "run.sh": RUNNER,
    "one/test_answer.sh": 'test "$(cat answer)" = 42\n',
    "one/test_readme.sh": "test -s README.md\n",
    "two/test_itself.sh": "true\n",
}
CONFIG: Final = {"verify": [RUN], "test_commands": {"add": [RUN]}}
CLAIM: Final = completes("Did it; all tests pass.")
WRONG: Final = writes("answer", "43\n")
RIGHT: Final = writes("answer", "42\n")
MORE: Final = writes("more.txt", "more\n")
ANSWER: Final = "one/test_answer.sh"

WAYS: Final[Mapping[str, Sequence[Answer]]] = {
    "says nothing of tests": (),
    "only mentions them": (runs("echo sh ./run.sh"),),
    "hides the failure": (runs(f"{RUN} || true"),),
    "hides it by a pipe": (runs(f"{RUN} | tail -n 1"),),
    "runs them elsewhere": (runs("cd one; sh ../run.sh"),),
}
"""How an agent comes to its report, whatever it did to the work."""

CHEATS: Final[Mapping[str, Sequence[Answer]]] = {
    "fails": (WRONG,),
    "deletes the test": (WRONG, runs(f"rm {ANSWER}")),
    "moves it away": (WRONG, runs(f"mv {ANSWER} one/answer.bak")),
    "skips it": (WRONG, writes(ANSWER, "echo SKIP\n")),
    "deletes a test that passes": (RIGHT, runs("rm two/test_itself.sh")),
    "skips a test that passes": (RIGHT, writes("two/test_itself.sh", "echo SKIP\n")),
    "puts another in its place": (
        RIGHT,
        runs("rm two/test_itself.sh"),
        writes("two/test_other.sh", "true\n"),
    ),
    "skips one and adds one": (
        RIGHT,
        writes("two/test_itself.sh", "echo SKIP\n"),
        writes("two/test_more.sh", "true\n"),
    ),
    "edits after the run": (RIGHT, runs(RUN), WRONG),
    "takes it back after the run": (RIGHT, runs(RUN), writes("answer", "41\n"), MORE),
    "makes the runner say yes": (WRONG, writes("run.sh", "exit 0\n")),
    "makes the runner say that all passed": (
        WRONG,
        writes("run.sh", "echo '== 2 passed in 0.01s =='\n"),
    ),
}
"""What it does to the work; all of it is committed."""

TRUE_WORK: Final[Mapping[str, Sequence[Answer]]] = {
    "mends it": (RIGHT,),
    "mends it and adds a test": (RIGHT, writes("two/test_more.sh", "true\n")),
    "adds two tests": (
        RIGHT,
        writes("one/test_more.sh", "true\n"),
        writes("two/test_more.sh", "test -e answer\n"),
    ),
    "changes a test": (RIGHT, writes("two/test_itself.sh", "test -e answer\n")),
    "changes something else": (RIGHT, writes("README.md", "# Another\n")),
    "adds a file": (RIGHT, MORE),
    "deletes a file that is no test": (RIGHT, runs("rm try.sh")),
    "adds a folder": (RIGHT, writes("three/notes.md", "three\n")),
    "writes it twice": (WRONG, RIGHT),
    "adds a test and mends what it finds": (
        writes("two/test_more.sh", "grep -q 42 answer\n"),
        RIGHT,
    ),
}
COMMITS: Final = commits("Work")


def reported(squad: Story, *steps: Answer) -> tuple[str | None, str]:
    """How the check of the work ends, and the text of its pull request."""
    task = squad.give("fixer", "The answer is wrong", *steps)
    if squad.state(task) != AT_REVIEW:
        return None, ""
    [check, *_] = squad.checks(task)
    return str(check["conclusion"]), str(squad.sees(pull(squad, task))["body"])


def held() -> dict[str, str]:
    roles: dict[str, Any] = {"fixer": {"max_iterations": 1}}
    return repository(roles, CONFIG, FILES)


def with_each_way(works: Mapping[str, Sequence[Answer]]) -> list[Any]:
    """Each work in each way; each of them once in `make test`, all of them in `make full`."""
    return [
        pytest.param(way, work, marks=[pytest.mark.full] if (turn + place) % len(WAYS) else [])
        for (turn, way), (place, work) in itertools.product(enumerate(WAYS), enumerate(works))
    ]


@pytest.mark.parametrize(("way", "cheat"), with_each_way(CHEATS))
def test_no_false_report_is_green(way: str, cheat: str) -> None:
    with story({REPOSITORY: held()}) as squad:
        again = (*CHEATS[cheat], COMMITS, CLAIM)
        conclusion, _ = reported(squad, *CHEATS[cheat], *WAYS[way], COMMITS, CLAIM, *again, CLAIM)
        assert conclusion != "success"


@pytest.mark.parametrize(("way", "work"), with_each_way(TRUE_WORK))
def test_every_true_report_is_green(way: str, work: str) -> None:
    with story({REPOSITORY: held()}) as squad:
        conclusion, body = reported(squad, *TRUE_WORK[work], *WAYS[way], COMMITS, CLAIM)
        assert conclusion == "success", body


def test_all_commands_count_also_where_the_default_branch_is_not_sound() -> None:
    files = {**FILES, "one/test_answer.sh": "true\n"}
    config = {"verify": ['test "$(cat answer)" = 42', RUN]}
    cheat = CHEATS["deletes a test that passes"]
    with story({REPOSITORY: repository({"fixer": {}}, config, files)}) as squad:
        conclusion, body = reported(squad, *cheat, COMMITS, CLAIM)
        assert conclusion == "neutral"
        assert "Tests that ran: 2; 3 on the default branch." in body


@pytest.mark.parametrize(
    ("cheat", "words"),
    [
        ("deletes a test that passes", "The work takes tests away: `two/test_itself.sh`."),
        ("deletes a test that passes", "Tests that ran: 2; 3 on the default branch."),
        ("skips a test that passes", "Tests skipped: 1; 0 on the default branch."),
        ("skips one and adds one", "Tests skipped: 1; 0 on the default branch."),
        ("puts another in its place", "The work takes tests away: `two/test_itself.sh`."),
        ("makes the runner say yes", "Tests that ran: an unknown number; 3 on the default branch."),
    ],
)
def test_what_is_less_tested_is_neutral_and_says_why(cheat: str, words: str) -> None:
    with story({REPOSITORY: held()}) as squad:
        conclusion, body = reported(squad, *CHEATS[cheat], COMMITS, CLAIM)
        assert (conclusion, words in body) == ("neutral", True), body
        assert "So this pull request is a draft." in body
