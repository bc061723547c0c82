"""The check run of an agent: it blocks the merge of what a stopped agent left behind."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from app.core.agents.agent import Agent, Effect
from app.core.commands.buttons import buttons
from app.core.effects.check_run import Change, CheckRun, Create, write_of_run
from app.core.effects.wanted import check_conclusion
from app.core.words import messages
from app.core.words.report import Report
from app.ports import CheckText, GitHub, GitHubFailed, Posted, Refused, Repository
from app.services.effects.outcome import as_written, digest, done
from app.services.world import repository_of

HEAD: Final = "head"
"""In the detail of the effect: the commit that the known run stands on."""
RUN: Final = "run"
"""In the detail of the effect: the known run's `external_id`."""
CONCLUSION: Final = "conclusion"
"""In the detail of the effect: how the known run has completed; empty: it is open."""
OLDER: Final = "older"
"""In the detail of the effect: open runs on older heads, by their numbers."""
MOST_OLDER: Final = 20
MOST_STEPS: Final = 6
"""To bring one check in line: a run that GitHub does not change, a look, another such run, and a
new one take four."""

MOVED_ON: Final = "The branch moved on; the check on its newest commit counts."
CONFLICT: Final = 409

log = logging.getLogger("squadron.effects")


async def write_check(github: GitHub, view: Report, effect: Effect, now: datetime) -> Effect:
    """The newest run on the head of the branch says how the agent stands; those on older heads
    are settled after it. May raise `GitHubFailed`."""
    agent = view.agent
    if agent.sha is None:
        return effect
    text = CheckText(
        conclusion=check_conclusion(
            agent, view.evidence, view.review_refused, is_merged=view.is_merged
        ),
        title=messages.check_title(view),
        summary=messages.check_summary(view),
        buttons=buttons(agent, view.counters),
    )
    shown = text.summary if text.conclusion is not None else ""
    pressed = " ".join(button.identifier for button in text.buttons)
    content = digest(agent.sha, text.conclusion or "", text.title, shown, pressed)
    if effect.content == content:
        written = as_written(effect)
    else:
        run = await _brought_in_line(github, agent, agent.sha, text, _known(effect, agent.sha))
        posted = Posted(run.number, run.url, body="")
        written = with_run(done(effect, posted, content, now, head=agent.sha), run)
        written = with_older(written, _open_on_older(effect, agent.sha))
    return await _settled_older(github, repository_of(agent), written)


def with_run(effect: Effect, run: CheckRun) -> Effect:
    """The effect that knows a run."""
    detail = {**effect.detail, RUN: run.external_id, CONCLUSION: run.conclusion or ""}
    return replace(effect, number=run.number, url=run.url, detail=detail)


def older_runs(effect: Effect) -> list[int]:
    """Runs on older heads that are still open, by GitHub's ids."""
    return [int(number) for number in effect.detail.get(OLDER, "").split()]


async def settle(github: GitHub, repository: Repository, number: int, why: str) -> None:
    """An open run that decides nothing completes as superseded; one that GitHub does not let
    anybody change is left. Raises `GitHubFailed` where another try may do it."""
    try:
        await github.change_check(repository, number, CheckText("neutral", "Superseded", why))
    except Refused as refused:
        log.warning("a superseded check stays open: %s", refused, extra={"check": number})


async def _settled_older(github: GitHub, repository: Repository, effect: Effect) -> Effect:
    """What fails is left to a later write, or to reconciliation: it decides nothing, so it holds
    nothing up."""
    left = []
    for number in older_runs(effect):
        try:
            await settle(github, repository, number, MOVED_ON)
        except GitHubFailed as failed:
            log.info("an older check is settled later: %s", failed, extra={"check": number})
            left.append(number)
    return with_older(effect, left)


def with_older(effect: Effect, open_runs: Iterable[int]) -> Effect:
    """The effect with those runs still to settle, the newest `MOST_OLDER` of them."""
    numbers = [str(number) for number in open_runs][-MOST_OLDER:]
    return replace(effect, detail={**effect.detail, OLDER: " ".join(numbers)})


async def _brought_in_line(
    github: GitHub, agent: Agent, sha: str, text: CheckText, known: CheckRun | None
) -> CheckRun:
    """The run that says what is wanted. What GitHub answers is compared with what was asked: it
    answers a change of a completed run like any other, and keeps the conclusion.

    A new run is made only when the head was looked at, for its request may have been in flight
    when a process died. May raise `GitHubFailed`.
    """
    repository, name = repository_of(agent), messages.check_name(agent.id.role)
    runs = [known] if known is not None else None
    is_looked_at, fixed = False, set[int]()
    for _ in range(MOST_STEPS):
        if runs is None:
            runs, is_looked_at = list(await github.checks(repository, sha, name)), True
        step = write_of_run(agent.id, sha, runs, text.conclusion, fixed)
        if isinstance(step, Create):
            if not is_looked_at:
                runs = None
                continue
            written = await github.create_check(repository, sha, name, step.external_id, text)
        else:
            write = github.change_check if isinstance(step, Change) else github.reword_check
            try:
                written = await write(repository, step.run.number, text)
            except Refused as refused:
                log.warning("a new check follows: %s", refused, extra={"check": step.run.number})
                fixed.add(step.run.number)
                continue
        if written.conclusion == text.conclusion:
            return written
        runs = [*(run for run in runs if run.number != written.number), written]
    raise Refused("GitHub concludes the check otherwise than it was asked to", CONFLICT)


def _known(effect: Effect, sha: str) -> CheckRun | None:
    """The run that the effect knows on that head."""
    external_id = effect.detail.get(RUN)
    if effect.number is None or external_id is None or effect.detail.get(HEAD) != sha:
        return None
    return CheckRun(
        effect.number, effect.url or "", external_id, effect.detail.get(CONCLUSION) or None
    )


def _open_on_older(effect: Effect, sha: str) -> list[int]:
    """Open runs on heads before that one, once it has its own."""
    older, is_open = older_runs(effect), not effect.detail.get(CONCLUSION)
    if effect.number is not None and is_open and effect.detail.get(HEAD) != sha:
        older.append(effect.number)
    return older
