"""Takes secrets out of text before it leaves the process or is stored.

Values that are known come first, in each form in which they travel; then everything that has the
shape of a secret, for what nobody told us about. Shapes have no upper bound and no end anchor:
GitHub's installation tokens come with 36 characters or with about 520, dots and dashes included
(facts/github.md section 4, facts/security.md section 2).
"""

import base64
import json
import re
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import quote

MASK: Final = "[redacted]"

_SHAPES: Final = re.compile(
    r"""
      gh[pousr]_[A-Za-z0-9._-]{20,}                     # GitHub: user, App and refresh tokens
    | github_pat_[A-Za-z0-9_]{20,}                      # GitHub: fine-grained personal token
    | eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?   # JWT
    | eC1hY2Nlc3MtdG9rZW46[A-Za-z0-9+/=_-]+             # base64 of "x-access-token:…"
    | (?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{20,}           # keys of model providers
    | -----BEGIN\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY-----     # PEM; all that follows if it was cut off
      .*? (?: -----END\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY----- | \Z )
    """,
    re.VERBOSE | re.DOTALL,
)


def redact(text: str, known: Sequence[str] = ()) -> str:
    """The text with `MASK` in place of every known secret and of every shape of one.

    Empty known values are ignored, others are taken as they are, whatever their length.
    """
    # Backwards: a secret that begins with another one stands before it, and leaves no end behind.
    forms = sorted({form for secret in known if secret for form in _forms(secret)}, reverse=True)
    if forms:
        text = re.sub("|".join(map(re.escape, forms)), MASK, text)
    return _SHAPES.sub(MASK, text)


def _forms(secret: str) -> Iterator[str]:
    """How a secret reads in a header, a URL, a JSON string, or as it is."""
    yield secret
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    for plain in (secret, f"x-access-token:{secret}"):
        encoded = base64.b64encode(plain.encode()).decode()
        yield encoded
        yield encoded.rstrip("=").translate(str.maketrans("+/", "-_"))
