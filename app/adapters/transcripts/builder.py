"""Puts steps together: gives calls their ids, results their calls, and time its one direction."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from app.core.agents.events import ToolKind
from app.core.history.transcript import (
    Format,
    Message,
    ModelCall,
    Step,
    ToolCall,
    ToolResult,
    Totals,
    Transcript,
    Turn,
)

ORIGIN: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""When a run began whose transcript knows no instants."""


class RepeatedId(ValueError):
    """A call has the id of one that still waits for its result."""


class NoSuchCall(ValueError):
    """A result answers nothing that is open."""


class Builder:
    """Collects the steps of one transcript, in order."""

    def __init__(self) -> None:
        self.now = ORIGIN
        """The instant of every step that follows, until it is moved."""
        self._steps: list[Step] = []
        self._ids: set[str] = set()
        self._own_ids: dict[str, str] = {}
        """The transcript's own id of an open call → ours. Some models count their calls anew in
        each answer, so an id may return once its call has been answered."""
        self._open: OrderedDict[str, tuple[str | None, str | None]] = OrderedDict()
        """Calls without a result, oldest first: our id → (agent, own id)."""
        self._open_of: defaultdict[str | None, OrderedDict[str, None]] = defaultdict(OrderedDict)

    def not_before(self, at: datetime) -> None:
        """Go on at `at`, or where we are: what is written in parallel may be slightly late."""
        self.now = max(self.now, at)

    def turn(self) -> None:
        self._steps.append(Turn(at=self.now))

    def message(self, text: str, agent: str | None = None, *, thought: bool = False) -> None:
        self._steps.append(Message(at=self.now, agent=agent, text=text, thought=thought))

    def model_call(
        self,
        agent: str | None = None,
        *,
        model: str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None,
    ) -> int:
        """The number of the step, for `at_least`."""
        self._steps.append(
            ModelCall(
                at=self.now,
                agent=agent,
                model=model,
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                cache_read_tokens=cache_read_tokens,
                cache_write_tokens=cache_write_tokens,
            )
        )
        return len(self._steps) - 1

    def at_least(self, number: int, output_tokens: int) -> None:
        """A later line about the same model call: what had been counted of a running answer
        may have grown."""
        step = self._steps[number]
        if isinstance(step, ModelCall) and output_tokens > (step.output_tokens or 0):
            self._steps[number] = replace(step, output_tokens=output_tokens)

    def call(
        self,
        tool: str,
        kind: ToolKind,
        args: Mapping[str, object],
        agent: str | None = None,
        *,
        own_id: str | None = None,
        pipefail: bool = False,
    ) -> None:
        """A tool was asked for. `RepeatedId` if `own_id` is that of an open call."""
        if own_id in self._own_ids:
            raise RepeatedId(own_id)
        step_id = self._unique(own_id)
        if own_id is not None:
            self._own_ids[own_id] = step_id
        self._open[step_id] = (agent, own_id)
        self._open_of[agent][step_id] = None
        self._steps.append(
            ToolCall(
                at=self.now,
                agent=agent,
                id=step_id,
                tool=tool,
                kind=kind,
                args=args,
                pipefail=pipefail,
            )
        )

    def result(
        self,
        agent: str | None = None,
        *,
        ok: bool,
        output: str,
        exit_code: int | None = None,
        denied: bool = False,
        own_id: str | None = None,
    ) -> None:
        """Answers the call with `own_id`; without one the oldest open call of the agent, else
        the oldest of all. `NoSuchCall` if there is none."""
        step_id = self._own_ids.get(own_id) if own_id is not None else self._oldest(agent)
        if step_id is None:
            raise NoSuchCall
        asked_by, asked_as = self._open.pop(step_id)
        del self._open_of[asked_by][step_id]
        if asked_as is not None:
            del self._own_ids[asked_as]
        self._steps.append(
            ToolResult(
                at=self.now,
                agent=asked_by,
                id=step_id,
                ok=ok,
                exit_code=exit_code,
                output=output,
                denied=denied,
            )
        )

    def has_open_call(self) -> bool:
        return bool(self._open)

    def done(self, form: Format, totals: Totals | None = None) -> Transcript:
        return Transcript(format=form, steps=tuple(self._steps), totals=totals)

    def _oldest(self, agent: str | None) -> str | None:
        return next(iter(self._open_of[agent] or self._open), None)

    def _unique(self, own_id: str | None) -> str:
        count = len(self._ids) + 1
        step_id = f"call-{count}" if own_id is None else own_id
        while step_id in self._ids:
            step_id += f"-{count}"
        self._ids.add(step_id)
        return step_id
