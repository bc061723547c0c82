"""Task runners of any language: their targets are named by people, so names decide."""

from typing import Final

from app.testruns.rows import Runner, goal, script, verb

RUNNERS: Final[tuple[Runner, ...]] = (
    goal(
        "just",
        folders="-d --working-directory",
        valued="-f --justfile --set --shell --color --dotenv-path",
        idle="-l --list -n --dry-run --show -s --summary --dump --evaluate --choose --variables "
        "--edit -e --usage",
    ),
    goal(
        "task go-task",
        folders="-d --dir",
        valued="-t --taskfile -C --concurrency -o --output -I --interval",
        idle="-l --list -n --dry --dry-run -a --list-all --summary --status --init -i",
    ),
    goal(
        "inv invoke fab fabric",
        valued="-c --collection -r --search-root -H --hosts -f --config -T",
        idle="-l --list -R --dry -D -V",
    ),
    goal(
        "doit",
        folders="-d --dir",
        valued="-f --file -n --process",
        other_verbs="clean dumpdb forget help ignore info list reset-dep strace tabcompletion",
    ),
    goal("grunt", valued="--gruntfile --base --tasks", idle="-V"),
    goal(
        "gulp",
        folders="--cwd",
        valued="-f --gulpfile",
        idle="-T --tasks --tasks-simple --tasks-json -v",
    ),
    goal("jake", valued="-f -C", idle="-T -ls"),
    script(
        "mise rtx",
        "run",
        "r",
        "task run",
        "tasks run",
        "",
        folders="-C --cd",
        valued="-j --jobs --env -E",
    ),
    goal(
        "moon",
        target_piece=-1,
        other_verbs="query docker generate setup sync",
        valued="--affected-by --concurrency -c --log",
    ),
    goal("bb", valued="--config -cp --classpath -f --file"),
    goal("xc mask tusk maid robo taskctl paver phing dobi batect", valued="-f"),
    goal("earthly earth", valued="--build-arg"),
    verb("dagger", "call test", "run test", "call tests"),
    script("devbox", "run", valued="-c --config -e --env"),
    verb("bit", "test"),
    goal("garden", "test"),
    verb("tilt", "ci"),
    verb("skaffold", "test", "verify"),
)
