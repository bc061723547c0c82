"""Programs that run a program given to them: what is started, and with which arguments.

Left a command line, right what the detector says of it: the runner and what narrows the run.
"""

from __future__ import annotations

import re

import pytest

from app.testruns.literals import outside_of_literals
from tests.detection.table import said

MODULES = {
    "python -m pytest tests": "pytest: tests",
    "python -mpytest tests": "pytest: tests",
    "python -m pytest.__main__ tests": "pytest: tests",
    "python -m unittest discover -s tests": "unittest: -s tests",
    "python -m zope_testrunner": "zope-testrunner",
    "python -m twisted.trial pkg": "trial: pkg",
    "python -m django test app": "django-admin test: app",
    "python -m test test_os": "regrtest: test_os",
    "python -m pkg.tests": "python -m pkg.tests",
    "python -m pkg.testsuite -v a": "python -m pkg.testsuite: a",
    "python -m pkg.testing": "-",
    "cd api && python -m pkg.tests": "python -m pkg.tests: in api",
    "python -m memory_profiler -m pytest tests": "pytest: tests",
    "python -m pdb -m pytest tests/a.py": "pytest: tests/a.py",
    "python -m coverage run -m pytest tests/a.py": "pytest: tests/a.py",
    "python -X dev -W error -m pytest": "pytest",
    "python -Wd -m pytest": "pytest",
    "python --version -m pytest": "-",
    "python -m": "-",
    "coverage run -m pytest tests": "pytest: tests",
    "coverage run --source src -m pytest": "pytest",
    "coverage run runtests.py a": "runtests.py: a",
    "coverage run --help -m pytest": "-",
    "coverage report -m pytest": "-",
    "coverage html run -m pytest": "-",
    "coverage": "-",
    "accelerate launch --num_processes 2 -m pytest tests": "pytest: tests",
    "accelerate config -m pytest": "-",
    "torchrun --nnodes 1 -m pytest tests": "pytest: tests",
    "symfony php vendor/bin/phpunit tests": "phpunit: tests",
    "symfony console vendor/bin/phpunit": "-",
    "ruby -S rspec spec/a.rb": "rspec: spec/a.rb",
    "pwsh -File ./ci/run_tests.ps1 -x": "ci/run_tests.ps1",
    "powershell -NoProfile -File ci/run_tests.ps1": "ci/run_tests.ps1",
    "pwsh -File": "-",
    "pwsh -Command 'Invoke-Pester tests'": "Invoke-Pester: tests",
}
SOURCE_TEXT = {
    "python -c 'import pytest; pytest.main()'": "python: import pytest; pytest.main()",
    "python -c 'print(1)' 'pytest.main()'": "-",
    "python -c": "-",
    "julia --eval='Pkg.test()'": "julia: Pkg.test()",
    "julia --eval='using A' --eval 'Pkg.test()'": "julia: Pkg.test()",
    "julia --eval='using A' Pkg.test()": "-",
    "julia --project=. -e 'Pkg.test()' -e 'exit()'": "julia: Pkg.test()",
    "cd web && julia -e 'Pkg.test()'": "julia: Pkg.test(), in web",
    "php -r 'runtests();'": "-",
    "emacs -batch -l ert -f ert-run-tests-batch": "emacs: ert-run-tests-batch",
    "emacs tests/run_tests.el": "-",
    "emacs -nw run-tests": "-",
    "vim run_tests.sh": "-",
}
SCRIPTS = {
    "sh scripts/test.sh": "scripts/test.sh",
    "sh ./scripts/test.sh a -v": "scripts/test.sh: a",
    "bash -x scripts/test.sh": "scripts/test.sh",
    "bash +x scripts/test.sh": "scripts/test.sh",
    "bash -eu scripts/test.sh": "scripts/test.sh",
    "bash -euo pipefail scripts/test.sh": "scripts/test.sh",
    "bash -o pipefail scripts/test.sh": "scripts/test.sh",
    "bash +o pipefail scripts/test.sh": "scripts/test.sh",
    "bash -eu +o pipefail scripts/test.sh": "scripts/test.sh",
    "bash --rcfile rc scripts/test.sh": "scripts/test.sh",
    "bash --rcfile=rc scripts/test.sh": "scripts/test.sh",
    "bash -n scripts/test.sh": "-",
    "bash -xn scripts/test.sh": "-",
    "sh scripts/test.sh --help": "-",
    "sh scripts/deploy.sh": "-",
    "sh - scripts/test.sh": "-",
    "cd api && sh scripts/test.sh": "scripts/test.sh: in api",
    "poetry run sh -c 'pytest --version'": "-",
    "poetry run sh -ec 'pytest --version'": "-",
    "poetry run sh -ec 'pytest tests'": "pytest: tests",
    "sh gradlew test": "gradle test",
    "sh ./mvnw -q test": "mvn test",
    "python test_a.py": "-",
    "python scripts/test.py": "-",
    "python scripts/run_tests.py": "scripts/run_tests.py",
    "python ./scripts/run_tests.py a -v": "scripts/run_tests.py: a",
    "python scripts/run_tests.py --help": "-",
    "python - run_tests.py": "-",
    "python '' run_tests.py": "run_tests.py",
    "python tools/build.py": "-",
    "python manage.py test app": "django-admin test: app",
    "python venv/bin/pytest tests": "pytest: tests",
    "node /opt/tools/bin/jest.js a.js": "jest: a.js",
    "node node_modules/vitest/vitest.mjs run a.ts": "vitest: a.ts",
    "node tools/cli.js test": "tools/cli.js test",
    "php tools/phpunit.phar --filter x": "phpunit: --filter x",
    "php -d memory_limit=1G vendor/bin/phpunit tests": "phpunit: tests",
    "perl t/a.t": "prove: t/a.t",
    "raku ./t/a.t": "prove: t/a.t",
    "python t/a.t": "-",
    "perl lib/a.pm": "-",
    "perl -Mstrict run_tests.pl": "run_tests.pl",
    "perl -c run_tests.pl": "-",
}
TASK_SCRIPTS = {
    "./build.sh test": "build.sh test",
    "./build.sh test a -v": "build.sh test: a",
    "./build.sh -v test:unit": "build.sh test:unit",
    "./build.sh test --help": "-",
    "./build.sh check": "-",
    "./build.sh checks": "-",
    "./build.sh lint": "-",
    "./build.sh lint test": "-",
    "./build.sh": "-",
    "./build.sh -v": "-",
    "./other.sh test": "-",
    "cd api && ./build.sh test": "build.sh test: in api",
    "python ./x.py test a": "x.py test: a",
    "python x.py lint": "-",
    "sh ./build.sh test --help": "-",
}
TOLD_TO_RUN = {
    "vitest run": "vitest",
    "vitest run a.ts": "vitest: a.ts",
    "vitest watch a.ts": "vitest: a.ts",
    "vitest a.ts": "vitest: a.ts",
    "vitest list": "-",
    "npx wdio run wdio.conf.js": "wdio: wdio.conf.js",
    "ginkgo run ./api": "ginkgo: api",
    "ginkgo watch ./api": "ginkgo: api",
    "npx rstest run a.ts": "rstest: a.ts",
    "python -m unittest discover": "unittest",
    "python -m unittest tests.a": "unittest: tests.a",
    "pytest run": "pytest: run",
}


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        pair
        for table in (MODULES, SOURCE_TEXT, SCRIPTS, TASK_SCRIPTS, TOLD_TO_RUN)
        for pair in table.items()
    ],
)
def test_what_an_interpreter_starts(command: str, answer: str) -> None:
    assert said(command) == answer


@pytest.mark.parametrize("code", ['"run()"', "x = 1 # run()", "'''run()'''", "// run()"])
@pytest.mark.parametrize("pattern", ["run", "#", "//", '"', "'"])
def test_what_a_string_or_a_comment_holds_is_no_code(code: str, pattern: str) -> None:
    assert not outside_of_literals(re.compile(pattern), code)


def test_what_stands_beside_strings_is_code() -> None:
    assert len(outside_of_literals(re.compile("run"), '"run"; run(); "run"; run()')) == 2
