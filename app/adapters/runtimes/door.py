"""The door to the model: the address and key that a CLI is given in place of the real ones.

Who stands behind it asks the gate before a request is sent on and counts every answer, whoever in
the CLI asked for it. A runtime makes no door itself: it is joined to one by `app/bootstrap.py`.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from app.core.agents.events import Phase
from app.core.breaker.verdict import Verdict
from app.core.rules.outages import ProviderFailure
from app.ports import Gate, SessionOrder


class ModelDoor(Protocol):
    """The door of one session, while it is open."""

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`; OpenAI's clients want `/v1` added to it."""
        ...

    @property
    def socket(self) -> Path | None:
        """A Unix socket that is the same door, where there is one."""
        ...

    @property
    def key(self) -> str:
        """Worth nothing elsewhere."""
        ...

    @property
    def halted(self) -> Verdict | None:
        """The first verdict of the present turn that let a request not be sent."""
        ...

    @property
    def failed(self) -> str | None:
        """Why nothing is sent on any more in the present turn, in people's words."""
        ...

    @property
    def away(self) -> ProviderFailure | None:
        """How the provider failed last in the present turn, if it has not answered since."""
        ...

    @property
    def stopped(self) -> asyncio.Event:
        """Set while `halted` or `failed` is."""
        ...

    def begin_turn(
        self,
        *,
        model: str | None = None,
        phase: Phase = Phase.EXECUTION,
        most_output_tokens: int | None = None,
    ) -> None:
        """What holds from now on, whatever the CLI asks for: the model (`provider:name`; None: as
        before), and the most tokens of one answer."""
        ...


OpenDoor = Callable[[SessionOrder, Gate], AbstractAsyncContextManager[ModelDoor]]
"""Raises `ModelUnusable`."""
