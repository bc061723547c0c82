"""What is to be seen of an agent on GitHub: each effect is looked up before it is made.

Level-triggered: whatever state the agent is in, the same pass brings check, comment, pull request
and issue in line with it. So a pass that died half way is simply run again.
"""

import logging
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, assert_never

from app.core.agents.agent import Agent, AgentId, Effect, EffectName, EffectState
from app.core.agents.events import Kept, Waits
from app.core.agents.lifecycle import State
from app.core.agents.transition import taken_out
from app.core.effects.retry import FAILING_SINCE, GiveUp, RetryAt, after, ask_again
from app.core.effects.wanted import (
    EDITS_WINDOW,
    NEEDS,
    NEEDS_HUMAN,
    OURS,
    in_turn,
    is_urgent,
    lets_on,
    marker,
    may_edit,
    unwanted,
    wanted,
)
from app.core.words import messages, needs_human
from app.core.words.refusals import not_started_marker
from app.core.words.report import Report, report
from app.ports import (
    GitHub,
    GitHubFailed,
    NoAccess,
    Paced,
    Posted,
    Publish,
    Refused,
    Repository,
    Unreachable,
)
from app.services.effects.branch import clean_branch
from app.services.effects.call import next_reminder, write_call
from app.services.effects.check import write_check
from app.services.effects.needs_human_issues import escalation_issues
from app.services.effects.on_github import seen_on_github, with_comparison
from app.services.effects.outcome import (
    REFUSALS,
    as_written,
    attempts_of,
    digest,
    done,
    refusals_of,
)
from app.services.effects.pull_request import write_pull_request
from app.services.effects.review import posted_review
from app.services.effects.triage import write_proposals
from app.services.effects.waiting_label import write_waiting_label
from app.services.failures import failure_of
from app.services.moves.glances import note_glance
from app.services.moves.kept_work import keep_work, keep_work_or_branch
from app.services.queueing import place_in_queue
from app.services.world import World, page_of, repository_of

LATEST_EDITS: Final = 4
"""How many instants of edits are remembered; more than the noise bound needs."""

FORBIDDEN: Final = 403
NOT_FOUND: Final = 404

log = logging.getLogger("squadron.effects")


class Publisher:
    """Handles `WorkKind.EFFECTS`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def publish(self, agent_id: AgentId) -> None:
        """Bring everything on GitHub in line with the agent's present state.

        One pass at a time for each original issue, across processes: two passes at once would
        both look, both find nothing, and both write.
        """
        agent = await self._world.store.agent(agent_id)
        if agent is None or agent.parent is not None:  # a sub-agent is seen in its parent
            return
        async with self._world.exclusive(f"effects:{agent.repository}#{agent_id.issue}"):
            agent = await self._world.store.agent(agent_id) or agent
            held_up = set[EffectName]()
            for name in in_turn(agent, await self._world.store.effects(agent_id)):
                agent = await self._world.store.agent(agent_id) or agent
                needs = NEEDS.get(name, frozenset())
                if needs & held_up or not await self._bring_about(agent, name):
                    held_up.add(name)
            agent = await self._world.store.agent(agent_id) or agent
            if agent.is_final and EffectName.COMMENT in wanted(agent):
                # It names what comes after it: the needs-human issue, the end of the branch.
                await self._bring_about(agent, EffectName.COMMENT)
            for effect in unwanted(agent, await self._world.store.effects(agent_id)):
                await self._let_go(agent_id, effect)

    async def _let_go(self, agent_id: AgentId, effect: Effect) -> None:
        """It is not asked for any more; what was last written stands."""
        if effect.number is None:
            await self._world.store.forget_effect(agent_id, effect.name)
        else:
            await self._world.store.save_effect(agent_id, as_written(effect))

    async def post_review(self, agent_id: AgentId) -> None:
        """Post the review that an agent has submitted, before its state says so; what GitHub does
        not take now is posted with the agent's other effects, later."""
        agent = await self._world.store.agent(agent_id)
        if agent is None:
            return
        async with self._world.exclusive(f"effects:{agent.repository}#{agent_id.issue}"):
            agent = await self._world.store.agent(agent_id) or agent
            await self._bring_about(agent, EffectName.REVIEW)

    async def _bring_about(self, agent: Agent, name: EffectName) -> bool:
        """One effect; False if those that need it have to wait for it."""
        now = self._world.clock.now()
        effects = await self._world.store.effects(agent.id)
        effect = effects.get(name, Effect(name))
        queue = await place_in_queue(self._world.store, agent)
        view = report(agent, await self._world.store.log(agent.id), now, queue)
        view = with_comparison(seen_on_github(view, effects), page_of(self._world, agent))
        if not _is_due(effect, view, now):
            return lets_on(effect)
        try:
            written = await self._apply(name, view, effect, now)
        except Paced as put_off:
            return await self._put_off(agent, effect, put_off, now)
        except GitHubFailed as error:
            return await self._failed(agent, effect, error, now)
        if written != effect:
            await self._world.store.save_effect(agent.id, written)
            self._log(agent, written)
        if name is EffectName.CALL and (due := next_reminder(view, written)) is not None:
            await self._again(agent, due, now, "remind")
        return True

    def _github(self, agent: Agent) -> GitHub:
        """GitHub, for writing about this agent."""
        github = self._world.github
        return github.urgently() if is_urgent(agent) else github

    async def _apply(self, name: EffectName, view: Report, effect: Effect, now: datetime) -> Effect:
        match name:
            case EffectName.REVIEW:
                return await self._review(view, effect, now)
            case EffectName.WORK:
                return await self._work(view, effect, now)
            case EffectName.CHECK:
                return await write_check(self._github(view.agent), view, effect, now)
            case EffectName.CALL:
                return await write_call(self._github(view.agent), view, effect, now)
            case EffectName.LABEL:
                github = self._github(view.agent)
                return await write_waiting_label(self._world, github, view, effect)
            case EffectName.COMMENT:
                return await self._comment(view, effect, now)
            case EffectName.PULL_REQUEST:
                github = self._github(view.agent)
                return await write_pull_request(self._world, github, view, effect, now)
            case EffectName.ISSUE:
                return await self._issue(view, effect, now)
            case EffectName.BRANCH:
                return await self._branch(view, effect, now)
            case EffectName.TRIAGE:
                return await self._triage(view, effect)
            case _:
                assert_never(name)

    async def _review(self, view: Report, effect: Effect, now: datetime) -> Effect:
        """The one review; GitHub never takes one back."""
        if effect.number is not None or view.reported is None or view.agent.sha is None:
            return effect
        posted = await posted_review(self._world.github, view.agent, view.reported)
        return done(effect, posted, str(posted.number), now, head=view.agent.sha)

    async def _work(self, view: Report, effect: Effect, now: datetime) -> Effect:
        """What could not be pushed when a segment ended, asked for again until GitHub takes it."""
        agent, unpushed = view.agent, _unpushed(view)
        if unpushed is None:
            return as_written(effect) if effect.attempts else effect
        if effect.attempts == 0:  # that push was the first attempt
            raise _not_pushed(unpushed.problem, is_away=unpushed.away)
        if agent.state is State.ESCALATED:
            again = await keep_work_or_branch(self._world, agent)
        else:
            again = await keep_work(self._world, agent, is_done=agent.waits_for is Waits.REVIEW)
        if again.is_pushed:
            await self._again(agent, now, now, "pushed")  # of this the other effects tell
            await self._world.store.note_kept(agent, taken_out(again, now))
            await note_glance(self._world.store, agent, now)
        elif again.problem:
            raise _not_pushed(again.problem, is_away=again.is_away)
        return as_written(replace(effect, attempts=attempts_of(effect)))

    async def _triage(self, view: Report, effect: Effect) -> Effect:
        """What the agent thinks of issues; each comment is found again before it is made."""
        if effect.state is EffectState.DONE or not view.proposed:
            return effect
        url = await write_proposals(self._world.github, view)
        return replace(effect, state=EffectState.DONE, url=url or None, error="", due_at=None)

    async def _comment(self, view: Report, effect: Effect, now: datetime) -> Effect:
        """The one comment, edited in place and not too often."""
        agent, github = view.agent, self._github(view.agent)
        repository = repository_of(agent)
        body = messages.progress_comment(view)
        content = digest(body)
        if effect.content == content:
            return as_written(effect)
        number = effect.number
        if number is None:
            ours = await github.comments(repository, agent.id.issue, OURS)
            sign, before = marker(agent.id, EffectName.COMMENT), not_started_marker(agent.id.role)
            number = next((one.number for one in ours if sign in one.body), None)
            if number is None:
                number = next((one.number for one in ours if before in one.body), None)
        if number is None:
            posted = await github.comment(repository, agent.id.issue, body)
            return done(effect, posted, content, now)
        if not may_edit(effect, agent, now, is_held=view.brake is not None):
            return await self._edit_later(agent, effect, now)
        try:
            posted = await github.edit_comment(repository, number, body)
        except NoAccess:
            raise
        except Refused as error:
            if error.status != NOT_FOUND:
                raise
            log.info("the comment was deleted: made anew", extra={"agent": str(agent.id)})
            posted = await github.comment(repository, agent.id.issue, body)
        edits = (*effect.edits, now)[-LATEST_EDITS:]
        return replace(done(effect, posted, content, now), edits=edits)

    async def _edit_later(self, agent: Agent, effect: Effect, now: datetime) -> Effect:
        due = min(instant for instant in effect.edits if now - instant < EDITS_WINDOW)
        due += EDITS_WINDOW
        await self._again(agent, due, now, f"edit:{due.timestamp():.0f}")
        return replace(effect, state=EffectState.WANTED, attempts=0, due_at=due)

    async def _branch(self, view: Report, effect: Effect, now: datetime) -> Effect:
        """The branch of merged work goes; looked at once."""
        agent = view.agent
        if effect.state is EffectState.DONE or agent.pull_request is None:
            return effect
        pull = await self._world.github.pull_request(repository_of(agent), agent.pull_request)
        became = await clean_branch(self._world, agent, pull)
        return done(effect, Posted(pull.number, pull.url, ""), became, now)

    async def _issue(self, view: Report, effect: Effect, now: datetime) -> Effect:
        """One open needs-human issue an original issue; a second agent's trip is added to it. It
        is edited where the work has come to GitHub only after it."""
        agent, github = view.agent, self._github(view.agent)
        if effect.number is not None and effect.detail.get("head", agent.sha) == agent.sha:
            return effect
        repository = repository_of(agent)
        sign = marker(agent.id, EffectName.ISSUE)
        issues = await escalation_issues(
            self._world, github, repository, agent.repository_id, agent.id.issue
        )
        own = next((issue for issue in issues if sign in issue.body), None)
        if own is not None:
            if effect.number is not None:
                body = needs_human.escalation_body(view)
                await github.edit_issue(repository, own.number, body=body)
            return done(effect, own, own.url, now, head=agent.sha)
        shared = next((issue for issue in issues if issue.is_open), None)
        if shared is not None:
            return await self._add_to(repository, shared, view, effect, now)
        rules = agent.assignment.escalation
        posted = await github.open_issue(
            repository,
            needs_human.escalation_title(agent),
            needs_human.escalation_body(view),
            tuple(dict.fromkeys((NEEDS_HUMAN, *rules.labels))),
            rules.assignees,
        )
        return done(effect, posted, posted.url, now, head=agent.sha)

    async def _add_to(
        self,
        repository: Repository,
        shared: Posted,
        view: Report,
        effect: Effect,
        now: datetime,
    ) -> Effect:
        sign = marker(view.agent.id, EffectName.ISSUE)
        github = self._github(view.agent)
        found = await github.comments(repository, shared.number, sign)
        words = needs_human.escalation_section(view)
        if not found:
            posted = await github.comment(repository, shared.number, words)
        elif effect.number is None:
            posted = found[0]
        else:
            posted = await github.edit_comment(repository, found[0].number, words)
        there = replace(posted, number=shared.number)
        return done(effect, there, posted.url, now, head=view.agent.sha)

    async def _put_off(self, agent: Agent, effect: Effect, put_off: Paced, now: datetime) -> bool:
        """Nothing was tried: what counts then is what the agent is by then."""
        attempts = 0 if effect.state is EffectState.DONE else effect.attempts
        due = put_off.resets_at
        waiting = replace(
            effect, state=EffectState.WANTED, attempts=attempts, error=str(put_off), due_at=due
        )
        await self._world.store.save_effect(agent.id, waiting)
        await self._again(agent, due, now, f"paced:{effect.name}")
        return False

    async def _failed(
        self, agent: Agent, effect: Effect, error: GitHubFailed, now: datetime
    ) -> bool:
        attempts = attempts_of(effect)
        decision = after(failure_of(error), attempts, now)
        match decision:
            case RetryAt(at=due):
                state = EffectState.WANTED
                await self._again(agent, due, now, f"retry:{effect.name}:{attempts}")
            case GiveUp():
                state, refusals = EffectState.REFUSED, refusals_of(effect) + 1
                due = ask_again(refusals, now)  # reconciliation will
                effect = replace(effect, detail={**effect.detail, REFUSALS: str(refusals)})
            case _:
                assert_never(decision)
        failed = replace(
            effect,
            state=state,
            attempts=attempts,
            error=self._world.redact(str(error)),
            due_at=due,
            detail={FAILING_SINCE: now.isoformat(), **effect.detail},
        )
        await self._world.store.save_effect(agent.id, failed)
        self._log(agent, failed)
        return lets_on(failed)

    async def _again(self, agent: Agent, at: datetime, now: datetime, occasion: str) -> None:
        delay = max((at - now) / timedelta(seconds=1), 0.1)
        stamp = f"{occasion}:{agent.state}:{agent.segment}:{at.timestamp():.0f}"
        await self._world.engine.enqueue(Publish(agent.id, stamp, delay))

    def _log(self, agent: Agent, effect: Effect) -> None:
        log.info(
            "effect",
            extra={
                "agent": str(agent.id),
                "role": agent.id.role,
                "issue": agent.id.issue,
                "effect": effect.name.value,
                "state": effect.state.value,
                "url": effect.url,
                "error": effect.error,
            },
        )


def _is_due(effect: Effect, view: Report, now: datetime) -> bool:
    """What GitHub has limited waits for its time; what only kept its pace, behind what is urgent,
    does not wait once it is urgent itself."""
    if effect.due_at is None or now >= effect.due_at:
        return True
    if effect.name is EffectName.WORK and _unpushed(view) is None:  # a later segment pushed it
        return True
    has_failed = effect.attempts > 0 and effect.state is not EffectState.REFUSED
    return (is_urgent(view.agent) or view.brake is not None) and not has_failed


def _unpushed(view: Report) -> Kept | None:
    """What is on Squadron's disk, and not on GitHub."""
    kept = view.kept
    return kept if kept is not None and kept.problem and not kept.pushed else None


def _not_pushed(problem: str, *, is_away: bool) -> GitHubFailed:
    return Unreachable(problem) if is_away else Refused(problem, FORBIDDEN)
