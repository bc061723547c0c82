"""Values of the core to and from the text that the tables keep.

An event is a JSON object whose `type` is the name of its class: `{"type": "ToolAsked", …}`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, get_args

import sqlalchemy as sa
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, from_json, to_json

from app.adapters.store.tables import storable
from app.core.agent import Agent, AgentId, Assignment, Effect
from app.core.events import AgentEvent, Trip

_EVENTS: Final[Mapping[str, TypeAdapter[AgentEvent]]] = {
    kind.__name__: TypeAdapter(kind) for kind in get_args(AgentEvent)
}
_ASSIGNMENT: Final = TypeAdapter(Assignment)
_TRIP: Final = TypeAdapter(Trip)
_AGENT: Final = TypeAdapter(Agent)
_EFFECT: Final = TypeAdapter(Effect)
_NUMBERS: Final = TypeAdapter(tuple[int, ...])
_INSTANTS: Final = TypeAdapter(tuple[datetime, ...])
_DETAIL: Final = TypeAdapter(Mapping[str, str])


def encode_event(event: AgentEvent) -> str:
    """The event as JSON, its `type` first. Total: text that is no UTF-8 is replaced."""
    kind = type(event).__name__
    return f'{{"type":"{kind}",{_json(_EVENTS[kind], event)[1:]}'


def decode_event(text: str) -> AgentEvent:
    """Raises `KeyError` for an unknown type, `pydantic.ValidationError` for unfit fields."""
    fields = from_json(text)
    return _EVENTS[fields["type"]].validate_python(fields)


def encode_assignment(assignment: Assignment) -> str:
    """The assignment as JSON."""
    return _json(_ASSIGNMENT, assignment)


def encode_trip(trip: Trip) -> str:
    """The trip as JSON."""
    return _json(_TRIP, trip)


def encode_numbers(numbers: tuple[int, ...]) -> str:
    """Issue numbers as JSON."""
    return _json(_NUMBERS, numbers)


def decode_agent(row: sa.RowMapping) -> Agent:
    """An agent from its row of `sq_agents`."""
    trip = row["trip"]
    return _AGENT.validate_python(
        {
            **row,
            "id": AgentId(row["repository"], row["issue"], row["role"], row["attempt"]),
            "assignment": _ASSIGNMENT.validate_json(row["assignment"]),
            "blocked_by": _NUMBERS.validate_json(row["blocked_by"]),
            "trip": None if trip is None else _TRIP.validate_json(trip),
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


def _json(adapter: TypeAdapter[Any], value: object) -> str:
    try:
        return adapter.dump_json(value).decode()
    except PydanticSerializationError:
        # A lone surrogate, which a model's arguments can hold: JSON can escape it, UTF-8 cannot.
        return to_json(_storable(adapter.dump_python(value, mode="json"))).decode()


def _storable(value: Any) -> Any:
    match value:
        case str():
            return storable(value)
        case list():
            return [_storable(one) for one in value]
        case dict():
            return {_storable(key): _storable(one) for key, one in value.items()}
        case _:
            return value
