"""Texts that are no texts, wherever JSON can hold them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.text.unicode import read_json, whole, writable

ANY_TEXT = st.text(st.characters())
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb'"\ud800"', "\ufffd"),
        (rb'"\uDFFF and \u0000"', "\ufffd and \ufffd"),
        (rb'"\ud83d\ude00"', "\N{GRINNING FACE}"),
        (rb'{"a\udc00": [{"b": ["\udc00"]}]}', {"a\ufffd": [{"b": ["\ufffd"]}]}),
        (b'"\xed\xa0\x80"', "\ufffd"),
        (json.dumps("\ud800").encode("utf-16-le"), "\ufffd"),
        (rb'"\\ud800"', "\\ud800"),
    ],
)
def test_what_json_can_hold_and_utf8_cannot_is_replaced(written: bytes, read: object) -> None:
    assert read_json(written) == read


def test_what_is_nested_deeply_is_read_to_its_end() -> None:
    deep = read_json(b"[" * 500 + rb'"\udc00"' + b"]" * 500)
    for _ in range(500):
        assert isinstance(deep, list)
        (deep,) = deep
    assert deep == "\ufffd"


@settings(deadline=None)
@given(DOCUMENTS)
def test_every_document_can_be_written_once_it_is_whole(document: object) -> None:
    there = writable(document)
    json.dumps(there, ensure_ascii=False).encode()
    assert there == writable(there)


@settings(deadline=None)
@given(ANY_TEXT)
def test_a_whole_text_stays_as_it_is_and_no_text_gets_longer(text: str) -> None:
    assert len(whole(text)) == len(text)
    assert "\0" not in whole(text)
    assert whole(whole(text)) == whole(text)
    assert whole(text) == text or any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text)
