"""All words that Squadron says to people on GitHub. Pure: a report in, markdown out.

Nothing is claimed that was not verified: a text names a commit only after GitHub's own answer
said that the branch is there (promise 5).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from app.core.agent import Agent, EffectName
from app.core.breaker import LimitUse, figure
from app.core.escalation import escalation_marker, marker
from app.core.events import Waits
from app.core.lifecycle import State
from app.core.limits import CATALOGUE
from app.core.plan import ConfigProblem
from app.core.report import Report

MOST_TEXT: Final = 60_000
"""GitHub takes 65,536 characters in a body; the rest is for what we add."""
MOST_TITLE: Final = 250

_CALLS: Final = re.compile(r"@(?=\w)|<(?=[/?!a-zA-Z])")
"""What calls people, and what begins a tag or a comment, which could hide all that follows."""
_CLOSES: Final = re.compile(
    r"\b(close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?=:?\s+(?:#|GH-|https?:|[\w.-]+/[\w.-]+#))",
    re.IGNORECASE,
)
"""GitHub's words that close an issue when a pull request or a commit that says them is merged."""
_NOTHING: Final = "\u200b"
"""A space without width: nobody sees it, and GitHub no longer reads the word as its own."""


def cut(text: str, most: int) -> str:
    """At most `most` characters, saying so when something is missing."""
    return text if len(text) <= most else text[: most - 15].rstrip() + " … (shortened)"


def defused(text: str) -> str:
    """Words that others wrote, without the power to call people, hide text or close issues."""
    calmed = _CALLS.sub(lambda found: found[0] + _NOTHING, text)
    return _CLOSES.sub(lambda found: found[0][0] + _NOTHING + found[0][1:], calmed)


def in_one_line(text: str) -> str:
    """Words that others wrote, for a place that only one line fits into."""
    return " ".join(defused(text).split())


def said(text: str) -> str:
    """An agent's words behind a label: what is longer than a line must not swallow the rest."""
    return defused(text) if "\n" not in text.strip() else f"\n\n{quoted(text.strip())}"


def quoted(text: str) -> str:
    """An agent's words as a block quote."""
    return "\n".join(f"> {line}".rstrip() for line in defused(text).splitlines())


def state_sentence(report: Report) -> str:
    """What the agent does or waits for, in one sentence."""
    agent = report.agent
    match agent.state:
        case State.QUEUED:
            return "Waiting for a worker."
        case State.ACTIVE:
            return "Working."
        case State.PAUSED:
            return "Paused: a limit asks a human."
        case State.SLEEPING:
            return _sleep_sentence(agent, report)
        case State.COMPLETED if agent.pull_request is not None:
            return f"Completed with #{agent.pull_request}."
        case State.COMPLETED:
            return "Completed: nothing was left to change."
        case State.CANCELLED:
            return "Cancelled: a human took the work away."
        case State.ESCALATED:
            reason = agent.trip.reason if agent.trip else "a human decides."
            return f"Stopped: {in_one_line(reason)}"


def _sleep_sentence(agent: Agent, report: Report) -> str:
    match agent.waits_for:
        case Waits.BLOCKER:
            blockers = ", ".join(f"#{number}" for number in agent.blocked_by)
            return f"Sleeping until {blockers} is closed."
        case Waits.REVIEW:
            return f"Handed over as #{agent.pull_request}; waiting for a review."
        case _:
            reason = report.slept.reason if report.slept else ""
            return f"Waiting for an answer on this issue. {in_one_line(cut(reason, 500))}".rstrip()


def limits_table(uses: Iterable[LimitUse]) -> str:
    """Observed and maximum of each limit as a table."""
    rows = "\n".join(
        f"| `{use.name}` | {figure(use.observed)} | {figure(use.maximum)} |"
        f" {CATALOGUE[use.name].unit} |"
        for use in uses
    )
    return f"| limit | used | maximum | unit |\n| --- | ---: | ---: | --- |\n{rows}"


def work_sentence(report: Report) -> str:
    """Where the work is; claims only what was read back from GitHub."""
    agent, kept = report.agent, report.kept
    if kept is not None and not kept.pushed and kept.problem:  # else there was nothing to push
        return (
            f"Branch: `{agent.branch}`. **The last work could not be pushed:**"
            f" {in_one_line(kept.problem)}"
            f" It is kept on Squadron's disk; the branch is at `{_short(agent.sha)}`."
        )
    if agent.sha is None:
        return f"Branch: `{agent.branch}` (not created yet)."
    problem = f" {in_one_line(kept.problem)}" if kept is not None and kept.problem else ""
    return (
        f"Branch: `{agent.branch}` — work preserved for human pickup, at `{_short(agent.sha)}`"
        f" (verified on GitHub).{problem}"
        if agent.state is State.ESCALATED
        else f"Branch: `{agent.branch}` at `{_short(agent.sha)}`.{problem}"
    )


def progress_comment(report: Report) -> str:
    """The one comment of an agent, edited as it goes; after a trip it is the escalation's."""
    agent = report.agent
    parts = [marker(agent.id, EffectName.COMMENT)]
    if agent.state is State.ESCALATED and agent.trip is not None:
        parts += [
            f"[squadron:{agent.id.role}] ⚠️ Circuit breaker: {in_one_line(agent.trip.reason)}",
            f"Progress: {said(agent.summary) or 'no summary provided'}",
            work_sentence(report),
        ]
    else:
        parts += [f"[squadron:{agent.id.role}] {state_sentence(report)}", _checklist(report)]
        if agent.summary:
            parts.append(quoted(agent.summary))
        parts.append(work_sentence(report))
    parts += [
        _test_lines(report),
        f"<details><summary>Limits</summary>\n\n{limits_table(report.uses)}\n\n</details>",
        f"<sub>Agent `{agent.id}`, started by {agent.started_by}"
        f"{f' ({report.trigger})' if report.trigger else ''}"
        f"{f', successor of `{agent.predecessor}`' if agent.predecessor else ''}.</sub>",
    ]
    return cut("\n\n".join(part for part in parts if part), MOST_TEXT)


def _checklist(report: Report) -> str:
    agent, counters = report.agent, report.counters
    kept = report.kept
    handed_over = agent.pull_request is not None
    steps = (
        ("workspace ready", counters.turns > 0),
        (f"at work ({counters.tool_calls} tool calls)", counters.tool_calls > 0),
        (f"tests run ({len(report.test_runs)})", bool(report.test_runs)),
        ("work pushed", kept is not None and kept.pushed and not kept.problem),
        ("pull request opened", handed_over),
        ("finished", agent.state is State.COMPLETED),
    )
    return "\n".join(f"- [{'x' if done else ' '}] {step}" for step, done in steps)


def _test_lines(report: Report) -> str:
    if not report.test_runs:
        return ""
    lines = [
        f"| {number} | `{cut(_in_a_cell(run.command), 80)}` |"
        f" {run.outcome or 'not finished'} | {'yes' if run.changed else 'no'} |"
        for number, run in enumerate(report.test_runs[-12:], max(len(report.test_runs) - 11, 1))
    ]
    table = "| # | test run | outcome | changed before |\n| ---: | --- | --- | --- |\n"
    return (
        "<details><summary>Test runs</summary>\n\n" + table + "\n".join(lines) + "\n\n</details>"
    )


def _in_a_cell(command: str) -> str:
    """A command line that can end neither its code span nor its cell."""
    return in_one_line(command).replace("|", "¦").replace("`", "'")


def check_name(role: str) -> str:
    """The name of an agent's check."""
    return f"squadron/{role}"


def check_title(report: Report) -> str:
    """The check's headline."""
    return cut(state_sentence(report), MOST_TITLE)


def check_summary(report: Report) -> str:
    """The check's text: observed and maximum per limit, and where the work is."""
    agent = report.agent
    parts = [state_sentence(report), limits_table(report.uses), work_sentence(report)]
    if agent.summary:
        parts.insert(1, quoted(agent.summary))
    return cut("\n\n".join(parts), MOST_TEXT)


def escalation_title(agent: Agent) -> str:
    """Seed 002: `[needs-human] Agent escalation: #N — reason`."""
    reason = in_one_line(agent.trip.reason) if agent.trip else "stopped"
    return cut(f"[needs-human] Agent escalation: #{agent.id.issue} — {reason}", MOST_TITLE)


def escalation_body(report: Report) -> str:
    """The needs-human issue: everything that a person needs to decide and to go on."""
    agent = report.agent
    head = escalation_marker(agent.id.repository, agent.id.issue)
    mention = " ".join(agent.assignment.escalation.mention)
    parts = [head, mention, escalation_section(report)]
    parts.append(
        "Resolve the original issue by hand, or close this issue and label the original again:"
        " a fresh agent then takes over the branch."
    )
    return cut("\n\n".join(part for part in parts if part), MOST_TEXT)


def escalation_section(report: Report) -> str:
    """One agent's part of the needs-human issue: all the fields of seed 002."""
    agent, trip = report.agent, report.agent.trip
    figures = (
        f" ({figure(trip.observed)}/{figure(trip.maximum)})"
        if trip is not None and trip.maximum is not None
        else ""
    )
    stopped = (
        f"`{trip.limit}`{figures} — {in_one_line(trip.reason)} Seen by the {trip.layer} layer."
        if trip is not None
        else "unknown"
    )
    summary = said(agent.summary).replace("\n", "\n  ") or "no summary provided"
    fields = [
        f"- Original issue: #{agent.id.issue}",
        f"- Agent role: {agent.id.role}",
        f"- Circuit breaker: {stopped}",
        f"- Agent summary: {summary}",
        f"- Branch: `{agent.branch}`" + (f" at `{agent.sha}`" if agent.sha else ""),
        f"- Session: preserved on disk (`{agent.id}`)",
    ]
    if agent.pull_request is not None:
        fields.append(f"- Pull request: #{agent.pull_request}")
    return "\n\n".join(
        part
        for part in (
            marker(agent.id, EffectName.ISSUE),
            "\n".join(fields),
            work_sentence(report),
            pick_up_lines(agent),
            _test_lines(report),
            limits_table(report.uses),
        )
        if part
    )


def pick_up_lines(agent: Agent) -> str:
    """The `git` lines with which a person goes on where the agent stopped."""
    if agent.sha is None:
        return ""
    return (
        "Pick the work up:\n\n```sh\n"
        f"git fetch origin {agent.branch}\n"
        f"git switch --create pick-up-{agent.id.issue} FETCH_HEAD\n"
        f"git log --stat origin/{agent.default_branch}..HEAD\n```"
    )


def pull_request_title(agent: Agent) -> str:
    """The issue's own title."""
    title = in_one_line(agent.assignment.task.title)
    return cut(title or f"Work on #{agent.id.issue}", MOST_TITLE)


def pull_request_body(report: Report) -> str:
    """What was done; merging it closes the issue."""
    agent = report.agent
    commits = report.kept.commits if report.kept is not None else ()
    done = "\n".join(f"- {in_one_line(cut(subject, 200))}" for subject in commits)
    parts = [
        marker(agent.id, EffectName.PULL_REQUEST),
        quoted(agent.summary),
        f"Commits:\n\n{done}" if done else "",
        _test_lines(report),
        f"Fixes #{agent.id.issue}",
        f"<sub>Agent `{agent.id}`, started by {agent.started_by}.</sub>",
    ]
    return cut("\n\n".join(part for part in parts if part), MOST_TEXT)


def cannot_start(role: str, problems: Sequence[ConfigProblem], why: str) -> str:
    """The one clear comment about a role that is broken or missing."""
    shown = [defused(cut(str(problem), 400)).replace("`", "'") for problem in problems[:20]]
    lines = "\n".join(f"- `{problem}`" for problem in shown)
    more = f"\n- … and {len(problems) - 20} more" if len(problems) > 20 else ""
    return (
        f"[squadron:{role}] Cannot start: {why}\n\n{lines}{more}\n\n"
        "Correct this on the default branch, then set the label again."
        " `squadron config check` shows the same."
    ).replace("\n\n\n\n", "\n\n")


def _short(sha: str | None) -> str:
    return sha[:12] if sha else "unknown"
