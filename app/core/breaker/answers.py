"""How long the model's next answer may be: as long as what is left of money and tokens goes.

An answer is bounded before it is asked for, so that the estimate of what it may cost is what is
left, and no agent is stopped for an answer that nobody wanted to be so long.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.core.agents.counters import PLACES, Counters, amounts, stops_at
from app.core.agents.events import Phase
from app.core.limits import LimitName, Limits
from app.core.money import Price, whole_nanousd

LEAST_ANSWER_TOKENS: Final = 512
"""A shorter answer is not worth its question: one call of a tool with a few lines has room."""
USUAL_ANSWER_TOKENS: Final = 8_192
"""Where nobody bounds the answer: for the estimate of its cost."""

COUNTED_PHASES: Final = {
    LimitName.MAX_COST_USD: tuple(Phase),
    LimitName.MAX_PLANNING_COST_USD: (Phase.PLANNING,),
    LimitName.MAX_EXECUTION_COST_USD: (Phase.EXECUTION,),
}
"""Limit on money → the phases whose model calls count towards it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be sent to the model."""

    phase: Phase
    input_tokens: int
    price: Price | None
    """None: nobody knows it."""
    most_tokens: int | None
    """Of the answer, by the role and by whoever asks; None: nobody has bounded it."""
    least_tokens: int = LEAST_ANSWER_TOKENS
    """Of the answer: with less room there is no use in asking."""

    def estimate_nanousd(self, answer_tokens: int) -> int | None:
        """What it costs with an answer of this size; None where the price is unknown."""
        if self.price is None:
            return None
        return self.price.cost_nanousd(self.input_tokens, answer_tokens)


def answer_tokens(
    question: Question, counters: Counters, limits: Limits, at: datetime
) -> int | None:
    """The most tokens that the answer may have: what was asked for, or as much of it as is left.

    Never less than is of use: where that is too much, the breaker stops the agent. None: nobody
    bounds the answer, and the usual one can be paid for.
    """
    wanted = question.most_tokens or USUAL_ANSWER_TOKENS
    rooms = [*_paid_for(question, counters, limits, at), *_tokens_left(question, counters, limits)]
    room = min(rooms, default=wanted)
    if room >= wanted:
        return question.most_tokens
    return max(room, min(question.least_tokens, wanted))


def _paid_for(question: Question, counters: Counters, limits: Limits, at: datetime) -> list[int]:
    """Tokens of output that each limit on money still pays for, after the input."""
    price = question.price
    if price is None:
        return []
    found = []
    for name, phases in COUNTED_PHASES.items():
        bound = stops_at(name, limits, counters)
        if bound is None or question.phase not in phases:
            continue
        open_calls = (call for call in counters.open_calls if call.phase in phases)
        spent = int(amounts(counters, at)[PLACES[name]])
        taken = spent + sum(one.estimate_nanousd for one in open_calls)
        tokens = price.output_tokens(whole_nanousd(bound) - taken, question.input_tokens)
        if tokens is not None:
            found.append(tokens)
    return found


def _tokens_left(question: Question, counters: Counters, limits: Limits) -> list[int]:
    bound = stops_at(LimitName.MAX_TOKENS, limits, counters)
    return [] if bound is None else [int(bound) - counters.tokens - question.input_tokens]
