"""What a line itself says of what it starts: scripts it writes, text it builds, odd starters.

Left a command line, right what the detector says of it: the runner and what narrows the run.
"""

from __future__ import annotations

import shlex

import pytest

from app.adapters.shell import parse
from app.testruns import suite_of
from tests.detection.table import said

WRITTEN_SCRIPTS = {
    "cat > run.sh <<'EOF'\npytest -q\nEOF\nbash run.sh": "pytest",
    "cat <<'EOF' > run.sh\npytest -q\nEOF\nbash ./run.sh": "pytest",
    "cat > a.sh <<'EOF'\n#!/bin/bash\npytest a.py\nEOF\nchmod +x a.sh && ./a.sh": "pytest: a.py",
    "cat > run.sh <<'EOF' && bash run.sh\npytest\nEOF": "pytest",
    "cd x && cat > run.sh <<'EOF'\npytest\nEOF\nsh run.sh": "pytest: cd x",
    "echo 'pytest -q' > t.sh; sh t.sh": "pytest",
    "printf 'cd a\\npytest\\n' > t.sh && . ./t.sh": "pytest: cd a",
    "printf '%s\\n' '#!/bin/sh' 'npm test' > t.sh; timeout 60 sh -e t.sh": "npm test",
    "echo 'cd a' > t.sh; echo pytest >> t.sh; sh t.sh": "pytest: cd a",
    "echo pytest >> t.sh; sh t.sh": "pytest",
    "tee run.sh <<'EOF'\npytest -q\nEOF\nsh run.sh": "pytest",
    "echo pytest | sudo tee a.sh b.sh > /dev/null; sh b.sh": "pytest",
    "echo 'cd a' > t.sh; echo pytest | tee -a t.sh; sh t.sh": "pytest: cd a",
    "echo pytest > /tmp/run.sh; cd /tmp && bash run.sh": "pytest: cd /tmp",
    "echo pytest > t.sh; docker exec web sh /app/t.sh": "pytest",
    "echo pytest > t.sh; bash -c 'sh t.sh'": "pytest",
    "bash -c 'echo pytest > t.sh'; sh t.sh": "pytest",
    "printf '#!/usr/bin/env bash\\npytest\\n' > t; ./t": "pytest",
    "printf '#!/bin/sh -e\\npytest\\n' > t; ./t": "pytest",
    "echo ls > run_tests.sh; ./run_tests.sh": "-",
    "echo pytest -q > run_tests.sh; ./run_tests.sh": "pytest",
    "./run_tests.sh; echo ls > run_tests.sh": "run_tests.sh",
    "echo ls > other.sh; ./run_tests.sh": "run_tests.sh",
    "git show HEAD:run_tests.sh > run_tests.sh; ./run_tests.sh": "run_tests.sh",
    "echo 'curl x' > t/test.sh && sh t/test.sh": "-",
    "printf '#!/bin/sh\\ncurl x\\n' > test.sh && chmod +x test.sh && ./test.sh": "-",
    "tee t/test.sh <<'EOF'\ncurl x\nEOF\ncd t && timeout 9 bash test.sh": "-",
    "cat <<'EOF' | tee tests/run.sh\nls\nEOF\nbash tests/run.sh": "-",
    "cat > build.sh <<'EOF'\necho $1\nEOF\n./build.sh test": "-",
    "cat > run_tests.py <<'EOF'\nprint(1)\nEOF\npython run_tests.py": "-",
    "cat > run_tests.py <<'EOF'\nimport pytest\npytest.main()\nEOF\npython -u run_tests.py -v": (
        "python: import pytest\npytest.main()\n\n"
    ),
    "echo 'import os; os.system(\"npm test\")' > all_tests.py; python all_tests.py": "npm test",
    "cat > run_tests.py <<'EOF'\nprint(1)\nEOF\npython tools/all_tests.py": "tools/all_tests.py",
    "echo 'run()' > run-tests.ts; npx tsx run-tests.ts": "-",
    "echo 'puts 1' > run_tests.rb; ./run_tests.rb": "-",
    "echo '#!/usr/bin/env python3' > run_tests; chmod +x run_tests; ./run_tests": "-",
    "echo 'def test_a(): pass' > test_a.py; pytest -q test_a.py": "pytest: test_a.py",
    "echo 'def test_a(): pass' > test_a.py; python -m pytest test_a.py": "pytest: test_a.py",
    "echo 'test()' > a.test.mjs; node --test a.test.mjs": "node: a.test.mjs",
    "echo 'test()' > a.test.js; npx jest a.test.js": "jest: a.test.js",
    "echo 'print 1' > t/a.t; perl t/a.t": "prove: t/a.t",
    "echo 'pytest -q' > t.sh": "-",
    "echo 'pytest -q' > t.sh; cat t.sh": "-",
    "echo 'pytest -q' > t.sh; chmod +x t.sh; bash -n t.sh": "-",
    "echo 'pytest -q' > t.sh; sh -c t.sh": "-",
    "echo 'pytest -q' > t.sh; sh u.sh": "-",
    "echo 'pytest -q' > a/t.sh; sh b/t.sh": "-",
    "echo 'pytest -q' > t.sh; sh start.sh": "-",
    "echo 'pytest -q' > /dev/null; sh null": "-",
    "echo 'pytest -q' > t.sh; echo ls > t.sh; sh t.sh": "-",
    "echo 'pytest -q' > t.sh; git show x > t.sh; sh t.sh": "-",
    "echo 'pytest -q' > t.sh; echo ls | tee t.sh; sh t.sh": "-",
    "echo 'pytest -q' > t.sh; sh t.sh.orig": "-",
    "sh t.sh; echo 'pytest -q' > t.sh": "-",
    "printf '#!/usr/bin/env python\\npytest\\n' > t; ./t": "-",
    "echo pytest > t; t": "-",
}
BUILT_PROGRAMS = {
    "go build -o /tmp/x-test . && /tmp/x-test aaaa": "-",
    "go build -o=bin/x-test ./cmd && ./bin/x-test": "-",
    "go build -o bin/ ./... && bin/x-test": "-",
    "go build ./cmd/smoke-test && ./smoke-test": "-",
    "cd cmd && go build -o x_test && timeout 5 ./x_test": "-",
    "gcc -O2 test.c -otest && ./test": "-",
    "gcc-12 -o test /tmp/test_a.c && ./test": "-",
    "echo 'int main(){}' > test_a.c; gcc test_a.c -o test_a && ./test_a": "-",
    "dmd -of=run_test main.d && ./run_test": "-",
    "cargo build --release -q && ./target/release/bench-test 10": "-",
    "swift build && .build/debug/load-test": "-",
    "bun build --compile main.ts --outfile run-test && ./run-test": "-",
    "deno compile --output run-tests main.ts && ./run-tests": "-",
    "/tmp/load-test --help-me": "-",
    "./x-test && go build -o x-test .": "x-test",
    "go build -o app . && ./run-tests": "run-tests",
    "go build -o out/app . && ./out/run-tests": "out/run-tests",
    "go build -o x-test . && go test ./...": "go test",
    "go build -o x . && ./x -test.v": "x",
    "go test -c -o x.test && ./x.test": "x.test",
    "go vet -o x-test && ./x-test": "x-test",
    "rustc --test src/lib.rs -o unit_test && ./unit_test": "unit_test",
    "gcc test_a.c -o test_a && ./test_a": "test_a",
    "g++ tests/main.cpp -o unit_tests && ./unit_tests": "unit_tests",
    "g++ main.cpp -lgtest -o unit_tests && ./unit_tests": "unit_tests",
    "make unit_tests && ./build/unit_tests": "make test",
    "cmake --build build && ./build/tests/unit_tests": "build/tests/unit_tests",
    "cargo build --tests && ./target/debug/x-test": "target/debug/x-test",
    "/tmp/x.test -test.run A": "/tmp/x.test: -test.run A",
    "/tmp/x-test -test.run A": "/tmp/x-test: -test.run A",
    "/tmp/build/unit_tests": "/tmp/build/unit_tests",
    "sh /tmp/run_tests.sh": "/tmp/run_tests.sh",
}
OUTPUT_AS_TEXT = {
    "bash -c \"$(cat <<'EOF'\ncd x\npytest -q\nEOF\n)\"": "pytest: cd x",
    'bash -c "$(echo pytest -q a.py)"': "pytest: a.py",
    "$(echo pytest a.py)": "pytest: a.py",
    "pytest $(echo a.py b.py)": "pytest: a.py, b.py",
    "bash <(echo pytest)": "pytest",
    "source <(echo pytest)": "pytest",
    ". /dev/stdin <<< pytest": "pytest",
    "bash <(cat <<'EOF'\npytest -q\nEOF\n)": "pytest",
    "bash <(cat scripts/test.sh)": "scripts/test.sh",
    "cat scripts/test.sh | bash": "scripts/test.sh",
    "printf '%s %s\\n' ls -la pytest a.py | bash": "pytest: a.py",
    "printf 'pytest\\n' a | bash": "pytest",
    "echo -e 'ls\\npytest' | sh": "pytest",
    "bash <(echo ls)": "-",
    "bash > >(tee pytest)": "-",
    "sh run.sh <(echo pytest)": "-",
    "diff <(echo pytest) <(echo jest)": "-",
    "bash -c \"$(cat <<'EOF'\nls\nEOF\n)\"": "-",
    'bash -c "$(echo pytest; date)"': "-",
    "git commit -m \"$(cat <<'EOF'\npytest -q\nEOF\n)\"": "-",
    "echo $(echo pytest)": "-",
    "printf | bash": "-",
}
BUILT_UP = {
    'cmd="pytest"; cmd+=" -q a.py"; $cmd': "pytest: a.py",
    "cmd=pytest\ncmd+=' -k'\ncmd+=\" x\"\n$cmd": "pytest: -k x",
    'cmd=(pytest); cmd+=(-k x); "${cmd[@]}"': "pytest: -k x",
    "cmd=pytest; if true; then cmd+=' a.py'; fi; $cmd": "pytest: a.py",
    "cmd=pytest; cmd+=' --collect-only'; $cmd": "-",
    'cmd=(pytest); cmd+=(--version); "${cmd[@]}"': "-",
    "cmd=ls; cmd+=' pytest'; $cmd": "-",
    "cmd=pytest; cmd+=$x; $cmd": "-",
    "cmd+=pytest; $cmd": "-",
    "sh -c '\"$@\"' _ pytest a.py": "pytest: a.py",
    "bash -c '$1 -q $2' _ pytest a.py": "pytest: a.py",
    "bash -c 'exec \"$@\"' -- npm test": "npm test",
    "bash -c '\"$@\"' pytest": "-",
    "sh -c 'echo \"$@\"' _ pytest": "-",
    "bash -c 'ls $1' _ pytest": "-",
}
STARTERS = {
    "./wait-for-it.sh db:5432 -- pytest a.py": "pytest: a.py",
    "bash wait-for-it.sh db:5432 -- pytest": "pytest",
    "./scripts/wait-for-it.sh -t 60 db:5432 -- npm test": "npm test",
    "sh ./wait-for db:5432 -- npm test": "npm test",
    "./wait_for_db.sh -- make test": "make test",
    "docker compose run web ./wait-for-it.sh db:5432 -- pytest": "pytest",
    "./entrypoint.sh pytest": "pytest",
    "sh docker-entrypoint.sh npm test": "npm test",
    "docker run img docker_entrypoint.sh pytest": "pytest",
    "./wait-for-it.sh db:5432": "-",
    "./wait-for-it.sh db:5432 pytest": "-",
    "./wait-for-it.sh db:5432 -- node server.js": "-",
    "./waiter.sh x -- pytest": "-",
    "./entrypoint.sh": "-",
    "./my-entrypoint.sh pytest": "-",
    "./deploy.sh -- pytest": "-",
    "env -S python -m pytest a.py": "pytest: a.py",
    "/usr/bin/env -S 'A=1 pytest' -k x": "pytest: -k x",
    "env '-Spython -m pytest'": "pytest",
    "env -vS 'pytest' a.py": "pytest: a.py",
    "env --split-string='pytest -q' a.py": "pytest: a.py",
    "env -i -S '-u X pytest'": "pytest",
    'env -S "pytest \'a.py"': "pytest: 'a.py",
    "env -S 'ls' pytest": "-",
    "env -S": "-",
    "env -u pytest ls": "-",
    'docker compose run --rm --entrypoint "pytest -q" web a.py': "pytest: a.py",
    "docker-compose run --entrypoint='python -m pytest' web": "pytest",
    "docker compose run --entrypoint ls web pytest": "-",
    "docker run --entrypoint 'pytest -q' img": "-",
    "docker run --entrypoint pytest img a.py": "pytest: a.py",
    'docker run --entrypoint "" img pytest': "pytest",
    "docker run --entrypoint= img pytest": "pytest",
    "docker compose run --entrypoint '' web pytest": "pytest",
    "tini -s -- pytest": "pytest",
    "tini -p SIGTERM pytest": "pytest",
    "dumb-init -r 15:3 pytest": "pytest",
    "tini -- node server.js": "-",
    "bwrap --ro-bind / / --dev /dev pytest a.py": "pytest: a.py",
    "bwrap --bind a b -- pytest": "pytest",
    "bwrap --bind pytest pytest ls": "-",
    "envchain aws pytest": "pytest",
    "envchain pytest ls": "-",
    "envchain --set pytest pytest": "-",
    "honcho run pytest": "pytest",
    "npx.cmd jest": "jest",
    "limactl shell default pytest": "pytest",
    "colima ssh -- pytest": "pytest",
    "flatpak-spawn --host pytest": "pytest",
}
PROGRAMS = {
    "make test -nj4": "-",
    "make -nj4 test": "-",
    "make -j4n test": "-",
    "make -kn test": "-",
    "make -kj4 test": "make test",
    "make -Cn test": "make test: in n",
    "make -kCweb test": "make test: in web",
    "make -kC web test": "make test: in web",
    "make -kC test lint": "-",
    "make -fn test": "make test",
    "make -kf n test": "make test",
    "mocha init test": "-",
    "mocha init": "-",
    "mocha test": "mocha: test",
    "doit clean test": "-",
    "doit forget test": "-",
    "doit test": "doit test",
    "doit run test": "doit test",
    "nargo test": "nargo test",
    "nargo test --package a": "nargo test: --package a",
    "nargo check": "-",
    "zeus test": "zeus test",
    "zeus rspec spec/a_spec.rb": "zeus test: spec/a_spec.rb",
    "zeus server": "-",
    "runghc Setup.hs test": "Setup test",
    "runghc Setup.hs build": "-",
    "./Setup test": "Setup test",
    "npm run tdd": "npm test: tdd",
    "gtest-parallel ./a": "gtest-parallel: a",
    "go test -c -o /tmp/t ./pkg && /tmp/t -test.run TestA": "/tmp/t: -test.run TestA",
    "./t -test.run=TestA -test.v": "t: -test.run TestA",
    "./t --test.v -test.count 1": "t",
    "./a.out --gtest_filter=A.*": "a.out: --gtest_filter A.*",
    "./a.out --gtest_repeat=3": "a.out",
    "./a.out --run_test=a/b": "a.out: --run_test a/b",
    "target/debug/deps/a-1f --nocapture parser": "target/debug/deps/a-1f: parser",
    "./a --test-threads 1": "a",
    '"$BIN" --gtest_filter=A': "$BIN: --gtest_filter A",
    "./t -test.list .": "-",
    "./t -test.list=.": "-",
    "./a.out --gtest_list_tests --gtest_filter=A": "-",
    "./a.out --list_content --run_test=a": "-",
    "./app --test-mode": "-",
    "./app -test": "-",
    "a.out --gtest_filter=A": "-",
    "/usr/bin/grep -- --gtest_filter=A x": "-",
}
SOURCE_TEXT = {
    "__import__('pytest').main()": True,
    "import importlib as i; i.import_module( 'unittest' ).main(argv=['x'])": True,
    "import runpy; runpy.run_module('pytest', run_name='__main__')": True,
    "__import__('pytest').__version__": False,
    "__import__('runner').main()": False,
    "import runpy; runpy.run_module('pytest.version')": False,
    "print('__import__(\"pytest\").main()')": False,
}
NO_SCRIPTS = {
    "source .env.test": "-",
    ". ./.env.test": "-",
    "source .env.test.local": "-",
    ". scripts/env.test.sh": "-",
    "source ~/.config/test.sh.env": "-",
    "source test.envrc": "-",
    "source env/test.sh": "-",
    ". config/environments/test": "-",
    "bash env/test.sh": "env/test.sh",
    ". ./run_tests.sh": "run_tests.sh",
    "source scripts/test.sh": "scripts/test.sh",
    "source environment_tests.sh": "environment_tests.sh",
    "/usr/bin/test -f x": "-",
    "/bin/test -f x": "-",
    "bin/test x": "bin/test: x",
    "/srv/bin/test": "/srv/bin/test",
    "/usr/local/bin/run_tests.sh": "/usr/local/bin/run_tests.sh",
    "/usr/bin/pytest": "pytest",
}


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        pair
        for table in (
            WRITTEN_SCRIPTS,
            BUILT_PROGRAMS,
            OUTPUT_AS_TEXT,
            BUILT_UP,
            STARTERS,
            PROGRAMS,
            NO_SCRIPTS,
        )
        for pair in table.items()
    ],
)
def test_what_a_line_starts(command: str, answer: str) -> None:
    assert said(command) == answer


@pytest.mark.parametrize(("code", "runs"), SOURCE_TEXT.items())
def test_a_module_that_is_named_in_a_string_is_run(code: str, runs: bool) -> None:
    assert (said(f"python3 -c {shlex.quote(code)}") != "-") is runs


def starts_of_a_script(times: int) -> str:
    return "echo ls > a.sh; echo pytest > t.sh; " + "sh a.sh; " * times + "sh t.sh"


def test_eight_starts_of_written_scripts_are_read() -> None:
    assert said(starts_of_a_script(7)) == "pytest"
    assert parse(starts_of_a_script(7)).complete
    assert said(starts_of_a_script(8)) == "-"
    assert not parse(starts_of_a_script(8)).complete


def test_sixteen_written_scripts_are_known() -> None:
    others = [f"echo ls > {i}.sh; " for i in range(16)]
    assert said("".join(others[1:]) + "echo pytest > t.sh; sh t.sh") == "pytest"
    assert said("".join(others) + "echo pytest > t.sh; sh t.sh") == "-"


def test_a_script_that_starts_itself_is_read_to_a_bound() -> None:
    line = parse("cat > t.sh <<'EOF'\n./t.sh\n./t.sh\npytest\nEOF\n./t.sh")
    assert suite_of(line) is not None
    assert not line.complete


def test_output_within_output_is_known_four_deep() -> None:
    def within(depth: int) -> str:
        return "$(echo " * depth + "pytest -q" + ")" * depth

    assert said(within(4)) == "pytest"
    assert said(within(5)) == "-"


def test_what_variables_add_to_a_line_is_bounded() -> None:
    filled = "a=" + "x" * 32 * 1024 + "; echo " + "$a " * 3
    assert said(f"{filled}; c=pytest; $c") == "pytest"
    assert said(f"{filled} $a; c=pytest; $c") == "-"


def test_what_a_format_repeats_is_bounded() -> None:
    layout = "x" * 1024 + "%s"
    assert said(f"printf '{layout}\\npytest\\n' a | sh") == "pytest"
    assert said("printf '%s\\n' " + "a " * 100 + "pytest | sh") == "pytest"
    assert said(f"printf '%s\\n{layout}' " + "a " * 200 + "pytest | sh") == "-"
