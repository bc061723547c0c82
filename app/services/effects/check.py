"""The check run of an agent: it blocks the merge of what a stopped agent left behind."""

from datetime import datetime

from app.core.agents.agent import Effect
from app.core.commands.buttons import buttons
from app.core.effects.wanted import check_conclusion, check_id
from app.core.words import messages
from app.core.words.report import Report
from app.ports import CheckText, GitHub
from app.services.effects.outcome import as_written, digest, done
from app.services.world import repository_of


async def write_check(github: GitHub, view: Report, effect: Effect, now: datetime) -> Effect:
    """The check on the head of the branch says how it stands; the one on an older head is settled.
    May raise `GitHubFailed`."""
    agent = view.agent
    if agent.sha is None:
        return effect
    repository = repository_of(agent)
    check = CheckText(
        name=messages.check_name(agent.id.role),
        external_id=check_id(agent.id, agent.sha),
        conclusion=check_conclusion(agent, view.review_refused),
        title=messages.check_title(view),
        summary=messages.check_summary(view),
        buttons=buttons(agent, view.counters),
    )
    shown = check.summary if check.conclusion is not None else ""
    pressed = " ".join(button.identifier for button in check.buttons)
    content = digest(agent.sha, check.conclusion or "", check.title, shown, pressed)
    if effect.content == content:
        return as_written(effect)
    number = effect.number
    if number is not None and effect.detail.get("head") != agent.sha:
        old = CheckText(
            name=check.name,
            external_id=check_id(agent.id, effect.detail.get("head", "")),
            conclusion="neutral",
            title="Superseded",
            summary=f"The branch moved on to {agent.sha}.",
        )
        await github.update_check(repository, number, old)
        number = None
    if number is None:
        found = await github.checks(repository, agent.sha, check.name, check.external_id)
        number = found[0].number if found else None
    posted = (
        await github.create_check(repository, agent.sha, check)
        if number is None
        else await github.update_check(repository, number, check)
    )
    return done(effect, posted, content, now, head=agent.sha)
