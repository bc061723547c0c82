"""The score by file, and the survivors in the form of `survivors.toml`."""

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.mutation.judge import Fate, Result

Key = tuple[str, str, str]
"""File, function, change."""

_NOTICED: Final = (Fate.KILLED, Fate.HUNG)
LEFT: Final = (Fate.SURVIVED, Fate.UNREACHED)
"""What no test noticed."""


def reasons(file: Path) -> dict[Key, str]:
    """Why a survivor may live. Raises `KeyError` for an entry without all of its parts."""
    entries = tomllib.loads(file.read_text()).get("survivor", [])
    return {(each["file"], each["function"], each["change"]): each["reason"] for each in entries}


def written(results: Sequence[Result], known: Mapping[Key, str]) -> str:
    """A line for each file, and one for all."""
    files: dict[str, Counter[Fate]] = {}
    for result in results:
        files.setdefault(result.mutant.file, Counter())[result.fate] += 1
    everything = sum(files.values(), Counter())
    lines = [
        f"{'file':42} {'killed':>7} {'hung':>5} {'survived':>9} {'unreached':>10} {'score':>7}"
    ]
    for file, fates in [*sorted(files.items()), ("all", everything)]:
        lines.append(
            f"{file:42} {fates[Fate.KILLED]:7} {fates[Fate.HUNG]:5} {fates[Fate.SURVIVED]:9}"
            f" {fates[Fate.UNREACHED]:10} {_score(fates):>7}"
        )
    explained = sum(each.fate in LEFT and each.mutant.key in known for each in results)
    lines.append(f"survivors with a reason: {explained}")
    return "\n".join(lines)


def share(results: Sequence[Result]) -> float:
    """The part of the faults that was noticed; of none, all."""
    left = sum(each.fate in LEFT for each in results)
    return 1 - left / len(results) if results else 1.0


def unexplained_words(results: Sequence[Result], known: Mapping[Key, str]) -> str:
    """Entries for `survivors.toml` that still need a reason."""
    left = sorted(
        (each for each in results if each.fate in LEFT and each.mutant.key not in known),
        key=lambda each: (each.mutant.file, each.mutant.line, each.mutant.change),
    )
    return "\n\n".join(_entry(each) for each in left)


def _entry(result: Result) -> str:
    mutant = result.mutant
    return (
        f"[[survivor]] # line {mutant.line}, {result.fate}\n"
        f"file = {_quoted(mutant.file)}\n"
        f"function = {_quoted(mutant.function)}\n"
        f"change = {_quoted(mutant.change)}\n"
        'reason = ""'
    )


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text else json.dumps(text, ensure_ascii=False)


def _score(fates: Mapping[Fate, int]) -> str:
    noticed, left = (sum(fates.get(fate, 0) for fate in some) for some in (_NOTICED, LEFT))
    return f"{100 * noticed / (noticed + left):.1f} %" if noticed + left else "-"
