"""Markdown of issues and comments as safe HTML: no scripts, no pictures, no hidden comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

_TAGS = "details|details open|summary|br|br/|hr|hr/|sub|sup|kbd|b|i|em|strong|code|p"
_ALLOWED = re.compile(rf"</?(?:{_TAGS})\s*>", re.IGNORECASE)
"""Without any attribute that could carry something else."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REFERENCE = re.compile(r"(?<![\w/&#])#(\d+)\b")
_TASK = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


def to_html(text: str | None, repository_url: str) -> Markup:
    """The text as HTML; `#12` becomes a link below `repository_url`."""
    return Markup(_parser().render(text or "", {"repository_url": repository_url}))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "breaks": True})
    parser.enable(["table", "strikethrough"]).disable("image")
    parser.add_render_rule("html_block", _html)
    parser.add_render_rule("html_inline", _html)
    parser.add_render_rule("text", _text)
    return parser


def _html(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """Drop comments, keep a few harmless tags, show everything else as the text that it is."""
    content = _COMMENT.sub("", tokens[index].content)
    kept, position = [], 0
    for match in _ALLOWED.finditer(content):
        kept += [escape(content[position : match.start()]), match[0]]
        position = match.end()
    return "".join([*kept, escape(content[position:])])


def _text(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    text = tokens[index].content
    if index == 0:
        text = _TASK.get(text[:4], text[:4]) + text[4:]
    text = escape(text)
    depth = sum(token.nesting for token in tokens[:index] if token.type.startswith("link_"))
    if depth:
        return text
    return _REFERENCE.sub(rf'<a href="{escape(env["repository_url"])}/issues/\1">#\1</a>', text)
