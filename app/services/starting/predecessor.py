"""What can speak against a start: a role that cannot work, an agent before that was stopped."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.core.agents.agent import Agent, Assignment, EffectName, EffectState, Task
from app.core.agents.events import Finished, TakenAway
from app.core.agents.lifecycle import State
from app.core.effects.wanted import wanted
from app.core.rules.plan import ConfigProblem, RoleKind
from app.ports import Repository
from app.services.effects.needs_human_issues import escalation_issues
from app.services.world import PlanReading, World, repository_of

LOOK_AGAIN_SECONDS: Final = 0.25
MOST_LOOKS: Final = 60


@dataclass(frozen=True, slots=True)
class CannotStart:
    """Why a role cannot work, in words and with the places of the mistakes."""

    reason: str
    problems: tuple[ConfigProblem, ...]


async def ended_at(world: World, agent: Agent) -> datetime | None:
    """When an agent's work was over; None: it is not. What ended it on GitHub may have happened
    long before anybody noticed: what was asked for in between was asked for after its end."""
    if not agent.has_ended:
        return None
    history = await world.store.log(agent.id)
    ends = (event.since for event in reversed(history) if isinstance(event, Finished | TakenAway))
    return next(ends, None) or agent.taken_away_at or agent.updated_at


async def when_stopped(world: World, agent: Agent) -> Agent:
    """The agent, once its work is kept if it is being stopped; as it is after a while that is
    longer than this takes as a rule."""
    for _ in range(MOST_LOOKS):
        if agent.state is not State.STOPPING:
            break
        await world.clock.sleep(LOOK_AGAIN_SECONDS)
        agent = await world.store.agent(agent.id) or agent
    return agent


async def waits_for_a_human(
    world: World, repository: Repository, earlier: Agent, at: datetime | None
) -> bool:
    """A stopped agent gets no fresh budget until a person has closed the escalation issue, or its
    own: not by what was asked for at `at` (None: now), before that. May raise `GitHubFailed`."""
    if earlier.state is not State.ESCALATED or EffectName.ISSUE not in wanted(earlier):
        return False
    told = (await world.store.effects(earlier.id)).get(EffectName.ISSUE)
    if told is None or told.state is EffectState.WANTED:
        return True  # it is still being written
    found = await escalation_issues(
        world, world.github, repository, earlier.repository_id, earlier.id.issue
    )
    opened = [posted.at for posted in found if posted.is_open and posted.at is not None]
    if any(posted.is_open for posted in found):
        return not await _was_closed(world, earlier, max([earlier.updated_at, *opened]), at)
    if at is None or told.number is None:
        return False
    issue = await world.github.issue(repository, told.number)
    if issue is None or issue.closed_at is None or at >= issue.closed_at:
        return False
    return not await _was_closed(world, earlier, max(earlier.updated_at, issue.created_at), at)


async def _was_closed(world: World, agent: Agent, since: datetime, until: datetime | None) -> bool:
    """Whether people closed the agent's own issue after they were asked about it, and before
    `until` (None: now): with that they have decided, whatever became of it since."""
    marks = await world.github.marks(repository_of(agent), agent.id.issue)
    since = since.replace(microsecond=0)
    closed = [mark.at for mark in marks if mark.what == "closed" and mark.at >= since]
    return any(until is None or at <= until for at in closed)


def assignment_of(
    reading: PlanReading, role: str, task: Task, default_model: str | None
) -> Assignment | CannotStart:
    """What an agent of the role would work with, or why it cannot."""
    plan = reading.plan
    if plan is None:
        return CannotStart("the repository's configuration has errors.", reading.problems)
    if role in plan.broken:
        return CannotStart("the role's configuration has errors.", plan.broken[role])
    chosen = plan.roles.get(role)
    if chosen is None:
        known = ", ".join(f"`{name}`" for name in sorted(plan.roles)) or "none"
        return CannotStart(
            f"there is no role `{role}`: neither `.squadron/agents/{role}.md` nor a built-in"
            f" definition. Known roles: {known}.",
            (),
        )
    model = chosen.model or default_model
    if model is None:
        return CannotStart(
            "no model is set: name one under `roles` in `.squadron/config.yaml`, or let the"
            " operator set `SQUADRON_MODEL`.",
            (),
        )
    return Assignment(
        limits=chosen.limits,
        prompt=chosen.prompt,
        model=model,
        planning_model=chosen.planning_model,
        tools=chosen.tools,
        setup=chosen.setup,
        escalation=plan.escalation,
        suites=plan.suites,
        task=task,
        kind=chosen.kind,
        may_label=chosen.may_label,
        # Who reviews reads: nothing of a stranger's pull request runs unless the role says so.
        setup_script=plan.setup_script if chosen.kind is RoleKind.WORK else "",
        runtime=chosen.runtime,
        tests=chosen.tests,
        verify=chosen.verify,
        protected_paths=plan.protected_paths,
        verify_script=plan.verify_script if chosen.kind is RoleKind.WORK else "",
    )
