"""Options that several commands have."""

from enum import StrEnum
from typing import Annotated

import typer


class AgentsBy(StrEnum):
    """What lists of agents are sorted by: the latest comes last, and the highest."""

    CREATED = "created"
    CHANGED = "changed"
    LIMIT = "limit"
    COST = "cost"


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
LinesOfJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object a line and nothing else.")
]
AgentName = Annotated[
    str, typer.Argument(help="octo/demo#12/bug-fix/1, or octo/demo#12: the newest one there.")
]
