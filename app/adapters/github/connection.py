"""Calls with the right token each, and lists to their end."""

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from app.adapters.github.call import Answer, Call
from app.adapters.github.reading import needed_list
from app.adapters.github.tokens import Scope, Tokens
from app.ports import Clock, Refused

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport

    from app.adapters.github.wire import Wire

MAX_PAGES: Final = 100
PAGE_SIZE: Final = 100


class Connection:
    """GitHub for one App. For one event loop, to which its locks belong."""

    def __init__(
        self,
        app_id: int,
        private_key: SecretStr,
        api_url: str,
        clock: Clock,
        transport: "AsyncBaseTransport | None",
    ) -> None:
        self._app_id = app_id
        self._private_key = private_key
        self._api_url = api_url
        self._clock = clock
        self._transport = transport
        self.tokens = Tokens(self._new_token, clock)

    @cached_property
    def _wire(self) -> "Wire":
        # Imported at the first call: 0.3 s and 30 MB that starting up need not wait for.
        from app.adapters.github.wire import Wire

        return Wire(self._app_id, self._private_key, self._api_url, self._clock, self._transport)

    async def send(self, call: Call, scope: Scope | None = None) -> Answer:
        """Do a call with a token of that scope, or as the App itself.

        Raises `RateLimited`, `Refused`, `Unreachable`. A token that GitHub no longer takes is
        replaced once: a call that was answered with 401 has not been done.
        """
        if scope is None:
            return await self._wire.exchange(call, None)
        token = await self.tokens.get(scope)
        try:
            return await self._wire.exchange(call, token)
        except Refused as refused:
            if refused.status != 401:
                raise
        self.tokens.forget(scope, token)
        return await self._wire.exchange(call, await self.tokens.get(scope))

    async def pages(
        self, call: Call, scope: Scope | None = None, within: str | None = None
    ) -> AsyncIterator[object]:
        """Every entry of a list, page after page; `within` names the list in the answer.

        Only the query of the `Link` is followed, so that no token goes to another host. Raises
        `Refused` beyond `MAX_PAGES`: half a list would be worse than none.
        """
        call = replace(call, query={**call.query, "per_page": PAGE_SIZE})
        for _ in range(MAX_PAGES):
            answer = await self.send(call, scope)
            path = () if within is None else (within,)
            for entry in needed_list(answer.body, *path):
                yield entry
            if answer.next_page is None:
                return
            call = replace(call, query=answer.next_page)
        most = MAX_PAGES * PAGE_SIZE
        raise Refused(f"{call} has more than {most} entries; Squadron reads no further", 422)

    async def _new_token(self, scope: Scope) -> object:
        path = f"/app/installations/{scope.installation_id}/access_tokens"
        try:
            return (await self._wire.exchange(Call("POST", path, body=scope.order()), None)).body
        except Refused as refused:
            # Never 404: that would read as if what the token is for did not exist.
            raise Refused(
                f"No access to {scope.repository or 'the installation'}: was the App uninstalled,"
                f" suspended or given fewer permissions, or the repository renamed? {refused}",
                401 if refused.status == 401 else 403,
            ) from refused
