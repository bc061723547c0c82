"""Where the files of agents are, and what is kept of them for other machines."""

from app.core.agents.agent import Agent
from app.core.agents.events import Finished
from app.core.agents.lifecycle import Signal
from app.ports import Artifact, ArtifactKind, Whereabouts
from tests.contract.store_support import World, later
from tests.support.moves import begin, move

SAID = ArtifactKind.CONVERSATION
FIRST, SECOND = Whereabouts("first", 1), Whereabouts("second", 2)


async def test_it_is_known_where_the_files_of_an_agent_are(world: World) -> None:
    agent = await world.an_active(1)
    other = await world.an_active(2)
    assert await world.store.whereabouts(agent.id) is None
    for there in (FIRST, SECOND):
        assert await world.store.note_whereabouts(agent, there)
        assert await world.store.whereabouts(agent.id) == there
    assert await world.store.whereabouts(other.id) is None


async def test_what_was_kept_last_is_had(world: World) -> None:
    agent = await world.an_active(1)
    assert await world.store.artifact(agent.id, SAID) is None
    for artifact in (Artifact(b"\0first", 1), Artifact(b"second" * 100_000, 7)):
        assert await world.store.keep_artifact(agent, SAID, artifact)
        assert await world.store.artifact(agent.id, SAID) == artifact
    await world.store.forget_artifacts(agent.id)
    assert await world.store.artifact(agent.id, SAID) is None


async def test_of_whom_something_is_kept_long_after_the_end_is_known(world: World) -> None:
    for issue, ends_at in ((1, 10), (2, 20), (3, 10), (4, None)):
        agent = await world.an_active(issue)
        if issue != 3:
            assert await world.store.keep_artifact(agent, SAID, Artifact(b"said", 1))
        if ends_at is not None:
            end = Finished(at=later(ends_at), why="done")
            assert await move(world.store, agent, Signal.FINISHED, [end])
    found = await world.store.ended_with_artifacts(later(15))
    assert [each.issue for each in found] == [1]


async def test_who_has_gone_on_is_not_overwritten_by_one_who_comes_late(world: World) -> None:
    late = await world.an_active(1)
    now = await goes_on(world, late)
    assert await world.store.note_whereabouts(now, SECOND)
    assert await world.store.keep_artifact(now, SAID, Artifact(b"newer", 2))
    assert not await world.store.note_whereabouts(late, FIRST)
    assert not await world.store.keep_artifact(late, SAID, Artifact(b"older", 1))
    assert await world.store.whereabouts(late.id) == SECOND
    assert await world.store.artifact(late.id, SAID) == Artifact(b"newer", 2)


async def goes_on(world: World, agent: Agent) -> Agent:
    """Its next attempt, by another worker."""
    again = await begin(world.store, agent.id, agent.segment, "another", later(1))
    assert again is not None
    return again
