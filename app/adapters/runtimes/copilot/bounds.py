"""The bounds of a session with the Copilot CLI: nothing waits without one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Times in seconds, sizes in characters."""

    gate_seconds: float = 20.0
    """How long the gate may take to answer; then the answer is a denial."""
    start_seconds: float = 90.0
    """From the start of the CLI to an open session; its first start unpacks 235 MB."""
    ask_seconds: float = 30.0
    """How long the CLI may take to accept a prompt or an order to stop."""
    idle_seconds: float = 15.0
    """From an order to stop to the end of the turn; then the CLI is killed."""
    background_seconds: float = 1.0
    """What a turn leaves running may end by itself for so long."""
    save_seconds: float = 3.0
    """How long the CLI may take to write what was said, at the end of a session."""
    stop_seconds: float = 15.0
    request_seconds: float = 1_000.0
    """One request on the way to the model, which has bounds of its own there."""
    most_command_seconds: int = 600
    """The longest that a command is waited for; the CLI waits no longer than ten minutes."""
    most_fruitless_calls: int = 10
    """Tool calls in a row that were denied or malformed; then the turn ends."""
    most_text_characters: int = 8_000
    """The agent's last words, as a turn reports them."""
