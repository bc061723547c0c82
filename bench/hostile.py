"""What do 65,536 characters that somebody chose cost whoever parses them? Nobody else may wait for
it: what is parsed on the loop that answers webhooks takes at most 50 ms, and what takes longer is
parsed aside, where the loop goes on turning.

Each text repeats a piece that begins something and does not end it, or lies between two that do.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from app.adapters.markdown import visible_lines
from app.adapters.shell import parse
from app.config.agentfile import read_agent_file
from app.config.operator import OperatorConfig
from app.config.repository import read_repository
from app.core.agents.loops import normalised
from app.core.commands.grammar import commands, may_hold_commands
from app.core.text import markdown, visible
from app.core.text.redact import redact

CHARACTERS: Final = 65_536
AIM_MS: Final = 50
TURN_SECONDS: Final = 0.001
WORST: Final = 8
"""So many texts of each parser, those that take longest, are parsed aside once more."""
SHOWN_CHARACTERS: Final = 40
PIECES: Final = (
    *"\t\n\ra1é[](){}!`*_>|&\\\"'$;~#-<",
    *(
        "\r\n",
        "\N{ZERO WIDTH SPACE}",
        "``` ",
        "~~~",
        "**",
        "__",
        "- ",
        "1. ",
        "> ",
        "---\n",
        "&amp;",
    ),
    *("\\\n", "${", "$(", "((", "&&", "@a", "[a](", "[a]: ", "[a][", "![a](", "![", "<a", "<a b="),
    *('<a b="', "</", "<!--", "-->", "<!", "<?", "<![CDATA[", "<pre>", "<script", "http://", "eyJ"),
    *(
        "ghs_",
        "sk-ant-",
        "-----BEGIN ",
        "a.",
        "a/",
        "a=",
        "a:",
        ": ",
        "a: b\n",
        "a: {",
        "a: [",
        "*a",
    ),
    *(
        "&a ",
        "? ",
        "!!",
        "# a\n",
        "|| ",
        "if ",
        "case a in ",
        "for i in ",
        "while ",
        "<<A\n",
        "<<<",
    ),
    *(
        ">(",
        "time ",
        "/squadron ",
        "/squadron raise ",
        "\n/squadron stop\n",
        "0x",
        "%41",
        "\\u0041",
    ),
    *(
        "Bearer ",
        "password=",
        "[^a]",
        "[^a]: ",
        "*a**",
        "a*b_",
        "**a*",
        "![](",
        "<a@b",
        "\n\n",
        "\n> ",
    ),
)
ENDS: Final = (("", ""), ("[", "](a)"), ("<", ">"), ("`", "`"), ("<!--", "-->"), ('"', '"'))


def on_the_loop() -> Mapping[str, Callable[[str], object]]:
    """What is parsed where webhooks are answered."""
    return {
        "commands in a comment": lambda text: commands(text.splitlines()),
        "may hold commands": may_hold_commands,
        "quoted": markdown.quoted,
        "fenced": markdown.fenced,
        "in one line": markdown.in_one_line,
        "redacted": redact,
        "normalised output": normalised,
    }


def aside() -> Mapping[str, Callable[[str], object]]:
    """What is parsed in a thread."""
    return {
        "a prompt's plain text": visible.plain,
        "a prompt's Markdown": visible.markdown,
        "lines that GitHub shows": visible_lines.__wrapped__,
        "a shell command": partial(parse, pipefail=True),
        "an agent file": read_agent_file,
        "a configuration": lambda t: read_repository({"config.yaml": t}, OperatorConfig()),
    }


def texts() -> Mapping[str, str]:
    """By what they repeat."""
    half = CHARACTERS // 2
    made = {"[ then ]": "[" * half + "]" * half}
    for piece in PIECES:
        for before, after in ENDS:
            room = CHARACTERS - len(before) - len(after)
            what = f"{before}{piece!r}, …{after}"[:SHOWN_CHARACTERS]
            made[what] = f"{before}{(piece * (room // len(piece) + 1))[:room]}{after}"
    return made


def main() -> None:
    """Print the worst text of each parser."""
    every = texts()
    for name, parser in on_the_loop().items():
        cost, what = max((_milliseconds(parser, text), what) for what, text in every.items())
        print(f"hostile: {name}: {cost:.1f} ms at most, {what} (aim: {AIM_MS})", flush=True)
    for name, parser in aside().items():
        costs = {what: _milliseconds(parser, text) for what, text in every.items()}
        worst = sorted(costs, key=lambda what: -costs[what])[:WORST]
        stalls = {what: asyncio.run(_longest_turn_ms(parser, every[what])) for what in worst}
        what = max(stalls, key=lambda each: stalls[each])
        print(
            f"hostile: {name}: {costs[worst[0]]:.0f} ms aside at most, {worst[0]}; the loop waits"
            f" {stalls[what]:.1f} ms at most, {what} (aim: {AIM_MS})",
            flush=True,
        )


def _milliseconds(parser: Callable[[str], object], text: str) -> float:
    began = time.perf_counter()
    parser(text)
    return (time.perf_counter() - began) * 1000


async def _longest_turn_ms(parser: Callable[[str], object], text: str) -> float:
    """How long the loop has stood still while the text was parsed aside."""
    parsing = asyncio.create_task(asyncio.to_thread(parser, text))
    longest, before = 0.0, time.perf_counter()
    while not parsing.done():
        await asyncio.sleep(TURN_SECONDS)
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
    await parsing
    return longest * 1000
