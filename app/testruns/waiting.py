"""Does a command line do nothing but wait for something, and look whether it has come?

`sleep 30`, `kubectl wait …`, `until curl -f …; do sleep 1; done`. A line waits when each program
that it may start waits or only looks, and at least one waits. So `make && sleep 1` does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from app.testruns.judge import judge, program_name
from app.testruns.names import base_name
from app.testruns.reached import running
from app.testruns.shell_line import ShellLine, ShellNode, Words, children
from app.testruns.suites import HARMLESS
from app.testruns.wordset import word_set

_WAITERS: Final = word_set(
    """sleep usleep gsleep wait watch inotifywait fswatch wait-for-it wait-for wait4x wait-on
    dockerize Start-Sleep"""
)
"""Programs that do nothing but wait."""
_LOOKERS: Final = HARMLESS | word_set(
    """(( break continue let trap nc ncat netcat ping dig nslookup host getent pg_isready lsof ss
    netstat pgrep pidof uptime free nvidia-smi squeue sacct qstat bjobs tree column tac less
    journalctl"""
)
"""Programs that look at something and change nothing."""
_FOLLOWERS: Final = frozenset({"tail", "journalctl"})
_FOLLOWS: Final = re.compile(r"-[a-zA-Z0-9]*[fF][a-zA-Z0-9]*|--follow(?:=.*)?")
_CURL_SENDS: Final = re.compile(
    r"(?!-X(?:GET|HEAD)$)(?:-[a-zA-Z]*[dFTOoKX]|-[XdFTo].+"
    r"|--(?:data|form|json|upload|output|remote-name|request)[\w-]*(?:=.*)?)"
)
"""Options with which a download sends something or writes a file."""
_SENDS_NOTHING: Final = frozenset({"/dev/null", "-", "GET", "HEAD"})
"""Values with which it does neither: `-o /dev/null`, `-X GET`."""

_SERVICES: Final = word_set(
    """gh glab hub kubectl oc k docker podman nerdctl docker-compose podman-compose aws gcloud az
    helm flyctl fly heroku systemctl service argo argocd circleci vercel netlify doctl adb
    terraform nomad consul redis-cli mysqladmin"""
)
"""Programs that speak to a service; one of their first operands says what they do."""
_WAITING_VERBS: Final = word_set("wait watch wait-for-device")
_WAITING_FLAGS: Final = word_set("--watch --watch-only --wait --follow -w")
_FOLLOWED_VERBS: Final = word_set("log logs events trace")
"""After these `-f` follows; elsewhere it names a file."""
_POLLED: Final = word_set("run checks ci pipeline")
"""What a forge is asked about again and again until it is done: `gh run view`."""
_LOOKING_VERBS: Final = word_set(
    """status list ls get describe show view inspect ps logs log info diff checks top stats history
    is-active is-enabled is-failed ls-remote rev-parse trace port version ping api events"""
)
_LOOKING_BEGINNINGS: Final = ("describe-", "get-", "list-")
_CHANGING_VERBS: Final = word_set(
    """add apply branch build cancel checkout clone close comment commit create delete deploy down
    edit exec install kill merge patch pull push rebase remove rerun reset restart restore rm
    rollback scale set start stash stop switch tag uninstall up upgrade"""
)
_CHANGING_FLAGS: Final = re.compile(r"-X.*|--method.*|-f.*|-F.*|--field.*|--raw-field.*|--input.*")
"""With these `gh api` sends something."""
_MOST_OPERANDS: Final = 4
"""The verb is among so many words; what comes later are names and numbers."""

_SLEEPS_IN_SOURCE: Final = re.compile(
    r"\s*(?:(?:import time|from time import sleep)\s*[;\n]\s*)?(?:time\.)?sleep\s*\(?[\s\d._*]+\)?"
    r"\s*;?\s*(?:print\([^()]*\)\s*)?"
)
_SCRIPT_INTERPRETERS: Final = word_set("bash sh zsh python node ruby")
_NAME_WORDS: Final = re.compile(r"[a-z]+")
_NAMES_THAT_WAIT: Final = frozenset({"wait", "await", "poll", "sleep"})
_NAMES_THAT_LOOK: Final = frozenset({"health", "healthcheck", "ready", "status", "alive"})


def is_waiting(line: ShellLine) -> bool:
    """Whether `line` only waits or polls. False for a line that could not be read to its end."""
    waits = False
    watched: set[int] = set()
    for command, _ in running(line.root):
        if command.starts is not None:  # what it starts comes next
            if base_name(command.words[0]) == "watch":
                watched.update(map(id, _nodes_below(command.starts)))
                waits = True
        elif command.writes or any(judge(layer) is not None for layer in command.layers):
            return False
        elif _waits(command.words):
            waits = True
        elif id(command) not in watched and not _only_looks(command.words):
            return False
    return waits and line.complete


def _nodes_below(root: ShellNode) -> Iterator[ShellNode]:
    """The nodes of a tree, which the bounds of the line keep small."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))


def _waits(words: Words) -> bool:
    name = base_name(words[0])
    if name in _WAITERS:
        return True
    if name == "read":
        return "-t" in words
    if name in _FOLLOWERS:
        return any(map(_FOLLOWS.fullmatch, words[1:]))
    if name in _SERVICES:
        return _service_waits(name, words)
    return _sleeps_in_source(words) or not _NAMES_THAT_WAIT.isdisjoint(_script_name(words))


def _only_looks(words: Words) -> bool:
    name = base_name(words[0])
    match name:
        case "curl":
            return not any(
                _CURL_SENDS.fullmatch(word) and following not in _SENDS_NOTHING
                for word, following in pairwise((*words, ""))
            )
        case "wget":
            return "--spider" in words or any(w.endswith(("O-", "O/dev/null")) for w in words)
        case "kill":
            return words[1:2] == ("-0",)
        case "find":
            return "-delete" not in words
        case _:
            if name == "git" or name in _SERVICES:
                return _service_only_looks(words)
            looks = not _NAMES_THAT_LOOK.isdisjoint(_script_name(words))
            return looks or name in _LOOKERS


def _service_waits(name: str, words: Words) -> bool:
    verbs = _verbs(words)
    if not _CHANGING_VERBS.isdisjoint(verbs):
        return False
    if not _WAITING_VERBS.isdisjoint(verbs):
        return True
    if not _service_only_looks(words):
        return False
    follows = "-f" in words and not _FOLLOWED_VERBS.isdisjoint(verbs)
    reads_log = any(word.startswith("--log") for word in words)
    is_polled = name in {"gh", "glab"} and not _POLLED.isdisjoint(verbs[:2]) and not reads_log
    return follows or is_polled or not _WAITING_FLAGS.isdisjoint(words)


def _service_only_looks(words: Words) -> bool:
    verbs = _verbs(words)
    if verbs[:1] == ["api"]:
        return not any(map(_CHANGING_FLAGS.fullmatch, words))
    looks = any(verb in _LOOKING_VERBS or verb.startswith(_LOOKING_BEGINNINGS) for verb in verbs)
    return looks and _CHANGING_VERBS.isdisjoint(verbs)


def _verbs(words: Words) -> list[str]:
    return [word for word in words[1:] if not word.startswith("-")][:_MOST_OPERANDS]


def _sleeps_in_source(words: Words) -> bool:
    """`python -c 'import time; time.sleep(30)'`."""
    if len(words) != 3 or words[1] not in {"-c", "-e"}:
        return False
    is_interpreter = program_name(words[0]) in {"python", "perl", "ruby"}
    return is_interpreter and _SLEEPS_IN_SOURCE.fullmatch(words[2]) is not None


def _script_name(words: Words) -> frozenset[str]:
    """The words in the name of a script of the repository: `sh scripts/wait_for_db.sh`."""
    if program_name(words[0]) in _SCRIPT_INTERPRETERS and len(words) > 1:
        words = words[1:]
    is_script = "/" in words[0] or words[0].endswith((".sh", ".py"))
    return frozenset(_NAME_WORDS.findall(base_name(words[0]).lower())) if is_script else frozenset()
