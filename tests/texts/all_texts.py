"""All texts, in the order in which a maintainer meets them."""

from typing import Final

from tests.texts import calls, comments, needs_human, pull_requests

TEXTS: Final = (*comments.TEXTS, *calls.TEXTS, *pull_requests.TEXTS, *needs_human.TEXTS)
