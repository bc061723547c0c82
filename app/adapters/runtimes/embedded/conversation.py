"""What was said in a session, saved after each step and found again by the next process."""

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)

from app.core.words.prompts import COMPACTION_MARK
from app.ports import SessionDamaged

FILE_NAME = "session.json"
PLANNED_NAME = "planned"
"""The file that says that the first turn has ended: later processes find it."""

_CHARACTERS_PER_TOKEN = 4
_MOST_TOKENS = 1_000_000_000
"""Of one call; a larger figure is no figure."""

COMPACTION_PROMPT = (
    f"{COMPACTION_MARK} Summarise it for yourself, in words, without calling a tool: the task,"
    " what you found out, what you changed and where, what you tried that did not work, and what"
    " remains to be done. You go on with this summary and nothing else."
)


class NotSaved(Exception):
    """The conversation could not be written to its directory; the text is for people."""


class Conversation:
    """The messages of one session; every change is on disk before the method returns.

    Methods that save raise `NotSaved`.
    """

    def __init__(self, directory: Path) -> None:
        """Read what an earlier process saved. Raises `OSError`; `SessionDamaged`."""
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = directory / FILE_NAME
        self._planned = directory / PLANNED_NAME
        self._messages = saved_messages(self._file) if self._file.exists() else []

    @property
    def messages(self) -> list[ModelMessage]:
        """Everything said so far, as a request to the model needs it."""
        return list(self._messages)

    @property
    def has_answers(self) -> bool:
        """Whether the model has said anything that a summary could shorten."""
        return any(isinstance(message, ModelResponse) for message in self._messages)

    @property
    def is_planned(self) -> bool:
        """Whether the agent has ended its first turn, in this process or an earlier one."""
        return self._planned.exists()

    @property
    def results(self) -> list[ToolReturnPart]:
        """The tool results that the model still has, oldest first."""
        return [
            part
            for message in self._messages
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]

    def asking_for_a_summary(self) -> list[ModelMessage]:
        """The messages of the request that compacts the conversation."""
        return _with_prompts(self._messages, COMPACTION_PROMPT)

    async def prompted(self, *prompts: str) -> None:
        """Something is said to the model in the user's voice."""
        self._messages = _with_prompts(self._messages, *prompts)
        await self._save()

    async def answered(self, response: ModelResponse) -> None:
        """The model has answered."""
        self._messages = [*self._messages, response]
        await self._save()

    async def returned(self, results: Sequence[ToolReturnPart], notes: Sequence[str]) -> None:
        """The tool calls of the last answer have ended; `notes` are words of the breaker."""
        parts: list[ToolReturnPart | UserPromptPart] = [*results]
        parts.extend(UserPromptPart(note) for note in notes)
        self._messages = [*self._messages, ModelRequest(parts=parts)]
        await self._save()

    async def compacted(self, prompt: str, summary: str, notes: Sequence[str]) -> None:
        """Go on with the last prompt and a summary of everything in place of the messages."""
        compacted = f"Your summary of the conversation so far, which was cut off here:\n\n{summary}"
        self._messages = _with_prompts([], prompt, compacted, *notes)
        await self._save()

    async def planned(self) -> None:
        """The agent has ended its first turn."""
        await self._on_disk(self._planned.touch)

    async def _save(self) -> None:
        await self._on_disk(partial(self._write, self._messages))

    async def _on_disk(self, write: Callable[[], None]) -> None:
        saving = asyncio.create_task(asyncio.to_thread(write))
        try:
            await asyncio.shield(saving)
        except OSError as error:
            raise NotSaved(f"the conversation cannot be saved: {error}") from error
        except asyncio.CancelledError:
            await asyncio.wait([saving])  # a late write must not overtake the next session's
            raise

    def _write(self, messages: list[ModelMessage]) -> None:
        unfinished = self._file.with_suffix(".new")
        with unfinished.open("wb") as file:
            file.write(ModelMessagesTypeAdapter.dump_json(messages))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._file)
        directory = os.open(self._file.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def saved_messages(file: Path) -> list[ModelMessage]:
    """What was saved there. Raises `OSError`; `SessionDamaged`."""
    try:
        return ModelMessagesTypeAdapter.validate_json(file.read_bytes())
    except ValidationError as error:
        raise SessionDamaged(
            f"{file}: the saved conversation is damaged ({error.error_count()} errors);"
            " move it away to let the agent start a new one"
        ) from error


def _with_prompts(messages: list[ModelMessage], *prompts: str) -> list[ModelMessage]:
    """The messages and then the prompts, in a form that every provider accepts.

    Tool calls without a result, as a halt or a crash leaves them, are answered as interrupted.
    """
    request = ModelRequest(parts=[UserPromptPart(prompt) for prompt in prompts])
    return repair_messages([*messages, request])


def tokens_of(messages: Sequence[ModelMessage], offer_tokens: int) -> int:
    """How large a request is: the last one as measured, what came since guessed.

    `offer_tokens` are those of the system prompt and the tools, which a measured request includes.
    """
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, ModelResponse) and counted(message.usage.input_tokens):
            output = counted(message.usage.output_tokens) or said_tokens(message)
            measured = message.usage.input_tokens + output
            return measured + _guessed_tokens(messages[index + 1 :])
    return offer_tokens + _guessed_tokens(messages)


def guessed_tokens(text: str) -> int:
    """About what a model counts for a text, rounded up."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


def counted(tokens: int) -> int:
    """A figure that a provider reported; 0 for one that can be none."""
    return tokens if 0 <= tokens <= _MOST_TOKENS else 0


def said_tokens(answer: ModelResponse) -> int:
    """About what a model counts for an answer: its words, thoughts and calls of tools."""
    said = 0
    for part in answer.parts:
        match part:
            case TextPart(content=text) | ThinkingPart(content=text):
                said += len(text)
            case ToolCallPart(tool_name=name):
                said += len(name) + len(part.args_as_json_str())
            case _:
                continue
    return -(-said // _CHARACTERS_PER_TOKEN)


def _guessed_tokens(messages: Sequence[ModelMessage]) -> int:
    if not messages:
        return 0
    return guessed_tokens(ModelMessagesTypeAdapter.dump_json(list(messages)).decode())
