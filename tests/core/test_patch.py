"""A change as git prints it: its files, their sizes, and the lines that a comment can stand on."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.github.patch import MOST_FILES_LISTED, commentable, files_of, listed


def diff(directory: Path, before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """What git says about two directories."""
    for name, files in (("a", before), ("b", after)):
        for path, content in files.items():
            (directory / name / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / name / path).write_bytes(content)
        (directory / name).mkdir(exist_ok=True)

    def git(*arguments: str) -> str:
        work = ["git", f"--git-dir={directory / 'git'}"]
        done = subprocess.run([*work, *arguments], capture_output=True, check=True, timeout=60)
        return done.stdout.decode()

    git("init", "--quiet", "--bare")
    trees = []
    for name in ("a", "b"):
        git(f"--work-tree={directory / name}", "add", "--all", ".")
        trees.append(git("write-tree").strip())
    return git("diff", "--find-renames", *trees)


def test_every_kind_of_change_is_a_file_with_its_size(tmp_path: Path) -> None:
    long = b"".join(b"%d\n" % number for number in range(40))
    before = {
        "changed": b"one\ntwo\nthree\n",
        "gone": b"-- a/x\n",
        "old name": long,
        "picture": b"\0\1",
        "moved": long[:60],
    }
    after = {
        "changed": b"one\n2\n++ b/y\nthree\n",
        "new/file": b"x",
        "new name": long + b"40\n",
        "picture": b"\0\2",
        "kept/moved": long[:60],
    }
    files = files_of(diff(tmp_path, before, after))
    assert {each.path: (each.added, each.deleted) for each in files} == {
        "changed": (2, 1),
        "gone": (0, 1),
        "kept/moved": (0, 0),
        "new name": (1, 0),
        "new/file": (1, 0),
        "picture": (0, 0),
    }
    [changed] = [each for each in files if each.path == "changed"]
    assert "+++ b/y\n" in changed.text and commentable(changed.text) == {1, 2, 3, 4}
    assert listed(files[:1]) == "changed | +2 -1"
    most = list(files[:1]) * MOST_FILES_LISTED
    assert listed(most).count("\n") == MOST_FILES_LISTED - 1 == 199
    assert listed([*most, *files[:2]]) == f"{listed(most)}\n… and 2 more files"


def test_a_file_has_its_name_whatever_happened_to_it(tmp_path: Path) -> None:
    [gone] = files_of(diff(tmp_path, {"gone b/x": b"1\n"}, {}))
    assert gone.path == "gone b/x"
    quoted = 'a/"\\303\\244" b/"\\303\\244"\nBinary files differ\n'
    assert files_of(f"diff --git {quoted}")[0].path == '"\\303\\244"'
    mode = "diff --git a/x b/y b/x b/y\nold mode 100644\nnew mode 100755\n"
    assert [each.path for each in files_of(mode)] == ["x b/y"]


def test_a_note_of_git_inside_a_hunk_is_no_line() -> None:
    hunk = "@@ -1 +1,2 @@\n-old\n\\ No newline at end of file\n+new\n+more\n"
    assert commentable(hunk) == {1, 2}
    between = "@@ -1 +1,3 @@\n-old\n+new\n\\ No newline at end of file\n+more\n"
    assert commentable(between) == {1, 2}


@pytest.mark.parametrize("text", ["", "diff", "@@ -1 +1 @@", "no diff at all\n+x"])
def test_what_is_no_change_has_no_files(text: str) -> None:
    assert files_of(text) == () and commentable(text) == frozenset()


def test_the_lines_of_a_comment_are_those_that_are_shown_as_they_are_now() -> None:
    hunks = (
        "@@ -1,3 +1,3 @@ def\n one\n-two\n+2\n three\n"
        "@@ -20,2 +20 @@\n twenty\n-twenty-one\n\\ No newline at end of file\n"
    )
    assert commentable(hunks) == {1, 2, 3, 20}


@settings(deadline=None)
@given(st.lists(st.sampled_from([" ", "+", "-"]), min_size=1, max_size=30), st.integers(1, 900))
def test_as_many_lines_can_be_commented_on_as_the_hunk_leaves(kinds: list[str], start: int) -> None:
    left = sum(kind != "-" for kind in kinds)
    before = sum(kind != "+" for kind in kinds)
    hunk = f"@@ -{start},{before} +{start},{left} @@\n"
    text = hunk + "".join(f"{kind}@@ -1 +1 @@\n" for kind in kinds)
    assert commentable(text) == set(range(start, start + left))


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    files_of(f"diff --git {text}")
    commentable(text)
