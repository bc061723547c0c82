"""Our own comments on an issue, found by what stands in them.

GitHub lists comments oldest first and has no other order, so on an issue of 10,000 comments the
last of them is a hundred requests away. A long list is therefore read once; after that only what
has changed since is asked for.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.adapters.github import reading
from app.adapters.github.at import At
from app.adapters.github.call import second

PAGE: Final = 100
"""Entries of a page: what fits one is read again each time."""
MOST_ISSUES: Final = 50
"""Of which long lists are known; the one that was not searched for longest goes first."""
OVERLAP: Final = timedelta(minutes=2)
"""How much is read again: GitHub's lists may lag."""


@dataclass(frozen=True, slots=True)
class _Known:
    ours: Mapping[int, object]
    """By number, as GitHub gave them."""
    until: datetime
    """The last change of any comment there, by GitHub's clock."""


class OwnComments:
    """What is known of long lists of comments. For one event loop."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], _Known] = OrderedDict()

    async def marked(
        self, here: At, full_name: str, number: int, us: str, marker: str
    ) -> Sequence[object]:
        """Those on the issue in which `us` wrote the marker, the oldest first."""
        name = full_name, number
        before = self._known.pop(name, None)
        since = None if before is None else before.until - OVERLAP
        found = await _read(here, number, since)
        ours = {} if before is None else dict(before.ours)
        fresh = {reading.needed_number(each, "id"): each for each in found}
        ours |= {id: each for id, each in fresh.items() if reading.is_marked(each, us, "")}
        marked = {id: each for id, each in ours.items() if reading.is_marked(each, us, marker)}
        for id in marked.keys() - fresh.keys():  # somebody may have deleted it
            if await here.find("issues", "comments", id) is None:
                del ours[id], marked[id]
        if before is not None or len(found) > PAGE:
            times = [reading.needed_instant(each, "updated_at") for each in found]
            self._keep(name, _Known(ours, max([*times, *([before.until] if before else [])])))
        return [marked[id] for id in sorted(marked)]

    def _keep(self, name: tuple[str, int], known: _Known) -> None:
        self._known[name] = known
        while len(self._known) > MOST_ISSUES:
            self._known.popitem(last=False)


async def _read(here: At, number: int, since: datetime | None) -> Sequence[object]:
    query = {} if since is None else {"since": second(since)}
    return [each async for each in here.list("issues", number, "comments", query=query)]
