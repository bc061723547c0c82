"""Values of any type of the core, for properties."""

from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type, with every field of a dataclass drawn, defaults or not."""
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return st.builds(hint, **{field.name: values(hints[field.name]) for field in fields(hint)})
    if get_origin(hint) in (Union, UnionType):
        return st.one_of([values(one) for one in get_args(hint)])
    if get_origin(hint) is tuple:
        *inner, last = get_args(hint)
        if last is not Ellipsis:
            return st.tuples(*(values(each) for each in (*inner, last)))
        return st.lists(values(inner[0]), max_size=5).map(tuple)
    if hint is datetime:
        return st.datetimes(timezones=st.just(UTC))
    if hint is int:
        return st.integers(0, 10**12)
    if hint is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    return st.from_type(hint)
