"""The comment that calls the people for whom an agent waits."""

import logging
from dataclasses import replace
from datetime import datetime
from typing import Final

from app.core.agents.agent import Effect
from app.core.effects.calls import Call, Called, Telling, call_marker, reminds_at, telling
from app.core.words.calls import call_comment
from app.core.words.report import Report
from app.ports import GitHub, NoAccess, Posted, Refused
from app.services.effects.outcome import as_written, digest, done
from app.services.world import repository_of

KEY: Final = "call"
"""In the detail of the effect: which call the comment shows."""
CALLED_AT: Final = "called_at"
CALLS: Final = "calls"
SAID_AT: Final = "said_at"
"""In the detail of the effect: when its words were chosen, from which its deadline is counted."""
NOT_FOUND: Final = 404

log = logging.getLogger("squadron.effects")


async def write_call(github: GitHub, view: Report, effect: Effect, now: datetime) -> Effect:
    """The comment says what the agent waits for, or that nobody has to answer any more. May raise
    `GitHubFailed`."""
    called = _called(effect)
    latest = view.calls[-1] if view.calls else None
    match telling(latest, called, now):
        case Telling.NOTHING:
            return await _reworded(github, view, effect, _shown(view, called), now)
        case Telling.IN_PLACE:
            return await _reworded(github, view, effect, latest, now)
        case Telling.NEW:
            effect = await _reworded(github, view, effect, _shown(view, called), now)
            assert latest is not None
            return await _called_anew(github, view, effect, latest, now)
        case Telling.AGAIN:
            assert latest is not None
            return await _called_anew(github, view, effect, latest, now)


def next_reminder(view: Report, effect: Effect) -> datetime | None:
    """When to look at the call again; None: nobody waits for anybody."""
    called = _called(effect)
    if called is None or not view.calls or view.calls[-1].is_over:
        return None
    return reminds_at(view.calls[-1], called)


def shown_call(effect: Effect) -> str | None:
    """The key of the call that the comment shows; None: there is no comment."""
    return None if effect.number is None else effect.detail.get(KEY)


def _called(effect: Effect) -> Called | None:
    key, detail = shown_call(effect), effect.detail
    if key is None:
        return None
    return Called(key, datetime.fromisoformat(detail[CALLED_AT]), int(detail[CALLS]))


def _shown(view: Report, called: Called | None) -> Call | None:
    return next((each for each in view.calls if called and each.key == called.key), None)


async def _reworded(
    github: GitHub, view: Report, effect: Effect, call: Call | None, now: datetime
) -> Effect:
    """The comment that is there, brought in line with the call; one that people have deleted stays
    away."""
    if call is None or effect.number is None:
        return as_written(effect) if effect.attempts else effect
    is_same = shown_call(effect) == call.key
    said_at = datetime.fromisoformat(effect.detail[SAID_AT]) if is_same else now
    body = call_comment(view, call, said_at)
    content = digest(body)
    if effect.content == content:
        return as_written(effect)
    try:
        posted = await github.edit_comment(repository_of(view.agent), effect.number, body)
    except NoAccess:
        raise
    except Refused as error:
        if error.status != NOT_FOUND:
            raise
        log.info("a call was deleted", extra={"agent": str(view.agent.id)})
        posted = Posted(effect.number, effect.url or "", body)
    written = done(effect, posted, content, now)
    return replace(written, detail={**written.detail, KEY: call.key, SAID_AT: said_at.isoformat()})


async def _called_anew(
    github: GitHub, view: Report, effect: Effect, call: Call, now: datetime
) -> Effect:
    """A new comment, which notifies people, and which another of the same call makes way for."""
    agent, before = view.agent, effect.number
    repository, called = repository_of(agent), _called(effect)
    is_reminder = called is not None and called.key == call.key
    body = call_comment(view, call, now)
    found = await github.comments(repository, agent.id.issue, call_marker(agent.id, call.key))
    newer = [each for each in found if before is None or each.number > before]
    posted = newer[-1] if newer else await github.comment(repository, agent.id.issue, body)
    for each in found:
        if each.number != posted.number:
            await github.delete_comment(repository, each.number)
    calls = (0 if called is None else called.calls) + (not is_reminder)
    written = done(effect, posted, digest(body), now)
    detail = {KEY: call.key, CALLED_AT: now.isoformat(), CALLS: str(calls)}
    return replace(written, detail={**written.detail, **detail, SAID_AT: now.isoformat()})
