"""Recorded runs for the tests of replaying, and what limits make of them."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from app.adapters.shell import parse
from app.core.agents.events import ToolKind
from app.core.history.onward import Mark
from app.core.history.replay import Replay, Rules, replay
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
from app.core.limits import Limits
from app.core.money import Price
from app.testruns import SuiteRules
from tests.core.strategies import START

PRICES = {"one-dollar": Price(Decimal(1), Decimal(1))}
"""A million tokens for a dollar."""


class Run:
    """A recorded run, step by step; time passes only where it is said."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.now = START

    def passes(self, seconds: float) -> "Run":
        self.now += timedelta(seconds=seconds)
        return self

    def turn(self) -> "Run":
        self.steps.append(Turn(at=self.now))
        return self

    def says(self, text: str = "I look at it.", agent: str | None = None) -> "Run":
        self.steps.append(Message(at=self.now, agent=agent, text=text, thought=False))
        return self

    def thinks(self) -> "Run":
        self.steps.append(Message(at=self.now, agent=None, text="Hm.", thought=True))
        return self

    def asks_model(
        self, tokens: int | None = 0, model: str | None = "one-dollar", **known: Any
    ) -> "Run":
        """A model call with so many input tokens; `known`: what else was recorded of it."""
        call = ModelCall(
            at=self.now,
            agent=None,
            model=model,
            input_tokens=tokens,
            output_tokens=None if tokens is None else 0,
            cache_read_tokens=None,
            cache_write_tokens=None,
        )
        self.steps.append(replace(call, **known))
        return self

    def calls(
        self,
        tool: str = "view",
        kind: ToolKind = ToolKind.READ,
        agent: str | None = None,
        *,
        ok: bool = True,
        denied: bool = False,
        code: int | None = None,
        output: str | None = None,
        takes_seconds: float = 0,
        pipefail: bool = False,
        **args: Any,
    ) -> "Run":
        """A call and its result. Without arguments it is like no other."""
        name = f"call-{len(self.steps)}"
        self.steps.append(
            ToolCall(
                at=self.now,
                agent=agent,
                id=name,
                tool=tool,
                kind=kind,
                args=args or {"p": name},
                pipefail=pipefail,
            )
        )
        self.passes(takes_seconds)
        self.steps.append(
            ToolResult(
                at=self.now,
                agent=agent,
                id=name,
                ok=ok,
                exit_code=code,
                output=name if output is None else output,
                denied=denied,
            )
        )
        return self

    def times(self, count: int, method: str, *args: Any, **named: Any) -> "Run":
        for _ in range(count):
            getattr(self, method)(*args, **named)
        return self

    def tests(self, agent: str | None = None, *, passed: bool = False) -> "Run":
        said = "1 passed" if passed else "1 failed"
        code = int(not passed)
        kind = ToolKind.SHELL
        return self.calls(
            "bash", kind, agent, ok=passed, code=code, output=said, command="pytest -q"
        )

    def runs(
        self, command: str, *, ok: bool = True, output: str | None = None, pipefail: bool = False
    ) -> "Run":
        """A command line, and how it ended."""
        return self.calls(
            "bash",
            ToolKind.SHELL,
            ok=ok,
            code=int(not ok),
            output=output,
            pipefail=pipefail,
            command=command,
        )

    def edits(self, *, ok: bool = True) -> "Run":
        return self.calls("edit", ToolKind.WRITE, ok=ok)

    def under(self, limits: Limits) -> Replay:
        return replayed(self.steps, limits)


def replayed(steps: list[Step], limits: Limits, totals: Totals | None = None) -> Replay:
    transcript = Transcript(format=Format.SQUADRON, steps=tuple(steps), totals=totals)
    return replay(transcript, rules(limits))


def rules(limits: Limits) -> Rules:
    return Rules(limits, SuiteRules(), parse, lambda model, at: PRICES.get(model))


def stop(mark: Mark | None) -> tuple[str, float | None, float | None, int] | None:
    return None if mark is None else (mark.limit, mark.observed, mark.maximum, mark.tool_call)
