"""The needs-human issue: what people read when an agent was stopped for good. Pure.

First what to do, then what happened; each thing once.
"""

from collections.abc import Iterator
from textwrap import indent
from typing import Final

from app.core.agents.agent import Agent, EffectName
from app.core.agents.stops import Failure, Trip
from app.core.breaker.verdict import is_close
from app.core.effects.calls import called_people
from app.core.effects.wanted import escalation_marker, marker, needs_human_title
from app.core.rules.plan import RoleKind
from app.core.text.markdown import (
    MOST_TEXT,
    code,
    cut,
    fenced,
    folded,
    in_one_line,
    instant,
)
from app.core.words.evidence import claim_section, evidence_section, work_sentence
from app.core.words.pauses import retry_sentence
from app.core.words.report import Report
from app.core.words.tables import estimate_words, runs_table, sub_agents_table, uses_table

CLOSED_MARKER: Final = "<!-- squadron:closed:with-original -->"
"""The mark of the line with which a needs-human issue closes by itself."""


def escalation_title(agent: Agent) -> str:
    """Of the needs-human issue of an agent that was stopped."""
    match agent.stop:
        case Trip() as trip:
            what = f"stopped by {trip.limit}"
        case Failure() as failure:
            what = f"stopped, {failure.cause.replace('_', ' ')}"
        case None:
            what = "stopped"
    return needs_human_title(agent, what)


def escalation_body(report: Report) -> str:
    """The needs-human issue: everything that a person needs to decide and to go on."""
    agent = report.agent
    head = escalation_marker(agent.repository_id, agent.id.issue)
    return cut(f"{head}\n\n{escalation_section(report)}", MOST_TEXT)


def escalation_section(report: Report) -> str:
    """One agent's part of the needs-human issue."""
    agent = report.agent
    parts = (
        marker(agent.id, EffectName.ISSUE),
        called_people(agent),
        _what_to_do(report),
        _what_happened(report),
        claim_section(agent.summary) or "The agent left no summary.",
        evidence_section(report),
        work_sentence(report),
        _last_tests(report),
        _links(report),
        *_figures(report),
        folded("Test runs", runs_table(report.test_runs)),
        folded("Sub-agents", sub_agents_table(report.sub_agents)),
        folded("Commits", _commits(report)),
        f"<sub>Agent `{agent.id}`. `squadron session export {agent.id}`, where Squadron runs, shows"
        " what it did, for 30 days.</sub>",
    )
    return cut("\n\n".join(filter(None, parts)), MOST_TEXT)


def closed_with_original(original: int) -> str:
    """The line with which a needs-human issue closes by itself."""
    return f"{CLOSED_MARKER}\n[squadron] #{original} was closed, so nobody has to decide any more."


def closed_by_marker(by: str) -> str:
    """The mark of the line with which this person has it closed on a page."""
    return f"<!-- squadron:closed:by:{by.casefold()} -->"


def closed_on_page(by: str) -> str:
    """The line with which somebody has a needs-human issue closed."""
    return f"{closed_by_marker(by)}\n[squadron] {by} closed this on a page of Squadron."


def _what_to_do(report: Report) -> str:
    agent = report.agent
    issue, retry = f"#{agent.id.issue}", retry_sentence(agent, has_work=report.has_work)
    ways = [f"{retry[0].upper()}{retry[1:]}"]
    if agent.assignment.kind is RoleKind.REVIEW:
        ways.append(f"Or review {issue} yourself, and close this issue.")
    else:
        by_hand = f"Or work on {issue} yourself."
        ways.append(_pick_up(agent) if report.has_work else by_hand)
        ways.append(f"Or leave it: close {issue}, and this issue closes by itself.")
    lines = "\n".join(f"{number}. {way}" for number, way in enumerate(ways, 1))
    return f"**What to do**\n\n{lines}"


def _pick_up(agent: Agent) -> str:
    """The `git` lines with which a person goes on where the agent stopped."""
    lines = (
        "```sh",
        f"git fetch origin {agent.branch}",
        f"git switch --create pick-up-{agent.id.issue} FETCH_HEAD",
        f"git log --stat origin/{agent.default_branch}..HEAD",
        "```",
    )
    block = "\n".join(lines)
    return f"Or go on yourself:\n\n{indent(block, '   ')}\n"


def _what_happened(report: Report) -> str:
    agent = report.agent
    trigger = f" ({report.trigger})" if report.trigger else ""
    who = f"{agent.started_by} started the agent `{agent.id.role}` on #{agent.id.issue}{trigger}."
    stop = agent.stop
    how = "Squadron stopped it, and has no reason on record."
    if stop is not None:
        how = f"Squadron stopped the agent at {instant(stop.at)}: {in_one_line(stop.reason)}"
    return f"**What happened**\n\n{who} {how}"


def _last_tests(report: Report) -> str:
    if not report.test_runs:
        return ""
    last = report.test_runs[-1]
    outcome = "has not ended" if last.outcome is None else last.outcome.replace("_", " ")
    head = f"Its last test run, {code(last.command)}: {outcome}."
    return f"{head}\n\n{fenced(last.output)}" if last.output else head


def _links(report: Report) -> str:
    agent, links = report.agent, report.links
    issue, pull = f"#{agent.id.issue}", agent.pull_request
    is_review = agent.assignment.kind is RoleKind.REVIEW
    places = (
        f"pull request {issue}" if is_review else f"issue {issue}",
        f"pull request #{pull}" if pull is not None and pull != agent.id.issue else "",
        f"[check]({links.check})" if links.check else "",
        f"[comparison]({links.comparison})" if links.comparison and report.has_work else "",
    )
    return f"Where to look: {', '.join(filter(None, places))}."


def _figures(report: Report) -> Iterator[str]:
    """What has come close, and all the rest folded."""
    limits = report.agent.assignment.limits
    near = [use for use in report.uses if is_close(use.info, use.observed, use.maximum, limits)]
    rest = [use for use in report.uses if use not in near]
    yield uses_table(near) if near else ""
    yield estimate_words(report.counters)
    yield folded("Other limits", uses_table(rest))


def _commits(report: Report) -> str:
    commits = report.kept.commits if report.kept is not None else ()
    return "\n".join(f"- {in_one_line(cut(subject, 200))}" for subject in commits)
