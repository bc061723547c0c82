"""What a pass may begin with what it has spent."""

import pytest

from app.ports import Spent
from app.services.drain import Drain
from app.services.reconciling.request_budget import (
    LEAST_IN_TURN,
    USUAL_REQUESTS,
    Purse,
    Share,
)


@pytest.mark.parametrize(
    ("spent_before", "share", "more"),
    [
        (0, Share.LOOKS, Share.LOOKS),
        (0, Share.DOUBLES, Share.DOUBLES),
        (0, Share.REVIEWS, USUAL_REQUESTS),
        (USUAL_REQUESTS - 1, Share.REVIEWS, LEAST_IN_TURN),
        (USUAL_REQUESTS, Share.REVIEWS, LEAST_IN_TURN),
        (700, Share.ESCALATIONS, LEAST_IN_TURN),
        (Share.REVIEWS - 5, Share.REVIEWS, 5),
        (Share.REVIEWS, Share.REVIEWS, 0),
    ],
)
def test_what_is_asked_in_turn_stops_where_a_pass_costs_enough(
    spent_before: int, share: Share, more: int
) -> None:
    purse = Purse(Spent(spent_before), Drain(), 1)
    begun = 0
    while purse.holds(share):
        begun += 1
        purse.spent.requests += 1
    assert begun == more


def test_each_kind_has_its_turn_whatever_the_one_before_it_took() -> None:
    purse = Purse(Spent(USUAL_REQUESTS), Drain(), 1)
    for share in (Share.REVIEWS, Share.ESCALATIONS):
        begun = purse.spent.requests
        while purse.holds(share):
            purse.spent.requests += 1
        assert purse.spent.requests - begun == LEAST_IN_TURN


def test_a_process_that_ends_begins_nothing() -> None:
    purse = Purse(Spent(), Drain(), 1)
    purse.drain.end()
    assert not any(map(purse.holds, Share))
