"""How often a user may want something of agents within an hour."""

import logging

from app.core.budgets.rates import Allowed, Refused
from app.core.words.refusals import rate_refused
from app.ports import Repository
from app.services.starting.answers import Answers
from app.services.world import World

log = logging.getLogger("squadron.starts")


class UserRates:
    """Counts starts, commands and comments (`starts_per_user_per_hour`)."""

    def __init__(self, world: World, answers: Answers) -> None:
        self._world = world
        self._answers = answers

    async def is_within(self, login: str, what: str | None = None) -> Allowed | Refused:
        """Count something that a user wants of an agent: a start, a command, a comment.

        `what` is its name, by which it counts once, whoever hears of it and however often.
        """
        most = self._world.house.starts_per_user_per_hour
        return await self._world.rates.hit(login, most, self._world.clock.now(), what)

    async def may_reach(self, repository: Repository, issue: int, login: str, what: str) -> bool:
        """As `is_within`, and says on the issue if it is too much. May raise `GitHubFailed`."""
        answer = await self.is_within(login, what)
        if isinstance(answer, Refused):
            await self.say_too_many(repository, issue, login, answer)
        return isinstance(answer, Allowed)

    async def say_too_many(
        self, repository: Repository, issue: int, login: str, refused: Refused
    ) -> None:
        """Say the first refusal of an hour, be silent about the others. May raise
        `GitHubFailed`."""
        log.warning("too many starts and commands", extra={"by": login, "first": refused.first})
        if refused.first:
            most = self._world.house.starts_per_user_per_hour
            key = f"rate:{login}:{refused.told_at:%Y%m%d%H%M%S}"
            text = rate_refused(login, most, refused.until)
            await self._answers.say_once(repository, issue, key, text)
