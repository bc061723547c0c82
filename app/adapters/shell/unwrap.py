"""Peels one wrapper off an argument list."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Final

from app.adapters.shell.wrapper import Takes, Wrapper
from app.adapters.shell.wrappers import WRAPPERS
from app.testruns.shell_line import HOLE, Words

SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash", "fish", "rbash", "mksh"})
_SHELL_VARIABLES: Final = frozenset({f"{HOLE}SHELL{HOLE}", f"{HOLE}BASH{HOLE}"})
ARGUMENTS_OF_RUN: Final = f"{HOLE}stdin{HOLE}"
"""Stands for arguments that a wrapper reads while it runs: `xargs`."""

_ASSIGNMENT: Final = re.compile(rf"[A-Za-z_]\w*=|{HOLE}{HOLE}$")
"""Also a substitution: `env $(cat .env) pytest`."""
_SHELL_VALUED: Final = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
SOURCING: Final = frozenset({".", "source"})
_FIND_EXEC: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FD_EXEC: Final = frozenset({"-x", "--exec", "-X", "--exec-batch"})


_STARTING_VERBS: Final = frozenset({"run", "exec", "shell", "activate", "enter", "with"})


@dataclass(frozen=True, slots=True)
class Text:
    """Command lines that a shell, started by the wrapper, reads."""

    lines: tuple[str, ...]
    fed: str | None = None
    """What is left on standard input for what the lines start."""
    arguments: Words = ()
    """`$1`, `$2`, … of that shell."""
    errexit: bool = False
    pipefail: bool = False
    same_shell: bool = False
    """No new shell reads them: `. run.sh`."""


@dataclass(frozen=True, slots=True)
class Unwrapped:
    started: Words | Text
    swallows: bool = False
    """The wrapper does not end with the status of what it starts."""


def unwrap(words: Words, fed: str | None) -> Unwrapped | None:
    """What the wrapper `words[0]` starts; None when it is none. `fed` is its standard input."""
    name = _base_name(words[0])
    if name in SHELLS:
        return _unwrap_shell(words, fed)
    if name in SOURCING and fed is not None and words[1:2] == ("/dev/stdin",):
        return Unwrapped(Text((fed,), same_shell=True))
    if name == "find":
        return _unwrap_find(words)
    if name in {"fd", "fdfind"}:
        return _unwrap_after(words, _FD_EXEC)
    wrapper = WRAPPERS.get(name)
    return _unwrap_by_custom(words) if wrapper is None else _unwrap(wrapper, words, fed)


_WAITING_SCRIPT: Final = re.compile(r"wait(?![a-z]).*")
_ENTRY_SCRIPT: Final = re.compile(r"(?:docker[-_])?entrypoint(?:\.sh)?")


def _unwrap_by_custom(words: Words) -> Unwrapped | None:
    """`TOOL run … -- COMMAND`: so most tools that prepare an environment are asked; and scripts
    that start what they are given: `wait-for-it.sh HOST:PORT -- COMMAND`, `entrypoint.sh COMMAND`.
    """
    name = _base_name(words[0])
    if _ENTRY_SCRIPT.fullmatch(name):
        return Unwrapped(words[1:]) if len(words) > 1 else None
    if "--" in words[1:] and (words[1] in _STARTING_VERBS or _WAITING_SCRIPT.fullmatch(name)):
        started = words[words.index("--") + 1 :]
        return Unwrapped(started) if started else None
    return None


def _base_name(word: str) -> str:
    if word in _SHELL_VARIABLES:
        return "bash"
    return _ENDING.sub("", word.rsplit("/", 1)[-1])


_ENDING: Final = re.compile(r"\.(?:exe|cmd|bat)$")


@dataclass(frozen=True, slots=True)
class _ShellStart:
    operands: Words
    reads_text: bool
    """`-c`: the first operand is a command line."""
    reads_input: bool
    """`-s`: the operands are arguments for what comes on standard input."""
    errexit: bool
    pipefail: bool


def _shell_start(words: Words) -> _ShellStart | None:
    """How a shell is started; None if it only checks the syntax."""
    errexit = pipefail = reads_text = reads_input = False
    position = 1
    while position < len(words):
        word = words[position]
        if word in _SHELL_VALUED:
            pipefail |= words[position + 1 : position + 2] == ("pipefail",)
            position += 2
            continue
        if len(word) < 2 or word[0] not in "-+" or word == "--":
            break
        if not word.startswith("--"):
            if "n" in word[1:]:
                return None
            errexit |= "e" in word[1:]
            reads_text |= "c" in word[1:]
            reads_input |= "s" in word[1:]
            if word.endswith("o"):
                pipefail |= words[position + 1 : position + 2] == ("pipefail",)
                position += 1
        position += 1
    rest = words[position:]
    if rest[:1] == ("--",):
        rest = rest[1:]
    return _ShellStart(rest, reads_text, reads_input, errexit, pipefail)


def _unwrap_shell(words: Words, fed: str | None) -> Unwrapped | None:
    """`bash -lc TEXT`, `bash -s <<EOF`, `bash <<< TEXT`; a script is left to the rules."""
    start = _shell_start(words)
    if start is None:
        return None
    operands = start.operands
    if fed is not None and (start.reads_input or (not start.reads_text and operands in _INPUT)):
        return Unwrapped(Text((fed,), None, (), start.errexit, start.pipefail))
    if not operands:
        return None
    if start.reads_text:
        text, arguments = operands[0], operands[2:]
        return Unwrapped(Text((text,), fed, arguments, start.errexit, start.pipefail))
    return _unwrap_by_custom(operands)


_INPUT: Final[tuple[Words, ...]] = ((), ("-",), ("/dev/stdin",))
"""Operands with which a shell reads its standard input."""


def script_of(words: Words) -> str | None:
    """The path of the script that `words` runs: `sh run.sh`, `. ./run.sh`, `./run.sh`."""
    if _base_name(words[0]) in SHELLS:
        start = _shell_start(words)
        operands = () if start is None or start.reads_text else start.operands
        return operands[0] if operands else None
    if words[0] in SOURCING:
        return words[1] if len(words) > 1 else None
    return words[0] if "/" in words[0] else None


def _unwrap_find(words: Words) -> Unwrapped | None:
    found = _unwrap_after(words, _FIND_EXEC)
    if found is None or not isinstance(found.started, tuple):
        return None
    started = found.started
    for end, word in enumerate(started):
        if word == ";" or (word == "+" and started[end - 1] == "{}"):
            return Unwrapped(started[:end], swallows=word == ";") if end else None
    return found


def _unwrap_after(words: Words, options: frozenset[str]) -> Unwrapped | None:
    for i, word in enumerate(words):
        if word in options and i + 1 < len(words):
            return Unwrapped(words[i + 1 :])
    return None


def _unwrap(wrapper: Wrapper, words: Words, fed: str | None) -> Unwrapped | None:
    if wrapper.separator:
        if "--" not in words[1:]:
            return _option_text(wrapper, words, 1, len(words))
        started = words[words.index("--") + 1 :]
        return Unwrapped(started, wrapper.swallows) if started else None
    position, own = 1, 0
    program: Words = ()
    swallows = wrapper.swallows
    while position < len(words):
        word = words[position]
        if word == "--":
            position += 1
            if own >= wrapper.operands and not wrapper.verbs:
                break
            continue
        name, has_value, value = word.partition("=")
        if word in wrapper.words_options:
            return _start(wrapper, words[position + 1 :], swallows, None, by_option=True)
        if word[:1] == "-" and len(word) > 1:
            if name in wrapper.idle:
                return None
            spliced = _spliced(wrapper, words, position)
            if spliced is not None:
                words = spliced
                continue
            text = _text_of_option(wrapper, words, position)
            swallows = _still_swallows(wrapper, words, swallows)
            if text is not None:
                return Unwrapped(Text((text,)), swallows)
            if name == wrapper.program_option:
                program = (value,) if has_value else words[position + 1 : position + 2]
                splits = wrapper.splits_program
                program = _split("".join(program)) if splits else tuple(filter(None, program))
            swallows |= name in wrapper.swallows_with
            position += 1 + (not has_value and _values(wrapper, name))
        elif wrapper.assigns and _ASSIGNMENT.match(word):
            position += 1
        elif own < wrapper.operands:
            own += 1
            position += 1
        elif word in wrapper.leading:
            position += 1
        elif wrapper.verbs:
            inner = wrapper.verbs.get(word)
            if inner is not None:
                return _unwrap(inner, words[position:], fed)
            installed = wrapper.starts_installed and word in WRAPPERS
            return Unwrapped(words[position:], swallows) if installed else None
        else:
            break
    return _start(wrapper, program + words[position:], swallows, fed)


def _values(wrapper: Wrapper, option: str) -> int:
    """How many words behind `option` are its values."""
    return 2 if option in wrapper.paired else int(option in wrapper.valued)


def _spliced(wrapper: Wrapper, words: Words, position: int) -> Words | None:
    """`env -i -S 'A=1 pytest' tests` → `env -i A=1 pytest tests`; also `-Spytest`, `-vS pytest`."""
    if not wrapper.splices:
        return None
    word, behind = words[position], words[position + 1 :]
    name, has_value, value = word.partition("=")
    if has_value and name in wrapper.splices:
        inserted = value
    elif word[:2] in wrapper.splices and len(word) > 2:
        inserted = word[2:]
    elif behind and (word in wrapper.splices or f"-{word[-1]}" in wrapper.splices):
        inserted, behind = behind[0], behind[1:]
    else:
        return None
    return (*words[:position], *_split(inserted), *behind)


def _split(text: str) -> Words:
    """The words of `text`; its quotes count if they are closed."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def _start(
    wrapper: Wrapper,
    started: Words,
    swallows: bool,
    fed: str | None,
    *,
    by_option: bool = False,
) -> Unwrapped | None:
    match wrapper.takes:
        case Takes.OPTION if not by_option:
            return None
        case Takes.WORDS | Takes.OPTION:
            if not started:
                return None
            extra = (ARGUMENTS_OF_RUN,) if wrapper.appends else ()
            return Unwrapped(started + extra, swallows)
        case Takes.TEXT:
            if started[:1] == (":::",):  # each word behind it is a command
                return Unwrapped(Text(started[1:]), swallows)
            if started:
                line = " ".join((*started, ARGUMENTS_OF_RUN) if wrapper.appends else started)
                return Unwrapped(Text((line,), fed), swallows)
            return None if fed is None else Unwrapped(Text((fed,)), swallows)
        case Takes.TEXTS:
            return Unwrapped(Text(tuple(started)), swallows) if started else None


def _option_text(wrapper: Wrapper, words: Words, start: int, end: int) -> Unwrapped | None:
    for position in range(start, end):
        text = _text_of_option(wrapper, words, position)
        if text is not None:
            return Unwrapped(Text((text,)), wrapper.swallows)
    return None


def _text_of_option(wrapper: Wrapper, words: Words, position: int) -> str | None:
    """The command line in `-c TEXT`, `--run=TEXT` or the cluster `-qec TEXT`."""
    word = words[position]
    name, has_value, value = word.partition("=")
    if name in wrapper.text_options and has_value:
        return value
    is_cluster = word[:1] == "-" and word[1:2] != "-" and f"-{word[-1]}" in wrapper.text_options
    if (word in wrapper.text_options or is_cluster) and position + 1 < len(words):
        return words[position + 1]
    return None


def _still_swallows(wrapper: Wrapper, words: Words, swallows: bool) -> bool:
    """`script -qec` tells the status, in a cluster too."""
    for word in words[1:]:
        if word in wrapper.tells_with:
            return False
        is_cluster = word[:1] == "-" and word[1:2] != "-"
        if is_cluster and any(f"-{letter}" in wrapper.tells_with for letter in word[1:]):
            return False
    return swallows
