"""JVM languages: Maven, Gradle, sbt and their relatives, and the console launchers."""

from typing import Final

from app.testruns.rows import Runner, goal, program, verb

RUNNERS: Final[tuple[Runner, ...]] = (
    goal(
        "mvn mvnw mvnd",
        "test",
        "verify",
        "integration-test",
        "surefire:test",
        "failsafe:integration-test",
        "failsafe:verify",
        "surefire:integration-test",
        "scalatest:test",
        "clojure:test",
        "invoker:run",
        "invoker:integration-test",
        "tycho-surefire:test",
        "pitest:mutationCoverage",
        "org.pitest:pitest-maven:mutationCoverage",
        "quarkus:test",
        named=False,
        spans_folders=True,
        valued="""-pl --projects -f --file -P --activate-profiles -s --settings -gs -T --threads -D
            --define -rf --resume-from -l --log-file -t --toolchains -b --builder""",
        narrows="-pl --projects -Dtest -Dit.test -Dgroups -Dsurefire.includes -DexcludedGroups",
        idle="""-DskipTests -Dmaven.test.skip -Dmaven.test.skip.exec -Dtest.skip -Dsurefire.skip
            -v -Dsurefire.skipTests -Dskip.tests -Dskip.unit.tests""",
    ),
    goal(
        "gradle gradlew",
        target_piece=-1,
        spans_folders=True,
        folders="-p --project-dir",
        valued="""-b --build-file -c --settings-file -I --init-script -P -D -g
            --gradle-user-home --tests -x --exclude-task --task --max-workers --console
            --configuration
            --include-build --project-cache-dir --warning-mode --priority""",
        narrows="--tests",
        idle="-m --dry-run -? -v --status --stop --test-dry-run --gui",
        cluster="qsidSwam",
    ),
    goal(
        "ant",
        valued="-f -buildfile -file -lib -logger -listener -l -logfile",
        idle="-p -projecthelp -diagnostics",
    ),
    goal(
        "mill millw",
        "_.test",
        "__.test",
        valued="-j --jobs -D",
        other_verbs="resolve inspect plan path visualize visualizePlan clean",
    ),
    verb("grails grailsw", "test-app", anywhere=True),
    verb("adb", "shell am instrument", anywhere=True, valued="-s"),
    goal("amper"),
    goal("bleep bloop", valued="-o --only -p --project", narrows="-o --only"),
    verb("scala-cli scala", "test", valued="--test-only", narrows="--test-only"),
    goal(
        "lein",
        "midje",
        "kaocha",
        "eftest",
        "spectrum",
        "doo",
        "cloverage",
        "test-refresh",
        ":test",
        "expectations",
        "speclj",
        "humane-test-output",
        other_verbs="check deps classpath",
    ),
    goal("boot"),
    program(
        "kaocha",
        valued="--focus --skip -c --config-file",
        narrows="--focus --skip",
        idle="--print-config --print-test-plan",
    ),
    verb("defects4j", "test", "mutation", "coverage"),
    program("karate", valued="-t --tags", narrows="-t --tags"),
)
