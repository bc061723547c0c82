"""Calls below one repository's path, with a token that is good for that repository only."""

from collections.abc import AsyncIterator
from urllib.parse import quote

from app.adapters.github.call import Call, Document, Method, Query
from app.adapters.github.connection import Connection
from app.adapters.github.tokens import Scope
from app.ports import Refused, Repository


class At:
    """The REST paths of one repository; parts of a path are given as they read, unencoded.

    Every method may raise `RateLimited`, `Refused` or `Unreachable`.
    """

    def __init__(self, connection: Connection, repository: Repository) -> None:
        self._connection = connection
        self._scope = Scope(repository.installation_id, repository.full_name, "effects")
        self._root = ("repos", *repository.full_name.split("/"))

    async def get(self, *parts: str | int) -> object:
        return await self._send("GET", parts)

    async def find(self, *parts: str | int) -> object:
        """As `get`, but None where there is nothing, or nothing any more."""
        try:
            return await self.get(*parts)
        except Refused as refused:
            if refused.status not in (404, 410):
                raise
            return None

    async def exists(self, *parts: str | int) -> bool:
        """Of a path that GitHub answers with 204 or 404."""
        try:
            await self.get(*parts)
        except Refused as refused:
            if refused.status != 404:
                raise
            return False
        return True

    def list(
        self, *parts: str | int, query: Query | None = None, within: str | None = None
    ) -> AsyncIterator[object]:
        """Every entry of all pages."""
        call = Call("GET", self._path(parts), query or {})
        return self._connection.pages(call, self._scope, within)

    async def post(self, *parts: str | int, body: Document) -> object:
        return await self._send("POST", parts, body)

    async def patch(self, *parts: str | int, body: Document) -> object:
        return await self._send("PATCH", parts, body)

    async def delete(self, *parts: str | int) -> None:
        await self._send("DELETE", parts)

    async def _send(
        self, method: Method, parts: tuple[str | int, ...], body: Document | None = None
    ) -> object:
        call = Call(method, self._path(parts), body=body)
        return (await self._connection.send(call, self._scope)).body

    def _path(self, parts: tuple[str | int, ...]) -> str:
        return "".join(f"/{quote(str(part), safe='')}" for part in (*self._root, *parts))
