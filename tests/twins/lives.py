"""Which of the processes that a story has started something belongs to, and whether that lives."""

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import Context, ContextVar
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class Life:
    """One process, from its start to its end."""

    def __init__(self, number: int) -> None:
        self.name = f"life-{number}"
        self.is_over = False
        self.tasks: set[asyncio.Task[Any]] = set()
        """Those that are not done."""


LIFE: ContextVar[Life | None] = ContextVar("life", default=None)
"""Of the code that runs; None: of the people, of GitHub, of the story itself."""


def check_alive() -> None:
    """What a process that is gone asks of the world is not asked any more."""
    life = LIFE.get()
    if life is not None and life.is_over:
        raise asyncio.CancelledError


def outside(work: Coroutine[Any, Any, Answer]) -> "asyncio.Task[Answer]":
    """A task that no process of the story owns: it goes on whatever becomes of them."""
    return asyncio.get_running_loop().create_task(work, context=Context())


def owned_task(
    loop: asyncio.AbstractEventLoop,
    work: Coroutine[Any, Any, Answer] | Generator[Any, None, Answer],
    context: Context | None = None,
) -> "asyncio.Task[Answer]":
    """The task factory of stories."""
    task = asyncio.Task(work, loop=loop, context=context)
    life = LIFE.get() if context is None else context.get(LIFE)
    if life is not None:
        life.tasks.add(task)
        task.add_done_callback(life.tasks.discard)
    return task
