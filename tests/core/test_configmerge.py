"""What a merge of `.squadron/` comes to: as git merges, or not at all."""

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.rules.merge import MOST_LINES, Merged, merge, merged_text

BASE = b"a\nb\nc\nd\ne\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result", "clashes"),
    [
        ({"f": BASE}, {"f": b"new"}, {"f": BASE}, {"f": b"new"}, ()),
        ({"f": BASE}, {"f": BASE}, {"f": b"new"}, {"f": b"new"}, ()),
        ({"f": BASE}, {"f": b"new"}, {"f": b"new"}, {"f": b"new"}, ()),
        ({"f": BASE}, {}, {"f": BASE}, {}, ()),
        ({"f": BASE}, {"f": BASE}, {}, {}, ()),
        ({}, {"f": b"1"}, {"g": b"2"}, {"f": b"1", "g": b"2"}, ()),
        ({"f": BASE}, {"f": b"new"}, {}, {}, ("f",)),
        ({"f": BASE}, {}, {"f": b"new"}, {"f": b"new"}, ("f",)),
        ({}, {"f": b"1"}, {"f": b"2"}, {"f": b"2"}, ("f",)),
        ({"f": b"1"}, {"f": b"2"}, {"f": b"3"}, {"f": b"3"}, ("f",)),
    ],
)
def test_each_file_is_merged_by_itself(
    base: dict[str, bytes],
    ours: dict[str, bytes],
    theirs: dict[str, bytes],
    result: dict[str, bytes],
    clashes: tuple[str, ...],
) -> None:
    assert merge(base, ours, theirs) == Merged(result, clashes)


def test_changes_apart_from_one_another_are_both_there() -> None:
    ours, theirs = BASE.replace(b"b", b"B"), BASE.replace(b"d\n", b"")
    assert merged_text(BASE, ours, theirs) == b"a\nB\nc\ne\n"
    assert merged_text(BASE, ours, BASE.replace(b"c", b"C")) is None, "next to one another"


def test_what_would_take_long_is_not_merged() -> None:
    middle = [b"%d" % number for number in range(MOST_LINES)]
    ours, theirs = [b"x", *middle[1:]], [*middle[:-1], b"y"]
    assert merged_text(*(b"\n".join(each) for each in (middle, ours, theirs))) is not None
    longer = [[*each[:9], b"more", *each[9:]] for each in (middle, ours, theirs)]
    assert merged_text(*(b"\n".join(each) for each in longer)) is None
    far = [b"same\n" * 9_000 + b"\n".join(each) for each in (middle, ours, theirs)]
    assert merged_text(*far) is not None, "what is alike costs nothing"


LINES = st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=6)


@given(LINES, LINES, LINES)
def test_whatever_is_merged_is_the_same_from_both_sides(
    base: list[bytes], ours: list[bytes], theirs: list[bytes]
) -> None:
    was, here, there = (b"\n".join(each) for each in (base, ours, theirs))
    assert merged_text(was, here, there) == merged_text(was, there, here)
    assert merged_text(was, here, was) == here
    assert merged_text(was, here, here) == here


@given(st.data())
def test_edits_of_lines_of_their_own_merge_as_git_does(data: st.DataObject) -> None:
    """Lines are told apart here; of equal ones git may take others for the same."""
    base = [b"%d" % number for number in range(8)]
    edits = st.dictionaries(st.integers(0, 7), st.sampled_from([b"", b"x", b"y\nz"]), max_size=3)

    def edited() -> bytes:
        changed = data.draw(edits)
        lines = (changed.get(number, line) for number, line in enumerate(base))
        return b"\n".join(line for line in lines if line) + b"\n"

    texts = (b"\n".join(base) + b"\n", edited(), edited())
    assert merged_text(*texts) == by_git(*texts)


def by_git(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """None: it says that they clash."""
    with tempfile.TemporaryDirectory() as directory:
        names = ("ours", "base", "theirs")
        for name, content in zip(names, (ours, base, theirs), strict=True):
            Path(directory, name).write_bytes(content)
        done = subprocess.run(
            ["git", "merge-file", "-p", *names], cwd=directory, capture_output=True, check=False
        )
    return done.stdout if done.returncode == 0 else None
