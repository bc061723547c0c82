"""Scripts: what the scripted model answers, found from the conversation alone.

Nothing is remembered between two requests, so retries, resumed sessions and many agents at once
need no bookkeeping: the step to serve is the number of answers the conversation already holds.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import takewhile

_SCENARIO = re.compile(r"SCENARIO:([A-Za-z0-9_.-]*[A-Za-z0-9_])")
_STEP_MARK = re.compile(r"SCENARIO-STEP:(\d+)")


class Speaker(StrEnum):
    """Whose words a message holds."""

    SYSTEM = "system"
    USER = "user"
    MODEL = "model"
    TOOL = "tool"
    """A tool's result, however the wire format carries it."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, the same for every wire format."""

    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a request tells the model, oldest message first."""

    messages: tuple[Message, ...]

    def said_by(self, speaker: Speaker) -> tuple[str, ...]:
        """The texts of one speaker, oldest first."""
        return tuple(each.text for each in self.messages if each.speaker is speaker)

    @property
    def last_tool_result(self) -> str:
        """The text of the newest tool result, or an empty string."""
        results = self.said_by(Speaker.TOOL)
        return results[-1] if results else ""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of an answer."""

    tool: str
    args: Mapping[str, object] | str = field(default_factory=dict)
    """A string is sent as it is: that is how arguments come out malformed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer: text, tool calls made in parallel, or both."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    """Thoughts, in the formats that have a place for them."""
    think_seconds: float = 0.0
    """How long the model thinks before its first word."""
    drip_seconds: float = 0.0
    """The pause before each piece of a streamed answer."""
    breaks_off: bool = False
    """The connection ends in the middle of the answer."""
    is_cut_off: bool = False
    """It ends because it has reached the bound on its output."""
    cache_read_tokens: int = 0
    """Billed beside the tokens of the conversation, as read from the cache."""
    cache_write_tokens: int = 0
    """Billed beside the tokens of the conversation, as written to the cache."""
    reports_usage: bool = True
    """False: it says that it used 0 tokens, as endpoints do that do not count."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP answer that is no answer of a model: an error, or with status 200 plain garbage."""

    status: int
    body: str = '{"error": {"type": "scripted", "message": "scripted failure"}}'
    headers: Mapping[str, str] = field(default_factory=dict)


Step = Answer | Failure
ComputedStep = Callable[[Conversation], Step]


@dataclass(frozen=True, slots=True)
class Script:
    """What the model does in one story, step by step; after the last step it says "done"."""

    name: str
    """Chosen by `SCENARIO:<name>` in a message of the user."""
    steps: tuple[Step | ComputedStep, ...]
    summary: Answer = Answer("I did what the conversation shows; nothing else is left to report.")
    """The answer to a request for a summary, which is no step."""
    starts_with: Callable[[str], bool] = lambda _: False
    """Also chosen if this accepts a message of the user before the model's first answer, and no
    message names a script."""


@dataclass(frozen=True, slots=True)
class Served:
    """A step to serve, with an id that is unique within its conversation."""

    id: str
    step: Step


@dataclass(frozen=True, slots=True)
class Scripts:
    """All the stories a scripted model knows."""

    scripts: tuple[Script, ...]
    summary_requests: tuple[str, ...] = ()
    """A user's message that holds one of these phrases asks for a summary, not for a step."""
    compaction_requests: tuple[str, ...] = ()
    """The same, where the conversation goes on with the summary in its place: so that says how far
    the script is."""

    def next(self, conversation: Conversation) -> Served:
        """The step that answers this conversation."""
        begin = self._begin(conversation)
        if begin is None:
            return Served("none", Answer("No script of the scripted model fits this conversation."))
        script, first = begin
        position, asked = self._position(conversation.messages[first:])
        if asked is not None:
            summary = script.summary
            if _holds(asked, self.compaction_requests):
                summary = replace(summary, text=f"{summary.text} {_mark(position)}")
            said = len(conversation.said_by(Speaker.MODEL))
            return Served(f"summary_{position}_{said}", summary)
        if position >= len(script.steps):
            return Served(f"step_{position}", Answer("done"))
        step = script.steps[position]
        if not isinstance(step, Answer | Failure):
            step = step(conversation)
        return Served(f"step_{position}", step)

    def _begin(self, conversation: Conversation) -> tuple[Script, int] | None:
        """The script, and the index of the message that started it."""
        users = [
            (index, each.text)
            for index, each in enumerate(conversation.messages)
            if each.speaker is Speaker.USER
        ]
        by_name = {script.name: script for script in self.scripts}
        named = [
            (name, index)
            for index, text in users
            for name in _SCENARIO.findall(text)
            if name in by_name
        ]
        if named:
            # Prompts may quote the issue, and with it the marker, again: the first one counts.
            newest = named[-1][0]
            return by_name[newest], next(index for name, index in named if name == newest)
        opening = takewhile(lambda each: each.speaker is not Speaker.MODEL, conversation.messages)
        for index, each in enumerate(opening):
            for script in self.scripts:
                if each.speaker is Speaker.USER and script.starts_with(each.text):
                    return script, index
        return None

    def _position(self, messages: Sequence[Message]) -> tuple[int, str | None]:
        """How many steps were answered since the script began; the message that asks for a summary
        now, if one does."""
        position, asked = 0, None
        requests = (*self.summary_requests, *self.compaction_requests)
        for message in messages:
            if message.speaker is Speaker.USER:
                asked = message.text if _holds(message.text, requests) else None
                # A compacted conversation has lost its answers; the summary says where it was.
                for mark in _STEP_MARK.findall(message.text):
                    position = int(mark)
            elif message.speaker is Speaker.MODEL and asked is None:
                position += 1
        return position, asked


def text(*words: str) -> Answer:
    """An answer in words only: it ends the turn."""
    return Answer(text=" ".join(words))


def calls(*each: Call, say: str = "") -> Answer:
    """An answer that makes these tool calls in parallel."""
    return Answer(text=say, calls=each)


def _holds(words: str, phrases: Sequence[str]) -> bool:
    return any(phrase in words for phrase in phrases)


def _mark(position: int) -> str:
    return f"(SCENARIO-STEP:{position})"
