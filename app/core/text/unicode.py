"""Texts from outside that are no texts: NUL, and halves of surrogate pairs.

JSON can hold both. UTF-8 cannot hold the halves, PostgreSQL takes no NUL, so either would end
whatever has to keep the text or to hand it on.
"""

import json
import re
from typing import Final

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_BROKEN: Final = re.compile("[\0\ud800-\udfff]")
_MAY_BE_BROKEN: Final = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\xed[\xa0-\xbf]|\0")
"""In JSON: as an escape, as bytes, or in UTF-16, which is full of zeros."""


def whole(text: str) -> str:
    """`text` with U+FFFD for each character that is none."""
    return _BROKEN.sub(REPLACEMENT, text)


def read_json(content: bytes) -> object:
    """A document whose texts are whole. Raises `ValueError`, and `RecursionError` for one that is
    nested too deeply."""
    document: object = json.loads(content)
    return _whole_within(document) if _MAY_BE_BROKEN.search(content) else document


def writable(document: object) -> object:
    """A copy of a document of JSON, with whole texts."""
    return read_json(json.dumps(document).encode())


def _whole_within(document: object) -> object:
    """The document with whole texts; its lists and objects are changed in place."""
    if isinstance(document, str):
        return whole(document)
    left = [document]
    while left:
        match left.pop():
            case list() as items:
                items[:] = [whole(each) if isinstance(each, str) else each for each in items]
                left += items
            case dict() as table:
                entries = [
                    (whole(key), whole(each) if isinstance(each, str) else each)
                    for key, each in table.items()
                ]
                table.clear()
                table.update(entries)
                left += table.values()
            case _:
                continue
    return document
