"""Deaths at moments that a campaign meets too seldom, each aimed at."""

from pathlib import Path

import pytest

from app.core.agents.events import ToolEnded, Waits
from app.core.agents.lifecycle import State
from tests.contract.store_support import own_postgresql_database
from tests.crash.findings import has_file
from tests.crash.site import site
from tests.support import processes
from tests.support.steps import completes, runs, writes
from tests.support.waiting import until

pytestmark = pytest.mark.crash

SEED = 11


def test_a_setup_that_was_cut_off_runs_again(tmp_path: Path) -> None:
    """Promise 2: the segment starts again, in a workspace without what the first left half."""
    with site(tmp_path / "c", SEED, None) as here:
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
        copied = f"{agent.assignment.task.title}.txt"
        assert has_file(world, agent.branch, copied), "the agent had what the setup made"
        assert not has_file(world, agent.branch, "setup.txt"), "nobody wrote that"


def test_the_work_of_a_dead_process_is_kept_though_its_agent_was_cancelled_meanwhile(
    tmp_path: Path,
) -> None:
    """Promise 2: nobody starts this segment again, nothing of it runs on, and its work is kept."""
    with own_postgresql_database() as url, site(tmp_path / "c", SEED, url) as here:
        world = here.world
        for member in here.members:
            member.until_ready()
        lingers = runs("setsid sleep 600 >/dev/null 2>&1 & sleep 600")
        here.crowd.open(("dropped",), writes("half.txt", "half done\n"), lingers)
        marker = f"SQUADRON_SEGMENT={world.repository}#"
        [agent] = until(
            lambda: [
                agent
                for agent in world.agents()
                if list(processes.carrying(marker).values()).count("sleep 600") == 2
            ],
            "the agent's command runs, and what it has sent away",
        )
        killed = next(one for one in here.members if f"-{one.pid}-" in (agent.worker or ""))
        killed.kill()
        here.crowd.tend(world.registry)
        until(
            lambda: world.registry.agent(agent.id).state is State.CANCELLED,
            "the other process cancels the agent",
        )
        until(lambda: not processes.carrying(marker), "nothing of the agent runs")
        assert has_file(world, agent.branch, "half.txt")
        killed.start()
        killed.until_ready()


def test_a_report_is_not_forgotten_when_the_process_dies_while_the_work_is_kept(
    tmp_path: Path,
) -> None:
    """Promise 2, and docs/design.md, Shape: an event is appended before its consequence."""
    with site(tmp_path / "c", SEED, None) as here:
        [member], world = here.members, here.world
        steps = (writes("whole.txt", "done\n"), runs("sleep 0.5"), completes("Done."))
        here.crowd.open(("builder",), *steps)
        until(
            lambda: any(
                isinstance(event, ToolEnded)
                for agent in world.agents()
                for event in world.registry.log(agent.id)
            ),
            "the agent works on its branch",
        )
        assert here.meets("/git-receive-pack$", {"kind": "slow", "seconds": 2})
        member.kill()
        member.start()
        member.until_ready()
        [agent] = until(
            lambda: [one for one in world.agents() if one.state is State.SLEEPING],
            "the agent has ended its segment",
        )
        assert agent.waits_for is Waits.REVIEW


def test_a_label_that_arrives_after_its_agent_has_ended_starts_no_second_one(
    tmp_path: Path,
) -> None:
    """Promise 1: it takes effect once, whatever order. Reconciliation was faster than GitHub."""
    with site(tmp_path / "c", SEED, None) as here:
        world, postman = here.world, here.postman
        postman.may_deliver.clear()
        here.crowd.open(("reader",))
        until(
            lambda: [one for one in world.agents() if one.state is State.COMPLETED],
            "reconciliation has found the label and the agent has done its work",
        )
        postman.may_deliver.set()
        until(lambda: postman.is_done and world.registry.is_drained(), "all is delivered")
        assert len(postman.acknowledged) > 1
        assert [one.id.attempt for one in world.agents()] == [1]
