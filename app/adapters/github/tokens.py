"""Installation tokens: one repository and the fewest permissions each, kept until they grow old."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal

from app.adapters.github.reading import dig, needed_instant, needed_number, needed_text
from app.ports import Clock, Refused

LEAST_REMAINING: Final = timedelta(minutes=10)
"""No token is handed out that ends sooner; GitHub's live one hour."""

Purpose = Literal["list", "effects", "read", "write", "teams"]

PERMISSIONS: Final[Mapping[Purpose, Mapping[str, str]]] = MappingProxyType(
    {
        "list": {"metadata": "read"},
        "effects": {
            "checks": "write",
            "contents": "read",
            "issues": "write",
            "metadata": "read",
            "pull_requests": "write",
            "statuses": "read",
        },
        "read": {"contents": "read"},
        "write": {"contents": "write"},
        "teams": {"members": "read"},
    }
)
"""What each purpose may do. Never `workflows`: GitHub then refuses pushes that change them."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a token is good for."""

    installation_id: int
    repository: str | None
    """`owner/name`; None: whatever the installation sees, which only "list" needs."""
    purpose: Purpose

    def order(self, lacking: Collection[str] = ()) -> Mapping[str, object]:
        """The body that asks GitHub for such a token, but for what the App lacks."""
        wanted = PERMISSIONS[self.purpose].items()
        permissions = {name: level for name, level in wanted if name not in lacking}
        order: dict[str, object] = {"permissions": permissions}
        if self.repository is not None:
            order["repositories"] = [self.repository.partition("/")[2]]
        return order


@dataclass(frozen=True, slots=True)
class Token:
    """A secret; its value is kept out of `repr`."""

    value: str = field(repr=False)
    ends_at: datetime
    repository_id: int | None
    """None: it is good for all that the installation sees."""


class Tokens:
    """Asks for a token once per scope, however many wait for it. For one event loop."""

    def __init__(self, ask: Callable[[Scope], Awaitable[object]], clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._tokens: dict[Scope, Token] = {}
        self._locks: dict[Scope, asyncio.Lock] = {}
        self._given: list[Token] = []

    async def get(self, scope: Scope) -> str:
        """A token that lives for `LEAST_REMAINING` or longer."""
        async with self._locks.setdefault(scope, asyncio.Lock()):
            known = self._tokens.get(scope)
            if known is not None and self._is_fresh(known):
                return known.value
            token = _token(await self._ask(scope))
            if not self._is_fresh(token):
                raise Refused(
                    f"GitHub's new token ends at {token.ends_at:%H:%M:%S} UTC, which is too soon:"
                    " check this machine's clock",
                    401,
                )
            self._tokens[scope] = token
            self._given = [*self._living(), token]
            return token.value

    def living(self) -> list[str]:
        """The values of all tokens that GitHub may still take, also of those that are forgotten."""
        return [token.value for token in self._living()]

    def _living(self) -> list[Token]:
        now = self._clock.now()
        return [token for token in self._given if token.ends_at > now]

    def forget(self, scope: Scope, value: str) -> None:
        """GitHub no longer takes this token; one that replaced it meanwhile stays."""
        known = self._tokens.get(scope)
        if known is not None and known.value == value:
            del self._tokens[scope]

    def forget_moved(self, present: Mapping[str, int]) -> None:
        """Forget tokens for repositories whose name another one has taken; `present`: ids by
        `owner/name`."""
        for scope, token in [*self._tokens.items()]:
            if token.repository_id != present.get(scope.repository or "", token.repository_id):
                del self._tokens[scope]

    def _is_fresh(self, token: Token) -> bool:
        return token.ends_at - self._clock.now() >= LEAST_REMAINING


def _token(answer: object) -> Token:
    chosen = dig(answer, "repositories")
    repository_id = needed_number(chosen[0], "id") if isinstance(chosen, list) and chosen else None
    return Token(needed_text(answer, "token"), needed_instant(answer, "expires_at"), repository_id)
