"""Replay of a session that a person led: each prompt is a piece of work with limits of its own.

Between two prompts the person reads, thinks and is away; that is no time of the agent. A stop ends
the work on its prompt, and the next prompt begins anew.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.core.history.onward import Mark
from app.core.history.replay import NotJudged, Replay, Rules, Spent, replay
from app.core.history.transcript import Step, Transcript, Turn


def replay_prompts(transcript: Transcript, rules: Rules) -> Replay:
    """The replays of all prompts as one. Marks count the tool calls of the whole session; `stops`
    names each limit as often as it would have stopped a prompt, and `saved` is what came behind
    the first stop of each. `counters` are those of the last prompt."""
    parts = [
        replay(replace(transcript, steps=tuple(steps)), rules)
        for steps in _prompts(transcript.steps)
    ]
    if not parts:
        return replay(transcript, rules)
    before = [sum(part.spent.tool_calls for part in parts[:at]) for at in range(len(parts))]
    numbered = list(zip(before, parts, strict=True))
    return Replay(
        events=sum(part.events for part in parts),
        tool_calls=sum(part.tool_calls for part in parts),
        spent=_sum([part.spent for part in parts]),
        stops=tuple(mark for at, part in numbered for mark in _moved(part.stops, at)),
        warnings=tuple(mark for at, part in numbered for mark in _moved(part.warnings, at)),
        passed=tuple(mark for at, part in numbered for mark in _moved(part.passed, at)),
        not_judged=_once([each for part in parts for each in part.not_judged]),
        saved=_sum([part.saved for part in parts]),
        counters=parts[-1].counters,
    )


def _prompts(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """The steps of each prompt, the prompt first."""
    part: list[Step] = []
    for step in steps:
        if isinstance(step, Turn) and part:
            yield part
            part = []
        part.append(step)
    if part:
        yield part


def _moved(marks: Sequence[Mark], tool_calls: int) -> Iterator[Mark]:
    return (replace(mark, tool_call=mark.tool_call + tool_calls) for mark in marks)


def _once(reasons: Sequence[NotJudged]) -> tuple[NotJudged, ...]:
    return tuple({each.limit: each for each in reversed(reasons)}.values())[::-1]


def _sum(parts: Sequence[Spent]) -> Spent:
    """What nobody knows of one part is unknown of the whole."""
    tokens = [part.tokens for part in parts if part.tokens is not None]
    costs = [part.cost_nanousd for part in parts if part.cost_nanousd is not None]
    return Spent(
        tool_calls=sum(part.tool_calls for part in parts),
        model_calls=sum(part.model_calls for part in parts),
        tokens=sum(tokens) if len(tokens) == len(parts) else None,
        cost_nanousd=sum(costs) if len(costs) == len(parts) else None,
        seconds=sum(part.seconds for part in parts),
    )
