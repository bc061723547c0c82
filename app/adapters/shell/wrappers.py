"""Programs that start the command they are given, and how their own arguments end.

One row a program. A row says which of its options take a value, how many words of its own come
first, and whether what follows is an argument list or text for a shell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final

from app.core.testruns.wordset import word_set


class Takes(Enum):
    WORDS = "words"
    """The rest is an argument list: `timeout 60 pytest -q`."""
    TEXT = "text"
    """The rest, joined by blanks, is read by a shell: `ssh host cd x ';' pytest`."""
    TEXTS = "texts"
    """Each further word is read by a shell of its own: `hyperfine 'a' 'b'`."""
    OPTION = "option"
    """Only an option gives the command: `script -c 'pytest' log`."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    takes: Takes = Takes.WORDS
    valued: frozenset[str] = frozenset()
    """Options whose value is the next word."""
    operands: int = 0
    """Words of its own before the command: `timeout 60`, `docker run IMAGE`."""
    separator: bool = False
    """The command begins after `--`: `kubectl exec POD -- pytest`."""
    verbs: Mapping[str, Wrapper] = field(default_factory=lambda: MappingProxyType({}))
    """Its own verbs that start a command; any other verb starts none."""
    text_options: frozenset[str] = frozenset()
    """Options whose value is text for a shell."""
    words_options: frozenset[str] = frozenset()
    """Options after which the rest is an argument list."""
    program_option: str = ""
    """An option that names the program; the rest are its arguments: `--entrypoint`."""
    idle: frozenset[str] = frozenset()
    """Options with which it starts nothing: `command -v`."""
    assigns: bool = False
    """`NAME=value` words come before the command."""
    appends: bool = False
    """It adds arguments that only the run knows: `xargs`."""
    swallows: bool = False
    """Its exit status is not that of the command."""
    swallows_with: frozenset[str] = frozenset()
    """Options that make it swallow the status: `docker run -d`."""
    tells_with: frozenset[str] = frozenset()
    """Options that make it tell the status after all: `script -e`."""


def _row(
    takes: Takes = Takes.WORDS,
    *,
    valued: str = "",
    operands: int = 0,
    separator: bool = False,
    verbs: Mapping[str, Wrapper] | None = None,
    text: str = "",
    words: str = "",
    program: str = "",
    idle: str = "",
    assigns: bool = False,
    appends: bool = False,
    swallows: bool = False,
    swallows_with: str = "",
    tells_with: str = "",
) -> Wrapper:
    return Wrapper(
        takes,
        word_set(valued),
        operands,
        separator,
        MappingProxyType(dict(verbs or {})),
        word_set(text),
        word_set(words),
        program,
        word_set(idle),
        assigns,
        appends,
        swallows,
        word_set(swallows_with),
        word_set(tells_with),
    )


def _each(names: str, wrapper: Wrapper) -> dict[str, Wrapper]:
    return dict.fromkeys(names.split(), wrapper)


_PLAIN: Final = _row()
_AFTER_DASHES: Final = _row(separator=True)

_CONTAINER_RUN: Final = _row(
    valued="""-v --volume -w --workdir -e --env --env-file --name --network --net -u --user -p
        --publish -h --hostname --mount --platform --entrypoint -m --memory --cpus --gpus --link -l
        --label --add-host --tmpfs --shm-size --ulimit --cap-add --cap-drop --security-opt --device
        --dns --pull --restart --ipc --pid --runtime --log-driver --log-opt --volumes-from --userns
        --cidfile --group-add --stop-signal --stop-timeout --expose --network-alias --ip --arch --os
        --memory-swap --init-path --cpuset-cpus --cgroupns --hooks-dir --pod --annotation""",
    operands=1,
    program="--entrypoint",
    swallows_with="-d --detach",
)
_CONTAINER_EXEC: Final = _row(
    valued="-e --env --env-file -u --user -w --workdir --detach-keys --index",
    operands=1,
    swallows_with="-d --detach",
)
_COMPOSE: Final = _row(
    valued="-f --file -p --project-name --profile --env-file --project-directory --ansi "
    "--parallel --progress",
    verbs={"run": _CONTAINER_RUN, "exec": _CONTAINER_EXEC},
)
_DOCKER: Final = _row(
    valued="-H --host --context -c -l --log-level --config --connection --url -n --namespace "
    "--address --root --runroot --log-level",
    verbs={
        "run": _CONTAINER_RUN,
        "exec": _CONTAINER_EXEC,
        "compose": _COMPOSE,
        "container": _row(verbs={"run": _CONTAINER_RUN, "exec": _CONTAINER_EXEC}),
    },
)
_KUBECTL: Final = _row(
    valued="-n --namespace --context --kubeconfig --cluster --user -s --server",
    verbs={
        "exec": _AFTER_DASHES,
        "run": _AFTER_DASHES,
        "debug": _AFTER_DASHES,
        "rsh": _row(operands=1),
        "ssh": _AFTER_DASHES,
    },
)
_NODE_EXEC: Final = _row(
    valued="-p --package -w --workspace --registry --cache --node-arg -n --shell",
    text="-c --call",
    idle="--version -v --help -h",
)
_PYTHON_ENVIRONMENT: Final = _row(
    valued="""-n --name -p --prefix --with --with-requirements --with-editable --python --group
        --extra --project --directory --env-file --package --index-url -e --env --environment --spec
        --pip-args --from --cwd --manifest-path -r --only-group --no-group --env-name -c --config
        --python-preference --index --default-index -C --platform --refresh-package
        -P --no-extra""",
)
_UNSHARE: Final = _row(valued="-t --target -S -G --setuid --setgid --root --wd -R -w --map-user")

WRAPPERS: Final[Mapping[str, Wrapper]] = {
    # the shell's own words
    "time": _row(valued="-f --format -o --output"),
    **_each(
        "nohup builtin { ! chronic fakeroot catchsegv setsid unbuffer wine winpty "
        "caffeinate bashcov linux32 linux64 noglob nocorrect - torify proxychains "
        "proxychains4 torsocks dbus-launch trickle vglrun optirun",
        _PLAIN,
    ),
    "exec": _row(valued="-a"),
    "command": _row(idle="-v -V"),
    "eval": _row(Takes.TEXT),
    "coproc": _row(swallows=True),
    # resources, users, terminals
    "env": _row(valued="-u --unset -C --chdir", text="-S --split-string", assigns=True),
    **_each("timeout gtimeout", _row(valued="-k --kill-after -s --signal", operands=1)),
    "nice": _row(valued="-n --adjustment"),
    "ionice": _row(valued="-c --class -n --classdata -p"),
    "chrt": _row(operands=1),
    "taskset": _row(operands=1),
    "numactl": _row(valued="-N -m -C -i -p --physcpubind --cpunodebind --membind"),
    "prlimit": _PLAIN,
    "cpulimit": _row(valued="-l --limit -p -e"),
    "stdbuf": _row(valued="-i -o -e --input --output --error"),
    "xvfb-run": _row(
        valued="-n -s -e -f -w -p --server-num --server-args --error-file --auth-file "
        "--wait --xauth-protocol"
    ),
    "dbus-run-session": _row(valued="--config-file --dbus-daemon"),
    **_each(
        "sudo doas",
        _row(
            valued="-u --user -g --group -h --host -C -D --chdir -p --prompt -r -t -T -U",
            idle="-l -v -k --list --validate",
            assigns=True,
        ),
    ),
    **_each("gosu su-exec chroot arch-chroot faketime setuidgid", _row(operands=1)),
    "su": _row(Takes.OPTION, valued="-s --shell -g -G --group", operands=3, text="-c --command"),
    "sg": _row(Takes.OPTION, operands=2, text="-c"),
    "runuser": _row(valued="-u --user -g --group -s", text="-c --command"),
    "pkexec": _row(valued="--user"),
    "setpriv": _row(valued="--reuid --regid --groups"),
    **_each("unshare nsenter firejail proot", _UNSHARE),
    "bwrap": _AFTER_DASHES,
    "ip": _row(verbs={"netns": _row(verbs={"exec": _row(operands=1)})}),
    "cgexec": _row(valued="-g"),
    "systemd-run": _row(
        valued="-p --property -u --unit --uid --gid -E --setenv --slice -M",
        swallows=True,
        tells_with="--wait -t --pty --scope -P --pipe",
    ),
    "systemd-nspawn": _row(valued="-D --directory -M --machine --bind -i -u"),
    "setarch": _row(operands=1),
    "arch": _row(valued="-e -d"),
    "flock": _row(valued="-w --timeout -E --conflict-exit-code", operands=1, text="-c --command"),
    "script": _row(
        Takes.OPTION,
        valued="-t -T -I -O -B -E -o -m",
        text="-c --command",
        operands=1,
        swallows=True,
        tells_with="-e --return",
    ),
    "tmux": _row(
        valued="-L -S -f",
        verbs={
            **_each("send-keys send", _row(Takes.TEXTS, valued="-t -N", swallows=True)),
            **_each(
                "new-session new new-window neww split-window splitw respawn-pane run-shell",
                _row(Takes.TEXT, valued="-t -s -n -c -x -y -e -F -l -p", swallows=True),
            ),
        },
    ),
    "screen": _row(
        valued="-S -dmS -DmS -t -c -L -Logfile -h", swallows=True, idle="-ls -list -r -x -X -wipe"
    ),
    # repeating, collecting, measuring
    **_each(
        "xargs gxargs",
        _row(
            valued="-a --arg-file -d --delimiter -E -I -L --max-lines -n --max-args -P --max-procs "
            "-s --max-chars --replace-str",
            appends=True,
        ),
    ),
    "parallel": _row(
        Takes.TEXT,
        valued="-j --jobs -a --arg-file -N -n --delay --timeout --retries --joblog "
        "--results --colsep -I --tmpdir --halt",
        appends=True,
    ),
    "watch": _row(Takes.TEXT, valued="-n --interval", swallows=True),
    "entr": _row(appends=False, swallows=True),
    "watchexec": _row(
        valued="-e --exts -w --watch -f --filter -i --ignore -d --debounce --delay-run "
        "-s --signal --shell -o --on-busy-update --stop-signal -W",
        swallows=True,
    ),
    "reflex": _row(valued="-r --regex -g --glob -R -G -d", swallows=True),
    "nodemon": _row(
        Takes.OPTION,
        valued="-e --ext -w --watch -i --ignore",
        operands=4,
        text="-x --exec",
        swallows=True,
    ),
    "onchange": _row(separator=True, swallows=True),
    "chokidar": _row(Takes.OPTION, operands=9, text="-c --command", swallows=True),
    "watchman-make": _row(Takes.OPTION, valued="-p", operands=9, text="--run", swallows=True),
    "hyperfine": _row(
        Takes.TEXTS,
        valued="-w --warmup -r --runs -m -M --min-runs --max-runs -p "
        "--prepare -c --cleanup -P -L -D -n --export-json --export-markdown -S --shell",
    ),
    **_each("strace ltrace", _row(valued="-e -o -p -s -u -P -E -a -b -I -O -S -X")),
    **_each("valgrind heaptrack", _PLAIN),
    "perf": _row(verbs=_each("stat record trace", _row(valued="-e -o -F -p -g-d -c -r"))),
    "rr": _row(verbs={"record": _PLAIN}),
    "gdb": _row(Takes.OPTION, valued="-ex -x -iex", words="--args -args"),
    "lldb": _row(separator=True),
    "py-spy": _row(separator=True),
    "kcov": _row(operands=1),
    **_each(
        "nyc c8",
        _row(
            valued="-r --reporter -x -n --exclude --include --cwd -t --temp-dir -o "
            "--report-dir --reports-dir --src",
            idle="--help --version",
        ),
    ),
    "retry": _row(valued="-t --times -d --delay -m --max -n --tries -s --sleep --until -u"),
    "wait-for-it": _AFTER_DASHES,
    "dockerize": _row(valued="-wait -timeout -template"),
    "wait-for": _AFTER_DASHES,
    "git": _row(
        valued="-C -c --git-dir --work-tree",
        verbs={
            "bisect": _row(verbs={"run": _PLAIN}),
            "rebase": _row(Takes.OPTION, operands=4, valued="--onto -s -X", text="-x --exec"),
            "submodule": _row(verbs={"foreach": _row(Takes.TEXT)}),
        },
    ),
    # environments
    "rustup": _row(verbs={"run": _row(operands=1)}),
    "direnv": _row(verbs={"exec": _row(operands=1)}),
    **_each("asdf rbenv pyenv nodenv goenv plenv jenv tfenv phpenv", _row(verbs={"exec": _PLAIN})),
    **_each(
        "mise rtx",
        _row(
            valued="-C --cd",
            verbs={
                "exec": _row(separator=True, text="-c --command"),
                "x": _row(separator=True, text="-c --command"),
                "run": _PLAIN,
            },
        ),
    ),
    "volta": _row(verbs={"run": _row(valued="--node --npm --yarn --pnpm")}),
    "fnm": _row(verbs={"exec": _row(valued="--using --fnm-dir")}),
    "nvm": _row(verbs={"exec": _row(operands=1)}),
    "n": _row(verbs={"exec": _row(operands=1)}),
    "rvm": _row(operands=1, verbs={"do": _PLAIN}),
    "chruby-exec": _AFTER_DASHES,
    **_each("conda mamba micromamba", _row(verbs={"run": _PYTHON_ENVIRONMENT})),
    **_each(
        "uv rye",
        _row(
            valued="--directory --project",
            verbs={"run": _PYTHON_ENVIRONMENT, "tool": _row(verbs={"run": _PYTHON_ENVIRONMENT})},
        ),
    ),
    "uvx": _PYTHON_ENVIRONMENT,
    "pipx": _row(verbs={"run": _PYTHON_ENVIRONMENT}),
    **_each(
        "pdm pipenv poetry pixi devbox",
        _row(
            valued="-C --directory -P --project -e --env --manifest-path",
            verbs={"run": _PYTHON_ENVIRONMENT, "exec": _PYTHON_ENVIRONMENT},
        ),
    ),
    "hatch": _row(
        valued="-e --env -p --project",
        verbs={"run": _PYTHON_ENVIRONMENT, "env": _row(verbs={"run": _PYTHON_ENVIRONMENT})},
    ),
    "tox": _row(verbs=_each("exec e", _AFTER_DASHES)),
    **_each("npx pnpx bunx", _NODE_EXEC),
    "npm": _row(valued="--prefix -w --workspace -C", verbs=_each("exec x", _NODE_EXEC)),
    "pnpm": _row(valued="-C --dir --filter -F", verbs=_each("exec dlx", _NODE_EXEC)),
    "yarn": _row(valued="--cwd", verbs={**_each("exec dlx run", _NODE_EXEC), "node": _row()}),
    "bun": _row(verbs={"x": _NODE_EXEC, "run": _NODE_EXEC}),
    **_each("lerna nx", _row(verbs={"exec": _AFTER_DASHES})),
    "cross-env": _row(assigns=True),
    "cross-env-shell": _row(Takes.TEXT, assigns=True),
    "env-cmd": _row(valued="-f --file -e --environments -r --rc-file"),
    "dotenv": _row(valued="-e -f --file -c -v -p", assigns=True),
    "dotenvx": _row(verbs={"run": _AFTER_DASHES}),
    "concurrently": _row(
        Takes.TEXTS,
        valued="-n --names -c --prefix-colors -s --success -p --prefix "
        "-l --restart-tries --max-processes -m",
    ),
    "firebase": _row(
        verbs={"emulators:exec": _row(Takes.TEXTS, valued="--only --project --import")}
    ),
    **_each("bundle bundler", _row(valued="--gemfile", verbs={"exec": _PLAIN, "e": _PLAIN})),
    "appraisal": _row(operands=1),
    "spring": _PLAIN,
    "composer": _row(verbs={"exec": _PLAIN}),
    "symfony": _row(verbs={"run": _PLAIN}),
    **_each("opam cabal stack carton", _row(verbs={"exec": _PLAIN})),
    "fvm": _PLAIN,
    "xcrun": _row(valued="-sdk --sdk -toolchain --toolchain"),
    "nix": _row(
        verbs={
            "develop": _row(
                Takes.OPTION, operands=9, words="-c --command", valued="-f --file --profile"
            ),
            "shell": _row(Takes.OPTION, operands=99, words="-c --command", valued="-f --file"),
            "run": _AFTER_DASHES,
        }
    ),
    "nix-shell": _row(
        Takes.OPTION, operands=99, text="--run --command", valued="-I --arg --argstr"
    ),
    "guix": _row(verbs=_each("shell environment time-machine", _AFTER_DASHES)),
    "devenv": _row(verbs={"shell": _PLAIN}),
    "cargo": _row(
        verbs={
            "watch": _row(
                Takes.OPTION,
                valued="-w --watch -i --ignore -d --delay",
                text="-s --shell",
                separator=False,
            )
        }
    ),
    **_each(
        "op doppler infisical chamber aws-vault teller vaulted envchain sops summon berglas",
        _AFTER_DASHES,
    ),
    "wsl": _row(valued="-d --distribution -u --user", words="-e --exec --"),
    "cmd": _row(Takes.TEXT, operands=1),
    "busybox": _PLAIN,
    "toybox": _PLAIN,
    # other machines
    "ssh": _row(
        Takes.TEXT,
        operands=1,
        valued="-p -i -o -l -L -R -D -F -J -b -c -e -m -O -Q -S -W -w -B -E -I",
    ),
    "sshpass": _row(valued="-p -f -d"),
    "mosh": _row(operands=1, valued="-p --ssh"),
    "vagrant": _row(verbs={"ssh": _row(Takes.OPTION, operands=1, text="-c --command")}),
    "gcloud": _row(Takes.OPTION, operands=9, valued="--zone --project", text="--command"),
    "heroku": _row(verbs={"run": _row(Takes.TEXT, valued="-a --app -s --size")}),
    "fly": _row(
        verbs={"ssh": _row(Takes.OPTION, operands=1, valued="-a --app", text="-C --command")}
    ),
    **_each("docker podman nerdctl finch", _DOCKER),
    **_each("docker-compose podman-compose", _COMPOSE),
    **_each("kubectl oc k microk8s.kubectl minikube", _KUBECTL),
    **_each(
        "apptainer singularity",
        _row(verbs={"exec": _row(operands=1, valued="-B --bind --env --pwd -H --home --env-file")}),
    ),
    **_each("lxc incus multipass", _row(verbs={"exec": _row(operands=1)})),
    "lxc-attach": _AFTER_DASHES,
    "schroot": _AFTER_DASHES,
    "distrobox": _row(verbs={"enter": _AFTER_DASHES}),
    **_each("toolbox", _row(verbs={"run": _row(valued="-c --container")})),
    "devcontainer": _row(
        verbs={
            "exec": _row(
                valued="--workspace-folder --config --container-id --id-label --remote-env"
            )
        }
    ),
    "ddev": _row(verbs={"exec": _row(valued="-s --service -d --dir")}),
    "srun": _row(valued="-n -N -c -p -t -A -J -o -e -w"),
    **_each("mpirun mpiexec orterun", _row(valued="-n -np -c --host -H --hostfile -x --map-by")),
}
"""By base name. Programs that read source text or scripts themselves are in `unwrap`."""
