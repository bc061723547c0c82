"""The runtime that a session's order names, among those that this service has."""

from collections.abc import Mapping

from app.core.rules.plan import RuntimeName
from app.ports import Gate, Runtime, Session, SessionOrder


class ChosenRuntime:
    """A `Runtime` of the ports that leaves each session to another one."""

    def __init__(self, runtimes: Mapping[RuntimeName, Runtime]) -> None:
        self._runtimes = runtimes

    async def open(self, order: SessionOrder, gate: Gate) -> Session:
        """As the runtime of the order."""
        return await self._runtimes[order.runtime].open(order, gate)
