"""Scripts that a command line writes itself and then starts: their text is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from app.adapters.shell.budget import Budget
from app.adapters.shell.nodes import members_of, writes_a_file
from app.adapters.shell.source_code import CODE_OPTIONS
from app.adapters.shell.texts import commands_printed, writes_its_input
from app.adapters.shell.unwrap import SOURCING, Text, Unwrapped, script_of
from app.adapters.shell.words import WordReader
from app.testruns.judge import judge, program_name
from app.testruns.names import base_name
from app.testruns.products import products_of
from app.testruns.shell_line import Words

MAX_SCRIPTS: Final = 16
_CHANGES_ITS_READER: Final = re.compile(r"=|\breturn\b")


@dataclass(slots=True)
class WrittenScripts:
    """The files that a line has written so far; nested shells see the same ones."""

    budget: Budget
    texts: dict[str, str] = field(default_factory=dict)
    """By path, as the line writes it."""
    products: set[str] = field(default_factory=set)
    """Paths of the programs that the line has built so far."""

    def redirected(self, node: Node, fed: str | None, words: WordReader) -> None:
        """`cat > run.sh <<EOF`, `echo … >> run.sh`; `fed` is the text of the here-document."""
        body = node.child_by_field_name("body")
        for redirect in _writing(node):
            target = redirect.child_by_field_name("destination")
            if body is None or target is None:
                continue
            last = members_of(body)[-1][1]
            reads = fed is not None and writes_its_input(last)
            text = fed if reads else commands_printed(last, words.arguments)
            appends = any(child.type == ">>" for child in redirect.children)
            self._write(words.text(target), text, appends=appends)

    def _write(self, path: str, text: str | None, *, appends: bool) -> None:
        path = path.removeprefix("./")
        before = self.texts.pop(path, "")
        if text is not None and len(self.texts) < MAX_SCRIPTS:
            self.texts[path] = f"{before if appends else ''}{text}\n"

    def started(self, words: Words, fed: str | None) -> Unwrapped | None:
        """The commands of a written script that `words` starts; `tee run.sh <<EOF` writes one."""
        if base_name(words[0]) == "tee":
            for file in words[1:]:
                self._write(file, fed, appends="-a" in words)
            return None
        self.products |= products_of(words, self.texts)
        path = script_of(words) if self.texts else None
        text = self._text_of(path) if path is not None else None
        if text is None or not _is_for_a_shell(text):
            return None
        self.budget.scripts -= 1
        if self.budget.scripts < 0:
            self.budget.complete = False
            return None
        is_sourced = words[0] in SOURCING
        if is_sourced and _CHANGES_ITS_READER.search(text):  # which was read without knowing it
            self.budget.complete = False
        return Unwrapped(Text((text,), same_shell=is_sourced))

    def _text_of(self, path: str) -> str | None:
        """Of the file that ends as `path` does, or the other way round: the line may use `cd`."""
        path = path.removeprefix("./")
        for written, text in self.texts.items():
            if f"/{written}".endswith(f"/{path}") or path.endswith(f"/{written}"):
                return text
        return None

    def as_source(self, words: Words) -> Words:
        """`python run_tests.py ARGS` as `python -c TEXT ARGS`, where the line has written that
        file: what it does decides, not what it is called."""
        option = CODE_OPTIONS.get(program_name(words[0])) if self.texts else None
        if option is None or option in words or judge(words) is None:
            return words
        for position, word in enumerate(words[1:], 1):
            text = None if word.startswith("-") else self._text_of(word)
            if text is not None and judge(words, frozenset({word})) is None:
                return (*words[:position], option, text, *words[position + 1 :])
        return words

    @property
    def made(self) -> frozenset[str]:
        """Paths of all that the line has written and built so far."""
        return frozenset(self.products.union(self.texts))


def _writing(node: Node) -> Iterator[Node]:
    for redirect in node.children_by_field_name("redirect"):
        if redirect.type == "heredoc_redirect":
            yield from filter(writes_a_file, redirect.children)
        elif writes_a_file(redirect):
            yield redirect


def _is_for_a_shell(text: str) -> bool:
    first = text.partition("\n")[0]
    return not first.startswith("#!") or first.rstrip().endswith("sh") or "sh " in first
