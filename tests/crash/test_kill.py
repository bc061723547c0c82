"""`kill -9` at many moments on each database: nothing is lost, nothing is there twice.

docs/design.md, promises 1, 2 and 4; `facts/security.md` section 6, rows 1 and 16.
"""

import os
from pathlib import Path

import pytest

from tests.crash.campaign import FEW_KILLS, KILLS, campaign, plan, short_plan
from tests.crash.cluster import BLIND
from tests.crash.findings import doubled

SEED = int(os.environ.get("SQUADRON_TEST_CRASH_SEED", "2026"))
MOST_WHO_GIVE_UP = 0.5
"""Share of agents that ten deaths in a row may stop; most have to show that they go on."""


def test_nothing_is_lost_or_doubled_by_the_first_few_kills(
    tmp_path: Path, database_url: str | None
) -> None:
    with campaign(tmp_path / "c", SEED, database_url) as fight:
        fight.fight(short_plan(SEED), lambda: False)
        fight.rest()
    outcome = fight.outcome
    found = outcome.lost + outcome.doubled + outcome.forgotten + outcome.orphans
    assert not found, "\n".join(map(str, found))
    assert outcome.moments.total() == FEW_KILLS


@pytest.mark.crash
def test_nothing_is_lost_and_nothing_is_doubled(tmp_path: Path, database_url: str | None) -> None:
    with campaign(tmp_path / "c", SEED, database_url) as fight:
        fight.fight(plan(SEED), lambda: False)
        fight.rest()
    outcome = fight.outcome
    print(f"\n{outcome}")
    found = outcome.lost + outcome.doubled + outcome.forgotten + outcome.orphans
    assert not found, "\n".join(map(str, found))
    assert outcome.moments.total() == KILLS >= 30
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
        found.extend(doubled(fight.world))
        return bool(found)

    with campaign(tmp_path / "c", SEED, database_url, BLIND) as fight:
        fight.fight(plan(SEED), is_enough)
    outcome = fight.outcome
    print(f"\ncontrol, {outcome.title}: doubled after {outcome.moments.total()} kills: {found}")
    assert found, "without look-up nothing was doubled, so the other test proves nothing"
