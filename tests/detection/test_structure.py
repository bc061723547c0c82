"""The shell's forms: whatever is put around a command, the verdict on it stays."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.shell import MAX_TEXT_BYTES, parse
from app.adapters.shell.nodes import parsed
from app.testruns import Suite, suite_of
from app.testruns.shell_line import ShellLine
from tests.detection.table import lines_of_text

PROPERTY = settings(deadline=None, derandomize=True, max_examples=200)

TEST_RUNS = lines_of_text(True)
OTHERS = lines_of_text(False)
EITHER = st.sampled_from([(line, True) for line in TEST_RUNS] + [(line, False) for line in OTHERS])
HARMLESS = st.sampled_from(
    ["ls -la", "cd src", "echo done", "git status", "export A=1", "mkdir -p out", "cat notes.txt",
     "sleep 1", "npm ci", "python app.py", "true", "grep -rn pytest docs", "[ -d x ]"]
)  # fmt: skip
PLAIN_RUNS = st.sampled_from(
    ["pytest -q", "npm test", "go test ./...", "cargo test --lib", "make check", "mvn -q verify",
     "bundle exec rspec", "./run_tests.sh", "dotnet test", "ctest -R foo", "npx vitest run",
     "docker compose run web pytest", "python -m unittest", "tox -e py311", "mix test"]
)  # fmt: skip
PLAIN_OTHERS = st.sampled_from(
    ["pytest --version", "npm run lint", "go build ./...", "cargo test --no-run", "make -n check",
     "mvn -DskipTests package", "rspec --help", "cat run_tests.sh", "grep pytest x", "ls tests",
     "git commit -m 'npm test'", "pip install pytest", "echo make test", "npx jest --listTests"]
)  # fmt: skip
PLAIN = st.one_of(PLAIN_RUNS.map(lambda c: (c, True)), PLAIN_OTHERS.map(lambda c: (c, False)))
WRAPPERS = st.sampled_from(
    ["timeout 60 {}", "env A=1 {}", "nice -n 5 {}", "sudo -u app {}", "nohup {}", "time {}",
     "stdbuf -oL {}", "bash -c {q}", "sh -ec {q}", "ssh host {q}", "docker run --rm -v a:b img {}",
     "docker exec -it web {}", "docker exec web sh -c {q}", "eval {q}", "xvfb-run -a {}",
     "kubectl exec pod -- {}", "nix-shell --run {q}", "A=1 B=2 {}", "command {}", "flock l {}",
     "poetry run {}", "conda run -n e {}", "direnv exec . {}", "strace -f {}"]
)  # fmt: skip
GROUPS = st.sampled_from(
    ["( {} )", "{{ {}; }}", "if true; then {}; fi", "for i in 1 2; do {}; done", "x=$({})",
     "{} | tail -5", "{} 2>&1 | tee log", "{} > out.txt", "! {}", "{} || true", "{} &",
     "while {}; do sleep 1; done", "f() {{ {}; }}; f", "case a in a) {};; esac", "{} # comment"]
)  # fmt: skip


def is_test_run(command: str) -> bool:
    return suite_of(parse(command)) is not None


def wrapped(command: str, wrapper: str) -> str:
    return wrapper.format(command, q=shlex.quote(command))


@PROPERTY
@given(EITHER, st.lists(HARMLESS, max_size=3), st.lists(HARMLESS, max_size=3))
def test_chaining_with_other_commands_keeps_the_verdict(
    case: tuple[str, bool], before: list[str], after: list[str]
) -> None:
    command, expected = case
    if "exit" in command or "return" in command:
        after = []
    assert is_test_run("\n".join([*before, command, *after])) is expected


@PROPERTY
@given(PLAIN, st.lists(WRAPPERS, max_size=3))
def test_wrapping_keeps_the_verdict(case: tuple[str, bool], wrappers: list[str]) -> None:
    command, expected = case
    for wrapper in wrappers:
        if "{q}" in wrapper or not command.startswith("A=1 "):  # only a shell reads assignments
            command = wrapped(command, wrapper)
    assert is_test_run(command) is expected


@PROPERTY
@given(PLAIN, GROUPS, GROUPS)
def test_grouping_keeps_the_verdict(case: tuple[str, bool], inner: str, outer: str) -> None:
    command, expected = case
    line = inner.format(command)
    assert is_test_run(line) is expected
    ends_itself = inner.endswith(("&", "comment"))
    negates_compound = outer.startswith("!")  # `! if …`: the grammar takes `if` for a program
    if not ends_itself and not negates_compound:
        assert is_test_run(outer.format(line)) is expected


def quoted(word: str, style: int) -> str:
    if style == 0 or not word.isascii() or not word.isprintable():
        return shlex.quote(word)
    if style == 1:
        return '"' + "".join("\\" + c if c in '"\\$`' else c for c in word) + '"'
    if style == 2:
        return "".join("\\" + c for c in word) or "''"
    half = len(word) // 2
    return shlex.quote(word[:half]) + shlex.quote(word[half:])


@PROPERTY
@given(PLAIN, st.data())
def test_quoting_keeps_the_verdict(case: tuple[str, bool], data: st.DataObject) -> None:
    command, expected = case
    styles = st.integers(min_value=0, max_value=3)
    words = [quoted(word, data.draw(styles)) for word in shlex.split(command)]
    assert is_test_run(" ".join(words)) is expected


@PROPERTY
@given(PLAIN)
def test_a_list_of_words_is_judged_as_the_line_is(case: tuple[str, bool]) -> None:
    command, expected = case
    assert (suite_of(parse(shlex.split(command))) is not None) is expected


NAMES = st.from_regex(r"[a-z]{3,8}", fullmatch=True).filter(
    lambda name: name not in {"all", "list", "help"}
)


@PROPERTY
@given(NAMES, NAMES)
def test_renaming_paths_keeps_the_verdict(folder: str, name: str) -> None:
    assert is_test_run(f"cd /{folder} && pytest {folder}/test_{name}.py::test_{name}")
    assert is_test_run(f"{folder}/{name}/bin/pytest -q")
    assert is_test_run(f"npx jest {folder}/{name}.test.ts")
    assert not is_test_run(f"cat {folder}/test_{name}.py")
    assert not is_test_run(f"vim {folder}/{name}/tests.py")
    assert not is_test_run(f"cp run_tests.sh {folder}/{name}")


@PROPERTY
@given(st.text())
def test_no_text_raises(text: str) -> None:
    assert isinstance(parse(text), ShellLine)
    suite_of(parse(text))


FRAGMENTS = st.sampled_from(
    ["pytest", "$(", ")", "`", "'", '"', "<<EOF\n", "EOF\n", "|", "&&", "||", ";", "{", "}", "if ",
     "then ", "fi", "do ", "done", "for x in ", "case x in ", "esac", "((", "))", "[[", "]]", "\\",
     "\n", " ", "$x", "${x:-", "}", "<(", ">", "&", "bash -c ", "trap ", "eval ", "\0", "é", "!",
     "--"]
)  # fmt: skip


@pytest.mark.parametrize("text", ["--", "-- ", "x; --", "a --", "-- --"])
def test_a_command_that_is_named_by_two_dashes_does_not_raise(text: str) -> None:
    assert suite_of(parse(text)) is None


@PROPERTY
@given(st.lists(FRAGMENTS, max_size=40).map("".join))
def test_no_broken_syntax_raises(text: str) -> None:
    suite_of(parse(text))


@PROPERTY
@given(EITHER, st.data())
def test_no_mutated_command_raises(case: tuple[str, bool], data: st.DataObject) -> None:
    command, _ = case
    position = data.draw(st.integers(min_value=0, max_value=len(command)))
    suite_of(parse(command[:position] + data.draw(FRAGMENTS) + command[position:]))
    suite_of(parse(command[:position]))


@PROPERTY
@given(st.lists(st.text(), max_size=6))
def test_no_list_of_words_raises(words: list[str]) -> None:
    suite_of(parse(words))


@pytest.mark.parametrize(
    "text",
    [
        "a && " * 20_000 + "a",
        "a; " * 40_000,
        "a | " * 30_000 + "a",
        '"$(' * 30_000,
        "(" * 60_000,
        "{ " * 30_000,
        "if a; then " * 6_000,
        "x=$(" * 20_000,
        "! " * 30_000 + "a",
        "f() { f; f; }; " * 2_000 + "f",
        "bash -c '" * 3_000,
        "timeout 1 " * 10_000 + "pytest",
        "cat <<EOF\n" + "x\n" * 60_000 + "EOF\n",
        "for i in 1 2 3 4 5 6 7 8; do " * 12 + "echo $i;" + " done;" * 12,
        "a" * (2 * MAX_TEXT_BYTES),
        "((((((" * 5_000,
        "a(){ b; b; }; b(){ c; c; }; c(){ d; d; }; d(){ a; pytest; }; a",
    ],
    ids=lambda text: text[:12],
)
def test_every_bound_holds(text: str) -> None:
    suite_of(parse(text))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python - <<'EOF'\nimport pytest\npytest.main(['-q'])\nEOF", True),
        ("python - <<'EOF'\nimport subprocess\nsubprocess.run(['npm', 'test'])\nEOF", True),
        ('python - <<\'EOF\'\ntext = """\npytest.main()\n"""\nEOF', False),
        ("python - <<'EOF'\n# pytest.main()\nEOF", False),
        ("python -c 'print(\"unittest.main()\")'", False),
        ("python -c 'import os; os.system(\"echo npm test\")'", False),
        ('node -e \'require("child_process").execSync("npm test")\'', True),
        ("python app.py <<'EOF'\npytest.main()\nEOF", False),
        ("cat <<EOF\n$(pytest)\nEOF", True),
        ("cat <<EOF\nsee \\$(pytest)\nEOF", False),
        ("cat <<'EOF'\n$(pytest)\nEOF", False),
        ("! if pytest; then false; fi", True),
        ('run() { timeout 60 "$@"; }; run npm test', True),
        ('log() { echo "$@"; }; log npm test', False),
        ("tool run --env x -- pytest", True),
        ("tool log -- pytest", False),
    ],
)
def test_source_text_and_what_it_starts(command: str, expected: bool) -> None:
    assert is_test_run(command) is expected


def test_past_a_bound_the_line_is_not_complete() -> None:
    assert parse("pytest").complete
    assert not parse("echo x; " * 20_000).complete
    assert not parse("( " * 100 + "pytest" + " )" * 100).complete
    assert not parse("timeout 1 " * 20 + "pytest").complete
    assert not parse("a" * (MAX_TEXT_BYTES + 1)).complete
    nested = "pytest"
    for _ in range(5):
        nested = f"bash -c {shlex.quote(nested)}"
    assert not parse(nested).complete


@pytest.mark.parametrize("piece", ["@a", "[a](", "<", ">", "&amp;", "[a]: "])
def test_of_a_text_that_the_parser_reads_over_and_over_the_beginning_is_read(piece: str) -> None:
    text = "pytest\n" + piece * (MAX_TEXT_BYTES // len(piece) - 8)
    root, is_all = parsed(text)
    assert not is_all
    assert root.end_byte < len(text)
    line = parse(text)
    assert not line.complete
    assert suite_of(line) is not None


def test_long_text_that_is_read_once_is_read_whole() -> None:
    page = "<li>@a [a](b) &amp; c</li>\n" * 2_000
    line = parse(f"cat <<'EOF' > page.html\n{page}EOF\npytest")
    assert line.complete
    assert suite_of(line) is not None


def test_four_nested_shells_and_twelve_wrappers_are_read() -> None:
    nested = "pytest"
    for _ in range(4):
        nested = f"bash -c {shlex.quote(nested)}"
    assert is_test_run(nested)
    assert is_test_run("timeout 1 " * 11 + "pytest")


def test_what_the_shell_refuses_is_not_complete() -> None:
    assert not parse("if pytest; then").complete
    assert not parse("pytest 'open").complete


def suite(command: str | list[str]) -> Suite:
    found = suite_of(parse(command))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("command", "runner", "selectors"),
    [
        ("pytest", "pytest", ()),
        ("python -m pytest -q .", "pytest", ()),
        ("uv run --with x pytest -k 'a and b' tests/", "pytest", ("-k a and b", "tests")),
        ("pytest -k=a", "pytest", ("-k a",)),
        ("pytest tests/b.py ./tests/a.py::t[1-2]", "pytest", ("tests/a.py::t[1-2]", "tests/b.py")),
        ("pytest -n 4 --tb short -x", "pytest", ()),
        ("pytest $FILES", "pytest", ("$FILES",)),
        ("git ls-files | xargs pytest", "pytest", ("$stdin",)),
        ("npm run test -- src/a.test.js", "npm test", ("src/a.test.js",)),
        ("npm run test:unit", "npm test", ("test:unit",)),
        ("cargo test -p core lexer", "cargo test", ("-p core", "lexer")),
        ("go test -run TestA ./...", "go test", ("-run TestA",)),
        ("go test -race ./pkg/...", "go test", ("pkg/...",)),
        ("make build test", "make test", ()),
        ("make check", "make check", ()),
        ("make test-unit", "make test", ("test-unit",)),
        ("./mvnw -q test -Dtest=FooTest", "mvn test", ("-Dtest FooTest",)),
        ("./gradlew test --tests Foo", "gradle test", ("--tests Foo",)),
        ("bundle exec rspec spec/a_spec.rb:12", "rspec", ("spec/a_spec.rb:12",)),
        ("pytest tests/a.py && pytest tests/b.py", "pytest", ("tests/a.py", "tests/b.py")),
        ("pytest tests/a.py && pytest", "pytest", ()),
        ("pytest -q x && npm test", "pytest", ()),
        ("for t in a.py b.py; do pytest $t; done", "pytest", ("a.py", "b.py")),
        ("dotnet test --filter X", "dotnet test", ("--filter X",)),
        ("cd web && npm test", "npm test", ("in web",)),
        ("cd web/a && cd ../b && pytest -k x", "pytest", ("-k x", "cd web/b")),
        ("(cd web && pytest tests/a.py); ls", "pytest", ("web/tests/a.py",)),
        ("(cd web && ls) && pytest", "pytest", ()),
        ("cd web && ls; cd - && pytest", "pytest", ()),
        ("cd web && bash -c 'cd api && pytest ../a.py'", "pytest", ("web/a.py",)),
        ("cd web && npm test -- src/a.test.js", "npm test", ("in web", "src/a.test.js")),
        ("npm --prefix web test", "npm test", ("in web",)),
        ("make -C web test", "make test", ("in web",)),
        ("cd api && make -C../web test", "make test", ("in web",)),
        ("cd web && ./run_tests.sh", "run_tests.sh", ("in web",)),
        ("cd web && mvn test", "mvn test", ("cd web",)),
        ("ctest --test-dir build", "ctest", ("cd build",)),
        ("cd build && ctest", "ctest", ("cd build",)),
        ("(cd a && npm test); (cd b && npm test)", "npm test", ("in a", "in b")),
        ("npm test; (cd b && npm test)", "npm test", ("in .", "in b")),
        ("bazel test //a:b", "bazel test", ("//a:b",)),
        ("cd a && bazel test //a:b", "bazel test", ("//a:b",)),
        ("cd /srv/repo && pytest", "pytest", ("cd /srv/repo",)),
        ("cd /srv/repo && cd ../x && pytest", "pytest", ("cd /srv/x",)),
        ("cd /srv/repo && npm test", "npm test", ("in /srv/repo",)),
        ("cd /srv/repo && pytest tests/a.py", "pytest", ("/srv/repo/tests/a.py",)),
        ("cd $X && pytest", "pytest", ("cd $X",)),
        ("cd && pytest", "pytest", ("cd ~",)),
        ("cd .. && pytest", "pytest", ("cd ..",)),
        ("cd ./web/ && cd .. && pytest", "pytest", ()),
        ("cd /srv/repo && cd web && pytest", "pytest", ("cd /srv/repo/web",)),
        ("tox -e py311,py312 -- tests/x.py", "tox", ("py311", "py312", "tests/x.py")),
    ],
)
def test_runner_and_selectors(command: str, runner: str, selectors: tuple[str, ...]) -> None:
    assert (suite(command).runner, suite(command).selectors) == (runner, selectors)
