"""The bounds of a model proxy: nothing waits or grows without one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Times in seconds, sizes in bytes."""

    gate_seconds: float = 20.0
    """How long the gate may take to answer; then the answer is a denial."""
    connect_seconds: float = 10.0
    first_byte_seconds: float = 300.0
    """From a request that was sent to the status of its answer: an answer that is not streamed
    is thought out before."""
    idle_seconds: float = 120.0
    """Between two pieces of an answer, and of a request from the CLI."""
    total_seconds: float = 900.0
    """One request, from its first byte to the last of its answer."""
    drain_seconds: float = 15.0
    """How long an answer is still read, to be counted, when the CLI has hung up."""
    slot_seconds: float = 60.0
    """How long a request waits for others to end."""
    most_at_once: int = 8
    """Requests to the model; more wait."""
    most_connections: int = 64
    """From the CLI; one more is answered 503."""
    most_request_bytes: int = 32_000_000
    most_answer_bytes: int = 32_000_000
    most_error_bytes: int = 64_000
    """Of what the model's endpoint says to a request that it refuses."""
    most_failures: int = 5
    """Of the model's endpoint in a row; then nothing is sent on any more in this turn."""
    longest_retry_seconds: int = 60
    """The longest that the endpoint may make the CLI wait before it tries again."""
