"""`squadron replay` on 10,000 events: reading the file, and folding it with every limit on."""

import json
import tempfile
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Final

from app.adapters.pricing import price_of_recorded
from app.adapters.shell import parse
from app.adapters.transcripts import load
from app.core.history.replay import Rules, replay
from app.core.history.transcript import ModelCall, Step, ToolCall, ToolResult
from app.core.limits import Limits
from app.testruns import SuiteRules
from tests.support.transcripts import DATA

EVENTS: Final = 10_000
ROUNDS: Final = 5
AIM_SECONDS: Final = 1.0
EVERY_LIMIT: Final = replace(
    Limits(),
    max_model_calls=1_000,
    max_tokens=10_000_000,
    max_cost_usd=25.0,
    max_planning_cost_usd=5.0,
    max_execution_cost_usd=20.0,
    max_consecutive_tools=10,
    max_tool_calls_per_turn=100,
)


def main() -> None:
    """Print the figures: of the rounds, the best; the machine may have other work."""
    rules = Rules(
        limits=EVERY_LIMIT,
        suites=SuiteRules(),
        parse=parse,
        price_of=partial(price_of_recorded, overrides={}),
    )
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "long.jsonl"
        file.write_text("".join(f"{json.dumps(event)}\n" for event in _events()))
        print(
            f"replay: {EVENTS:,} events of recorded runs ({file.stat().st_size:,} bytes), every"
            f" limit on; best of {ROUNDS} rounds; aim: import and replay in {AIM_SECONDS:g} s"
        )
        whole, imports, cpu = [], [], []
        for _ in range(ROUNDS):
            begin, cpu_begin = perf_counter(), process_time()
            transcript = load(file)
            imports.append(perf_counter() - begin)
            result = replay(transcript, rules)
            whole.append(perf_counter() - begin)
            cpu.append(process_time() - cpu_begin)
        assert result.events == EVENTS
        print(
            f"  {min(whole):.2f} s (import {min(imports):.2f} s; {min(cpu):.2f} s of processor"
            f" time; rounds: {', '.join(f'{each:.2f}' for each in whole)})"
        )


def _events() -> list[dict[str, object]]:
    """The labelled runs again and again, each behind the one before it."""
    runs = [load(file).steps for file in sorted((DATA / "squadron").glob("*.jsonl"))]
    events: list[dict[str, object]] = []
    start = runs[0][0].at
    while len(events) < EVENTS:
        for steps in runs:
            later = start - steps[0].at
            events += [event for step in steps if (event := _event(step, later))]
            start = steps[-1].at + later + timedelta(seconds=1)
    return events[:EVENTS]


def _event(step: Step, later: timedelta) -> dict[str, object] | None:
    at = (step.at + later).isoformat()
    match step:
        case ToolCall(tool=tool, kind=kind, args=args):
            return {"type": "tool_call", "at": at, "tool": tool, "kind": kind, "args": dict(args)}
        case ToolResult(ok=ok, exit_code=exit_code, output=output):
            return {"type": "tool_result", "ok": ok, "exit_code": exit_code, "output": output}
        case ModelCall():
            return None
        case _:
            # One model call an answer, as a run that records them has it.
            return {"type": "model_call", "model": "gpt-4o", "input_tokens": 900,
                    "output_tokens": 90}  # fmt: skip


if __name__ == "__main__":
    main()
