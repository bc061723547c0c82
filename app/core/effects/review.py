"""What a review posts: comments where GitHub takes them, everything else in its summary.

GitHub refuses a review as a whole for one comment on a line that the change does not show.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from app.core.agents.agent import AgentId, EffectName
from app.core.agents.events import LineComment
from app.core.effects.wanted import marker
from app.core.text.harmless import defused
from app.core.text.markdown import MOST_TEXT, cut, in_one_line, quoted
from app.core.text.redact import redact

MOST_COMMENTS: Final = 50
MOST_COMMENT_CHARACTERS: Final = 4_000
MOST_SUMMARY_CHARACTERS: Final = 20_000
MOST_PATH_CHARACTERS: Final = 500
MOST_UNPOSTED_CHARACTERS: Final = 40_000
"""Of a review that stands in a comment instead, which has to hold more than that."""

Lines = Mapping[str, AbstractSet[int]]
"""By path: the lines that can be commented on."""


@dataclass(frozen=True, slots=True)
class Review:
    """One review as it is posted."""

    body: str
    comments: tuple[LineComment, ...]


def composed(agent: AgentId, summary: str, comments: Sequence[LineComment], lines: Lines) -> Review:
    """The review of an agent, bounded, quoted and redacted; no comment is lost."""
    on_lines = [each for each in comments if each.line in lines.get(each.path, frozenset())]
    elsewhere = [each for each in comments if each not in on_lines]
    parts = [
        marker(agent, EffectName.REVIEW),
        f"[squadron:{agent.role}] Review",
        quoted(redact(summary, most=MOST_SUMMARY_CHARACTERS)),
        _listed(elsewhere),
        "<sub>A comment, no approval: people decide.</sub>",
    ]
    return Review(
        cut("\n\n".join(part for part in parts if part), MOST_TEXT),
        tuple(
            LineComment(each.path, each.line, _said(each.body)) for each in on_lines[:MOST_COMMENTS]
        ),
    )


def unposted(summary: str, comments: Sequence[LineComment]) -> str:
    """The text of a review that GitHub does not take, bounded, quoted and redacted."""
    parts = [quoted(redact(summary, most=MOST_SUMMARY_CHARACTERS)), _items(comments)]
    return cut("\n\n".join(part for part in parts if part), MOST_UNPOSTED_CHARACTERS)


def _listed(comments: Sequence[LineComment]) -> str:
    """Comments that GitHub has no line for."""
    items = _items(comments)
    return f"On lines that the change does not show:\n\n{items}" if items else ""


def _items(comments: Sequence[LineComment]) -> str:
    return "\n".join(
        f"- `{in_one_line(each.path).replace('`', chr(39))}`, line {each.line}:"
        f" {in_one_line(_said(each.body))}"
        for each in comments[:MOST_COMMENTS]
    )


def _said(body: str) -> str:
    return defused(cut(redact(body), MOST_COMMENT_CHARACTERS))
