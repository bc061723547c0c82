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

    def __init__(
        self, connection: Connection, repository: Repository, *, urgent: bool = False
    ) -> None:
        self._connection = connection
        self._urgent = urgent
        self._scope = Scope(repository.installation_id, repository.full_name, "effects")
        self._root = ("repos", *repository.full_name.split("/"))

    async def check_access(self) -> None:
        """Raises `NoAccess` if the App is not let in any more: nothing there says so itself."""
        await self._connection.check_access(self._scope)

    async def get(
        self, *parts: str | int, query: Query | None = None, is_remembered: bool = False
    ) -> object:
        return await self._send("GET", parts, query=query, is_remembered=is_remembered)

    async def find(
        self, *parts: str | int, query: Query | None = None, is_remembered: bool = False
    ) -> object:
        """As `get`, but None where there is nothing, or nothing any more."""
        try:
            return await self.get(*parts, query=query, is_remembered=is_remembered)
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
        self,
        *parts: str | int,
        query: Query | None = None,
        within: str | None = None,
        is_remembered: bool = False,
    ) -> AsyncIterator[object]:
        """Every entry of all pages."""
        call = Call("GET", self._path(parts), query or {}, is_remembered=is_remembered)
        return self._connection.pages(call, self._scope, within)

    async def post(self, *parts: str | int, body: Document) -> object:
        return await self._send("POST", parts, body)

    async def patch(self, *parts: str | int, body: Document) -> object:
        return await self._send("PATCH", parts, body)

    async def delete(self, *parts: str | int) -> None:
        await self._send("DELETE", parts)

    async def _send(
        self,
        method: Method,
        parts: tuple[str | int, ...],
        body: Document | None = None,
        query: Query | None = None,
        is_remembered: bool = False,
    ) -> object:
        call = Call(method, self._path(parts), query or {}, body, is_remembered)
        return (await self._connection.send(call, self._scope, urgent=self._urgent)).body

    def _path(self, parts: tuple[str | int, ...]) -> str:
        return "".join(f"/{quote(str(part), safe='')}" for part in (*self._root, *parts))
