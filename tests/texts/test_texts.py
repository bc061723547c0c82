"""Whoever changes words that people read changes them here too."""

import pytest

from tests.texts.all_texts import TEXTS
from tests.texts.text import Text


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: f"{text.where}: {text.when}")
def test_people_read(text: Text) -> None:
    assert text.render() == text.expected


def test_each_text_stands_there_once() -> None:
    heads = [(text.where, text.when) for text in TEXTS]
    assert len(set(heads)) == len(heads)
