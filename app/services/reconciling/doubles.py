"""Effects that are on GitHub twice: the request of one was in flight when a process died."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.agent import Agent, Effect, EffectName, EffectState
from app.core.effects.wanted import check_id, marker
from app.core.words.messages import check_name
from app.ports import CheckText, Posted
from app.services.effects.needs_human_issues import escalation_issues
from app.services.reconciling.repairs import Repairs
from app.services.world import World, repository_of

IN_FLIGHT: Final = timedelta(seconds=20)
"""A request that was under way when a process died has landed after this, or never will."""


class Doubles:
    """Finds and removes them."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def look(self, agent: Agent, repairs: Repairs) -> None:
        """An effect whose request was in flight when a process died may be there twice.

        Looked at once, when nothing can land any more; then the effect is marked as settled.
        """
        now = self._world.clock.now()
        for effect in (await self._world.store.effects(agent.id)).values():
            if effect.state is not EffectState.DONE or "settled" in effect.detail:
                continue
            created = effect.detail.get("at")
            if created is None or now - datetime.fromisoformat(created) < IN_FLIGHT:
                continue
            for posted in await self._extra(agent, effect):
                await self._remove(agent, effect, posted)
                repairs.note(f"removed a double {effect.name}", agent)
            settled = replace(effect, detail={**effect.detail, "settled": now.isoformat()})
            await self._world.store.save_effect(agent.id, settled)

    async def _extra(self, agent: Agent, effect: Effect) -> Sequence[Posted]:
        github, repository = self._world.github, repository_of(agent)
        match effect.name:
            case EffectName.COMMENT:
                sign = marker(agent.id, EffectName.COMMENT)
                found = await github.comments(repository, agent.id.issue, sign)
                return _all_but_one(found, effect.number)
            case EffectName.ISSUE:
                issues = await escalation_issues(
                    self._world, github, repository, agent.repository_id, agent.id.issue
                )
                return _all_but_one([issue for issue in issues if issue.is_open], effect.number)
            case EffectName.CHECK:
                head = effect.detail.get("head", "")
                name, external_id = check_name(agent.id.role), check_id(agent.id, head)
                return _all_but_one(
                    await github.checks(repository, head, name, external_id), effect.number
                )
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
            case EffectName.COMMENT:
                await github.delete_comment(repository, posted.number)
            case EffectName.ISSUE:
                await github.edit_issue(repository, posted.number, close=True)
            case EffectName.CHECK:
                head = effect.detail.get("head", "")
                text = CheckText(
                    name=check_name(agent.id.role),
                    external_id=f"{check_id(agent.id, head)}:double",
                    conclusion="neutral",
                    title="Superseded",
                    summary="Made twice when the service was interrupted; the other one counts.",
                )
                await github.update_check(repository, posted.number, text)
            case EffectName.PULL_REQUEST | EffectName.REVIEW | EffectName.BRANCH | EffectName.WORK:
                return
            case EffectName.TRIAGE:
                return


def _all_but_one(found: Sequence[Posted], keep: int | None) -> Sequence[Posted]:
    """All but the one to keep: the one that is known, else the oldest."""
    known = [posted.number for posted in found]
    kept = keep if keep in known else (known[0] if known else None)
    return [posted for posted in found if posted.number != kept]
