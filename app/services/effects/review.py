"""Posts the review of an agent: found again before it is made, and not lost for one bad line."""

from typing import Final

from app.core.agents.agent import Agent, EffectName
from app.core.agents.events import Reported
from app.core.effects.review import Lines, Review, composed
from app.core.effects.wanted import marker
from app.ports import GitHub, Posted, Refused
from app.services.world import repository_of

_UNFIT: Final = 422


async def posted_review(github: GitHub, agent: Agent, reported: Reported) -> Posted:
    """The agent's review on GitHub. May raise `GitHubFailed`."""
    assert agent.sha is not None, "what was reviewed has a head"
    repository, number = repository_of(agent), agent.id.issue
    found = await github.reviews(repository, number, marker(agent.id, EffectName.REVIEW))
    if found:
        return found[0]
    lines: Lines = {}
    if reported.comments:
        lines = await github.commentable_lines(repository, number)

    async def submit(review: Review) -> Posted:
        return await github.submit_review(
            repository, number, agent.sha or "", review.body, review.comments
        )

    review = composed(agent.id, reported.text, reported.comments, lines)
    try:
        return await submit(review)
    except Refused as refused:
        # The pull request has moved on from what was reviewed: its lines are other ones now.
        if refused.status != _UNFIT or not review.comments:
            raise
    return await submit(composed(agent.id, reported.text, reported.comments, {}))
