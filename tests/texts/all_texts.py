"""All texts, in the order in which a maintainer meets them."""

from typing import Final

from tests.texts import answers, calls, comments, needs_human, pull_requests, refusals, sentences

TEXTS: Final = (
    *refusals.TEXTS,
    *sentences.TEXTS,
    *comments.TEXTS,
    *calls.TEXTS,
    *pull_requests.TEXTS,
    *needs_human.TEXTS,
    *answers.TEXTS,
)
