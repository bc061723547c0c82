"""Counts requests for whoever has to say what a piece of work costs."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from app.adapters.github.call import Call
from app.ports import Spent

_counting: ContextVar[tuple[Spent, ...]] = ContextVar("_counting", default=())


@contextmanager
def counted() -> Iterator[Spent]:
    """Counts what this task, and those that it starts within, ask GitHub for."""
    spent = Spent()
    token = _counting.set((*_counting.get(), spent))
    try:
        yield spent
    finally:
        _counting.reset(token)


def count(call: Call) -> None:
    """A request is made."""
    for spent in _counting.get():
        if call.path.endswith("/access_tokens"):
            spent.for_tokens += 1
        else:
            spent.requests += 1


def count_unchanged() -> None:
    """It was answered with 304."""
    for spent in _counting.get():
        spent.unchanged += 1
