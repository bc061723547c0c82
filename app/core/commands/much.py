"""Raises by so much that somebody may have typed a nought too many."""

from collections.abc import Sequence
from typing import Final

from app.core.commands.grammar import Raise, Retry
from app.core.limits import LimitInfo, Limits

MOST_TIMES: Final = 10
"""A raise by more than so many times a limit is asked about, once."""


def much_raised(command: Raise | Retry, limits: Limits) -> Sequence[tuple[LimitInfo, float, float]]:
    """The raises that are to be asked about: the limit, how much is added, and the limit's own
    amount."""
    raises = command.raises if isinstance(command, Retry) else [(command.limit, command.amount)]
    return [
        (limits.info(limit), amount, own)
        for limit, amount in raises
        if (own := limits.maximum(limit)) and amount > MOST_TIMES * own
    ]
