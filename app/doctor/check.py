"""What a check finds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer."""

    name: str
    ok: bool
    message: str
    fix: str = ""
    """What to do about it; empty when nothing has to be done."""
