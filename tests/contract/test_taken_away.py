"""Work that is taken away from an agent that moves on while it is kept."""

from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from app.core.agents.events import AgentEvent, Created
from app.core.github.timeline import Mark
from app.ports import Repository
from app.services.steering.blockers import Blockers
from app.services.steering.ownership import Overriding
from app.services.steering.pull_request_ended import PullRequestEnds
from app.services.steering.taken_away import EndsByPeople
from app.services.world import PlanReading
from tests.core.strategies import START, after_seconds

HERE = Repository("octo/demo", 1)
REMOVED = Mark("unlabeled", "squadron:docs", "mona", after_seconds(5))


@dataclass
class Surroundings:
    """Registry, GitHub, plans and closing in one: one agent, whose label was removed."""

    moves_on: int
    """How often it moves on while somebody takes its work away."""
    asked: list[str] = field(default_factory=list)
    is_live: bool = True

    async def agents(self, **_: object) -> list[Any]:
        name = SimpleNamespace(role="docs", issue=7)
        known = {"repository": HERE.full_name, "installation_id": HERE.installation_id}
        unset = ("pull_request", "waits_for", "parent", "predecessor", "taken_away_at")
        agent = SimpleNamespace(id=name, created_at=START, **known, **dict.fromkeys(unset))
        return [agent] if self.is_live else []

    async def log(self, _: object) -> list[AgentEvent]:
        return [Created(at=START, started_by="mona", trigger="label squadron:docs")]

    async def issue(self, *_: object) -> Any:
        facts = {"number": 7, "is_open": True, "assignees": (), "labels": ()}
        return SimpleNamespace(updated_at=REMOVED.at, closed_at=None, **facts)

    async def marks(self, *_: object) -> list[Mark]:
        return [REMOVED]

    async def bot_login(self) -> str:
        return "squadron[bot]"

    async def of(self, _: object) -> PlanReading:
        return PlanReading(None, ())

    async def cancel(self, agent: Any, why: str, *, since: datetime) -> Any:
        assert since == REMOVED.at
        self.asked.append(why)
        self.is_live = len(self.asked) <= self.moves_on
        return None if self.is_live else agent


async def looked_at(moves_on: int) -> list[str]:
    """What was said each time that the agent's work was taken away."""
    around: Any = Surroundings(moves_on)
    nobody: Any = None
    world: Any = SimpleNamespace(store=around, github=around)
    pull_request_ends, blockers = PullRequestEnds(world, around), Blockers(world, around)
    overriding = Overriding(world, around, nobody)
    ends = EndsByPeople(world, around, overriding, pull_request_ends, blockers, nobody)
    await ends.changed_hands(HERE, 7)
    return list(around.asked)


async def test_who_moves_on_meanwhile_is_looked_at_again_and_not_for_ever() -> None:
    why = "`squadron:docs` was removed from #7."
    assert await looked_at(0) == [why]
    assert await looked_at(1) == [why, why]
    assert await looked_at(99) == [why] * 3
