"""Protected paths: which they are, and how people are told of what was kept off a branch."""

import pytest

from app.core.rules.protected import (
    DIRECTORIES,
    FILES,
    MOST_NAMED,
    SHOWN,
    is_protected,
    is_steering,
    protected_words,
    refused_words,
)


@pytest.mark.parametrize(
    "path",
    [
        b".squadron/config.yaml",
        b".squadron/agents/bug-fix.md",
        b".squadron",
        b".github",
        b".github/workflows/ci.yml",
        b".github/CODEOWNERS",
        b".GitHub/workflows/ci.yml",
        b"CODEOWNERS",
        b"codeowners",
        b"docs/CODEOWNERS",
        b".github/\xff",
    ],
)
def test_what_decides_about_agents_and_what_github_runs_is_protected(path: bytes) -> None:
    assert is_protected(path)


@pytest.mark.parametrize(
    "path",
    [
        b"",
        b"app.py",
        b".github.md",
        b".githubs/workflows/ci.yml",
        b".squadron-data/x",
        b"docs/.github/workflows/ci.yml",
        b"examples/.squadron/config.yaml",
        b"src/CODEOWNERS",
        b"docs/CODEOWNERS/x",
        b"CODEOWNERS.md",
        b"\xff",
    ],
)
def test_names_like_these_elsewhere_are_not(path: bytes) -> None:
    assert not is_protected(path)


def test_people_are_told_which_rule_and_which_files() -> None:
    assert all(f"`{name}/`" in SHOWN for name in DIRECTORIES)
    assert {name.rpartition("/")[2] for name in FILES} == {"CODEOWNERS"} and "`CODEOWNERS`" in SHOWN
    assert protected_words(["infra/**", "*.lock"]) == f"{SHOWN} and `infra/**`, `*.lock`"
    assert refused_words([b".github/a.yml", b".squadron/\xff"]) == (
        "Agents may not change `.squadron/`, `.github/` and `CODEOWNERS`: their changes of "
        "`.github/a.yml`, `.squadron/\ufffd` are not on the branch."
    )


@pytest.mark.parametrize(("count", "more"), [(10, ""), (11, " and 1 more"), (25, " and 15 more")])
def test_so_many_files_are_named_and_the_rest_is_counted(count: int, more: str) -> None:
    assert MOST_NAMED == 10
    words = refused_words([b".github/%d" % number for number in range(count)])
    assert f"`.github/9`{more} are not on the branch." in words
    assert "`.github/10`" not in words


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("infra/**", b"infra/main.tf", True),
        ("infra/**", b"infra/a/b.tf", True),
        ("Infra/", b"infra/main.tf", True),
        ("/infra/**", b"lib/infra/main.tf", False),
        ("*.lock", b"lib/uv.lock", True),
        ("/uv.lock", b"lib/uv.lock", False),
        ("*.lock", b"lock.py", False),
        ("*.lock", b"a\xff.lock", True),
    ],
)
def test_a_repository_protects_more_by_patterns_of_gitignore(
    pattern: str, path: bytes, *, expected: bool
) -> None:
    assert is_protected(path, (pattern,)) is expected


def test_no_pattern_takes_away_what_is_always_protected() -> None:
    assert is_protected(b".github/workflows/ci.yml", ("!.github/**",))
    assert not is_protected(b"infra/keep.tf", ("infra/*", "!infra/keep.tf"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        *[
            (name, True)
            for name in (b"AGENTS.md", b"lib/claude.md", b".claude/hooks/x", b".mcp.json")
        ],
        (b"AGENTS.md", True),
        (b"lib/claude.md", True),
        (b".claude/hooks/x", True),
        (b".mcp.json", True),
        (b".husky/pre-commit", True),
        (b".vscode", True),
        (b".vscode/tasks.json", True),
        (b"a/.envrc", True),
        (b"agents.py", False),
        (b"docs/vscode/tasks.json", False),
        (b"envrc", False),
        (b"README.md", False),
    ],
)
def test_files_that_steer_tools_are_known_anywhere(path: bytes, *, expected: bool) -> None:
    assert is_steering(path) is expected
