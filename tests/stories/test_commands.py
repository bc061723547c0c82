"""Commands in comments."""

from collections.abc import Mapping
from typing import Final

import pytest

from tests.stories.happening import (
    ASKING,
    ASKS,
    AT_REVIEW,
    CANCELLED,
    FIXES,
    PAUSED,
    STOPPED,
    TOLD,
    Happening,
    says,
    tell,
)
from tests.support.steps import is_blocked, runs

HAPPENINGS: Final[Mapping[str, Happening]] = {
    "it is told to stop": Happening(ASKS, ASKING, says("/squadron stop"), [CANCELLED]),
    "it is told to wake": Happening(
        (*ASKS, *FIXES), ASKING, says("/squadron wake"), [AT_REVIEW], wakes=1
    ),
    "a stranger tells it to stop": Happening(ASKS, ASKING, says("/squadron stop", "tom"), [ASKING]),
    "it is told to go on": Happening(
        (runs("true"), runs("true"), *FIXES),
        PAUSED,
        says("/squadron raise max_tool_calls +9"),
        [AT_REVIEW],
        role="pauser",
        wakes=1,
    ),
    "it is resumed": Happening(
        (runs("true"), runs("true"), is_blocked("Enough?")),
        PAUSED,
        says("/squadron resume"),
        [ASKING],
        role="pauser",
        wakes=1,
    ),
    "a stopped one is tried again": Happening(
        (runs("true"),) * 4,  # the second one goes on where the first was stopped
        STOPPED,
        says("/squadron retry"),
        [STOPPED, STOPPED],
        role="stopper",
    ),
}


@pytest.mark.parametrize("how", TOLD)
@pytest.mark.parametrize("name", HAPPENINGS)
def test_it_ends_the_same_however_it_is_told(name: str, how: str) -> None:
    tell(HAPPENINGS[name], how)
