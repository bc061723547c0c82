"""All words that Squadron says to people on GitHub. Pure: a report in, markdown out.

Nothing is claimed that was not verified: a text names a commit only after GitHub's own answer
said that the branch is there (promise 5).
"""

from collections.abc import Sequence

from app.core.agents.agent import Agent, EffectName
from app.core.agents.events import HeldUp, Waits
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace
from app.core.breaker.raises import worth
from app.core.effects.calls import DONE
from app.core.effects.review import unposted
from app.core.effects.triage import proposal_lines
from app.core.effects.wanted import marker
from app.core.limits import CATALOGUE, LimitName
from app.core.rules.plan import ConfigProblem, RoleKind
from app.core.text.harmless import defused
from app.core.text.markdown import MOST_TEXT, MOST_TITLE, cut, folded, in_one_line
from app.core.words.evidence import (
    EVIDENCE_BEGINS,
    EVIDENCE_ENDS,
    claim_section,
    evidence_section,
    is_to_be_doubted,
    tests_sentence,
    work_sentence,
)
from app.core.words.files import lost_words
from app.core.words.pauses import closed_words, passed_lines, pause_section, retry_sentence
from app.core.words.refusals import held_words
from app.core.words.report import Report
from app.core.words.tables import limits_table, runs_table, sub_agents_table


def state_sentence(report: Report) -> str:
    """What the agent does or waits for, in one sentence."""
    agent = report.agent
    match agent.state:
        case State.STOPPING:
            return "Squadron keeps the agent's work, and then cancels the agent."
        case State.QUEUED if report.brake is not None:
            return held_words(report.brake)
        case State.QUEUED if report.held_up is not None:
            return _held_up_sentence(report.held_up)
        case State.QUEUED:
            return _queue_sentence(report.queue)
        case State.ACTIVE if report.is_being_verified:
            return "The agent has done its work; Squadron checks it in a clean checkout."
        case State.ACTIVE:
            return "The agent works."
        case State.PAUSED if report.hold is not None:
            return f"The agent is paused: {in_one_line(report.hold.reason)}"
        case State.PAUSED:
            return "The agent is paused, and a human decides how it goes on."
        case State.SLEEPING:
            return _sleep_sentence(agent, report)
        case State.COMPLETED if report.review_refused:
            why = in_one_line(cut(report.review_refused, 500))
            return f"The agent is done, and GitHub does not take its review: {why}"
        case State.COMPLETED if agent.assignment.kind is RoleKind.REVIEW:
            return "The agent is done: it has written its review."
        case State.COMPLETED if agent.pull_request is not None and report.is_merged:
            return f"The agent is done: #{agent.pull_request} was merged."
        case State.COMPLETED if agent.pull_request is not None:
            return f"The agent is done; its pull request is #{agent.pull_request}."
        case State.COMPLETED:
            return "The agent is done: it found nothing to change."
        case State.CANCELLED:
            why = report.finished.why if report.finished else "somebody took the work away."
            return f"The agent is cancelled: {in_one_line(why)}"
        case State.ESCALATED:
            reason = agent.stop.reason if agent.stop else "a human decides."
            return f"Squadron stopped the agent: {in_one_line(reason)}"


def _queue_sentence(queue: QueuePlace | None) -> str:
    if queue is None:
        return "The agent waits for a worker."
    return f"The agent waits for a worker; {_ahead(queue.place - 1, queue.ahead_same_repository)}."


def _ahead(of_all: int, of_repository: int) -> str:
    where = " of this repository" if of_repository == of_all else ""
    match of_all:
        case 0:
            return "it is next"
        case 1:
            return f"one agent{where} is ahead of it"
        case _ if where or of_repository == 0:
            return f"{of_all} agents{where} are ahead of it"
        case _:
            those = "one" if of_repository == 1 else f"{of_repository}"
            return f"{of_all} agents are ahead of it, {those} of this repository"


def _held_up_sentence(told: HeldUp) -> str:
    if told.waits_for is Waits.PROVIDER:
        return f"The agent waits for the model's provider: {told.why}"
    if told.waits_for is Waits.GIT:
        return f"The agent waits for GitHub: {told.why}"
    if told.waits_for is Waits.BUDGET:
        return f"The agent waits for money: {told.why}"
    if told.waits_for is Waits.CAP:
        return f"The agent waits until another one stops working: {told.why}"
    return f"The agent waits for room: {told.why}"


def _sleep_sentence(agent: Agent, report: Report) -> str:
    match agent.waits_for:
        case Waits.BLOCKER:
            return f"The agent sleeps until {closed_words(agent.blocked_by)}."
        case Waits.REVIEW if agent.pull_request is None:
            return "The agent has done its work; its pull request is not open yet."
        case Waits.REVIEW:
            return (
                f"The agent handed its work over as #{agent.pull_request}, and waits for a review."
            )
        case Waits.ACCESS:
            return _with_reason("The agent waits until Squadron has access again", report)
        case _ if report.calls and report.calls[-1].reported is None:
            return _with_reason(
                "The agent stopped without a question or a report. Its last words", report
            )
        case _ if report.calls and report.calls[-1].reported in DONE:
            return _with_reason("The agent is done, and Squadron cannot hand its work over", report)
        case _:
            return _with_reason("The agent waits for an answer on this issue", report)


def _with_reason(words: str, report: Report) -> str:
    """The words, and why it sleeps, if that is known."""
    reason = in_one_line(cut(report.slept.reason, 500)) if report.slept else ""
    return f"{words}: {reason}" if reason else f"{words}."


def progress_comment(report: Report) -> str:
    """The one comment of an agent, edited as it goes; after a trip it is the escalation's."""
    agent = report.agent
    parts = [marker(agent.id, EffectName.COMMENT)]
    if agent.state is State.ESCALATED and agent.stop is not None:
        what = "Circuit breaker" if agent.trip is not None else "Squadron stopped the agent"
        parts += [
            f"[squadron:{agent.id.role}] ⚠️ {what}: {in_one_line(agent.stop.reason)}",
            _what_to_do(report),
            _evidence_at_rest(report),
            claim_section(agent.summary) or "The agent left no summary.",
            _lost_sentence(report),
            work_sentence(report),
        ]
    else:
        called = agent.waits_for_person and report.links.call
        where = f" See [what it asks of you]({report.links.call})." if called else ""
        parts.append(f"[squadron:{agent.id.role}] {state_sentence(report)}{where}")
        parts.append(_checklist(report))
        if _is_review_completed(agent):
            parts.append(_unposted_review(report))
        else:
            parts += [_evidence_at_rest(report), "" if called else claim_section(agent.summary)]
        parts += [_lost_sentence(report), work_sentence(report)]
        parts += [proposal_lines(agent, each) for each in report.proposed]
    parts += [
        folded("Test runs", runs_table(report.test_runs)),
        folded("Sub-agents", sub_agents_table(report.sub_agents)),
        passed_lines(report.passed, report.agent.assignment.limits),
        folded("Limits", limits_table(report)),
        f"<sub>Agent `{agent.id}`, started by {agent.started_by}"
        f"{f' ({report.trigger})' if report.trigger else ''}"
        f"{f', successor of `{agent.predecessor}`' if agent.predecessor else ''}.</sub>",
    ]
    return cut("\n\n".join(part for part in parts if part), MOST_TEXT)


def _lost_sentence(report: Report) -> str:
    moved = report.files_moved
    if moved is None:
        return ""
    return (
        f"On {moved.at:%Y-%m-%d at %H:%M} UTC the agent began on a machine that did not have its"
        f" files. Gone with them: {lost_words(moved.lost)}."
    )


def _what_to_do(report: Report) -> str:
    """For people who meet a stopped agent on its issue."""
    all_ways = report.links.needs_human
    more = (
        f" All ways on, and what happened: [the needs-human issue]({all_ways})." if all_ways else ""
    )
    return f"To go on, {retry_sentence(report.agent, has_work=report.has_work)}{more}"


def _evidence_at_rest(report: Report) -> str:
    """What Squadron saw, once the agent has handed its work over, or is done."""
    is_over = report.agent.is_under_review or report.agent.is_final
    return evidence_section(report) if is_over else ""


def _checklist(report: Report) -> str:
    agent, counters = report.agent, report.counters
    kept = report.kept
    handed_over = agent.pull_request is not None
    calls = worth(CATALOGUE[LimitName.MAX_TOOL_CALLS], counters.tool_calls)
    begun = (
        ("workspace ready", counters.turns > 0),
        (f"at work ({calls})", counters.tool_calls > 0),
    )
    if agent.assignment.kind is RoleKind.REVIEW:
        is_submitted = _is_review_completed(agent) and not report.review_refused
        return _ticked(*begun, ("review submitted", is_submitted))
    return _ticked(
        *begun,
        (f"tests run ({len(report.test_runs)})", bool(report.test_runs)),
        ("work pushed", report.has_work and kept is not None and kept.pushed and not kept.problem),
        ("pull request opened", handed_over),
        ("finished", agent.state is State.COMPLETED),
    )


def _ticked(*steps: tuple[str, bool]) -> str:
    return "\n".join(f"- [{'x' if done else ' '}] {step}" for step, done in steps)


def _is_review_completed(agent: Agent) -> bool:
    return agent.assignment.kind is RoleKind.REVIEW and agent.state is State.COMPLETED


def _unposted_review(report: Report) -> str:
    """What the review says, where this comment is the only place for it."""
    if not report.review_refused or report.reported is None:
        return ""
    return f"What it says:\n\n{unposted(report.reported.text, report.reported.comments)}"


def check_name(role: str) -> str:
    """The name of an agent's check."""
    return f"squadron/{role}"


def check_title(report: Report) -> str:
    """The check's headline."""
    words = [state_sentence(report)]
    if report.agent.is_under_review:
        words.append(tests_sentence(report))
    return cut(" ".join(filter(None, words)), MOST_TITLE)


def check_summary(report: Report) -> str:
    """The check's text below its title: observed and maximum per limit, and where the work is."""
    agent, sentence = report.agent, state_sentence(report)
    parts = [
        sentence if sentence not in check_title(report) else "",
        pause_section(report),
        passed_lines(report.passed, report.agent.assignment.limits),
        limits_table(report),
        work_sentence(report),
    ]
    parts[1:1] = [_evidence_at_rest(report), claim_section(agent.summary)]
    return cut("\n\n".join(part for part in parts if part), MOST_TEXT)


def pull_request_title(agent: Agent) -> str:
    """The issue's own title."""
    title = in_one_line(agent.assignment.task.title)
    return cut(title or f"Work on #{agent.id.issue}", MOST_TITLE)


def pull_request_evidence(report: Report, *, has_drafts: bool) -> str:
    """The part of a pull request's text that is kept up to date: what Squadron saw of the work."""
    parts = [evidence_section(report)]
    if is_to_be_doubted(report):
        so = "So" if has_drafts else "This repository has no drafts, else"
        verb = "is" if has_drafts else "would be"
        parts.append(f"{tests_sentence(report)} {so} this pull request {verb} a draft.")
    shown = "\n\n".join(part for part in parts if part)
    return f"{EVIDENCE_BEGINS}\n{shown}\n{EVIDENCE_ENDS}"


def pull_request_body(report: Report, *, has_drafts: bool = True) -> str:
    """What Squadron saw, what the agent says, and what was done; merging it closes the issue."""
    agent = report.agent
    commits = report.kept.commits if report.kept is not None else ()
    done = "\n".join(f"- {in_one_line(cut(subject, 200))}" for subject in commits)
    parts = [
        marker(agent.id, EffectName.PULL_REQUEST),
        pull_request_evidence(report, has_drafts=has_drafts),
        claim_section(agent.summary),
        f"Commits:\n\n{done}" if done else "",
        folded("Test runs", runs_table(report.test_runs)),
        f"Fixes #{agent.id.issue}",
        f"<sub>Agent `{agent.id}`, started by {agent.started_by}.</sub>",
    ]
    return cut("\n\n".join(part for part in parts if part), MOST_TEXT)


def cannot_start(role: str, problems: Sequence[ConfigProblem], why: str) -> str:
    """The one clear comment about a role that is broken or missing."""
    shown = [defused(cut(str(problem), 400)).replace("`", "'") for problem in problems[:20]]
    lines = "\n".join(f"- `{problem}`" for problem in shown)
    more = f"\n- … and {len(problems) - 20} more" if len(problems) > 20 else ""
    # It reads files: of the operator's settings, of money and of grants it knows nothing.
    same = " `squadron config check` shows the same." if problems else ""
    return (
        f"[squadron:{role}] The agent cannot start: {why}\n\n{lines}{more}\n\n"
        f"Correct this on the default branch, then set the label again.{same}"
    ).replace("\n\n\n\n", "\n\n")
