"""Who looks at the pages, and what a browser brings along to prove it."""

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

LOGIN: Final = re.compile(r"(?i)[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){0,38}")
"""A login of GitHub's."""
NAME_COOKIE: Final = "squadron_name"
"""The login that somebody at this machine has given."""
_SEALED: Final = b"sealed:"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whoever has come in."""

    login: str
    """On GitHub; empty: nobody has said."""
    is_operator: bool
    """At the machine itself: may all that its commands may."""
    key: bytes
    """Of this session: who does not have it forges no form and no note."""

    @property
    def form_token(self) -> str:
        """In each form of this session: pages of others do not know it."""
        return hmac.digest(self.key, b"form", hashlib.sha256).hex()

    def is_own_form(self, token: str) -> bool:
        """Whether a form was made for this session."""
        return hmac.compare_digest(token.encode(), self.form_token.encode())

    def sealed(self, text: str) -> str:
        """What the browser may keep and bring again, but not change."""
        content = urlsafe_b64encode(text.encode()).decode()
        return f"{content}.{self._seal(content)}"

    def opened(self, sealed: str) -> str:
        """What `sealed` was made of; empty: of nothing in this session."""
        content, _, seal = sealed.partition(".")
        if not hmac.compare_digest(seal.encode(), self._seal(content).encode()):
            return ""
        try:
            return urlsafe_b64decode(content).decode()
        except (NotBase64, UnicodeDecodeError):
            return ""

    def _seal(self, content: str) -> str:
        return hmac.digest(self.key, _SEALED + content.encode(), hashlib.sha256).hex()


def visitor_of(request: Request) -> Visitor:
    """Whom the door has let in."""
    visitor = request.state.visitor
    assert isinstance(visitor, Visitor), "every request comes through the door"
    return visitor
