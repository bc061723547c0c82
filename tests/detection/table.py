"""The table of tool calls with their answers: `commands.jsonl`, one JSON object a line.

`expect` is true, false or "policy" (reasonable people differ: any answer is right).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("commands.jsonl")


@dataclass(frozen=True, slots=True)
class Row:
    tool: str
    args: dict[str, Any]
    expect: bool | str
    group: str


def rows() -> list[Row]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    read = [json.loads(line) for line in lines]
    return [Row(row["tool"], row["args"], row["expect"], row["lang"]) for row in read]


def lines_of_text(expect: bool) -> list[str]:
    """The one-line command strings of shell tools with this answer."""
    return [
        row.args["command"]
        for row in rows()
        if row.expect is expect
        and row.group != "tool"
        and isinstance(row.args.get("command"), str)
        and "\n" not in row.args["command"]
    ]
