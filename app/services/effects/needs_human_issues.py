"""The needs-human issues of an original issue, also those that people have changed since."""

from collections.abc import Sequence

from app.core.agents.agent import EffectName
from app.core.agents.lifecycle import State
from app.core.effects.wanted import NEEDS_HUMAN, escalation_marker
from app.ports import GitHub, Posted, Repository
from app.services.world import World


async def escalation_issues(
    world: World, github: GitHub, repository: Repository, repository_id: int, original: int
) -> Sequence[Posted]:
    """Open and closed ones, oldest first. May raise `GitHubFailed`.

    One list finds them by label and marker. Only what the registry knows of besides is asked for
    by its number: people may have taken the label off, or written another body.
    """
    sign = escalation_marker(repository_id, original)
    listed = await github.marked_issues(repository, NEEDS_HUMAN, sign)
    found = {each.number: each for each in listed}
    agents = await world.store.agents(
        repository=repository.full_name, issue=original, states=frozenset({State.ESCALATED})
    )
    for agent in agents:
        if agent.repository_id != repository_id:  # of one that had this name before
            continue
        told = (await world.store.effects(agent.id)).get(EffectName.ISSUE)
        if told is None or told.number is None or told.number in found:
            continue
        issue = await github.issue(repository, told.number)
        if issue is not None:
            found[issue.number] = Posted(
                issue.number, issue.url, issue.body, issue.is_open, issue.created_at
            )
    return [found[number] for number in sorted(found)]
