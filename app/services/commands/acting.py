"""What people tell Squadron to do on pages: the commands of comments, under the same checks, rates
and audit. Whoever asks is answered there."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.agents.agent import Agent, AgentId
from app.core.budgets.rates import Refused
from app.core.commands.buttons import CLOSE
from app.core.commands.grammar import Command, Misread, commands
from app.core.rules.trust import Sender
from app.core.words.pages import no_such_agent_words, not_trusted_words
from app.core.words.pauses import misread_words
from app.core.words.refusals import rate_words
from app.ports import HeardCommands
from app.services.commands.obey import Obeying, Said, Told, Way
from app.services.effects.needs_human import NeedsHuman
from app.services.starting.rates import UserRates
from app.services.starting.trust import Trusting
from app.services.world import World, repository_of

log = logging.getLogger("squadron.commands")


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody asked for something on a page."""

    agent: AgentId
    line: str
    """A command, as comments have it, that names the agent; or `CLOSE`."""
    by: Sender
    name: str
    """Tells it from everything else that was ever told."""


class Acting:
    """Does what is asked for, if whoever asks is trusted in the agent's repository."""

    def __init__(
        self,
        world: World,
        trusting: Trusting,
        rates: UserRates,
        obeying: Obeying,
        needs_human: NeedsHuman,
    ) -> None:
        self._world = world
        self._trusting = trusting
        self._rates = rates
        self._obeying = obeying
        self._needs_human = needs_human

    async def act(self, asked: Asked) -> Said:
        """Nothing is said of what was done as it was asked for. May raise `GitHubFailed`."""
        store, by = self._world.store, asked.by
        agent = await store.agent(asked.agent)
        if agent is None:
            return Said([no_such_agent_words(asked.agent)])
        here = repository_of(agent)
        if why := await self._trusting.distrust(here, by):
            log.info("not obeyed: %s", why, extra={"by": by.login, "agent": str(agent.id)})
            return Said([not_trusted_words(here.full_name, why)])
        async with self._world.exclusive(f"commands:{here.full_name}#{agent.id.issue}"):
            answer = await self._rates.is_within(by.login, asked.name)
            if isinstance(answer, Refused):
                return Said([f"{rate_words(by.login, answer.until)}."])
            said = await self._do(asked, agent)
            await store.hear_commands(
                HeardCommands(
                    repository=here.full_name,
                    name=asked.name,
                    comment=None,
                    thread=agent.id.issue,
                    by=by.login,
                    lines=(asked.line,),
                    refused=bool(said.refused),
                    at=self._world.clock.now(),
                    set_aside=said.is_set_aside,
                )
            )
        log.info(
            "command",
            extra={
                "by": by.login,
                "issue": f"{here.full_name}#{agent.id.issue}",
                "said": [asked.line],
                "refused": said.refused,
            },
        )
        return said

    async def _do(self, asked: Asked, agent: Agent) -> Said:
        if asked.line == CLOSE:
            await self._needs_human.close(agent, asked.by.login)
            return Said()
        read = commands([asked.line])
        misread = [misread_words(each) for each in read if isinstance(each, Misread)]
        if misread:
            return Said(misread, is_set_aside=True)
        told = Told(
            repository_of(agent),
            agent.id.issue,
            asked.by,
            asked.name,
            note="",
            comment=None,
            at=None,
            way=Way.PAGE,
        )
        return await self._obeying.obey(told, [agent], _sound(read))


def _sound(read: Sequence[Command | Misread]) -> Sequence[Command]:
    return [each for each in read if not isinstance(each, Misread)]
