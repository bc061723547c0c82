"""`kill -9` at many moments on each database: nothing is lost, nothing is there twice.

docs/design.md, promises 1, 2 and 4; `facts/security.md` section 6, rows 1 and 16.
"""

import os
from pathlib import Path

import pytest

from tests.crash.campaign import FEW_KILLS, KILLS, fight, plan, short_plan
from tests.crash.cluster import BLIND
from tests.crash.findings import doubled
from tests.crash.site import site

SEED = int(os.environ.get("SQUADRON_TEST_CRASH_SEED", "2026"))
MOST_WHO_GIVE_UP = 0.5
"""Share of agents that ten deaths in a row may stop; most have to show that they go on."""


def test_nothing_is_lost_or_doubled_by_the_first_few_kills(
    tmp_path: Path, database_url: str | None
) -> None:
    with site(tmp_path / "c", SEED, database_url) as here:
        fight(here, short_plan(SEED), lambda: False)
        here.rest()
    outcome = here.outcome
    assert not outcome.found, "\n".join(outcome.found)
    assert outcome.faults.total() == FEW_KILLS


@pytest.mark.crash
def test_nothing_is_lost_and_nothing_is_doubled(tmp_path: Path, database_url: str | None) -> None:
    with site(tmp_path / "c", SEED, database_url) as here:
        fight(here, plan(SEED), lambda: False)
        here.rest()
    outcome = here.outcome
    print(f"\n{outcome}")
    assert not outcome.found, "\n".join(outcome.found)
    assert outcome.faults.total() == KILLS >= 30
    assert outcome.gave_up <= MOST_WHO_GIVE_UP * outcome.agents.total()


@pytest.mark.crash
def test_without_looking_before_writing_something_is_doubled(
    tmp_path: Path, database_url: str | None
) -> None:
    """The control: same seed, same kills, but the look-up of markers finds nothing.

    It ends with the first double.
    """
    found: list[str] = []

    def is_enough() -> bool:
        found.extend(doubled(here.world))
        return bool(found)

    with site(tmp_path / "c", SEED, database_url, BLIND) as here:
        fight(here, plan(SEED), is_enough)
    outcome = here.outcome
    print(f"\ncontrol, {outcome.title}: doubled after {outcome.faults.total()} kills: {found}")
    assert found, "without look-up nothing was doubled, so the other test proves nothing"
