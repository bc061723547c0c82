"""Languages that compile to programs: Rust, Go, C and C++, .NET, Swift, Haskell and others."""

from typing import Final

from app.testruns.rows import Runner, goal, program, script, verb

_RUNNING_TARGETS: Final = (
    *("test", "check", "ctest", "RUN_TESTS", "run_tests", "run-tests", "run_unit_tests"),
    *(
        "check-all",
        "check-unit",
        "check-clang",
        "check-llvm",
        "check-lld",
        "check-mlir",
        "test-all",
    ),
)
"""Generated builds run their tests under few names; `tests`, `unit_tests` are programs to build."""

RUNNERS: Final[tuple[Runner, ...]] = (
    verb(
        "cargo cross cargo-nextest",
        "test",
        "t",
        "nextest run",
        "nextest r",
        "hack test",
        "hack nextest run",
        "hack nextest r",
        "careful test",
        "careful nextest run",
        "miri test",
        "miri nextest run",
        "insta test",
        "tarpaulin",
        "llvm-cov test",
        "llvm-cov nextest",
        "mutants",
        "leptos test",
        "component test",
        "test-all-features",
        "test-fuzz",
        "valgrind test",
        "bolero test",
        "kani",
        "contract test",
        "test-sbf",
        "test-bpf",
        "pgrx test",
        valued="""-p --package --test --bench --example --bin --features -F --target --manifest-path
            --target-dir --profile -j --jobs --exclude --color --config -Z -E --filter-expr
            --retries --partition --test-threads --message-format --skip --lcov-path --output-path
            --out --output-dir --ignore-filename-regex --fail-under-lines --run-ignored
            --archive-file -o --timeout""",
        narrows="""-p --package --test --lib --bins --bin --doc --exclude --skip --exact --ignored
            -E --filter-expr --partition --example --examples --run-ignored""",
        folders="-C",
        idle="--no-run --list -V",
    ),
    script("cargo", "make", "xtask"),
    verb("cargo", "llvm-cov", other_verbs="report clean show-env run setup"),
    goal("cargo-make makers", valued="-p --profile --cwd -e", idle="--list-all-steps"),
    verb("wasm-pack", "test"),
    goal("bacon"),
    program("tarpaulin cargo-tarpaulin cargo-llvm-cov cargo-mutants", idle="--no-run"),
    verb(
        "go richgo tinygo garble xgo gotip",
        "test",
        valued="""-run -skip -bench -count -timeout -tags -coverprofile -covermode -coverpkg -p
            -parallel -cpu -o -ldflags -gcflags -mod -modfile -exec -benchtime -memprofile
            -cpuprofile -blockprofile -trace -shuffle -vet -outputdir -fuzz -fuzztime -target
            -blockprofilerate -overlay""",
        narrows="-run -skip -tags -short -fuzz --run",
        folders="-C",
        idle="-list --list -c -n -test.list",
    ),
    program(
        "gotest", valued="-run -skip -count -timeout -tags", narrows="-run -skip", idle="-list -c"
    ),
    program("gtest-parallel", idle="--gtest_list_tests"),
    program(
        "gotestsum",
        valued="""-f --format --junitfile --jsonfile --packages --rerun-fails
        --post-run-command --max-fails""",
        narrows="--packages",
        other_verbs="tool help",
    ),
    program(
        "ginkgo",
        verbs="run watch",
        valued="""--focus --skip --label-filter --focus-file --skip-file --procs -p --timeout
            --junit-report --json-report --seed --repeat --flake-attempts --tags --output-dir""",
        narrows="--focus --skip --label-filter --focus-file --skip-file --tags",
        idle="--dry-run --dryRun",
        other_verbs="build generate bootstrap version help outline labels unfocus nodot convert",
    ),
    program(
        "godog",
        valued="-t --tags -f --format",
        narrows="-t --tags",
        other_verbs="build version help",
        idle="-d",
    ),
    program("goconvey testscript"),
    verb("dlv", "test"),
    goal("mage", valued="-d -w -t", idle="-l -compile -init"),
    program(
        "ctest ctest3",
        valued="""-R --tests-regex -E --exclude-regex -L --label-regex -LE --label-exclude -I
            --tests-information -C --build-config -j --parallel --timeout -T
            --test-action -M --test-model -S --script -D --dashboard -O --output-log --output-junit
            --preset --repeat -FA -FS -FC --resource-spec-file --stop-time""",
        narrows="-R --tests-regex -E --exclude-regex -L --label-regex -LE --label-exclude -I "
        "--rerun-failed --tests-information",
        folders="--test-dir",
        idle="-N --show-only --print-labels --list-presets",
    ),
    goal(
        "make gmake mingw32-make remake nmake bmake pmake colormake",
        folders="-C --directory",
        valued="-f --file --makefile -I --include-dir -o --old-file -W --what-if",
        idle="-n --dry-run --just-print --recon -q --question -t --touch -v",
        cluster="bBeijkLmnpqrRsStvwd0123456789",
        ends_cluster="CEfIloOW",
    ),
    goal(
        "ninja samu",
        *_RUNNING_TARGETS,
        named=False,
        folders="-C",
        valued="-f -j -k -l -t -d -w",
        idle="-n -t",
    ),
    verb(
        "meson muon",
        "test",
        folders="-C",
        valued="--suite --no-suite -t --timeout-multiplier -j --num-processes "
        "--repeat --maxfail --setup --wrapper --logbase --test-args",
        narrows="--suite --no-suite",
        idle="--list",
    ),
    goal(
        "cmake",
        *_RUNNING_TARGETS,
        named=False,
        goal_options="--target -t",
        folders="--build",
        valued="-j --parallel --config --preset -S -B -G -D",
    ),
    goal("cmake", goal_options="--preset", requires="--workflow"),
    verb(
        "bazel bazelisk bazelw blaze",
        "test",
        "coverage",
        valued="""-c --config --test_filter --test_output --jobs -j --test_tag_filters --define
            --test_arg --runs_per_test --compilation_mode --test_env --build_tag_filters""",
        narrows="--test_filter --test_tag_filters --test_arg",
        idle="--nobuild --norun_tests",
    ),
    verb("buck buck2", "test"),
    verb("nargo", "test", valued="--package", narrows="--package --exact", idle="--list-tests"),
    verb("please plz", "test", "cover"),
    verb(
        "pants pantsw",
        "test",
        valued="--changed-since --tag",
        narrows="--changed-since --tag",
        anywhere=True,
    ),
    goal(
        "scons", folders="-C", valued="-f -j -u", idle="-n --dry-run --just-print", cluster="Qksnci"
    ),
    goal("waf", idle="-n"),
    program("waf", requires="--alltests"),
    goal("ceedling", valued="--project --mixin"),
    goal("b2 bjam", idle="-n"),
    verb("xmake", "test"),
    verb("build2 bdep b", "test", anywhere=True),
    verb(
        "fpm alr dub v crystal odin mojo pony corral nimble gleam esy raco haxelib rescript "
        "roc grain moonc wake lake spago pulp conan pio platformio",
        "test",
        "spec",
        "testament",
        valued="--flag --profile",
    ),
    verb(
        "dotnet",
        "test",
        "vstest",
        "watch test",
        "dotcover test",
        "coverage collect dotnet test",
        "fake run-test",
        "nunit",
        "xunit",
        "stryker",
        valued="""--filter -f --framework -c --configuration -s --settings -l --logger -r --runtime
            -o --output -d --diag -v --verbosity --collect --results-directory --blame-hang-timeout
            -a --arch --os --project --test-adapter-path --solution --environment -e""",
        narrows="--filter -f --framework --TestCaseFilter --Tests",
        idle="--list-tests -t --ListTests -lt",
    ),
    program(
        "vstest.console nunit3-console nunit-console xunit.console mstest",
        valued="--where --test",
        narrows="--where --test --TestCaseFilter /TestCaseFilter",
        idle="--explore /ListTests --list-tests /lt",
    ),
    goal(
        "nuke cake dotnet-cake fake psake",
        goal_options="--target -t -Target",
        valued="--configuration",
    ),
    verb("msbuild dotnet", "/t:Test", "/t:test", "/t:VSTest", anywhere=True),
    program("msbuild dotnet", requires="-t:Test -t:test -t:VSTest"),
    goal("dotnet", goal_options="--target", requires="--target"),
    verb(
        "swift",
        "test",
        folders="--package-path",
        valued="--filter --skip -c --configuration --scratch-path "
        "--build-path -Xswiftc -Xcc --num-workers -j --jobs --xunit-output --test-product",
        narrows="--filter --skip --test-product",
        idle="--list-tests -l --show-codecov-path",
        other_verbs="list last",
    ),
    verb(
        "xcodebuild",
        "test",
        "test-without-building",
        anywhere=True,
        valued="""-scheme -project -workspace -destination -configuration -sdk -derivedDataPath
            -resultBundlePath -testPlan -target -arch -xcconfig -only-testing -skip-testing
            -xctestrun -clonedSourcePackagesDirPath -enableCodeCoverage -parallel-testing-enabled
            -maximum-concurrent-test-simulator-destinations""",
        narrows="-only-testing -skip-testing -scheme -testPlan",
        idle="-n -dry-run -list -showBuildSettings -showdestinations -enumerate-tests",
    ),
    verb("xctool fbxctest", "test", "run-tests", anywhere=True),
    verb("tuist", "test"),
    program("xctest"),
    goal("fastlane", "scan", "run_tests", "ios test", idle="--list"),
    verb(
        "cabal",
        "test",
        "v2-test",
        "v1-test",
        "new-test",
        valued="--test-option --test-options --test-show-details -w -j",
        narrows="--test-option --test-options",
        idle="--dry-run --only-dependencies",
    ),
    script("cabal", "run", "v2-run", "new-run"),
    verb(
        "stack",
        "test",
        valued="--test-arguments --ta --resolver --stack-yaml -j",
        narrows="--test-arguments --ta",
        idle="--no-run-tests --dry-run --only-dependencies",
    ),
    verb("stack", "build", "install", requires="--test", idle="--no-run-tests --dry-run"),
    script("stack", "run"),
    verb("Setup Setup.hs Setup.lhs", "test"),
    verb(
        "dune jbuilder",
        "test",
        "runtest",
        "rt",
        valued="--root -p --profile -j --only-packages",
        narrows="-p --only-packages",
    ),
    goal("dune", "@runtest", "@test", "@all-tests", "@check-tests", named=False),
    verb(
        "zig",
        "test",
        valued="--test-filter --name -O -target -I --mod --dep",
        narrows="--test-filter",
        idle="--test-no-exec -fno-emit-bin-only",
    ),
    script("zig", "build", valued="-D --prefix -p"),
    script("nimble", ""),
    verb("nimble nim", "test", "testament"),
    program("testament"),
    verb(
        "forge",
        "test",
        "coverage",
        "snapshot",
        valued="""--match-test --mt --match-contract --mc --match-path --mp --no-match-test
            --no-match-contract --no-match-path --fork-url -f --root --fuzz-seed""",
        narrows="--match-test --mt --match-contract --mc --match-path --mp --no-match-test "
        "--no-match-contract --no-match-path",
        idle="-l --list",
    ),
    verb(
        "aiken",
        "check",
        valued="-m --match-tests",
        narrows="-m --match-tests",
        idle="-S --skip-tests",
    ),
    verb(
        "anchor brownie ape snforge scarb aptos sui algokit",
        "test",
        "move test",
        "project test",
        "project run test",
        "cairo-test",
    ),
    verb(
        "flutter",
        "test",
        "drive",
        "pub run test",
        valued="--name --plain-name -N --tags -t --exclude-tags -x -d "
        "--device-id --dart-define -j --concurrency --flavor -r --reporter --coverage-path",
        narrows="--name --plain-name -N --tags -t --exclude-tags -x",
    ),
    verb(
        "dart pub",
        "test",
        "run test",
        "pub run test",
        "run build_runner test",
        valued="-n --name -N --plain-name -t --tags -x --exclude-tags -p --platform -r --reporter "
        "-j --concurrency --preset -P",
        narrows="-n --name -N --plain-name -t --tags -x --exclude-tags",
    ),
    goal("melos", valued="--scope"),
    verb("very_good patrol", "test", "t", "flutter test"),
    program("runSVUnit"),
    verb("west", "twister"),
    program("twister", idle="--list-tests --list-test-tree"),
    verb("colcon catkin", "test", "run_tests"),
    goal("catkin_make"),
    program("rostest hspec"),
    verb("nix", "flake check", idle="--no-build"),
    script("nix", "run"),
)
