"""Work is taken out of a workspace and pushed, whatever ends its segment."""

import logging
from collections.abc import Coroutine
from dataclasses import replace
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.events import Lost
from app.core.agents.lifecycle import State
from app.core.agents.lost_files import unpushed_calls
from app.core.rules.plan import RoleKind
from app.core.text.markdown import cut
from app.ports import (
    WORK_IN_PROGRESS,
    Blame,
    CheckoutOrder,
    GitAway,
    GitHubFailed,
    KeptWork,
    StoreUnavailable,
    Whereabouts,
    WorkspaceFailed,
)
from app.services.failures import github_away
from app.services.moves.files import Files
from app.services.world import World, checkout_order

MOST_SUBJECT_CHARACTERS: Final = 72

log = logging.getLogger("squadron.agents")


async def keep_work(world: World, agent: Agent, *, is_done: bool = False) -> KeptWork:
    """Commit what is uncommitted, push the branch and verify it there. What could not be pushed
    is told in `problem`, and stays on the disk. `is_done`: the agent says that its work is.
    Raises `StoreUnavailable`."""
    if agent.assignment.kind is RoleKind.REVIEW:
        return KeptWork(None, False)  # it reads somebody else's work: nothing leaves its clone
    return await _whatever_fails(agent, _kept(world, agent, is_done=is_done))


async def keep_work_or_branch(world: World, agent: Agent) -> KeptWork:
    """As `keep_work`; an agent that was stopped before it had a branch gets one, for its check."""
    kept = await keep_work(world, agent)
    if kept.sha is not None or agent.sha is not None:
        return kept
    return await _whatever_fails(agent, _branch(world, agent))


async def _kept(world: World, agent: Agent, *, is_done: bool) -> KeptWork:
    try:
        present = await world.store.agent(agent.id)  # the repository may have moved
        order = await checkout_order(world, present or agent)
    except GitHubFailed as error:
        problem = f"GitHub did not answer ({error}); nothing was pushed."
        return KeptWork(None, False, problem, is_away=github_away(error) is not None)
    try:
        if (there := await Files(world, agent).elsewhere()) is not None:
            if (told := await _cannot_take_over(world, agent, order, there)) is not None:
                return told
            order = replace(order, whereabouts=await world.store.whereabouts(agent.id))
    except WorkspaceFailed as error:
        problem = f"The work could not be kept: {error}"
        return KeptWork(None, False, problem, is_away=isinstance(error, GitAway))
    is_finished = is_done and agent.pull_request is None
    message = done_message(agent) if is_done else unfinished_message(agent)
    return await world.workspace.keep(order, message, is_finished=is_finished)


async def _cannot_take_over(
    world: World, agent: Agent, order: CheckoutOrder, there: Whereabouts
) -> KeptWork | None:
    """Why work that is elsewhere cannot be had here; None: it is here now. Nothing is taken from
    another worker while it runs the agent. Raises `WorkspaceFailed`."""
    files = Files(world, agent)
    history = await world.store.log(agent.id)
    if unpushed_calls(history) is None:
        return KeptWork(None, False)
    problem = (
        "The work could not be pushed from here: it is on another machine, in the data directory"
        f" with the id {there.directory}."
    )
    if agent.state is State.ACTIVE and agent.worker != world.worker:
        return KeptWork(None, False, problem, is_away=True)
    if not await files.is_work_kept(history):
        return KeptWork(None, False, problem)
    lost = await files.claim(history, order)
    return KeptWork(None, False, problem) if lost is None or Lost.WORK in lost else None


async def _branch(world: World, agent: Agent) -> KeptWork:
    try:
        order = await checkout_order(world, agent)
        checkout = await world.workspace.prepare(order)
    except (GitHubFailed, WorkspaceFailed) as error:
        problem = f"The branch could not be created: {error}"
        return KeptWork(None, False, problem, is_away=github_away(error) is not None)
    return KeptWork(checkout.head_sha, True)


async def _whatever_fails(agent: Agent, keeping: Coroutine[None, None, KeptWork]) -> KeptWork:
    """A defect of ours must not keep an agent from its end."""
    try:
        return await keeping
    except StoreUnavailable:
        raise
    except Exception as error:
        where = {"agent": str(agent.id), "blame": Blame.SQUADRON.value}
        log.exception("work was not kept, as nobody has foreseen", extra=where)
        kind = type(error).__name__
        return KeptWork(None, False, f"Nothing was pushed: {kind}, which nobody has foreseen.")


def unfinished_message(agent: Agent) -> str:
    """Of the commit that holds what the agent has not committed, while its work goes on."""
    return f"{WORK_IN_PROGRESS} on #{agent.id.issue} ({agent.id.role})"


def done_message(agent: Agent) -> str:
    """The same once the work is done."""
    title = " ".join(cut(agent.assignment.task.title, MOST_SUBJECT_CHARACTERS).split())
    return f"{title or 'Work'}\n\nFor #{agent.id.issue}."
