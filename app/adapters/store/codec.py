"""Values of the core to and from the text that the tables keep.

An event is a JSON object whose `type` is the name of its class: `{"type": "ToolAsked", …}`.
"""

import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, get_args

import sqlalchemy as sa
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, from_json, to_json

from app.core.agents.agent import Agent, AgentId, Assignment, Effect, Task
from app.core.agents.events import AgentEvent
from app.core.agents.stops import Cause, StopReason
from app.core.breaker.verdict import LimitUse
from app.core.limits import CATALOGUE, LimitName, Limits
from app.core.rules.trust import Sender
from app.core.steering.asks import Trigger
from app.core.text.unicode import writable
from app.core.words.glance import Glance
from app.ports import HeardCommands, Look, Order, Repository, WaitingStart

_EVENTS: Final[Mapping[str, TypeAdapter[AgentEvent]]] = {
    kind.__name__: TypeAdapter(kind) for kind in get_args(AgentEvent)
}
_SMALLEST: Final = zlib.Z_BEST_COMPRESSION
_ASSIGNMENT: Final = TypeAdapter(Assignment)
_CAUSES: Final = frozenset(cause.value for cause in Cause)
_STOP: Final = TypeAdapter[StopReason](StopReason)
_AGENT: Final = TypeAdapter(Agent)
_EFFECT: Final = TypeAdapter(Effect)
_GLANCE: Final = TypeAdapter(Glance)
_NUMBERS: Final = TypeAdapter(tuple[int, ...])
_INSTANTS: Final = TypeAdapter(tuple[datetime, ...])
_SENDER: Final = TypeAdapter(Sender)
_TASK: Final = TypeAdapter[Task | None](Task | None)
_DETAIL: Final = TypeAdapter(Mapping[str, str])
_RAISES: Final = TypeAdapter(tuple[tuple[LimitName, float], ...])
_TRIGGERS: Final = TypeAdapter(Mapping[str, Trigger])
_HEADS: Final = TypeAdapter(Mapping[int, str])
_LINES: Final = TypeAdapter(tuple[str, ...])


def encode_event(event: AgentEvent) -> str:
    """The event as JSON, its `type` first. Total: text that is no UTF-8 is replaced."""
    kind = type(event).__name__
    return f'{{"type":"{kind}",{_json(_EVENTS[kind], event)[1:]}'


def decode_event(text: str) -> AgentEvent:
    """Raises `KeyError` for an unknown type, `pydantic.ValidationError` for unfit fields."""
    fields = from_json(text)
    if fields["type"] == "Tripped" and _is_failure(fields["trip"]):
        fields = {"type": "Failed", "at": fields["at"], "failure": _as_failure(fields["trip"])}
    if fields["type"] == "Held" and "evidence" in fields["hold"]:  # what is a claim now
        hold = {**fields["hold"], "claim": fields["hold"]["evidence"]}
        fields = {**fields, "hold": hold}
    return _EVENTS[fields["type"]].validate_python(fields)


def encode_log(events: Sequence[str]) -> bytes:
    """A whole log, each event as `encode_event` writes it, in few bytes: a line for each,
    compressed with zlib."""
    return zlib.compress("\n".join(events).encode(), _SMALLEST)


def decode_log(packed: bytes) -> Sequence[str]:
    """What `encode_log` was given. Raises `zlib.error`."""
    return zlib.decompress(packed).decode().split("\n")


def encode_assignment(assignment: Assignment) -> str:
    """The assignment as JSON."""
    return _json(_ASSIGNMENT, assignment)


def encode_stop(why: StopReason) -> str:
    """What stopped an agent for good, as JSON."""
    return _json(_STOP, why)


def _decode_stop(text: str) -> StopReason:
    fields = from_json(text)
    return _STOP.validate_python(_as_failure(fields) if _is_failure(fields) else fields)


def _is_failure(stop: Mapping[str, Any]) -> bool:
    """Failures were written as trips of a limit that bears their name."""
    return stop.get("limit") in _CAUSES


def _as_failure(stop: Mapping[str, Any]) -> dict[str, Any]:
    return {"cause": stop["limit"], "at": stop["at"], "reason": stop["reason"]}


def encode_numbers(numbers: tuple[int, ...]) -> str:
    """Issue numbers as JSON."""
    return _json(_NUMBERS, numbers)


def decode_agent(row: sa.RowMapping) -> Agent:
    """An agent from its row of `sq_agents`."""
    stop = row["trip"]
    return _AGENT.validate_python(
        {
            **row,
            "id": AgentId.parse(row["id"]),
            "assignment": _ASSIGNMENT.validate_json(row["assignment"]),
            "blocked_by": _NUMBERS.validate_json(row["blocked_by"]),
            "stop": None if stop is None else _decode_stop(stop),
        }
    )


def encode_effect(effect: Effect) -> dict[str, Any]:
    """The columns of `sq_effects` for an effect, its agent left out."""
    return {
        "name": effect.name.value,
        "state": effect.state.value,
        "url": effect.url,
        "number": effect.number,
        "content": effect.content,
        "attempts": effect.attempts,
        "error": effect.error,
        "due_at": effect.due_at,
        "edits": _json(_INSTANTS, effect.edits),
        "detail": _json(_DETAIL, effect.detail),
    }


def decode_effect(row: sa.RowMapping) -> Effect:
    """An effect from its row of `sq_effects`."""
    return _EFFECT.validate_python(
        {
            **row,
            "edits": _INSTANTS.validate_json(row["edits"]),
            "detail": _DETAIL.validate_json(row["detail"]),
        }
    )


def encode_glance(seen: Glance) -> str:
    """What lists show of an agent, as JSON; of each limit its name, what is used, and what may
    be."""
    uses = {use.name.value: (use.observed, use.maximum) for use in seen.uses}
    rest = _GLANCE.dump_python(seen, mode="json", exclude={"uses"})
    return to_json(writable({**rest, "uses": uses})).decode()


def decode_glance(text: str, limits: Limits) -> Glance:
    """What lists show of an agent with these limits. A limit is left out that this version does not
    know: another version may have written it."""
    fields = from_json(text)
    uses = [
        LimitUse(limits.info(LimitName(name)), observed, maximum)
        for name, (observed, maximum) in fields["uses"].items()
        if name in CATALOGUE
    ]
    return _GLANCE.validate_python({**fields, "uses": uses})


def encode_task(task: Task | None) -> str:
    """The text of an issue as JSON."""
    return _json(_TASK, task)


def encode_waiting_start(start: WaitingStart) -> dict[str, Any]:
    """The columns of `sq_waiting_starts` for a start."""
    order = start.order
    return {
        "repository": order.repository.full_name,
        "installation_id": order.repository.installation_id,
        "issue": order.issue,
        "role": order.role,
        "sender": _json(_SENDER, order.by),
        "trigger": order.trigger,
        "task": encode_task(order.task),
        "asked_at": start.asked_at,
        "due_at": start.due_at,
        "budget": start.budget,
        "raises": _json(_RAISES, order.raises),
        "said": order.said,
    }


def decode_waiting_start(row: sa.RowMapping) -> WaitingStart:
    """A start from its row of `sq_waiting_starts`."""
    order = Order(
        repository=Repository(row["repository"], row["installation_id"]),
        issue=row["issue"],
        role=row["role"],
        by=_SENDER.validate_json(row["sender"]),
        trigger=row["trigger"],
        task=_TASK.validate_json(row["task"]),
        at=row["asked_at"],
        raises=_RAISES.validate_json(row["raises"] or "[]"),
        said=row["said"] or "",
        is_found=True,
    )
    return WaitingStart(order, row["due_at"], row["budget"])


def encode_heard(heard: HeardCommands) -> dict[str, Any]:
    """The columns of `sq_heard_commands`."""
    return {
        "repository": heard.repository,
        "name": heard.name,
        "comment": heard.comment,
        "kind": heard.kind,
        "thread": heard.thread,
        "login": heard.by,
        "lines": _json(_LINES, heard.lines),
        "is_refused": int(heard.refused),
        "is_set_aside": int(heard.set_aside),
        "at": heard.at,
    }


def decode_heard(row: sa.RowMapping) -> HeardCommands:
    """What was told, from its row of `sq_heard_commands`."""
    return HeardCommands(
        repository=row["repository"],
        name=row["name"],
        comment=row["comment"],
        thread=row["thread"],
        by=row["login"],
        lines=_LINES.validate_json(row["lines"]),
        refused=bool(row["is_refused"]),
        at=row["at"],
        set_aside=bool(row["is_set_aside"]),
        kind=row["kind"] or "comment",
    )


def encode_look(look: Look) -> dict[str, Any]:
    """The columns of `sq_looks`, the repository's name left out."""
    return {
        "threads_until": look.threads_until,
        "comments_until": look.comments_until,
        "looked_at": look.looked_at,
        "fully_at": look.fully_at,
        "triggers": _json(_TRIGGERS, look.triggers),
        "heads": _json(_HEADS, look.heads),
    }


def decode_look(row: sa.RowMapping) -> Look:
    """A look from its row of `sq_looks`."""
    return Look(
        threads_until=row["threads_until"],
        comments_until=row["comments_until"],
        looked_at=row["looked_at"],
        fully_at=row["fully_at"],
        triggers=_TRIGGERS.validate_json(row["triggers"]),
        heads=_HEADS.validate_json(row["heads"]),
    )


def _json(adapter: TypeAdapter[Any], value: object) -> str:
    try:
        return adapter.dump_json(value).decode()
    except PydanticSerializationError:
        # A lone surrogate, which a model's arguments can hold: JSON can escape it, UTF-8 cannot.
        return to_json(writable(adapter.dump_python(value, mode="json"))).decode()
