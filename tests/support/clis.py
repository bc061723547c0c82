"""The real CLIs that agents may be run by, where they are installed."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.adapters.runtimes import claude, copilot

_SET = os.environ.get("SQUADRON_TEST_COPILOT_CLI")
COPILOT_CLI = Path(_SET) if _SET else None
"""Where it is, if not on the `PATH`."""


def _needs(missing: str | None) -> pytest.MarkDecorator:
    return pytest.mark.skipif(bool(missing), reason=missing or "")


NEEDS_CLAUDE = _needs(claude.missing())
NEEDS_COPILOT = _needs(copilot.missing(COPILOT_CLI))
NEEDS_COPILOT_SDK = _needs(
    "" if find_spec("copilot") is not None else "needs pip install 'squadron[copilot]'"
)
RUNTIMES = (
    "embedded",
    pytest.param("copilot", marks=(NEEDS_COPILOT, pytest.mark.full)),
    pytest.param("claude", marks=(NEEDS_CLAUDE, pytest.mark.full)),
)
"""All of them, for `parametrize`."""
