"""JavaScript and TypeScript: runners, package managers, monorepo tools."""

from typing import Final

from app.testruns.rows import Runner, goal, program, script, verb

_PATTERNS: Final = "-t --testNamePattern --testPathPattern --testPathPatterns"
_MONOREPO_VALUED: Final = """-w --workspace --dir --filter -F --scope --projects
    -p --project --exclude --concurrency --parallel-count --base --head --loglevel
    --configuration -c --target -t --targets --tasks"""

RUNNERS: Final[tuple[Runner, ...]] = (
    program(
        "jest jest-cli lwc-jest sfdx-lwc-jest",
        valued=f"{_PATTERNS} -c --config --coverageDirectory --maxWorkers -w --shard --rootDir "
        "--selectProjects --reporters --changedSince --env --testTimeout --runTestsByPath-file",
        narrows=f"{_PATTERNS} -o --onlyChanged -f --onlyFailures --shard --selectProjects "
        "--changedSince",
        idle="""--listTests --list-tests --showConfig --show-config --init --clearCache
            --clear-cache -v""",
    ),
    program(
        "vitest",
        verbs="run watch dev",
        valued="-t --testNamePattern -c --config -r --root --project --shard --reporter --pool "
        "--environment --mode --dir --outputFile --changed --bail --maxWorkers",
        narrows="-t --testNamePattern --project --shard --dir --changed",
        idle="-v",
        other_verbs="list init bench",
    ),
    program(
        "mocha _mocha ts-mocha electron-mocha mochapack mocha-webpack",
        valued="-g --grep -f --fgrep -r --require -R --reporter -t --timeout -c --config --spec "
        "--ui -u --extension --ignore -j --jobs -O --reporter-options --file -n",
        narrows="-g --grep -f --fgrep --spec --ignore",
        idle="-V --dry-run --list-files --list-interfaces --list-reporters",
        other_verbs="init",
    ),
    program(
        "ava",
        valued="-m --match --config -c -T --timeout -s",
        narrows="-m --match",
        other_verbs="reset-cache debug-info",
    ),
    program(
        "tap tape",
        valued="-R --reporter -j --jobs -g --grep --test-regex -r -i -t",
        narrows="-g --grep",
        idle="--dump-config",
        other_verbs="report list plugin build config help version versions",
    ),
    program(
        "borp uvu jasmine-node jasmine-browser-runner zora ospec pta mocha-parallel-tests lab "
        "web-test-runner wtr vscode-test wct jasmine-ts brittle",
        valued="-r -i -l -p --filter --files --group",
        narrows="--filter --group",
    ),
    program(
        "jasmine",
        valued="--filter --config --reporter --helper",
        narrows="--filter",
        other_verbs="init examples version help enumerate -v",
        idle="-v",
    ),
    program(
        "qunit",
        valued="-f --filter -m --module -r --require --reporter --seed",
        narrows="-f --filter -m --module",
        idle="-V",
    ),
    program(
        "testcafe",
        valued="-t --test -f --fixture -c -T",
        narrows="-t --test -f --fixture",
        idle="-b --list-browsers -v",
    ),
    program(
        "nightwatch",
        valued="-e --env -t --test --tag -c --config --testcase",
        narrows="-t --test --tag --testcase",
        idle="--info --list-files -i -v",
    ),
    program(
        "cucumber-js",
        valued="-t --tags -n --name -p --profile -f --format -r --require",
        narrows="-t --tags -n --name",
        idle="-d --dry-run -v",
    ),
    program(
        "rstest",
        verbs="run watch",
        valued="-t -c --project",
        narrows="-t --project",
        other_verbs="list init",
    ),
    verb("sf sfdx", "apex run test", "force:apex:test:run"),
    program("testplane hermione", other_verbs="list-tests list-browsers gui init-config"),
    program("elm-test elm-test-rs", other_verbs="init install make"),
    program("protractor", valued="--specs --suite --grep", narrows="--specs --suite --grep"),
    verb("karma", "start", "run", valued="--browsers --reporters", narrows="--grep"),
    verb(
        "playwright",
        "test",
        valued="-c --config -g --grep --grep-invert --project -j --workers --reporter --retries "
        "--shard --timeout --repeat-each -x --output --trace --global-timeout --tsconfig",
        narrows="-g --grep --grep-invert --project --shard --last-failed --only-changed",
        idle="--list",
    ),
    verb(
        "cypress cy",
        "run",
        "run-ct",
        "component",
        valued="-s --spec -b --browser -c --config -e --env -C --config-file -r --reporter "
        "-P --project -p --port -k --key --group --tag --ci-build-id -o --reporter-options",
        narrows="-s --spec --component --e2e",
    ),
    program(
        "wdio",
        verbs="run",
        valued="--spec --suite",
        narrows="--spec --suite --exclude",
        other_verbs="config install repl",
    ),
    verb(
        "codeceptjs codecept",
        "run",
        "run-multiple",
        "run-workers",
        "run-rerun",
        valued="-g --grep -c --config --steps",
        narrows="-g --grep",
    ),
    verb("detox maestro", "test", valued="-c --configuration", narrows="-c --configuration"),
    verb(
        "testem ember",
        "test",
        "exam",
        "ci",
        "t",
        valued="-f --filter -m --module",
        narrows="-f --filter -m --module",
    ),
    verb(
        "ng",
        "test",
        "t",
        "e2e",
        "e",
        valued="-c --configuration --include --exclude",
        narrows="--include --exclude",
    ),
    script("ng", "run", target_piece=1),
    verb(
        "react-scripts craco react-app-rewired tsdx razzle umi umi-test aegir dts kcd-scripts "
        "react-scripts-ts poi wp-scripts max father preact modern backpack-scripts "
        "stencil storybook grafana-toolkit polymer ace meteor nuxi",
        "test",
        "t",
        "test-e2e",
        "test-unit-js",
        "test-playwright",
        "test:unit",
        "test:e2e",
        valued=_PATTERNS,
        narrows=_PATTERNS,
        idle="--listTests",
    ),
    program("test-storybook"),
    verb("vue-cli-service", "test:unit", "test:e2e", "test"),
    verb("hardhat", "test", "coverage", valued="--network --grep", narrows="--grep"),
    verb("truffle", "test", valued="--network"),
    verb("stryker", "run"),
    verb("intern backstop backstopjs", "", "test"),
    verb("newman", "run", valued="-e -g -d --folder -r", narrows="--folder"),
    verb("bru", "run"),
    program(
        "node nodejs tsx ts-node",
        requires="--test --test-only",
        valued="""--test-name-pattern --test-reporter --test-reporter-destination
            --test-skip-pattern --import -r --require --loader --experimental-loader --env-file
            --test-concurrency --test-timeout --test-shard --conditions -C --max-old-space-size""",
        narrows="--test-name-pattern --test-skip-pattern --test-only --test-shard",
        idle="-v",
    ),
    verb(
        "deno",
        "test",
        valued="--filter -c --config --reporter --coverage --junit-path --import-map --env-file "
        "--location --seed -L --log-level",
        narrows="--filter",
        idle="--no-run",
    ),
    script("node nodejs", goal_options="--run", idle="-v"),
    script("deno", "task", folders="--cwd", valued="-c --config", idle="-V"),
    verb(
        "bun",
        "test",
        valued="-t --test-name-pattern --timeout --preload -r --bail --env-file",
        folders="--cwd",
        narrows="-t --test-name-pattern",
    ),
    script("bun", "run", "", folders="--cwd", valued="--filter -F --env-file --preload -r"),
    script(
        "npm",
        "run",
        "run-script",
        "rum",
        "urn",
        direct="test t tst it install-test install-ci-test cit",
        valued=_MONOREPO_VALUED,
        narrows="-w --workspace",
        folders="--prefix -C",
        idle="-v --if-not-present -l",
    ),
    script(
        "pnpm",
        "run",
        "run-script",
        "",
        "exec",
        "recursive run",
        "recursive",
        "multi run",
        direct="test t tst it install-test",
        folders="-C --dir",
        valued="--filter -F --reporter --loglevel --workspace-concurrency",
        narrows="--filter -F",
        idle="-v",
    ),
    script(
        "yarn yarnpkg",
        "run",
        "",
        "workspaces run",
        "workspaces foreach run",
        "workspaces foreach",
        "workspace * run",
        "workspace *",
        direct="test",
        valued=f"{_MONOREPO_VALUED} --from --include -j --jobs",
        narrows="--from --include",
        folders="--cwd",
        idle="-v",
    ),
    script(
        "nx",
        "run",
        "run-many",
        "affected",
        "",
        target_piece=1,
        spans_folders=True,
        goal_options="-t --target --targets",
        valued="-p --projects --project --exclude --base --head -c --configuration --parallel",
        narrows="-p --projects --project",
        idle="--graph",
    ),
    script("nr", "", idle="-v"),
    goal(
        "turbo",
        spans_folders=True,
        folders="--cwd",
        valued="--filter -F --concurrency --cache-dir --log-order --env-mode",
        narrows="--filter -F",
        idle="--dry --dry-run --graph",
        other_verbs="prune gen generate ls login logout link unlink query daemon telemetry",
    ),
    goal("run-s run-p npm-run-all npm-run-all2 start-server-and-test start-test server-test"),
    script(
        "lerna",
        "run",
        spans_folders=True,
        valued="--scope --ignore --concurrency --since --npm-client",
        narrows="--scope --ignore --since",
    ),
    script(
        "rush rushx heft", "", valued="-t --to -o --only -f --from -p", narrows="-t --to -o --only"
    ),
    script("lage", "", "run", valued="--to --scope --since", narrows="--to --scope --since"),
    script("wsrun ultra bolt nps redrun yarpm better-npm-run vlt", "", "run", "r"),
)
