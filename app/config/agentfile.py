"""Agent files: frontmatter between two `---` lines, then the prompt."""

import re
from dataclasses import dataclass
from typing import Final

from app.config.schema import Frontmatter
from app.config.strict import read
from app.config.yamltree import Document, Mistake, Place, decode, parse, place_in

_FENCE = "---"


@dataclass(frozen=True, slots=True)
class AgentFile:
    """One role's definition: the keys of its frontmatter, where they stand, and its prompt."""

    frontmatter: Frontmatter
    document: Document
    prompt: str


def read_agent_file(content: str | bytes) -> AgentFile | tuple[Mistake, ...]:
    """The agent file, or every mistake in it. Frontmatter may be left out, the prompt may not."""
    text = decode(content)
    if isinstance(text, Mistake):
        return (text,)
    lines = _LINE_END.split(text)
    first = next((n for n, line in enumerate(lines) if line.strip()), 0)
    if lines[first].rstrip() != _FENCE:
        head, prompt, prompt_line = "", "\n".join(lines), 1
        if misplaced := _misplaced_head(prompt):
            return (misplaced,)
    else:
        below = range(first + 1, len(lines))
        end = next((n for n in below if lines[n].rstrip() == _FENCE), None)
        if end is None:
            return (Mistake((), Place(first + 1, 1), "the frontmatter has no closing --- line"),)
        # What is above becomes empty lines, so the places are those of the file.
        head = "\n".join([""] * (first + 1) + lines[first + 1 : end])
        prompt, prompt_line = "\n".join(lines[end + 1 :]), end + 1
    document = parse(head)
    frontmatter, mistakes = read(Frontmatter, document)
    if not prompt.strip():
        no_prompt = Mistake((), Place(prompt_line, 1), "the agent file has no prompt")
        mistakes = (*mistakes, no_prompt)
    if frontmatter is None or mistakes:
        return mistakes
    return AgentFile(frontmatter, document, prompt.strip())


def _misplaced_head(text: str) -> Mistake | None:
    """What was meant as frontmatter in a text that begins otherwise: its limits would be lost.

    That is anything like a fence, or a key, where the text begins; and a key right behind the
    first line below that is like a fence. A rule between paragraphs and quoted code are neither.
    """
    prose = _CODE.sub(lambda code: _VISIBLE.sub("x", code[0]), text)
    at = len(text) - len(_INVISIBLE.sub("", prose, count=1))
    if not _LIKE_A_FENCE.match(prose, at) and not _KEY.match(prose, at):
        below = _RULE.search(prose, at)
        if below is None or not _KEY.match(prose, below.end()):
            return None
        at = below.start()
    message = f"the frontmatter must begin with a line `{_FENCE}` at the very top"
    return Mistake((), place_in(text, at), message)


_LINE_END: Final = re.compile("\r\n|\r|\n")
_CODE: Final = re.compile(r"^ {0,3}(```|~~~).*?(^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_VISIBLE: Final = re.compile(r"\S")
_INVISIBLE: Final = re.compile(r"\A(\s|\ufeff|\u200b|<!--.*?-->)*", re.DOTALL)
_LIKE_A_FENCE: Final = re.compile(r"---|\+\+\+")
_RULE: Final = re.compile(r"^[ \t]*(---|\+\+\+).*\n", re.MULTILINE)
_KEY: Final = re.compile(rf"\s*({'|'.join(Frontmatter.model_fields)})[ \t]*:")
