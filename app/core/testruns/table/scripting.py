"""Ruby, PHP, Elixir and Erlang, Perl, Lua, R, Clojure's and shells' runners, editors."""

from typing import Final

from app.core.testruns.runner import Runner, goal, program, script, verb

RUNNERS: Final[tuple[Runner, ...]] = (
    program(
        "rspec parallel_rspec turbo_tests rspecq",
        valued="""-e --example -E --example-matches -t --tag -P --pattern -f --format -o --out -r
            --require -I --default-path --order --seed --exclude-pattern -O --options -n
            --failure-exit-code""",
        narrows="-e --example -E --example-matches -t --tag -P --pattern --exclude-pattern "
        "--only-failures -n --next-failure",
        idle="--dry-run --init -v",
    ),
    program(
        "parallel_test parallel_cucumber parallel_spinach m mtest flatware minitest testrb "
        "spinach turnip",
        valued="-n --name -e -l --line",
        narrows="-n --name -e -l --line",
    ),
    program(
        "cucumber",
        valued="-t --tags -n --name -p --profile -f --format -r --require -o --out",
        narrows="-t --tags -n --name",
        idle="-d --dry-run -v",
    ),
    verb(
        "rails spring",
        "test",
        "t",
        "test:all",
        "test:system",
        "test:models",
        "test:controllers",
        "test:integration",
        "test:units",
        "test:functionals",
        "test:helpers",
        "test:mailers",
        "test:jobs",
        "test:channels",
        "test:mailboxes",
        "spec",
        "spec:models",
        "spec:system",
        "spec:requests",
        "cucumber",
        "rspec",
        "testunit",
        valued="-n --name -e --environment -s --seed",
        narrows="-n --name",
    ),
    goal(
        "rake",
        "cucumber",
        "parallel:features",
        valued="-f --rakefile -I -r --require -C --directory -j -R",
        idle="-n --dry-run -T --tasks -P --prereqs -D --describe -W --where -V -A",
    ),
    goal("thor"),
    verb("knapsack_pro", "rspec", "minitest", "queue:rspec", "queue:minitest"),
    verb("mutant", "run"),
    program(
        "phpunit simple-phpunit paratest",
        valued="""--filter --exclude-filter --testsuite --exclude-testsuite --group --exclude-group
            -c --configuration --bootstrap --log-junit --coverage-html --coverage-clover
            --coverage-text
            -d --order-by --random-order-seed -p --processes --runner --cache-directory
            --coverage-xml --printer --include-path --testdox-html --coverage-filter""",
        narrows="--filter --exclude-filter --testsuite --exclude-testsuite --group --exclude-group",
        idle="""--list-tests --list-suites --list-groups --list-tests-xml --generate-configuration
            --migrate-configuration --atleast-version --check-version --warm-coverage-cache
            --list-test-files""",
    ),
    program(
        "pest",
        valued="--filter --group --exclude-group --testsuite -c --configuration -d --processes",
        narrows="--filter --group --exclude-group --testsuite --dirty --todos",
        idle="--list-tests --init --list-groups --list-suites",
    ),
    verb(
        "codecept",
        "run",
        valued="-c --config -g --group -e --env -s --skip -x --skip-group -o",
        narrows="-g --group -s --skip -x --skip-group",
    ),
    program(
        "behat",
        valued="--tags --name --suite -s -p --profile -c --config -f --format --role",
        narrows="--tags --name --suite -s --role",
        idle="--dry-run --init --story-syntax --definitions -d -dl -di -V",
    ),
    verb("phpspec", "run", "r", "", valued="-c --config -f --format"),
    program("kahlan atoum peridot tester", idle="--test-list -lst"),
    verb("infection", "", "run"),
    verb(
        "artisan",
        "test",
        "dusk",
        "pest:test",
        "pest:dusk",
        valued="--filter --group --testsuite --processes --env -c --exclude-group",
        narrows="--filter --group --testsuite --exclude-group",
        idle="--list-tests --list-groups --list-suites",
    ),
    script(
        "composer composer.phar",
        "run",
        "run-script",
        "",
        "exec",
        valued="-d --working-dir --timeout",
        narrows="-d --working-dir",
        idle="-l -V",
    ),
    verb("sail", "test", "phpunit", "pest", "dusk", "artisan test", "art test", "composer test"),
    program("run-tests.php"),
    verb(
        "mix",
        "test",
        "test.watch",
        "test.all",
        "coveralls",
        "coveralls.html",
        "coveralls.json",
        "coveralls.lcov",
        "coveralls.github",
        "coveralls.detail",
        "espec",
        "test.interactive",
        "white_bread.run",
        "test.unit",
        "test.integration",
        "muzak",
        "test.ci",
        valued="--only --exclude --include --seed --max-failures --cover-path --formatter "
        "--partitions --slowest --exit-status --max-cases",
        narrows="--only --exclude --include --failed --stale --only-failed",
        idle="--list",
    ),
    goal(
        "rebar3 rebar",
        "eunit",
        "ct",
        "proper",
        "eunit,",
        "ct,",
        "proper,",
        "eunit,ct",
        "ct,eunit",
        "triq",
        named=False,
        valued="""--module --app --suite --case --group --dir --generator --file --application
            --test""",
        narrows="--module --app --suite --case --group --dir -m --file --application",
    ),
    program("ct_run", valued="-suite -dir -case -group -spec", narrows="-suite -dir -case -group"),
    program(
        "prove yath pg_prove",
        valued="-I -j --jobs -e --exec --ext -P --formatter --archive --state --harness -a -d -U",
        narrows="--state",
        idle="-H --man -D --dry -V",
        other_verbs="help list init",
        cluster="rvlbsfoqQwtT",
    ),
    verb("dzil minil milla", "test", "xtest", "smoke"),
    verb("Build", "test", "testall", "testcover", "disttest"),
    program(
        "busted vusted",
        valued="-p --pattern -t --tags --exclude-tags --filter --filter-out -o --output -r --run "
        "-m --lpath -C --directory -f --config-file --repeat --name --exclude-names-file --lua",
        narrows="-p --pattern -t --tags --exclude-tags --filter --filter-out --name",
        idle="-l --list",
    ),
    program("luaunit lunit lust"),
    verb("luarocks lx", "test", idle="--prepare"),
    program(
        "bats bats-core",
        valued="-f --filter --filter-tags --filter-status -F --formatter -j --jobs -o --output "
        "--report-formatter",
        narrows="-f --filter --filter-tags --filter-status",
        idle="-c --count -v",
    ),
    program(
        "shellspec",
        valued="-E --example -T --tag -P --pattern -f --format -s --shell",
        narrows="-E --example -T --tag -P --pattern",
        idle="--list --count --init --dry-run --syntax-check --translate -c -v",
    ),
    program(
        "shunit2 zunit cram roundup urchin bash_unit shpec clitest shelltest runtest "
        "pg_regress pg_isolation_regress lit llvm-lit lit.py llvm-lit.py",
        valued="-p -t --filter -j --tool --param",
        narrows="--filter",
        idle="--show-tests --show-suites",
    ),
    program("fishtape"),
    verb("raku zef perl6", "test"),
    goal("emake", "test"),
    verb("eldev", "test"),
    program("ert-runner buttercup ecukes", idle="--dry-run"),
    verb("eask", "test"),
    program("bashunit rove"),
    program("cpanm cpm", requires="--test-only"),
    verb("keg", "test", "exec ert-runner", "exec buttercup"),
    verb("R Rcmd", "CMD check", "check"),
    program("rcmdcheck"),
    verb("gauge", "run", valued="--tags --env", narrows="--tags"),
    program(
        "Invoke-Pester",
        valued="-Path -TagFilter -Tag -Configuration -Output "
        "-TestName -FullNameFilter -ExcludeTagFilter -Script",
        narrows="-Path -TagFilter -Tag -TestName -FullNameFilter -ExcludeTagFilter",
    ),
)
