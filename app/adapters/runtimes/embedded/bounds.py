"""The bounds of a session: nothing waits or grows without one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

REQUEST_SECONDS = 300.0

Sleep = Callable[[float], Awaitable[None]]
"""Waits for so many seconds."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Times in seconds, sizes in characters or tokens."""

    gate_seconds: float = 20.0
    """How long the gate may take to answer; then the answer is a denial."""
    request_seconds: float = REQUEST_SECONDS
    """One request to the model, from the first byte to the last."""
    first_retry_seconds: float = 1.0
    """The wait before a failed request is tried again; doubled each time."""
    longest_retry_seconds: float = 5.0
    """Between two tries; who is asked to wait for longer gives its place to others."""
    most_retries: int = 2
    context_tokens: int | None = None
    """The model's context window; None: as known for the model, else 128,000."""
    compact_at: float = 0.8
    """The part of the context window at which the conversation is compacted."""
    most_fruitless_answers: int = 5
    """Answers in a row of which no tool call ran; then the turn ends."""
    most_text_characters: int = 8_000
    """The agent's last words, as a turn reports them."""
    most_results_characters: int = 60_000
    """All the tool results of one answer together; they share it evenly."""
    most_result_characters: int = 30_000
    """One tool result as the model reads it; what is longer is cut, and kept whole."""
    least_repeated_characters: int = 500
    """A result of more than this is not said twice."""
    most_kept_results: int = 100
    """Results that were cut; of more, the oldest are let go."""
    most_kept_bytes: int = 20_000_000
    """All kept results of a session together."""
