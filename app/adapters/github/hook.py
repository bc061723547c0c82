"""The `Hook` port: the App's own deliveries, which no installation's token may see."""

from collections.abc import Sequence
from contextlib import aclosing
from datetime import datetime

from app.adapters.github import reading
from app.adapters.github.call import Call
from app.adapters.github.connection import Connection
from app.core.github.redelivery import Attempt


class AppHook:
    """Asks as the App itself."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def failed(self, since: datetime, most: int) -> Sequence[Attempt]:
        found = list[Attempt]()
        call = Call("GET", "/app/hook/deliveries", {"status": "failure"})
        async with aclosing(self._connection.pages(call)) as entries:  # newest first
            async for entry in entries:
                attempt = reading.attempt(entry)
                if attempt.at < since or len(found) == most:
                    break
                found.append(attempt)
        return found

    async def deliver_again(self, attempt: int) -> None:
        call = Call("POST", f"/app/hook/deliveries/{attempt}/attempts")
        await self._connection.send(call)
