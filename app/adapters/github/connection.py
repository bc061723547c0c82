"""Calls with the right token each, and lists to their end."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from app.adapters.github.access import Access
from app.adapters.github.call import Answer, Call, Document
from app.adapters.github.failures import MissingPermission, Suspended
from app.adapters.github.reading import needed_list
from app.adapters.github.tokens import Scope, Tokens
from app.core.text.redact import Redactor
from app.ports import Clock, Paced, Pacing, RateLimited, Refused

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport

    from app.adapters.github.wire import Wire

MAX_PAGES: Final = 100
PAGE_SIZE: Final = 100
READ_BY_PEOPLE: Final = frozenset({"title", "body", "summary", "text", "message", "description"})
"""Keys of documents whose texts are no names, ids or places."""


class Connection:
    """GitHub for one App. For one event loop, to which its locks belong."""

    def __init__(
        self,
        app_id: int,
        private_keys: Sequence[SecretStr],
        api_url: str,
        clock: Clock,
        transport: "AsyncBaseTransport | None",
        pacing: Pacing | None,
        redact: Redactor,
    ) -> None:
        self._app_id = app_id
        self._private_keys = private_keys
        self._api_url = api_url
        self._clock = clock
        self._transport = transport
        self._pacing = pacing
        self._redact = redact
        self.tokens = Tokens(self._new_token, clock)
        self._access = Access(self._as_the_app)

    @cached_property
    def _wire(self) -> "Wire":
        # Imported at the first call: 0.3 s and 30 MB that starting up need not wait for.
        from app.adapters.github.wire import Wire

        return Wire(self._app_id, self._private_keys, self._api_url, self._clock, self._transport)

    async def _as_the_app(self, call: Call) -> Answer:
        return await self._wire.exchange(call, None)

    async def send(self, call: Call, scope: Scope | None = None, *, urgent: bool = False) -> Answer:
        """Do a call with a token of that scope, or as the App itself.

        A write keeps to the pace of its installation, before which goes what is `urgent`. Raises
        `RateLimited`, `Refused`, `Unreachable`, and for a write that is put off `Paced`. A token
        that GitHub no longer takes is replaced once: a call that was answered with 401 has not
        been done.
        """
        if scope is None:
            return await self._wire.exchange(call, None)
        if not call.only_reads:
            call = replace(call, body=self._without_secrets(call.body))
            await self._keep_pace(call, scope, urgent)
        try:
            return await self._with_token(call, scope)
        except RateLimited as limited:
            if self._pacing is not None:
                now = self._clock.now()
                await self._pacing.stop(scope.installation_id, limited.resets_at, now)
            raise

    def _without_secrets(self, document: Document | None) -> Document | None:
        """What people read of a document, redacted; names, ids and places stay as they are."""
        if document is None:
            return None
        return {key: self._clean(key, value) for key, value in document.items()}

    def _clean(self, key: str, value: object) -> object:
        if key in READ_BY_PEOPLE:
            return self._redact.within(value)
        match value:
            case dict():
                return self._without_secrets(value)
            case list():
                return [self._clean(key, each) for each in value]
            case _:
                return value

    async def _keep_pace(self, call: Call, scope: Scope, urgent: bool) -> None:
        if self._pacing is None:
            return
        creates = call.method == "POST"
        at = await self._pacing.take(
            scope.installation_id, self._clock.now(), creates=creates, urgent=urgent
        )
        if at is not None:
            raise Paced(f"{call} has to wait until {at:%H:%M:%S} UTC: GitHub limits writing", at)

    async def _with_token(self, call: Call, scope: Scope) -> Answer:
        token = await self.tokens.get(scope)
        try:
            return await self._wire.exchange(call, token)
        except Refused as refused:
            if not _may_be_the_token(call, refused):
                raise
            failure = refused
        self.tokens.forget(scope, token)
        fresh = await self.tokens.get(scope)  # says why, if there is no access any more
        if failure.status in (301, 404):
            raise failure
        try:
            return await self._wire.exchange(call, fresh)
        except MissingPermission as refused:
            self.tokens.forget(scope, fresh)  # it may be granted long before this one ends
            raise await self._access.missing_permission(scope, refused) from refused

    async def check_access(self, scope: Scope) -> None:
        """Raises `NoAccess` if a token of that scope can no longer be had."""
        self.tokens.forget(scope, await self.tokens.get(scope))
        await self.tokens.get(scope)

    async def pages(
        self, call: Call, scope: Scope | None = None, within: str | None = None
    ) -> AsyncGenerator[object]:
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
            if refused.status == 401:  # the App's own key or clock
                raise
            # Never 404: that would read as if what the token is for did not exist.
            failure = await self._access.no_token(scope)
            if not isinstance(failure, MissingPermission) or scope.purpose != "effects":
                raise failure from refused
            lacking = failure.lacking
        # One permission that is missing keeps nobody from what takes others.
        return (await self._wire.exchange(Call("POST", path, body=scope.order(lacking)), None)).body


def _may_be_the_token(call: Call, refused: Refused) -> bool:
    """Whether the call was refused for its token's sake. Where nothing is to write to, or
    not any more, the App may not be let in."""
    if refused.status == 401 or isinstance(refused, MissingPermission | Suspended):
        return True
    return refused.status in (301, 404) and not call.only_reads
