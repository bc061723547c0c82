"""Thirty faults in ten minutes, on five processes that share nothing but PostgreSQL.

docs/design.md, promises 1, 2 and 4.
"""

import os
from pathlib import Path
from typing import Final

import pytest

from tests.contract.store_support import own_postgresql_database
from tests.crash.cluster import NAIVE
from tests.crash.site import site
from tests.crash.soak import ISSUES_PER_FAULT, PACE_SECONDS, SHAPE, Soak, plan

pytestmark = pytest.mark.soak

SEED: Final = int(os.environ.get("SQUADRON_TEST_SOAK_SEED", "2026"))
FAULTS: Final = 30
ROLES: Final = (
    "reviewed", "asker", "builder", "runaway", "waiter", "reviewed", "racer", "prepared",
    "dropped", "asker", "reader",
)  # fmt: skip


def test_nothing_is_lost_doubled_or_forgotten(tmp_path: Path) -> None:
    steps = plan(SEED)
    with (
        own_postgresql_database() as url,
        site(tmp_path / "c", SEED, url, shape=SHAPE, pace_seconds=PACE_SECONDS) as here,
    ):
        Soak(here, url).run(steps, ROLES, lambda: False)
        here.rest()
    outcome = here.outcome
    print(f"\n{outcome}")
    print(f"agents that were told of a loss: {len(here.witness.told)}")
    assert not outcome.found, "\n".join(outcome.found)
    assert outcome.gave_up == 0
    assert outcome.faults.total() == FAULTS
    assert outcome.agents.total() == FAULTS * ISSUES_PER_FAULT
    assert here.witness.told, "nobody lost anything, so this proves little"


def test_without_noting_where_files_are_somebody_forgets_untold(tmp_path: Path) -> None:
    """The control: same seed, same faults, but whatever lies in a data directory is taken for an
    agent's files. It ends with the first who forgets."""
    with (
        own_postgresql_database() as url,
        site(tmp_path / "c", SEED, url, NAIVE, SHAPE, PACE_SECONDS) as here,
    ):
        Soak(here, url).run(plan(SEED), ROLES, lambda: bool(here.witness.untold))
    outcome = here.outcome
    found = here.witness.untold
    print(f"\ncontrol, {outcome.title}: untold after {outcome.faults.total()} faults: {found}")
    assert found, "nobody forgot anything, so the other test proves nothing"
