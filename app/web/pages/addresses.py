"""What the address of a page asks for."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from starlette.datastructures import QueryParams


class NotUnderstood(Exception):
    """An address asks for what there cannot be. Says why, for people."""


class NotThere(Exception):
    """There is nothing under an address. Says what is missing, for people."""


@contextmanager
def read_of_an_address() -> Iterator[None]:
    """What is raised as `ValueError` within was wrong in the address."""
    try:
        yield
    except ValueError as error:
        raise NotUnderstood(str(error)) from None


def given(query: QueryParams, names: Sequence[str]) -> dict[str, str]:
    """The parameters of these names that are not empty. Raises `ValueError` for one of another
    name."""
    if unknown := query.keys() - {*names}:
        raise ValueError(f"{min(unknown)!r} is none of {', '.join(names)}.")
    return {name: query[name] for name in names if query.get(name)}
