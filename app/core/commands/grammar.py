"""What people tell Squadron in comments: lines that begin with `/squadron`.

The lines are those of a comment as GitHub shows it: what stands in quotes, code, lists or hidden
comments is no command (`ports.VisibleLines`).
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from app.core.limits import CATALOGUE, HOLDS, TEST_RUNS, LimitName

PREFIX: Final = "/squadron"
MOST_COMMANDS: Final = 20
"""In one comment; more are a mistake, and are answered as one."""
MOST_SHOWN_CHARACTERS: Final = 100
"""Of a line that is quoted in an answer."""
USAGE: Final = {
    "/squadron raise LIMIT +AMOUNT [ROLE]": "grant a paused agent more of a limit",
    "/squadron resume [ROLE]": "let a paused agent go on: its limit's own amount once more",
    "/squadron stop [ROLE]": "take the work away; it is kept and pushed",
    "/squadron wake [ROLE]": "let a sleeping agent go on now",
    "/squadron retry [ROLE] [raise LIMIT +AMOUNT]": "start a fresh agent on the branch of one"
    " that has ended, with more of a limit if you say so",
    "/squadron status": "say what the agents here do and what they have used",
    "/squadron explain [ROLE]": "tell the story of an agent",
    "/squadron help": "show these commands",
}
"""Every command there is, as it is typed, and what it does."""

_VERBS: Final = tuple(usage.split()[1] for usage in USAGE)
_RAISE: Final = next(iter(USAGE))
_RETRY: Final = next(usage for usage in USAGE if usage.startswith("/squadron retry"))
RAISABLE: Final = tuple(name.value for name, info in CATALOGUE.items() if info.actions & HOLDS)
"""The limits at which an agent can wait for a human."""
_COMMAND: Final = re.compile(rf"(?ai:{PREFIX})(?:\s+(?P<rest>.*))?")
"""In capitals too, and in no other letters: `ſquadron` is somebody else's word."""
_AMOUNT: Final = re.compile(r"(?P<more>\+?)\$?(?P<number>[0-9]{1,12}(?:\.[0-9]{1,9})?)")


@dataclass(frozen=True, slots=True)
class Resume:
    """Let a paused agent go on: the limit that holds it grants its own amount once more."""

    who: str | None = None
    """Role or id of the agent; None: the one that is paused."""


@dataclass(frozen=True, slots=True)
class Raise:
    """Grant more of one limit; a paused agent that it held goes on."""

    limit: LimitName
    amount: float
    """How much more, in the limit's unit."""
    who: str | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Take the work away from an agent; it is kept."""

    who: str | None = None


@dataclass(frozen=True, slots=True)
class Wake:
    """Let a sleeping agent go on now."""

    who: str | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """Start a fresh agent where one has ended."""

    who: str | None = None
    raises: tuple[tuple[LimitName, float], ...] = ()
    """How much more of which limits it gets, in the limit's unit."""


@dataclass(frozen=True, slots=True)
class Explain:
    """Tell the story of an agent."""

    who: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """Tell how all agents of the issue are."""


@dataclass(frozen=True, slots=True)
class Help:
    """Tell which commands there are."""


ForOne = Raise | Resume | Stop | Wake | Retry | Explain
"""Commands that are meant for one agent."""
Command = ForOne | Status | Help

_FOR_ONE: Final[Mapping[str, type[Resume] | type[Stop] | type[Wake] | type[Explain]]] = {
    "resume": Resume,
    "stop": Stop,
    "wake": Wake,
    "explain": Explain,
}


@dataclass(frozen=True, slots=True)
class Misread:
    """A line that begins like a command and is none."""

    line: str
    expected: str
    """What would be understood, for people."""
    nearest: str = ""
    """The command that was probably meant; empty: none is near."""


def may_hold_commands(body: str) -> bool:
    """Whether a comment is worth being read closely. Cheap, and never wrong about a no."""
    return PREFIX in body.casefold()


def says_more(body: str) -> bool:
    """Whether a comment holds anything beside command lines."""
    return any(line.strip() and not _COMMAND.fullmatch(line.strip()) for line in body.splitlines())


def without_commands(body: str, visible_lines: Callable[[str], Sequence[str]]) -> str:
    """What somebody wrote without the lines that are commands, if there are any."""
    if not may_hold_commands(body) or not command_lines(visible_lines(body)):
        return body
    kept = (line for line in body.splitlines() if not _COMMAND.fullmatch(line.strip()))
    return "\n".join(kept).strip()


def command_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines of a comment that are commands, each in the one form in which equal ones are
    equal."""
    return tuple(" ".join(line.split()) for line in lines if _COMMAND.fullmatch(line.strip()))


def new_lines(
    lines: Iterable[str],
    before: Iterable[str],
    heard: Iterable[str],
    set_aside: Collection[Sequence[str]],
) -> tuple[str, ...]:
    """The command lines that are new beside those that stood there before an edit and those that
    were heard, in order; a line counts as often as it stands.

    Each of `set_aside` was new at once and was answered, and nothing of it was done, because one
    of its lines was wrong: all of it is new again as soon as the text is another one.
    """
    known = _counted(before)
    for account in set_aside:
        known -= _counted(account)
    known |= _counted(heard)
    new = []
    for line in lines:
        if known[line.casefold()] > 0:
            known[line.casefold()] -= 1
        else:
            new.append(line)
    return () if any(_counted(new) == _counted(each) for each in set_aside) else tuple(new)


def _counted(lines: Iterable[str]) -> Counter[str]:
    return Counter(line.casefold() for line in lines)


def commands(lines: Iterable[str]) -> tuple[Command | Misread, ...]:
    """The commands of a comment, in order."""
    found = [match["rest"] or "" for line in lines if (match := _COMMAND.fullmatch(line.strip()))]
    if len(found) > MOST_COMMANDS:
        return (Misread("", f"at most {MOST_COMMANDS} commands in one comment"),)
    return tuple(_read(rest) for rest in found)


def limit_named(name: str) -> LimitName:
    """The limit of that name. Raises `ValueError`, for people, with the nearest known name."""
    try:
        return LimitName(_in_small_letters(name))
    except ValueError:
        name = name.encode("utf-8", "backslashreplace").decode()  # JSON can hold half a character
        near = get_close_matches(name.casefold(), RAISABLE)
        hint = f"the limit `{near[0]}`" if near else "a limit: one of " + ", ".join(RAISABLE)
        raise ValueError(f"{hint}, not `{name[:MOST_SHOWN_CHARACTERS]}`") from None


def _in_small_letters(word: str) -> str:
    """Of a word of ours: letters that only look like these, or fold to them, are others."""
    return word.lower() if word.isascii() else word


def _read(rest: str) -> Command | Misread:
    verb, *words = rest.split() or [""]
    match _in_small_letters(verb):
        case "raise":
            return _read_raise(rest, words, _RAISE)
        case "retry":
            return _read_retry(rest, words)
        case "status" if not words:
            return Status()
        case "help" if not words:
            return Help()
        case name if name in _FOR_ONE and len(words) <= 1:
            return _FOR_ONE[name](words[0] if words else None)
        case name:
            near = [name] if name in _VERBS else get_close_matches(name, _VERBS, n=1)
            of_it = [usage for usage in USAGE if usage.split()[1] in near] or USAGE
            expected = "one of " * (len(of_it) > 1) + ", ".join(map(_code, of_it))
            return _misread(rest, expected, "".join(near) if name not in near else "")


def _read_retry(rest: str, words: Sequence[str]) -> Retry | Misread:
    """`retry [ROLE] [raise LIMIT +AMOUNT]`, the last part as often as there are limits."""
    first, *parts = _parted(words)
    if len(first) > 1:
        return _misread(rest, _code(_RETRY))
    raises = []
    for part in parts:
        read = _read_raise(rest, part, _RETRY)
        if isinstance(read, Misread):
            return read
        if read.who is not None:
            return _misread(rest, _code(_RETRY))
        raises.append((read.limit, read.amount))
    return Retry(first[0] if first else None, tuple(raises))


def _parted(words: Sequence[str]) -> list[list[str]]:
    """What stands before the first `raise`, and then what follows each."""
    parts: list[list[str]] = [[]]
    for word in words:
        if _in_small_letters(word) == "raise":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _read_raise(rest: str, words: Sequence[str], usage: str) -> Raise | Misread:
    if len(words) < 2:
        return _misread(rest, _code(usage))
    try:
        limit = limit_named(words[0])
    except ValueError as error:
        return _misread(rest, str(error))
    amount = _AMOUNT.fullmatch(words[1])
    if amount is None:
        return _misread(rest, "an amount above 0, as in `+100` or, of money, `+2.50`")
    if not amount["more"]:
        return _misread(rest, _two_forms(rest, words[1], usage))
    units = CATALOGUE[limit].unit.casefold().split()
    if limit is LimitName.MAX_ITERATIONS:
        units += TEST_RUNS.split("_")
    who = [word for word in words[2:] if word.casefold() not in units]
    if len(who) > 1:
        return _misread(rest, _code(usage))
    return Raise(limit, float(amount["number"]), who[0] if who else None)


def _two_forms(rest: str, amount: str, usage: str) -> str:
    """What an amount without `+` may mean: so much more, or so much in all, which nobody grants."""
    line = f"{PREFIX} {rest}".replace(f" {amount}", f" +{amount}", 1)[:MOST_SHOWN_CHARACTERS]
    plain, own = "/squadron resume", "the limit's own amount once more"
    if usage == _RETRY:
        plain, own = "/squadron retry", "nothing to its limits"
    return f"{_code(line)}, which adds {amount}, or {_code(plain)}, which adds {own}"


def _code(usage: str) -> str:
    return f"`{usage}`"


def _misread(rest: str, expected: str, nearest: str = "") -> Misread:
    line = f"{PREFIX} {rest}".strip()
    return Misread(line[:MOST_SHOWN_CHARACTERS], expected, nearest)
