"""The label on an issue while somebody has to answer an agent of it."""

from dataclasses import replace

from app.core.agents.agent import Effect
from app.core.agents.lifecycle import State
from app.core.words.report import Report
from app.ports import GitHub
from app.services.effects.outcome import as_written
from app.services.world import World, repository_of


async def write_waiting_label(world: World, github: GitHub, view: Report, effect: Effect) -> Effect:
    """Set while the agent waits for a person, and taken off when no agent of the issue does any
    more. May raise `GitHubFailed`.

    It is set once each time: whoever takes it off meanwhile is right.
    """
    agent = view.agent
    repository, issue = repository_of(agent), agent.id.issue
    wanted = (agent.assignment.escalation.waiting_label or "") if agent.waits_for_person else ""
    there = effect.content
    if there == wanted:
        return as_written(effect) if effect.attempts else effect
    if wanted:
        await github.add_labels(repository, issue, [wanted])
    elif not await _is_needed_by_another(world, view, there):
        await github.remove_label(repository, issue, there)
    return replace(as_written(effect), content=wanted, attempts=0)


async def _is_needed_by_another(world: World, view: Report, label: str) -> bool:
    agent, waiting = view.agent, frozenset({State.PAUSED, State.SLEEPING})
    others = await world.store.agents(
        repository=agent.repository, issue=agent.id.issue, states=waiting
    )
    return any(
        other.waits_for_person and other.assignment.escalation.waiting_label == label
        for other in others
        if other.id != agent.id and other.repository_id == agent.repository_id
    )
