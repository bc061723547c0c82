"""Runners by the form of their arguments: what each is asked for, and what narrows it.

Left a command line, right what the detector says of it: the runner and what narrows the run.
"""

from __future__ import annotations

import pytest

from tests.detection.table import said

PROGRAMS = {
    "pytest -k x -m 'not slow' --lf tests": "pytest: --lf, -k x, -m not slow, tests",
    "pytest -kx": "pytest: -k x",
    "pytest -k=x": "pytest: -k x",
    "pytest -kx=1": "pytest: -k x=1",
    "pytest -k": "pytest: -k",
    "pytest -": "pytest: -",
    "pytest -- tests": "pytest: tests",
    "pytest ./tests/ b": "pytest: b, tests",
    "pytest ./tests .": "pytest",
    "pytest /": "pytest: /",
    "pytest $(git ls-files)": "pytest: $?",
    "ctest -R a -j 4": "ctest: -R a",
    "node --test": "node",
    "node --test a.js": "node: a.js",
    "node a.js": "-",
}
VERBS = {
    "cargo test -p core lexer": "cargo test: -p core, lexer",
    "cargo test --no-run": "-",
    "cargo build test": "-",
    "go test -run X ./a ./b/...": "go test: -run X, a, b/...",
    "go test ./...": "go test",
    "go": "-",
    "dotnet test --filter A src/A.csproj": "dotnet test: --filter A, src/A.csproj",
    "bazel test //a/... //b:c": "bazel test: //a/..., //b:c",
    "xcodebuild -scheme A test": "xcodebuild test: -scheme A",
    "xcodebuild build test": "xcodebuild test: build",
    "xcodebuild -scheme A build": "-",
    "deno test -A a.ts": "deno test: a.ts",
    "rails test test/a_test.rb:3": "rails test: test/a_test.rb:3",
    "zig build test": "zig test",
    "zig build": "-",
}
GOALS = {
    "make test": "make test",
    "make check": "make check",
    "make check test": "make check",
    "make test-unit": "make test: test-unit",
    "make test-unit test": "make test",
    "make check-unit": "make test: check-unit",
    "make lint build": "-",
    "make -Cweb test": "make test: in web",
    "make -C web test": "make test: in web",
    "make -C web -C api test": "make test: in api",
    "make --directory=web test": "make test: in web",
    "make -ki test": "make test",
    "make -kisC web test": "make test: in web",
    "make -kn test": "-",
    "make -n test": "-",
    "make -kx test": "make test",
    "make -j4 test": "make test",
    "make -j 4 test": "make test",
    "make test.o": "-",
    "./gradlew :app:check": "gradle test: :app:check",
    "./gradlew :app:test --tests A": "gradle test: --tests A, :app:test",
    "./gradlew :test:assemble": "-",
    "mvn verify": "mvn test",
    "mvn -Dtest=A -pl core verify": "mvn test: -Dtest A, -pl core",
    "mvn -DskipTests test": "-",
    "mvn -DskipTests=true test": "-",
    "mvn -DskipTests=false test": "mvn test",
    "mvn -DskipTests=NO test": "mvn test",
    "mvn compile test-jar": "-",
    "cmake --build b --target test": "cmake test: in b",
    "cmake --build b --target=app,check": "cmake test: in b",
    "cmake --build b --target lint": "-",
    "cmake --build b -t test": "cmake test: in b",
    "rake test:unit": "rake test: test:unit",
    "rake spec": "rake test",
}
SCRIPTS = {
    "npm test": "npm test",
    "npm t": "npm test",
    "npm test -- -t name": "npm test: -t name",
    "npm run test -- --list": "-",
    "npm run test:unit -- a.js": "npm test: a.js, test:unit",
    "npm run tests/a.js": "-",
    "npm run test.js": "-",
    "npm run lint": "-",
    "npm run": "-",
    "npm run -s": "-",
    "npm start test": "-",
    "npm --prefix web run test": "npm test: in web",
    "npx nx run web:test": "nx test: web:test",
    "npx nx run web:lint": "-",
    "npx nx run lint:test": "nx test: lint:test",
    "npx nx test web": "nx test: web",
    "npx nx run test": "nx test",
    "npx nx run-many --target=test": "nx test",
    "npx nx run-many --target=e2e -p web": "nx test: -p web, e2e",
    "npx nx affected --target=lint": "-",
    "hatch run +py=3.11 test": "hatch test",
    "hatch run py311:pytest tests": "pytest: tests",
    "hatch run pytest pytest": "pytest: pytest",
    "nix run .#test": "nix test",
    "nix run .#lint": "-",
    "yarn jest a.js": "jest: a.js",
    "yarn run-tests": "yarn test: run-tests",
    "pnpm run '/^test:.*/'": "pnpm test: ^test:.*",
    "pnpm --filter web test": "pnpm test: --filter web",
    "turbo run test --filter=web": "turbo test: --filter web",
    "lerna run test --scope web": "lerna test: --scope web",
    "poetry run lint": "-",
    "poetry run scripts/test a": "scripts/test: a",
}


@pytest.mark.parametrize(
    ("command", "answer"),
    [pair for table in (PROGRAMS, VERBS, GOALS, SCRIPTS) for pair in table.items()],
)
def test_what_a_runner_is_asked_for(command: str, answer: str) -> None:
    assert said(command) == answer
