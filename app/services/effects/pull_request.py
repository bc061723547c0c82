"""The pull request of an agent's branch: opened once; what Squadron saw stands in it, kept up to
date. It is a draft as long as its check is not green."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from app.core.agents.agent import Agent, Effect
from app.core.agents.events import HandedOver
from app.core.words import messages
from app.core.words.evidence import is_to_be_doubted, with_evidence
from app.core.words.report import Report
from app.ports import GitHub, Posted, PullRequest, Refused
from app.services.effects.outcome import as_written, digest, done
from app.services.world import World, repository_of

DRAFT: Final = "draft"
"""In the detail of the effect: `yes` or `no`, as Squadron has made it last, or `refused`: this
repository has no drafts."""


async def write_pull_request(
    world: World, github: GitHub, view: Report, effect: Effect, now: datetime
) -> Effect:
    """Open it, or bring the open one in line with what was seen of the work since. May raise
    `GitHubFailed`."""
    agent = view.agent
    if agent.pull_request is None:
        return await _opened(world, github, view, effect, now)
    shown = messages.pull_request_evidence(view, has_drafts=effect.detail.get(DRAFT) != "refused")
    content = digest(shown)
    if effect.content == content or DRAFT not in effect.detail:
        return as_written(effect)
    repository = repository_of(agent)
    pull = await github.pull_request(repository, agent.pull_request)
    if not pull.is_open:
        return effect
    if (body := with_evidence(pull.body, shown)) != pull.body:
        await github.edit_issue(repository, pull.number, body=body)
    detail = {**effect.detail, DRAFT: await _drafted(github, view, pull, effect.detail[DRAFT])}
    written = done(effect, Posted(pull.number, pull.url, ""), content, now)
    return replace(written, detail={**written.detail, **detail})


async def _opened(
    world: World, github: GitHub, view: Report, effect: Effect, now: datetime
) -> Effect:
    agent, is_draft = view.agent, is_to_be_doubted(view)
    drafted = "yes" if is_draft else "no"
    pull = await _own(world, agent)
    if pull is None:
        try:
            pull = await _open(github, view, is_draft=is_draft, has_drafts=True)
        except Refused as refused:
            # One that was in flight when a process died may have landed now.
            pull = await _own(world, agent)
            if pull is None and not _has_no_drafts(refused):
                raise
            if pull is None:
                pull = await _open(github, view, is_draft=False, has_drafts=False)
                drafted = "refused"
    told = HandedOver(at=now, pull_request=pull.number)
    await world.store.note_handed_over(agent, told)
    content = digest(messages.pull_request_evidence(view, has_drafts=drafted != "refused"))
    written = done(effect, Posted(pull.number, pull.url, ""), content, now)
    return replace(written, detail={**written.detail, DRAFT: drafted})


async def _open(github: GitHub, view: Report, *, is_draft: bool, has_drafts: bool) -> PullRequest:
    agent = view.agent
    return await github.open_pull_request(
        repository_of(agent),
        branch=agent.branch,
        base=agent.default_branch,
        title=messages.pull_request_title(agent),
        body=messages.pull_request_body(view, has_drafts=has_drafts),
        is_draft=is_draft,
    )


async def _drafted(github: GitHub, view: Report, pull: PullRequest, drafted: str) -> str:
    """Whether it is a draft now. What people have made of it meanwhile stays until the next work is
    handed over."""
    is_draft = is_to_be_doubted(view)
    if drafted == "refused":
        return drafted
    if pull.is_draft != is_draft:
        try:
            await github.set_draft(repository_of(view.agent), pull.number, is_draft=is_draft)
        except Refused as refused:
            if not _has_no_drafts(refused):
                raise
            return "refused"
    return "yes" if is_draft else "no"


def _has_no_drafts(refused: Refused) -> bool:
    """GitHub's words: "Draft pull requests are not supported in this repository."."""
    return "draft pull requests are not supported" in str(refused).casefold()


async def _own(world: World, agent: Agent) -> PullRequest | None:
    """The branch's own: the open one, or the one that was merged with just this work."""
    pulls = await world.github.pull_requests(repository_of(agent), agent.branch)
    return next((pull for pull in pulls if pull.is_open or _was_merged_at(pull, agent.sha)), None)


def _was_merged_at(pull: PullRequest, sha: str | None) -> bool:
    return pull.is_merged and pull.head_sha == sha
