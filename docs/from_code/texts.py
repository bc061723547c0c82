"""All texts that people read on GitHub, from the snapshots that tests hold them to."""

from collections.abc import Iterator
from itertools import groupby

from tests.texts.all_texts import TEXTS


def texts() -> Iterator[str]:
    """Each text as it is written, in a block; hidden marks of ours included."""
    for where, of_a_kind in groupby(TEXTS, key=lambda text: text.where):
        yield f"## {where}"
        yield ""
        for text in of_a_kind:
            yield f"### {where}. {text.when}"
            yield ""
            yield "````markdown"
            yield text.expected
            yield "````"
            yield ""
