"""Lines that a shell runs alike read alike, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.shell import MAX_TEXT_BYTES, parse
from tests.detection.table import lines_of_text
from tests.detection.test_disguises import PROPERTY

ALIKE = [
    ["ls -la", "ls  -la", "ls -la ", "\n\tls -la\n", "ls -la # 3", "ls -la #", "ls -la;"],
    ["ls -la", "ls \\\n -la", "ls \\\n\t\\\n-la"],
    ["ls -la", "'ls' \"-la\"", "# first\nls -la # then"],
    ["a; b", "a ;b", "a\nb", "a # 1\n\n# 2\nb", "a;\nb"],
    ["a && b || c", "a&&b||c", "a &&\n b || # no\n c"],
    ["if a; then b; fi", "if a\nthen\n  b\nfi # done"],
    ["pytest -q > out 2>&1", "pytest -q >out 2>&1", "pytest -q  >  out  2>&1  # 7"],
    ["(a; b) | c", "( a;b )|c"],
    ["echo \"$x\" 'a  b'", "echo  \"$x\"  'a  b'"],
    ["cat <<E\na # b\n  c\nE", "cat  <<E\na # b\n  c\nE\n"],
]  # fmt: skip
APART = [
    ["echo a", "echo ab", "echo a b", "echo 'a  b'", "echo 'a b'", "echo a#b", "echo '# a'"],
    ["a && b", "a || b", "a; b", "a | b", "a & b", "a b"],
    ["x=1", "x = 1", "x= 1", "x =1"],
    ["ls 2 > f", "ls 2> f", "ls > f", "ls >> f", "ls < f"],
    ["cat <<E\na # b\nE", "cat <<E\na # c\nE", "cat <<E\na  # b\nE"],
    ["echo $x", "echo '$x'", "echo \\$x"],
]  # fmt: skip


@pytest.mark.parametrize("lines", ALIKE, ids=lambda lines: lines[0])
def test_blanks_comments_and_needless_quotes_are_nothing_to_a_shell(lines: list[str]) -> None:
    assert len({parse(line).text for line in lines}) == 1


@pytest.mark.parametrize("lines", APART, ids=lambda lines: lines[0])
def test_what_a_shell_runs_differently_reads_differently(lines: list[str]) -> None:
    assert len({parse(line).text for line in lines}) == len(lines)


@PROPERTY
@given(
    st.sampled_from([*lines_of_text(True), *lines_of_text(False)]),
    st.text("ab #'\"", max_size=8),
    st.sampled_from(["", " ", "\n", " \t "]),
)
def test_nothing_behind_a_command_makes_another_of_it(line: str, said: str, before: str) -> None:
    read = parse(line)
    if read.complete:
        assert parse(f"{before}{line}\n# {said}").text == read.text


@pytest.mark.parametrize("line", ["echo 'a", "if a; then", "x" * (MAX_TEXT_BYTES + 1)])
def test_what_cannot_be_read_to_its_end_is_taken_as_it_is_written(line: str) -> None:
    assert parse(line).text == line


def test_a_program_with_its_arguments_reads_like_the_line_that_starts_it() -> None:
    assert parse(["ls", "-la", "a b"]).text == parse("ls -la 'a b'").text
