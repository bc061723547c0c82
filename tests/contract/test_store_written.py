"""What people write to agents while these work or wait for their turn."""

from dataclasses import replace

from app.core.agents.agent import AgentId
from app.ports import Written
from tests.contract.store_support import NOON, World, later

FIRST = Written("comment 9", NOON, 9, "maria", "half a \ud83d pair", "https://box/9")
"""Its id has fewer digits than that of the next one."""
AGENT = AgentId("octo/demo", 12, "bug-fix", 1)


async def test_what_was_written_is_kept_once_for_each_agent_and_told_in_order(world: World) -> None:
    second = replace(FIRST, said="comment 10", comment=10, text="\0", link="")
    earlier = replace(FIRST, said="comment 11", comment=11, at=later(-1))
    for words in (second, FIRST, earlier):
        assert await world.store.write_to(AGENT, words)
    assert not await world.store.write_to(AGENT, replace(FIRST, text="told again"))
    told = await world.store.written_to(AGENT)
    assert [each.comment for each in told] == [11, 9, 10]
    assert (told[1].text, told[2].text) == ("half a \N{REPLACEMENT CHARACTER} pair", "\ufffd")
    assert told[1] == replace(FIRST, text=told[1].text)


async def test_what_is_old_is_forgotten(world: World) -> None:
    await world.store.write_to(AGENT, FIRST)
    await world.store.forget_written(NOON)
    assert [each.said for each in await world.store.written_to(AGENT)] == ["comment 9"]
    await world.store.forget_written(later(1))
    assert await world.store.written_to(AGENT) == []
