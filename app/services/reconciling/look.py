"""A repository while reconciliation looks at it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.core.agents.agent import Agent
from app.core.rules.plan import RepositoryPlan
from app.core.steering.asks import PUSHED, Trigger, label_trigger
from app.ports import Head, Issue, Repository, Said
from app.services.reconciling.repairs import Repairs
from app.services.reconciling.request_budget import Purse


@dataclass(slots=True)
class Place:
    """What is known of a repository, and what was not dealt with yet."""

    repository: Repository
    plan: RepositoryPlan
    agents: Sequence[Agent]
    """All that ever worked here, oldest first, sub-agents left out: those end with theirs. Where
    nothing was asked for, the live ones alone."""
    changed_from: datetime | None
    """From when on changes are news; None: nothing was seen before, so nothing is."""
    is_full: bool
    repairs: Repairs
    purse: Purse
    triggers: Mapping[str, Trigger]
    heads_before: Mapping[int, str]
    """What open pull requests were about to merge as of the look before."""
    heads: dict[int, str] = field(default_factory=dict)
    """The same as of now, of those that are dealt with."""
    open_heads: Mapping[int, Head] | None = None
    """All of them, once they were asked for."""
    comments: list[Said] = field(default_factory=list)
    """Not heard yet, oldest first."""
    reviewed: dict[str, datetime] = field(default_factory=dict)
    """Pull requests of which these hold what was said in reviews, and as of when."""
    is_answered: bool = True
    """Whether GitHub has answered all that was asked."""
    left_from: datetime | None = None
    """Since when what asks for agents has changed that has to wait for a later pass; None: nothing
    has to."""
    is_whole: bool = True
    """Whether all was dealt with; else the next look begins where this one did."""

    def leave(self, thread: Issue) -> None:
        """What it asks for waits: the next look sees it again."""
        self.left_from = min(self.left_from or thread.updated_at, thread.updated_at)

    def counts(self, label: str, changed_at: datetime) -> bool:
        """Whether a label may have been set since it starts its role, on what has changed last
        then."""
        trigger = self.triggers.get(label_trigger(label))
        return trigger is None or changed_at >= trigger.since.replace(microsecond=0)

    def live(self) -> list[Agent]:
        """Those that are not at their end."""
        return [agent for agent in self.agents if not agent.is_final]

    def newest(self, issue: int, role: str) -> Agent | None:
        """The newest of a post."""
        posts = (one for one in reversed(self.agents) if one.id.issue == issue)
        return next((agent for agent in posts if agent.id.role == role), None)

    def heads_after(self, threads: Sequence[Issue]) -> Mapping[int, str]:
        """What open pull requests are about to merge, for the next look; `threads`: what this
        one has looked at. Nothing where pushes start nobody."""
        if PUSHED not in self.triggers:
            return {}
        is_open = {one.number for one in threads if one.is_open}
        is_closed = {one.number for one in threads} - is_open
        kept = {
            number: head
            for number, head in self.heads_before.items()
            if number in is_open or (not self.is_full and number not in is_closed)
        }
        return {**kept, **self.heads}
