"""What Squadron saw of an agent's work, for people: it stands above what the agent says. Pure."""

from collections.abc import Sequence
from typing import Final

from app.core.agents.events import Known, MadeFiles, Verified
from app.core.agents.evidence import Evidence
from app.core.agents.lifecycle import State
from app.core.effects.wanted import conclusion_of_work
from app.core.rules.plan import RoleKind, Tests
from app.core.text.markdown import code, cut, in_one_line, quoted
from app.core.words.pauses import diff_words
from app.core.words.report import Report

EVIDENCE_BEGINS: Final = "<!-- squadron:evidence -->"
EVIDENCE_ENDS: Final = "<!-- /squadron:evidence -->"
"""The marks around what Squadron saw in the text of a pull request: there it is kept up to date."""
MOST_PATHS_NAMED: Final = 10
MOST_WHY_CHARACTERS: Final = 500
_NO_TESTS: Final = "This role changes no code, so Squadron expects no tests (`tests: none`)."


def tests_sentence(report: Report) -> str:
    """What Squadron saw of the tests, or found out itself; empty: the work has not come to GitHub
    yet."""
    saw, assignment = report.evidence, report.agent.assignment
    fewer = [] if saw is None else fewer_tests_sentences(saw)
    if assignment.verified_by and saw is not None:
        head = _verified_sentence(saw.verified)
    elif assignment.tests is Tests.NONE:
        head = _NO_TESTS
    else:
        head = "" if saw is None else _seen_sentence(saw)
    return " ".join([head, *fewer])


def _seen_sentence(saw: Evidence) -> str:
    match saw.tests_run, saw.tests_passed:
        case Known.YES, Known.YES:
            return "Squadron saw the tests run after the last edit, and they passed."
        case Known.YES, Known.NO:
            return "Squadron saw tests fail after the last edit."
        case Known.YES, _:
            return "Squadron saw tests run after the last edit, and cannot tell if they passed."
        case Known.NO, _:
            return "Squadron saw no tests run after the last edit."
        case _:
            return "Squadron cannot tell if tests ran on just this work."


def fewer_tests_sentences(saw: Evidence) -> list[str]:
    """What was tested on the default branch and may not be any more."""
    words, verified = [], saw.verified
    if saw.deleted_tests:
        words.append(f"The work takes tests away: {_paths(saw.deleted_tests)}.")
    if verified is not None and verified.base is not None:
        tests, base = verified.tests, verified.base
        if saw.has_fewer_tests:
            ran = "an unknown number" if tests is None else f"{tests.ran}"
            words.append(f"Tests that ran: {ran}; {base.ran} on the default branch.")
        if saw.has_more_skipped and tests is not None:
            words.append(f"Tests skipped: {tests.skipped}; {base.skipped} on the default branch.")
    return words


def _verified_sentence(verified: Verified | None) -> str:
    if verified is None:
        return "Squadron has not checked this commit in a clean checkout."
    match verified.sound:
        case Known.YES:
            return "Squadron checked the work in a clean checkout, and it is sound."
        case Known.NO:
            return f"Squadron checked the work in a clean checkout: {in_one_line(verified.why)}"
        case Known.UNKNOWN:
            why = in_one_line(cut(verified.why, MOST_WHY_CHARACTERS))
            return f"Squadron could not check the work in a clean checkout. {why}"


def _verified_line(report: Report, saw: Evidence) -> str:
    verified, commands = saw.verified, report.agent.assignment.verified_by
    named = ", ".join(map(code, commands))
    head = f"Checked in a clean checkout by {named}:"
    if verified is None:
        return f"{head} **not yet**."
    why = f": {in_one_line(cut(verified.why, MOST_WHY_CHARACTERS))}" if verified.why else "."
    return f"{head} **{verified.sound}**{why}"


def evidence_section(report: Report) -> str:
    """What Squadron saw, as a list; empty: the work has not come to GitHub yet."""
    saw = report.evidence
    if saw is None:
        return ""
    lines = [
        f"Tests run after the last edit: **{saw.tests_run}**.",
        f"Tests passed: **{saw.tests_passed}**.",
        f"Changes: {diff_words(saw.diff)}.",
    ]
    if report.agent.assignment.tests is Tests.NONE:
        lines[:2] = [_NO_TESTS]
    if report.agent.assignment.verified_by:
        lines.insert(0, _verified_line(report, saw))
    lines += fewer_tests_sentences(saw)
    if saw.steering:
        lines.append(f"Changes what steers tools of whoever opens it: {_paths(saw.steering)}.")
    if saw.withheld:
        lines.append(f"Not pushed: {_paths(saw.withheld)}.")
    if saw.made:
        lines.append(f"Left out, since setup, builds or tests made it: {_made_words(saw.made)}.")
    return "\n".join(["What Squadron saw:", "", *(f"- {line}" for line in lines)])


def work_sentence(report: Report) -> str:
    """Where the work is; claims only what was read back from GitHub."""
    agent, kept = report.agent, report.kept
    if agent.assignment.kind is RoleKind.REVIEW:
        at = f" at `{_short(agent.sha)}`" if agent.sha is not None else ""
        return f"The agent reads #{agent.id.issue}{at}, and changes nothing."
    if kept is not None and not kept.pushed and kept.problem:  # else there was nothing to push
        return (
            f"Branch: `{agent.branch}`. **Squadron could not push the last work:**"
            f" {in_one_line(kept.problem)}"
            f" Squadron keeps it on its disk; the branch is at `{_short(agent.sha)}`."
        )
    if agent.sha is None:
        return f"Branch: `{agent.branch}` (not created yet)."
    problem = f" {in_one_line(kept.problem)}" if kept is not None and kept.problem else ""
    if report.is_branch_deleted:
        return f"The branch `{agent.branch}` is deleted.{problem}"
    if agent.state is not State.ESCALATED:
        return f"Branch: `{agent.branch}` at `{_short(agent.sha)}`.{problem}"
    if not report.has_work:
        return f"Branch: `{agent.branch}`. The agent left no work on it.{problem}"
    return (
        f"Branch: `{agent.branch}` at `{agent.sha}` — work preserved for human pickup (verified on"
        f" GitHub).{problem}"
    )


def with_evidence(body: str, block: str) -> str:
    """The text of a pull request with this block in place of the one in it; the text as it is, if
    people have taken that out."""
    before, begins, rest = body.partition(EVIDENCE_BEGINS)
    _, ends, after = rest.partition(EVIDENCE_ENDS)
    return f"{before}{block}{after}" if begins and ends else body


def claim_section(summary: str) -> str:
    """What the agent says, marked as its words; empty: it says nothing."""
    return f"The agent says:\n\n{quoted(summary)}" if summary else ""


def is_to_be_doubted(report: Report) -> bool:
    """Whether work that is handed over is not known to be sound: its check is not green."""
    return conclusion_of_work(report.agent, report.evidence) != "success"


def _paths(paths: Sequence[str]) -> str:
    return _some([*map(code, paths)])


def _made_words(made: Sequence[MadeFiles]) -> str:
    return _some([f"{code(each.path)}{_files_words(each)}" for each in made])


def _files_words(made: MadeFiles) -> str:
    if not made.path.endswith("/"):
        return ""
    return " (1 file)" if made.files == 1 else f" ({made.files:,} files)"


def _some(named: Sequence[str]) -> str:
    more = len(named) - MOST_PATHS_NAMED
    others = [f"{more} more"] if more > 0 else []
    return ", ".join([*named[:MOST_PATHS_NAMED], *others])


def _short(sha: str | None) -> str:
    return sha[:12] if sha else "unknown"
