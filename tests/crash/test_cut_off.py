"""Deaths at moments that a campaign meets too seldom, each aimed at."""

from pathlib import Path

import pytest

from app.core.events import Waits
from tests.crash.campaign import campaign
from tests.crash.findings import has_file
from tests.support import processes
from tests.support.waiting import until

pytestmark = pytest.mark.crash

SEED = 11


def test_a_setup_that_was_cut_off_runs_again(tmp_path: Path) -> None:
    """Promise 2: the segment starts again in the same workspace, which is ready only then."""
    with campaign(tmp_path / "c", SEED, None) as here:
        [member], world = here.members, here.world
        member.until_ready()
        here.crowd.open(("prepared",))
        until(
            lambda: processes.carrying(f"SQUADRON_SEGMENT={world.repository}#"),
            "the setup command runs",
        )
        member.kill()
        [agent] = world.agents()
        assert not world.registry.counters(agent.id).turns, "it was killed in its setup"
        member.start()
        member.until_ready()

        def look() -> bool:
            [agent] = world.agents()
            assert agent.waits_for is not Waits.ANSWER, "it had nothing to work with"
            return agent.waits_for is Waits.REVIEW and agent.pull_request is not None

        until(look, "the agent has handed over", within_seconds=60)
        assert has_file(world, agent.branch, "setup.txt")
