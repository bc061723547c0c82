"""Opens sessions; loads the model libraries when the first one is opened."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from app.adapters.runtimes.embedded.bounds import Bounds, Sleep
from app.adapters.runtimes.embedded.models import MakeModel
from app.ports import Gate, Processes, SessionOrder

if TYPE_CHECKING:
    from app.adapters.runtimes.embedded.session import EmbeddedSession


class EmbeddedRuntime:
    """Runs sessions in this process; a `Runtime` of the ports."""

    def __init__(
        self,
        processes: Processes,
        make_model: MakeModel,
        bounds: Bounds | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """`make_model` makes the models that a session's order names; see `models_of`. `sleep`:
        how a failed request waits before it is repeated."""
        self._processes = processes
        self._make_model = make_model
        self._bounds = bounds or Bounds()
        self._sleep = sleep

    async def open(self, order: SessionOrder, gate: Gate) -> EmbeddedSession:
        """A session, resumed from its directory if there is one.

        Raises `ModelUnusable`, `NoProvider`, `SessionDamaged`, and `OSError` for a directory that
        cannot be read or written.
        """
        # Importing takes a second or two: not on the event loop, where deliveries are answered.
        return await asyncio.to_thread(self._open, order, gate)

    def _open(self, order: SessionOrder, gate: Gate) -> EmbeddedSession:
        from app.adapters.runtimes.embedded.session import EmbeddedSession

        names = filter(None, (order.model, order.planning_model))
        models = {name: self._make_model(name) for name in names}
        return EmbeddedSession(order, gate, models, self._processes, self._bounds, self._sleep)
