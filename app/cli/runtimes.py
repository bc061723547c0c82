"""What this machine lacks for the runtimes that are extras."""

from collections.abc import Mapping
from pathlib import Path

from app.adapters.runtimes import claude, copilot
from app.core.rules.plan import RuntimeName


def lacks(copilot_cli: Path | None) -> Mapping[RuntimeName, str]:
    """By runtime, what is not there and which command installs it; empty: all is there.

    `embedded` is not among them: it always is. `copilot_cli` is the operator's setting.
    """
    return {"copilot": copilot.missing(copilot_cli) or "", "claude": claude.missing()}
