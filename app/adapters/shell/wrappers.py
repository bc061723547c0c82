"""The table of programs that start the command they are given, one row each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from app.adapters.shell.wrapper import Takes, Wrapper, each, wrapper

_PLAIN: Final = wrapper()
_AFTER_DASHES: Final = wrapper(separator=True)

_CONTAINER_RUN: Final = wrapper(
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
_CONTAINER_EXEC: Final = wrapper(
    valued="-e --env --env-file -u --user -w --workdir --detach-keys --index",
    operands=1,
    swallows_with="-d --detach",
)
_COMPOSE: Final = wrapper(
    valued="-f --file -p --project-name --profile --env-file --project-directory --ansi "
    "--parallel --progress",
    verbs={"run": replace(_CONTAINER_RUN, splits_program=True), "exec": _CONTAINER_EXEC},
)
_DOCKER: Final = wrapper(
    valued="-H --host --context -c -l --log-level --config --connection --url -n --namespace "
    "--address --root --runroot --log-level",
    verbs={
        "run": _CONTAINER_RUN,
        "exec": _CONTAINER_EXEC,
        "compose": _COMPOSE,
        "container": wrapper(verbs={"run": _CONTAINER_RUN, "exec": _CONTAINER_EXEC}),
    },
)
_KUBECTL: Final = wrapper(
    valued="-n --namespace --context --kubeconfig --cluster --user -s --server",
    verbs={
        "exec": _AFTER_DASHES,
        "run": _AFTER_DASHES,
        "debug": _AFTER_DASHES,
        "rsh": wrapper(operands=1),
        "ssh": _AFTER_DASHES,
    },
)
_NODE_EXEC: Final = wrapper(
    valued="-p --package --prefix -w --workspace --registry --cache --node-arg -n --shell",
    text="-c --call",
    idle="--version -v --help -h",
)
_PYTHON_ENVIRONMENT: Final = wrapper(
    valued="""-n --name -p --prefix --with --with-requirements --with-editable --python --group
        --extra --project --directory --env-file --package --index-url -e --env --environment --spec
        --pip-args --from --cwd --manifest-path -r --only-group --no-group --env-name -c --config
        --python-preference --index --default-index -C --platform --refresh-package
        -P --no-extra""",
)
_UNSHARE: Final = wrapper(valued="-t --target -S -G --setuid --setgid --root --wd -R -w --map-user")

WRAPPERS: Final[Mapping[str, Wrapper]] = {
    # the shell's own words; the reserved ones where the grammar takes them for a program: `! if`
    **each("if elif while until then do else", wrapper(swallows=True)),
    "time": wrapper(valued="-f --format -o --output"),
    **each(
        "nohup builtin { ! chronic fakeroot catchsegv setsid unbuffer wine winpty "
        "caffeinate bashcov linux32 linux64 noglob nocorrect - torify proxychains "
        "proxychains4 torsocks dbus-launch trickle vglrun optirun mono eatmydata with-contenv "
        "corepack",
        _PLAIN,
    ),
    "flatpak-spawn": _PLAIN,
    **each(
        "qemu-arm qemu-aarch64 qemu-x86_64 qemu-riscv64 qemu-mips qemu-ppc64le",
        wrapper(valued="-L -E -U -cpu -s -g"),
    ),
    "exec": wrapper(valued="-a"),
    "command": wrapper(idle="-v -V"),
    "eval": wrapper(Takes.TEXT),
    "coproc": wrapper(swallows=True),
    # resources, users, terminals
    "env": wrapper(valued="-u --unset -C --chdir", splices="-S --split-string", assigns=True),
    **each("timeout gtimeout", wrapper(valued="-k --kill-after -s --signal", operands=1)),
    "nice": wrapper(valued="-n --adjustment"),
    "ionice": wrapper(valued="-c --class -n --classdata -p"),
    "chrt": wrapper(operands=1),
    "taskset": wrapper(operands=1),
    "numactl": wrapper(valued="-N -m -C -i -p --physcpubind --cpunodebind --membind"),
    "prlimit": _PLAIN,
    "cpulimit": wrapper(valued="-l --limit -p -e"),
    "stdbuf": wrapper(valued="-i -o -e --input --output --error"),
    "xvfb-run": wrapper(
        valued="-n -s -e -f -w -p --server-num --server-args --error-file --auth-file "
        "--wait --xauth-protocol"
    ),
    "dbus-run-session": wrapper(valued="--config-file --dbus-daemon"),
    **each(
        "sudo doas",
        wrapper(
            valued="-u --user -g --group -h --host -C -D --chdir -p --prompt -r -t -T -U",
            idle="-l -v -k --list --validate",
            assigns=True,
        ),
    ),
    **each("envdir gosu su-exec chroot arch-chroot faketime setuidgid", wrapper(operands=1)),
    "su": wrapper(Takes.OPTION, valued="-s --shell -g -G --group", operands=3, text="-c --command"),
    "sg": wrapper(Takes.OPTION, operands=2, text="-c"),
    "runuser": wrapper(valued="-u --user -g --group -s", text="-c --command"),
    "pkexec": wrapper(valued="--user"),
    "setpriv": wrapper(valued="--reuid --regid --groups"),
    **each("unshare nsenter firejail", _UNSHARE),
    "proot": wrapper(valued="-r -b -w -q -i"),
    "bwrap": wrapper(
        paired="""--bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --symlink
            --setenv --file --bind-data --ro-bind-data --chmod --overlay-src""",
        valued="""--args --argv0 --userns --userns2 --pidns --uid --gid --hostname --chdir
            --unsetenv --lock-file --sync-fd --remount-ro --exec-label --file-label --proc --dev
            --tmpfs --mqueue --dir --seccomp --add-seccomp-fd --block-fd --userns-block-fd --info-fd
            --json-status-fd --cap-add --cap-drop --perms --size""",
    ),
    "ip": wrapper(verbs={"netns": wrapper(verbs={"exec": wrapper(operands=1)})}),
    "cgexec": wrapper(valued="-g"),
    "systemd-run": wrapper(
        valued="-p --property -u --unit --uid --gid -E --setenv --slice -M",
        swallows=True,
        tells_with="--wait -t --pty --scope -P --pipe",
    ),
    "systemd-nspawn": wrapper(valued="-D --directory -M --machine --bind -i -u"),
    "setarch": wrapper(operands=1),
    "arch": wrapper(valued="-e -d"),
    "flock": wrapper(
        valued="-w --timeout -E --conflict-exit-code", operands=1, text="-c --command"
    ),
    "script": wrapper(
        valued="-t -T -I -O -B -E -o -m",
        text="-c --command",
        operands=1,
        swallows=True,
        tells_with="-e --return",
    ),
    "tmux": wrapper(
        valued="-L -S -f",
        verbs={
            **each("send-keys send", wrapper(Takes.TEXTS, valued="-t -N", swallows=True)),
            **each(
                "new-session new new-window neww split-window splitw respawn-pane run-shell",
                wrapper(Takes.TEXT, valued="-t -s -n -c -x -y -e -F -l -p", swallows=True),
            ),
        },
    ),
    "screen": wrapper(
        valued="-S -dmS -DmS -t -c -L -Logfile -h", swallows=True, idle="-ls -list -r -x -X -wipe"
    ),
    # repeating, collecting, measuring
    **each(
        "xargs gxargs",
        wrapper(
            valued="-a --arg-file -d --delimiter -E -I -L --max-lines -n --max-args -P --max-procs "
            "-s --max-chars --replace-str",
            appends=True,
        ),
    ),
    **each(
        "parallel sem",
        wrapper(
            Takes.TEXT,
            valued="-j --jobs -a --arg-file -N -n --delay --timeout --retries --joblog "
            "--results --colsep -I --tmpdir --halt",
            appends=True,
        ),
    ),
    "watch": wrapper(Takes.TEXT, valued="-n --interval", swallows=True),
    "entr": wrapper(text="-s", swallows=True),
    "watchexec": wrapper(
        Takes.TEXT,
        valued="-e --exts -w --watch -f --filter -i --ignore -d --debounce --delay-run "
        "-s --signal --shell -o --on-busy-update --stop-signal -W",
        swallows=True,
    ),
    "reflex": wrapper(valued="-r --regex -g --glob -R -G -d", swallows=True),
    "nodemon": wrapper(
        Takes.TEXT,
        valued="-e --ext -w --watch -i --ignore",
        operands=9,
        words="-x --exec",
        swallows=True,
    ),
    "watchmedo": wrapper(Takes.OPTION, operands=9, text="-c --command", swallows=True),
    **each("at batch", wrapper(Takes.TEXT, operands=9, swallows=True)),
    "onchange": wrapper(separator=True, swallows=True),
    "chokidar": wrapper(Takes.OPTION, operands=9, text="-c --command", swallows=True),
    "watchman-make": wrapper(Takes.OPTION, valued="-p", operands=9, text="--run", swallows=True),
    "hyperfine": wrapper(
        Takes.TEXTS,
        valued="-w --warmup -r --runs -m -M --min-runs --max-runs -p "
        "--prepare -c --cleanup -P -L -D -n --export-json --export-markdown -S --shell",
    ),
    **each("strace ltrace", wrapper(valued="-e -o -p -s -u -P -E -a -b -I -O -S -X")),
    **each("valgrind heaptrack", _PLAIN),
    "perf": wrapper(verbs=each("stat record trace", wrapper(valued="-e -o -F -p -g-d -c -r"))),
    "rr": wrapper(verbs={"record": _PLAIN}),
    "gdb": wrapper(Takes.OPTION, valued="-ex --ex -x -iex", words="--args -args"),
    "lldb": wrapper(separator=True),
    "py-spy": wrapper(separator=True),
    "kcov": wrapper(operands=1),
    **each(
        "nyc c8",
        wrapper(
            valued="-r --reporter -x -n --exclude --include --cwd -t --temp-dir -o "
            "--report-dir --reports-dir --src",
            idle="--help --version",
        ),
    ),
    "retry": wrapper(valued="-t --times -d --delay -m --max -n --tries -s --sleep --until -u"),
    "dockerize": wrapper(valued="-wait -timeout -template"),
    # the first process of a container
    **each("tini tini-static catatonit", wrapper(valued="-p -e")),
    "dumb-init": wrapper(valued="-r --rewrite", idle="-V"),
    "git": wrapper(
        valued="-C -c --git-dir --work-tree",
        verbs={
            "bisect": wrapper(verbs={"run": _PLAIN}),
            "rebase": wrapper(Takes.OPTION, operands=4, valued="--onto -s -X", text="-x --exec"),
            "submodule": wrapper(verbs={"foreach": wrapper(Takes.TEXT)}),
        },
    ),
    # environments
    "rustup": wrapper(verbs={"run": wrapper(operands=1)}),
    "direnv": wrapper(verbs={"exec": wrapper(operands=1)}),
    **each(
        "asdf rbenv pyenv nodenv goenv plenv jenv tfenv phpenv", wrapper(verbs={"exec": _PLAIN})
    ),
    **each(
        "mise rtx",
        wrapper(
            valued="-C --cd",
            verbs={
                "exec": wrapper(separator=True, text="-c --command"),
                "x": wrapper(separator=True, text="-c --command"),
                "run": _PLAIN,
            },
        ),
    ),
    "volta": wrapper(verbs={"run": wrapper(valued="--node --npm --yarn --pnpm")}),
    "fnm": wrapper(verbs={"exec": wrapper(valued="--using --fnm-dir")}),
    "nvm": wrapper(verbs={"exec": wrapper(operands=1)}),
    "n": wrapper(verbs={"exec": wrapper(operands=1)}),
    "rvm": wrapper(operands=1, verbs={"do": _PLAIN}),
    "chruby-exec": _AFTER_DASHES,
    **each("conda mamba micromamba", wrapper(verbs={"run": _PYTHON_ENVIRONMENT})),
    **each(
        "uv rye",
        wrapper(
            valued="--directory --project",
            verbs={"run": _PYTHON_ENVIRONMENT, "tool": wrapper(verbs={"run": _PYTHON_ENVIRONMENT})},
        ),
    ),
    "uvx": _PYTHON_ENVIRONMENT,
    "pipx": wrapper(verbs={"run": _PYTHON_ENVIRONMENT}),
    **each(
        "pdm pipenv poetry pixi devbox",
        wrapper(
            valued="-C --directory -P --project -e --env --manifest-path",
            verbs={"run": _PYTHON_ENVIRONMENT, "exec": _PYTHON_ENVIRONMENT},
        ),
    ),
    "hatch": wrapper(
        valued="-e --env -p --project",
        verbs={"run": _PYTHON_ENVIRONMENT, "env": wrapper(verbs={"run": _PYTHON_ENVIRONMENT})},
    ),
    "tox": wrapper(verbs=each("exec e", _AFTER_DASHES)),
    **each("npx pnpx bunx nlx", _NODE_EXEC),
    "npm": wrapper(valued="--prefix -w --workspace -C", verbs=each("exec x", _NODE_EXEC)),
    "pnpm": wrapper(
        valued="-C --dir --filter -F", verbs=each("exec dlx", _NODE_EXEC), starts_installed=True
    ),
    "yarn": wrapper(
        valued="--cwd",
        verbs={**each("exec dlx run", _NODE_EXEC), "node": wrapper()},
        starts_installed=True,
    ),
    "bun": wrapper(verbs={"x": _NODE_EXEC, "run": _NODE_EXEC}),
    **each("lerna nx", wrapper(verbs={"exec": _AFTER_DASHES})),
    "wp-env": wrapper(verbs={"run": wrapper(operands=1, valued="--env-cwd --config")}),
    "sops": wrapper(verbs={"exec-env": wrapper(Takes.TEXT, operands=1)}),
    "cross-env": wrapper(assigns=True),
    "cross-env-shell": wrapper(Takes.TEXT, assigns=True),
    "env-cmd": wrapper(valued="-f --file -e --environments -r --rc-file"),
    **each(
        "dotenv dotenv-cli",
        wrapper(valued="-e -f --file -c -v -p", assigns=True, leading="run --"),
    ),
    "mix": wrapper(verbs={"cmd": wrapper(valued="--app")}),
    **each(
        "foreman honcho",
        wrapper(
            valued="-e --env -f --procfile",
            verbs={"run": wrapper(valued="-e --env -f --procfile")},
        ),
    ),
    "envchain": wrapper(operands=1, idle="-s --set -l --list -u --unset"),
    "concurrently": wrapper(
        Takes.TEXTS,
        valued="-n --names -c --prefix-colors -s --success -p --prefix "
        "-l --restart-tries --max-processes -m",
    ),
    "firebase": wrapper(
        verbs={"emulators:exec": wrapper(Takes.TEXTS, valued="--only --project --import")}
    ),
    **each("bundle bundler", wrapper(valued="--gemfile", verbs={"exec": _PLAIN, "e": _PLAIN})),
    "appraisal": wrapper(operands=1),
    "spring": _PLAIN,
    "composer": wrapper(verbs={"exec": _PLAIN}),
    "symfony": wrapper(verbs={"run": _PLAIN}),
    **each("opam cabal stack carton cask eask", wrapper(verbs={"exec": _PLAIN})),
    "fvm": _PLAIN,
    "xcrun": wrapper(valued="-sdk --sdk -toolchain --toolchain"),
    "nix": wrapper(
        verbs={
            "develop": wrapper(
                Takes.OPTION, operands=9, words="-c --command", valued="-f --file --profile"
            ),
            "shell": wrapper(Takes.OPTION, operands=99, words="-c --command", valued="-f --file"),
            "run": _AFTER_DASHES,
        }
    ),
    "nix-shell": wrapper(
        Takes.OPTION, operands=99, text="--run --command", valued="-I --arg --argstr"
    ),
    "guix": wrapper(verbs=each("shell environment time-machine", _AFTER_DASHES)),
    "devenv": wrapper(verbs={"shell": _PLAIN}),
    "cargo": wrapper(
        verbs={
            "watch": wrapper(
                Takes.OPTION,
                valued="-w --watch -i --ignore -d --delay",
                text="-s --shell",
                separator=False,
            )
        }
    ),
    "wsl": wrapper(valued="-d --distribution -u --user", words="-e --exec --"),
    "cmd": wrapper(Takes.TEXT, operands=1),
    "busybox": _PLAIN,
    "toybox": _PLAIN,
    # other machines
    "ssh": wrapper(
        Takes.TEXT,
        operands=1,
        valued="-p -i -o -l -L -R -D -F -J -b -c -e -m -O -Q -S -W -w -B -E -I",
    ),
    "sshpass": wrapper(valued="-p -f -d"),
    "mosh": wrapper(operands=1, valued="-p --ssh"),
    "vagrant": wrapper(verbs={"ssh": wrapper(Takes.OPTION, operands=1, text="-c --command")}),
    "gcloud": wrapper(Takes.OPTION, operands=9, valued="--zone --project", text="--command"),
    "heroku": wrapper(
        verbs=each("run local:run", wrapper(Takes.TEXT, valued="-a --app -s --size -e --env"))
    ),
    "fly": wrapper(
        verbs={"ssh": wrapper(Takes.OPTION, operands=1, valued="-a --app", text="-C --command")}
    ),
    **each("docker podman nerdctl finch", _DOCKER),
    **each("docker-compose podman-compose", _COMPOSE),
    **each("kubectl oc k microk8s.kubectl minikube", _KUBECTL),
    **each(
        "apptainer singularity",
        wrapper(
            verbs={"exec": wrapper(operands=1, valued="-B --bind --env --pwd -H --home --env-file")}
        ),
    ),
    "limactl": wrapper(verbs={"shell": wrapper(operands=1, valued="--workdir --shell")}),
    "colima": wrapper(verbs={"ssh": _AFTER_DASHES}),
    **each("lxc incus multipass", wrapper(verbs={"exec": wrapper(operands=1)})),
    "lxc-attach": _AFTER_DASHES,
    "schroot": _AFTER_DASHES,
    "distrobox": wrapper(verbs={"enter": _AFTER_DASHES}),
    **each("toolbox", wrapper(verbs={"run": wrapper(valued="-c --container")})),
    "devcontainer": wrapper(
        verbs={
            "exec": wrapper(
                valued="--workspace-folder --config --container-id --id-label --remote-env"
            )
        }
    ),
    "ddev": wrapper(verbs={"exec": wrapper(valued="-s --service -d --dir")}),
    **each("pwsh powershell", wrapper(Takes.OPTION, operands=9, text="-c -Command -command")),
    "bsub": wrapper(valued="-q -n -J -o -e -R -W -M -P", swallows=True, tells_with="-I -K"),
    "sbatch": wrapper(Takes.OPTION, operands=9, text="--wrap", swallows=True),
    "srun": wrapper(valued="-n -N -c -p -t -A -J -o -e -w"),
    **each("mpirun mpiexec orterun", wrapper(valued="-n -np -c --host -H --hostfile -x --map-by")),
}
"""By base name. Programs that read source text or scripts themselves are in `unwrap`."""
