"""However a command is wrapped, quoted, renamed and chained: it is the same command."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.adapters.shell import parse
from app.testruns import SuiteRules, suite_of
from tests.detection.table import lines_of_text

PROPERTY = settings(deadline=None, derandomize=True, max_examples=300)

RUNS = [
    "pytest -q tests", "npm test -- --ci", "go test ./...", "cargo test --lib", "make -j4 check",
    "mvn -q verify", "bundle exec rspec spec/a_spec.rb:3", "./run_tests.sh --fast", "dotnet test",
    "ctest -R 'a b'", "npx vitest run", "python3 -m unittest discover", "tox -e py311", "mix test",
    "vendor/bin/phpunit --filter x", "./gradlew :app:test", "deno test -A", "swift test",
    "php artisan test", "node --test", "Rscript -e 'devtools::test()'", "prove -lr t", "just test",
    "find . -name '*_test.go' -execdir go test '{}' +",
]  # fmt: skip
OTHERS = [
    "pytest --version", "pytest --collect-only -q", "npm run lint", "npm run build:test-utils",
    "go build ./...", "go test -c ./pkg", "cargo test --no-run", "make -n check",
    "mvn -DskipTests package", "./gradlew build -x test", "rspec --help", "cat run_tests.sh",
    "grep -rn 'npm test' src", "ls tests", "git commit -m 'npm test'", "pip install pytest",
    "echo make test", "npx jest --listTests", "python reproduce.py", "chmod +x run_tests.sh",
    "pkill -f pytest", "touch tests/test_a.py", "node -e 'console.log(\"npm test\")'",
    "find tests -name '*.pyc' -delete", "printf '%s' pytest", "docker build -t test .",
]  # fmt: skip
SIMPLE = st.one_of(
    st.sampled_from([(run, True) for run in RUNS]),
    st.sampled_from([(other, False) for other in OTHERS]),
)
LINES = st.sampled_from(
    [(line, True) for line in lines_of_text(True)]
    + [(line, False) for line in lines_of_text(False)]
)
BEFORE_A_PROGRAM = st.sampled_from(
    ["timeout 60 {}", "timeout -k 5 -s KILL 60s {}", "env {}", "env -u A B=1 {}", "A=1 B='x y' {}",
     "nice -n 5 {}", "ionice -c3 {}", "sudo {}", "sudo -E -u app {}", "doas -u app {}", "nohup {}",
     "time {}", "time -p {}", "setsid {}", "stdbuf -oL {}", "unbuffer {}", "command {}", "exec {}",
     "chronic {}", "flock /tmp/l {}", "xvfb-run -a {}", "strace -f -o s {}", "taskset 1 {}",
     "docker run --rm -v a:b -w /w -e C=d img {}", "docker exec -it -u app web {}",
     "docker compose run --rm -e A=b web {}", "docker compose -f c.yml exec -T web {}",
     "docker-compose run web {}", "podman run img {}", "kubectl exec -n x pod -c c -- {}",
     "uv run {}", "uv run --with x --python 3.12 {}", "poetry run {}", "pipenv run {}",
     "conda run -n e {}", "pixi run {}", "hatch run {}", "direnv exec . {}", "mise exec -- {}",
     "bundle exec {}", "npx {}", "npx --yes {}", "npm exec -- {}", "pnpm exec {}", "dotenv -- {}",
     "nix develop -c {}", "op run -- {}", "xargs -r {}", "xargs -n1 -P4 {}", "rbenv exec {}"]
)  # fmt: skip
AROUND_A_LINE = st.sampled_from(
    ["bash -c {q}", "bash -lc {q}", "sh -ec {q}", "zsh -ic {q}", "bash -euo pipefail -c {q}",
     "sudo -u app bash -c {q}", "timeout 9m sh -c {q}", "ssh -p 22 user@host {q}", "eval {q}",
     "docker exec web sh -c {q}", "docker compose run --rm web bash -lc {q}", "su app -c {q}",
     "kubectl exec pod -- /bin/sh -c {q}", "nix-shell --run {q}", "script -qec {q} log",
     "ls | xargs -I@ sh -c {q}", "find . -type d -exec sh -c {q} ';'", "echo {q} | bash",
     "bash <<< {q}", "vagrant ssh -c {q}", "tmux new -d {q}", "env A=1 bash -c {q}"]
)  # fmt: skip
CHAINS = st.sampled_from(
    ["cd x && {}", "cd x; {}", "{} && echo ok", "{}; ls", "{} || true", "ls || {}", "ls | {}",
     "{} | tail -5", "{} 2>&1 | tee log", "{} > out.txt 2>&1", "{} < /dev/null", "{} &> log",
     "( {} )", "(cd x && {}) && ls", "{{ {}; }}", "! {}", "{} &", "{} & wait", "git stash; {}",
     "if {}; then echo; fi", "if [ -d x ]; then {}; else ls; fi", "while {}; do sleep 1; done",
     "until {}; do sleep 1; done", "for i in 1 2; do {}; done", "x=$({})", "echo \"$({})\"",
     "echo `date` $({} 2>&1)", "export X=$({})", "diff <({}) a", "case a in a) {};; esac",
     "f() {{ {}; }}; f", "set -e; {}", "trap 'rm x' EXIT; {}", "{} # as npm test does",
     "pip install pytest && {}", "echo 'pytest' >> log; {}", "sleep 1\n{}\nls"]
)  # fmt: skip
ONLY_NAMED = st.sampled_from(
    ["echo {q}", "printf '%s' {q}", "grep -rn {q} src", "git commit -m {q}", "alias t={q}",
     "X={q}", "export X={q}", "echo {q} > run.sh", "echo {q} | tee -a run.sh", "[ -n {q} ]",
     "gh pr create -b {q}",
     "cat > run.sh <<'EOF'\n{}\nEOF", "cat <<'EOF' >> README.md\n{}\nEOF", "tee f <<'EOF'\n{}\nEOF",
     "cat <<'EOF'\n{}\nEOF", "ls # {}", ": {q}", "false && {}", "true || {}", "f() {{\n{}\n}}",
     "git commit -F - <<'EOF'\n{}\nEOF", "python - <<'EOF'\nx = '''{}'''\nEOF", "exit; {}",
     "xargs -a files echo {q}", "ssh host echo ok # {}", "curl -d {q} localhost", "type {q}"]
)  # fmt: skip


def is_test_run(command: str | list[str]) -> bool:
    return suite_of(parse(command)) is not None


def put(command: str, form: str) -> str:
    return form.format(command, q=shlex.quote(command))


def quoted(word: str, style: int) -> str:
    match style:
        case 0:
            return shlex.quote(word)
        case 1:
            return '"' + "".join("\\" + c if c in '"\\$`' else c for c in word) + '"'
        case 2:
            return "".join("\\" + c for c in word)
        case 3:
            return f"{shlex.quote(word[:1])}{shlex.quote(word[1:])}"
        case 4:
            return "$'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case _:
            return '"' + word[:1] + '"' + shlex.quote(word[1:])


@st.composite
def simple_commands(draw: st.DrawFn) -> tuple[str, bool]:
    """A simple command, its words quoted somehow, behind some wrappers."""
    command, expected = draw(SIMPLE)
    if draw(st.booleans()):
        styles = st.integers(min_value=0, max_value=4)
        command = " ".join(quoted(word, draw(styles)) for word in shlex.split(command))
    for _ in range(draw(st.integers(min_value=0, max_value=3))):
        command = put(command, draw(BEFORE_A_PROGRAM.filter(lambda w: "=1" not in w[:3])))
    if draw(st.booleans()):
        command = put(command, draw(BEFORE_A_PROGRAM))
    return command, expected


@PROPERTY
@given(simple_commands())
def test_wrapped_and_quoted_it_is_the_same(case: tuple[str, bool]) -> None:
    command, expected = case
    assert is_test_run(command) is expected


@PROPERTY
@given(simple_commands(), CHAINS, CHAINS, AROUND_A_LINE)
def test_chained_and_handed_to_another_shell_it_is_the_same(
    case: tuple[str, bool], inner: str, outer: str, shell: str
) -> None:
    command, expected = case
    line = put(put(command, inner), shell)
    assert is_test_run(line) is expected
    if not outer.startswith("!"):
        assert is_test_run(put(line, outer)) is expected


@PROPERTY
@given(LINES, AROUND_A_LINE)
def test_any_line_of_the_tables_is_the_same_in_another_shell(
    case: tuple[str, bool], shell: str
) -> None:
    line, expected = case
    if parse(line).complete and parse(put(line, shell)).complete:
        assert is_test_run(put(line, shell)) is expected


FED_TO_A_SHELL = st.sampled_from(
    ["bash <<'EOF'\n{}\nEOF", "sh -e <<'EOF'\ncd x\n{}\nEOF\nls", "bash -s -- a <<'EOF'\n{}\nEOF",
     "cat <<'EOF' | bash\n{}\nEOF", "ssh host <<'EOF'\n{}\nEOF", "ssh host bash <<'EOF'\n{}\nEOF",
     "docker exec -i web sh <<'EOF'\n{}\nEOF", "sudo -u app bash <<'EOF'\n{}\nEOF",
     "cd x && bash <<'EOF'\n{}\nEOF", "bash <<'EOF' | tail -5\n{}\nEOF"]
)  # fmt: skip


@PROPERTY
@given(LINES, FED_TO_A_SHELL)
def test_a_here_document_runs_where_a_shell_reads_it(case: tuple[str, bool], form: str) -> None:
    line, expected = case
    if parse(line).complete and "EOF" not in line and parse(form.format(line)).complete:
        assert is_test_run(form.format(line)) is expected


@PROPERTY
@given(st.sampled_from(lines_of_text(True)), ONLY_NAMED)
@example("npm test", "cat > run.sh <<'EOF'\n{}\nEOF")
def test_a_test_run_that_is_only_named_is_none(run: str, naming: str) -> None:
    has_marks = (
        any(mark in run for mark in ("'", "EOF", "`", "$", "#", "\\")) and "{q}" not in naming
    )
    if not has_marks and not naming.startswith(("false", "true")):
        assert not is_test_run(put(run, naming))


@PROPERTY
@given(simple_commands(), ONLY_NAMED)
def test_a_command_that_is_only_named_runs_nothing(case: tuple[str, bool], naming: str) -> None:
    command, _ = case
    if "{q}" in naming or "'" not in command:
        assert not is_test_run(put(command, naming))


FOLDERS = st.sampled_from(["", "/usr/bin/", "~/.local/bin/", "$HOME/bin/", "../x/bin/"])
NAMES = {
    "pytest": ["pytest", "py.test", "python -m pytest", "python3.11 -m pytest", "pypy3 -m pytest",
               "python -X dev -W error -m pytest", "coverage run -m pytest", "uvx pytest",
               "./.venv/bin/python -m pytest", "venv/bin/pytest", "pipx run pytest",
               "py -3 -m pytest", "$(which pytest)", "${PY:-python} -m pytest", "P=pytest; $P"],
    "jest": ["npx jest", "npx -y jest@29", "./node_modules/.bin/jest", "yarn jest", "yarn run jest",
             "node node_modules/.bin/jest", "node --inspect node_modules/jest/bin/jest.js",
             "pnpm exec jest", "pnpm jest", "bunx jest", "npm exec jest --", "corepack yarn jest"],
    "rspec": ["rspec", "bundle exec rspec", "bin/rspec", "bundle exec bin/rspec", "spring rspec"],
    "phpunit": ["phpunit", "vendor/bin/phpunit", "php vendor/bin/phpunit", "php phpunit.phar",
                "./vendor/bin/phpunit", "symfony php vendor/bin/phpunit", "composer exec phpunit"],
    "ctest": ["ctest", "ctest3", "cd build && ctest", "/opt/cmake/bin/ctest"],
    "go": ["go test", "/usr/local/go/bin/go test", "go1.22 test", "GOOS=linux go test"],
    "cargo": ["cargo test", "cargo +nightly test", "~/.cargo/bin/cargo t",
              "rustup run beta cargo t", "cargo --locked test"],
}  # fmt: skip
ARGUMENTS = {
    "pytest": (
        ["", "-q", "tests/a.py::t", "-k 'a and b'"],
        ["--version", "--collect-only", "--co"],
    ),
    "jest": (["", "--ci", "src/a.test.js"], ["--listTests", "--showConfig"]),
    "rspec": (["", "spec/a_spec.rb:3", "--tag x"], ["--dry-run", "--init"]),
    "phpunit": (["", "tests", "--filter x"], ["--list-tests", "--version"]),
    "ctest": (["", "-R x", "-j4"], ["-N", "--print-labels"]),
    "go": (["", "./...", "-run TestA ./x"], ["-list .", "-c ./x"]),
    "cargo": (["", "-p a", "--lib x"], ["--no-run", "-- --list"]),
}


@pytest.mark.parametrize("runner", NAMES)
def test_by_whatever_name_a_runner_is_started(runner: str) -> None:
    runs, others = ARGUMENTS[runner]
    for name in NAMES[runner]:
        assert all(is_test_run(f"{name} {arguments}") for arguments in runs), name
        assert not any(is_test_run(f"{name} {arguments}") for arguments in others), name


@PROPERTY
@given(SIMPLE, FOLDERS)
def test_the_folder_of_a_program_does_not_matter(case: tuple[str, bool], folder: str) -> None:
    command, expected = case
    if not command.startswith((".", "vendor")):
        assert is_test_run(f"{folder}{command}") is expected


@pytest.mark.parametrize("run", RUNS)
def test_a_list_of_words_is_not_read_as_a_line(run: str) -> None:
    assert is_test_run(["bash", "-c", run])
    assert is_test_run(shlex.split(run))
    assert not is_test_run(["echo", run, "&&", *shlex.split(run)])


@pytest.mark.parametrize(
    "script", ["python reproduce.py", "node repro.js", "./repro.sh", "php a.php"]
)
def test_a_script_of_the_moment_counts_only_where_it_is_configured(script: str) -> None:
    rules = SuiteRules(add=(tuple(script.split()),))
    for line in (script, f"cd x && timeout 60 {script} | tail", f"bash -c '{script} --fast'"):
        assert suite_of(parse(line)) is None
        assert suite_of(parse(line), rules) is not None
        assert suite_of(parse(f"echo {script}"), rules) is None


@pytest.mark.parametrize("run", RUNS[:8])
def test_what_a_repository_excludes_is_none_under_any_wrapper(run: str) -> None:
    rules = SuiteRules(exclude=(tuple(shlex.split(run)[:2]),))
    for line in (run, f"cd x && timeout 60 {run} | tail", f"bash -c {shlex.quote(run)}"):
        assert suite_of(parse(line)) is not None
        assert suite_of(parse(line), rules) is None
