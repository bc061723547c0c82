"""The bounds of a Claude session: nothing waits or grows without one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Times in seconds, sizes in characters or bytes."""

    gate_seconds: float = 20.0
    """How long the gate may take to answer; then the answer is a denial. Below `hook_seconds`."""
    hook_seconds: float = 60.0
    """How long the CLI waits for a hook; then the tool does not run."""
    start_seconds: float = 45.0
    """From the start of the CLI until it can be asked."""
    control_seconds: float = 5.0
    """How long the CLI may take to hear that a turn is over."""
    silent_seconds: float = 1_000.0
    """Without a word of the CLI while none of its tools runs: longer than a request to the model
    may take. Then it is ended."""
    goodbye_seconds: float = 2.0
    """What an idle CLI gets to save the conversation when it is told to end."""
    command_seconds: int = 600
    """One shell command."""
    most_fruitless_answers: int = 5
    """Answers in a row of which no tool call ran; then the turn ends."""
    most_text_characters: int = 8_000
    """The agent's last words, as a turn reports them."""
    most_message_bytes: int = 16_000_000
    """One message of the CLI; a tool's whole result is in one."""
    most_garbage_lines: int = 50
    """Lines that are no message of the CLI; one more ends it."""
