"""Effects that are on GitHub twice: the request of one was in flight when a process died."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.agent import (
    MADE_AT,
    SETTLED,
    Agent,
    AgentId,
    Effect,
    EffectName,
    EffectState,
)
from app.core.effects.calls import call_marker
from app.core.effects.check_run import runs_of
from app.core.effects.wanted import marker
from app.core.words.messages import check_name
from app.ports import Posted
from app.services.effects.call import shown_call
from app.services.effects.check import HEAD, MOVED_ON, older_runs, settle, with_older, with_run
from app.services.effects.needs_human_issues import escalation_issues
from app.services.reconciling.repairs import Repairs
from app.services.world import World, repository_of

IN_FLIGHT: Final = timedelta(seconds=20)
"""A request that was under way when a process died has landed after this, or never will."""

MADE_TWICE: Final = "Made twice when the service was interrupted; the other one counts."


class Doubles:
    """Finds and removes them."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def look(self, agent_id: AgentId, repairs: Repairs) -> None:
        """An effect whose request was in flight when a process died may be there twice.

        Looked at once, when nothing can land any more; then the effect is marked as settled.
        """
        now, effects = self._world.clock.now(), await self._world.store.effects(agent_id)
        agent = await self._world.store.agent(agent_id)
        if agent is None or not any(_is_to_be_looked_at(one, now) for one in effects.values()):
            return
        async with self._world.exclusive(f"effects:{agent.repository}#{agent.id.issue}"):
            for effect in (await self._world.store.effects(agent.id)).values():
                if _is_to_be_looked_at(effect, now):
                    single = await self._single(agent, effect, repairs)
                    settled = {**single.detail, SETTLED: now.isoformat()}
                    await self._world.store.save_effect(agent.id, replace(single, detail=settled))

    async def _single(self, agent: Agent, effect: Effect, repairs: Repairs) -> Effect:
        """The effect, once it is there only once."""
        if effect.name is EffectName.CHECK:
            return await self._newest_check(agent, effect, repairs)
        for posted in await self._extra(agent, effect):
            await self._remove(agent, effect, posted)
            repairs.note(f"removed a double {effect.name}", agent)
        return effect

    async def _newest_check(self, agent: Agent, effect: Effect, repairs: Repairs) -> Effect:
        """GitHub counts the newest run of a name, so that one is kept and brought in line. Older
        ones that are open are settled; what has completed stays as it is."""
        github, repository = self._world.github, repository_of(agent)
        for number in older_runs(effect):
            await settle(github, repository, number, MOVED_ON)
        effect = with_older(effect, ())
        head = effect.detail.get(HEAD, "")
        found = await github.checks(repository, head, check_name(agent.id.role))
        runs = runs_of(agent.id, head, found)
        for run in runs[:-1]:
            if run.conclusion is None:
                await settle(github, repository, run.number, MADE_TWICE)
                repairs.note("settled a double check", agent)
        if not runs or runs[-1].number == effect.number:
            return effect
        repairs.note("took up the newest check", agent)
        return with_run(replace(effect, state=EffectState.WANTED, content=""), runs[-1])

    async def _extra(self, agent: Agent, effect: Effect) -> Sequence[Posted]:
        github, repository = self._world.github, repository_of(agent)
        match effect.name:
            case EffectName.CALL:
                sign = call_marker(agent.id, shown_call(effect) or "")
                found = await github.comments(repository, agent.id.issue, sign)
                return _all_but_one(found, effect.number)
            case EffectName.COMMENT:
                sign = marker(agent.id, EffectName.COMMENT)
                found = await github.comments(repository, agent.id.issue, sign)
                return _all_but_one(found, effect.number)
            case EffectName.ISSUE:
                issues = await escalation_issues(
                    self._world, github, repository, agent.repository_id, agent.id.issue
                )
                return _all_but_one([issue for issue in issues if issue.is_open], effect.number)
            case EffectName.LABEL:
                return []  # an issue has a label once
            case EffectName.CHECK:
                return []  # its runs follow each other
            case EffectName.WORK:
                return []  # to push what is there already does nothing
            case EffectName.PULL_REQUEST | EffectName.BRANCH:
                return []  # GitHub itself refuses a second one for the same head
            case EffectName.REVIEW:
                return []  # GitHub takes no review back
            case EffectName.TRIAGE:
                return []  # one effect for several comments: their markers tell them apart

    async def _remove(self, agent: Agent, effect: Effect, posted: Posted) -> None:
        github, repository = self._world.github, repository_of(agent)
        match effect.name:
            case EffectName.CALL | EffectName.COMMENT:
                await github.delete_comment(repository, posted.number)
            case EffectName.ISSUE:
                await github.edit_issue(repository, posted.number, close=True)
            case _:
                return


def _is_to_be_looked_at(effect: Effect, now: datetime) -> bool:
    """Whether what it wrote may be there twice, and nothing can land any more."""
    created = effect.detail.get(MADE_AT)
    return (
        effect.state is EffectState.DONE
        and SETTLED not in effect.detail
        and created is not None
        and now - datetime.fromisoformat(created) >= IN_FLIGHT
    )


def _all_but_one(found: Sequence[Posted], keep: int | None) -> Sequence[Posted]:
    """All but the one to keep: the one that is known, else the oldest."""
    known = [posted.number for posted in found]
    kept = keep if keep in known else (known[0] if known else None)
    return [posted for posted in found if posted.number != kept]
