"""All words about limits that let an agent go on, or let a human decide whether it may. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from app.core.agents.agent import Agent
from app.core.agents.events import DiffSize, Passed, Waits
from app.core.agents.lifecycle import State
from app.core.agents.stops import Hold
from app.core.breaker.raises import Grant, asked_amount, left_to_grant, typed, worth
from app.core.breaker.verdict import amount_words, money
from app.core.budgets.ledger import Insufficient
from app.core.commands.grammar import RAISABLE, Misread
from app.core.commands.much import MOST_TIMES
from app.core.limits import LimitInfo, Limits
from app.core.money import usd
from app.core.rules.plan import RoleKind
from app.core.text.markdown import MOST_TEXT, cut, in_one_line, instant, listed, quoted
from app.core.words.report import Report
from app.core.words.tables import runs_table
from app.testruns import Outcome


def passed_lines(passed: Sequence[Passed], limits: Limits) -> str:
    """Limits that were reached and did not stop the agent, each with what it was allowed for."""
    lines = []
    for each in passed:
        why = "in `shadow`: only judged" if each.shadow else "`on_limit: warn`"
        if each.refused:
            why = "what it asked for was refused"
        figures = amount_words(limits.info(each.limit), each.observed, each.maximum)
        lines.append(f"- `{each.limit}` was reached at {figures}, and the agent went on ({why}).")
    return "\n".join(lines)


def pause_section(report: Report) -> str:
    """What a paused agent wants of a human: how much, for what, and what to type."""
    agent, hold = report.agent, report.hold
    if hold is None:
        return ""
    return "\n\n".join(
        part
        for part in (
            ways_on(report, hold, f"by {instant(end_of_wait(agent))}", f"on #{agent.id.issue}"),
            f"{wish_words(report, hold)} Otherwise Squadron stops the agent for good then"
            " (`max_sleep_duration`); the agent does nothing until then, and no other time counts.",
            f"The agent says:\n\n{quoted(hold.claim)}" if hold.claim else "",
            progress_lines(report),
        )
        if part
    )


def end_of_wait(agent: Agent) -> datetime:
    """When an agent that waits for a person is stopped for good."""
    return agent.updated_at + timedelta(seconds=agent.assignment.limits.max_sleep_duration)


def wish_words(report: Report, hold: Hold) -> str:
    """What a paused agent wants, and that nothing is lost."""
    if not hold.asks:
        return "Squadron keeps session, branch and work."
    limits = report.agent.assignment.limits
    info, own = limits.info(hold.limit), limits.maximum(hold.limit)
    more = hold.amount if hold.amount is not None else own
    return (
        f"**The agent asks for {worth(info, more or 0)} more.** Squadron keeps session, branch and"
        " work."
    )


def progress_lines(report: Report) -> str:
    """What has come of the work since the beginning, or since the last grant."""
    progress = report.progress
    since = "the work began"
    if progress.grant is not None:
        grant = progress.grant
        to = worth(report.agent.assignment.limits.info(grant.limit), grant.maximum)
        since = f"{grant.by} granted {to} (`{grant.limit}`)"
    lines = [f"Since {since}:", ""]
    lines.append(f"- Changes on the branch: {diff_words(progress.diff, progress.diff_before)}.")
    passed = sum(run.outcome is Outcome.PASSED for run in progress.test_runs)
    runs = len(progress.test_runs)
    lines.append(f"- Test runs: {runs}" + (f", of which {passed} passed." if runs else "."))
    if runs:
        lines += ["", runs_table(progress.test_runs)]
    return "\n".join(lines)


def diff_words(diff: DiffSize | None, before: DiffSize | None = None) -> str:
    """How far the branch differs, and how far it did `before`."""
    if diff is None:
        return "not measured"
    words = _diff_figures(diff)
    return f"{words} (before: {_diff_figures(before)})" if before is not None else words


def _diff_figures(diff: DiffSize) -> str:
    files = "1 file" if diff.files == 1 else f"{diff.files} files"
    return f"{files}, +{diff.added} −{diff.deleted} lines"


def ways_on(report: Report, hold: Hold, deadline: str, where: str = "here") -> str:
    """The one line to let a paused agent go on, as it is typed, and what else may be typed.
    `where`: the thread for it, seen from where the words stand."""
    agent, info = report.agent, report.agent.assignment.limits.info(hold.limit)
    limits, role = agent.assignment.limits, agent.id.role
    room = left_to_grant(limits, report.counters, hold.limit)
    if room is not None and room <= 0:
        return (
            f"`{hold.limit}` is at its ceiling, so nobody can grant more of it. To end the agent"
            f" {deadline}, write this line in a comment {where}:\n\n```\n/squadron stop {role}\n```"
        )
    own = limits.maximum(hold.limit) or 0
    resume, most = f"/squadron resume {role}", own if room is None else min(own, room)
    wanted = asked_amount(limits, report.counters, hold)
    ask = f"/squadron raise {hold.limit} {typed(info, wanted)} {role}"
    first, granted = (resume, most) if hold.amount is None else (ask, wanted)
    other = (
        f"`/squadron raise {hold.limit} +AMOUNT {role}` grants as much as you say."
        if hold.amount is None
        else f"`{resume}` grants {worth(info, most)} more, and any other amount may stand behind"
        " `raise`."
    )
    ceiling = (
        f" The operator's ceiling allows {worth(info, room)} more at most."
        if room is not None and hold.limit in limits.ceilings
        else ""
    )
    return (
        f"To let the agent go on, write this line in a comment {where} {deadline}:\n\n"
        f"```\n{first}\n```\n\n"
        f"That grants {worth(info, granted)} more. {other}{ceiling} Who may start agents here may"
        " write it."
    )


def retry_sentence(agent: Agent, *, has_work: bool) -> str:
    """How a fresh agent goes on, and with more of what has run out."""
    retry = f"/squadron retry {agent.id.role}"
    is_review = agent.assignment.kind is RoleKind.REVIEW
    work = "reviews it" if is_review else "goes on" if has_work else "works on it"
    more = _more_of_it(agent)
    raised = (
        f" `{retry} raise {more[0]}` gives that agent {more[1]} more than its role has."
        if more
        else ""
    )
    return f"write `{retry}` in a comment here, and a fresh agent {work}.{raised}"


def _more_of_it(agent: Agent) -> tuple[str, str] | None:
    """As it is typed, and in words, how much more a fresh agent can be given of the limit that
    stopped this one: its own amount once more, up to the ceiling."""
    if agent.trip is None or agent.trip.limit not in RAISABLE:
        return None
    name, limits = agent.trip.limit, agent.assignment.limits
    info, own = limits.info(name), limits.maximum(name) or 0
    more = min(own, min(info.most, limits.ceilings.get(name, info.most)) - own)
    return (f"{name} {typed(info, more)}", worth(info, more)) if more > 0 else None


def answer_marker(comment: int | str) -> str:
    """The mark by which the answer to a comment, or to a button, is found again: there is one."""
    return f"<!-- squadron:answer:{comment} -->"


def answered_marker(key: str) -> str:
    """The mark of one part of an answer: commands that were added by an edit add a part."""
    return f"<!-- squadron:answered:{key} -->"


def command_answer(comment: int | str, key: str, words: Sequence[str], before: str = "") -> str:
    """The short answer to a comment whose commands were not obeyed to the letter; `before` is
    what was answered when there were fewer of them."""
    text = words[0] if len(words) == 1 else "".join(f"\n- {each}" for each in words)
    part = f"{answered_marker(key)}\n[squadron] {text}"
    return cut(f"{before or answer_marker(comment)}\n{part}", MOST_TEXT)


def misread_words(misread: Misread) -> str:
    """A line that begins like a command and is none; nothing of the comment is done then."""
    line = in_one_line(misread.line).replace("`", "'")
    what = f"`{line}` was not understood" if line else "These commands were not understood"
    expected = in_one_line(misread.expected)
    if misread.nearest:
        return (
            f"{what}. Did you mean `{misread.nearest}`? It is written {expected}. Nothing was"
            " changed."
        )
    return f"{what}; expected {expected}. Nothing was changed."


def unknown_agent_words(who: str | None, agents: Sequence[Agent]) -> str:
    """A command for nobody."""
    known = ", ".join(f"`{agent.id.role}`" for agent in agents)
    if who is None or not known:
        return "No agent works on this issue. The label `squadron:<role>` starts one."
    name = in_one_line(cut(who, 50)).replace("`", "'")
    return f"No agent `{name}` works on this issue; there is {known}. Nothing was changed."


def which_agent_words(paused: Sequence[Agent]) -> str:
    """A command that could be meant for several."""
    roles = " or ".join(f"`/squadron resume {role}`" for role in sorted(a.id.role for a in paused))
    return f"Several agents are paused here; say which one, as in {roles}. Nothing was changed."


def asks_its_parent_words(agent: Agent) -> str:
    """Who wants to raise a limit of a sub-agent."""
    return (
        f"`{agent.id}` is a sub-agent: it asks `{agent.parent}`, which gives it of its own limits."
        " Raise that agent's limits when it asks you."
    )


def not_paused_words(agent: Agent) -> str:
    """A command for an agent that does not wait for one: what would help instead."""
    role = agent.id.role
    match agent.state:
        case State.QUEUED | State.ACTIVE:
            why = "is at work. Its limits can be raised when it pauses at one of them."
        case State.SLEEPING if agent.waits_for is Waits.BLOCKER:
            closed = closed_words(agent.blocked_by)
            why = f"sleeps until {closed}; it goes on by itself then."
        case State.SLEEPING if agent.waits_for is Waits.REVIEW:
            why = f"waits for a review of #{agent.pull_request}."
        case State.SLEEPING:
            why = "waits for an answer: write it as an ordinary comment."
        case State.ESCALATED:
            why = f"was stopped for good. {_retry_words(agent)}"
        case State.COMPLETED | State.CANCELLED:
            why = f"has ended. {_retry_words(agent)}"
        case State.PAUSED:
            why = "is just being moved on."
        case State.STOPPING:
            why = "stops: its work was taken away."
    return f"`{role}` {why} Nothing was changed."


def closed_words(issues: Sequence[int]) -> str:
    """`#3 and #4 are closed`."""
    are = "is" if len(issues) == 1 else "are"
    return f"{listed([f'#{number}' for number in issues])} {are} closed"


def asks_back_words(info: LimitInfo, amount: float, own: float) -> str:
    """A raise by so much that it may be a slip of the finger; said once."""
    return (
        f"{worth(info, amount)} is more than {MOST_TIMES} times the agent's `{info.name}` of"
        f" {worth(info, own)}. If it is meant, write the same line once more, in a new comment."
        " Nothing was changed."
    )


def _retry_words(agent: Agent) -> str:
    role, issue = agent.id.role, agent.id.issue
    return (
        f"Comment `/squadron retry {role}` on #{issue}: a fresh agent takes over its branch, with"
        f" its limits anew; `/squadron retry {role} raise LIMIT +AMOUNT` gives it more."
    )


def held_by_another(agent: Agent, hold: Hold) -> str:
    """A raise that would not let the agent go on."""
    return (
        f"`{agent.id.role}` is held by `{hold.limit}`, so this alone would not let it go on. Add a"
        f" line `/squadron resume`, or raise `{hold.limit}` as well. Nothing was changed."
    )


def written_before_words(agent: Agent) -> str:
    """A command that came late, and was not about this pause."""
    return (
        f"`{agent.id.role}` has paused after this was written. Write it again if it is still meant."
    )


def unfunded_words(short: Insufficient) -> str:
    """A budget that leaves too little for a raise."""
    account = short.account
    assert account is not None, "an agent that people steer has no parent"
    renews = account.renews_at
    then = f" The budget renews at {instant(renews)}." if renews is not None else ""
    return (
        f"The budget `{account.key}` has {money(usd(short.left_nanousd))} left, and this takes"
        f" {money(usd(short.asked_nanousd))}.{then} Nothing was changed."
    )


def capped_words(given: Grant) -> str:
    """Less was granted than was asked for."""
    info = given.info
    return (
        f"Squadron raised `{given.limit}` by {worth(info, given.amount)} only, to"
        f" {worth(info, given.maximum)}: that is its ceiling."
    )


def raised_words(by: str, grants: Sequence[Grant], note: str) -> str:
    """Why a paused agent goes on, for itself and for its log."""
    raises = " and ".join(_raise_words(given) for given in grants)
    return f"{by} {raises}." + (f" {by} wrote:\n\n{note}" if note else "")


def _raise_words(given: Grant) -> str:
    info = given.info
    if not given.amount:
        return f"granted {worth(info, given.maximum)} once more (`{given.limit}`)"
    more, maximum = worth(info, given.amount), worth(info, given.maximum)
    return f"raised `{given.limit}` by {more}, to {maximum}"
