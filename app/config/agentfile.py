"""Agent files: frontmatter between two `---` lines, then the prompt."""

from dataclasses import dataclass

from app.config.schema import Frontmatter
from app.config.strict import read
from app.config.yamltree import START, Document, Mistake, Place, decode, parse

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
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        head, prompt, prompt_line = "", text, 1
    else:
        end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
        if end is None:
            return (Mistake((), START, "the frontmatter has no closing --- line"),)
        # The opening fence becomes an empty line, so the places are those of the file.
        head, prompt = "\n".join(["", *lines[1:end]]), "\n".join(lines[end + 1 :])
        prompt_line = end + 1
    document = parse(head)
    frontmatter, mistakes = read(Frontmatter, document)
    if not prompt.strip():
        no_prompt = Mistake((), Place(prompt_line, 1), "the agent file has no prompt")
        mistakes = (*mistakes, no_prompt)
    if frontmatter is None or mistakes:
        return mistakes
    return AgentFile(frontmatter, document, prompt.strip())
