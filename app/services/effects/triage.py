"""What a triage agent proposed, written on GitHub."""

from app.core.effects.triage import to_set, triage_comment, triage_marker
from app.core.words.report import Report
from app.ports import GitHub
from app.services.world import repository_of


async def write_proposals(github: GitHub, view: Report) -> str:
    """Labels that the agent may set, and one comment on each issue but its own, whose progress
    comment says the same. The address of the last comment. May raise `GitHubFailed`."""
    agent, url = view.agent, ""
    repository = repository_of(agent)
    for proposed in view.proposed:
        if labels := to_set(agent, proposed):
            await github.add_labels(repository, proposed.issue, labels)
        if proposed.issue == agent.id.issue:
            continue
        sign = triage_marker(agent.id, proposed.issue)
        found = await github.comments(repository, proposed.issue, sign)
        body = triage_comment(agent, proposed)
        posted = found[0] if found else await github.comment(repository, proposed.issue, body)
        url = posted.url
    return url
