"""What a person has filled in on a page."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

MAX_FORM_BYTES = 100_000
Form = Mapping[str, str]


async def read_form(request: Request) -> Form | None:
    """The fields of a form; None for one that is too large."""
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > MAX_FORM_BYTES:
            return None
    return dict(parse_qsl(raw.decode(errors="replace"), keep_blank_values=True))


def is_from_elsewhere(request: Request) -> bool:
    """Whether a page of somebody else's had the browser send the form."""
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")
