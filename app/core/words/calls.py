"""What people read when an agent waits for them: what it wants, until when, and the one line to
answer with. Pure."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from app.core.agents.events import ClosingTool, Held, Slept
from app.core.effects.calls import DONE, Call, call_marker, called_people
from app.core.text.markdown import MOST_TEXT, cut, in_one_line, instant, quoted
from app.core.words.evidence import claim_section
from app.core.words.pauses import end_of_wait, progress_lines, ways_on, wish_words
from app.core.words.report import Report

MOST_QUESTION_CHARACTERS: Final = 5_000
_LONG: Final = timedelta(hours=1)


def call_comment(report: Report, call: Call, said_at: datetime) -> str:
    """The comment about one time that the agent waits for a person; `said_at`: when people were
    told of it last."""
    head = call_marker(report.agent.id, call.key)
    section = _over(report, call) if call.is_over else _open(report, call, said_at)
    return cut("\n\n".join([head, *filter(None, section)]), MOST_TEXT)


def _open(report: Report, call: Call, said_at: datetime) -> Iterator[str]:
    agent = report.agent
    people = f"{called_people(agent)} " if called_people(agent) else ""
    is_reminder = said_at - call.event.at >= _LONG
    again = f"reminder, it has waited since {instant(call.event.at)}: " if is_reminder else ""
    end = end_of_wait(agent)
    deadline = f"by **{instant(end)}** ({_within(end - said_at)})"
    kept = "; its work stays on its branch" if report.has_work else ""
    otherwise = f"Otherwise Squadron stops the agent for good then{kept}."
    head = f"[squadron:{agent.id.role}] {people}{again}"
    match call.event:
        case Held():
            hold = report.hold or call.event.hold
            yield f"{head}this agent is paused: {in_one_line(hold.reason)}"
            yield ways_on(report, hold, deadline)
            yield f"{wish_words(report, hold)} {otherwise}"
            yield claim_section(hold.claim)
            yield progress_lines(report)
        case Slept():
            yield f"{head}{_ASKS[call.reported].now}"
            yield quoted(cut(call.event.reason, MOST_QUESTION_CHARACTERS))
            yield f"{_how_to_answer(report, call, deadline)} {otherwise}"


def _how_to_answer(report: Report, call: Call, deadline: str) -> str:
    if call.reported in DONE:
        wake = f"/squadron wake {report.agent.id.role}"
        return (
            "To let the agent try once more, when what is in the way is gone, write this line in a"
            f" comment here {deadline}:\n\n```\n{wake}\n```\n\nOr say in your own words"
            " what the agent shall do."
        )
    return (
        f"Answer in a comment here {deadline}; one line in your own words is enough. The agent"
        " reads it and goes on."
    )


class _Asks(NamedTuple):
    """What an agent that sleeps wants of people."""

    now: str
    then: str
    """The same, once nobody has to answer any more."""


_ASKS: Final[Mapping[ClosingTool | None, _Asks]] = {
    ClosingTool.REPORT_BLOCKED: _Asks(
        "this agent asks a question, and waits for your answer:",
        "This agent waited for an answer to its question:",
    ),
    **dict.fromkeys(
        DONE,
        _Asks(
            "this agent has done its work, and Squadron cannot hand it over:",
            "This agent had done its work, and Squadron could not hand it over:",
        ),
    ),
    None: _Asks(
        "this agent has stopped without a question or a report, and waits for a word of yours."
        " These are its last words:",
        "This agent had stopped without a question or a report. These were its last words:",
    ),
}


def _over(report: Report, call: Call) -> Iterator[str]:
    role = report.agent.id.role
    since = f"Since {instant(call.ended.at)} nobody" if call.ended else "Nobody"
    match call.event:
        case Held(hold=hold):
            yield f"[squadron:{role}] This agent was paused: {in_one_line(hold.reason)}"
        case Slept(reason=reason):
            yield f"[squadron:{role}] {_ASKS[call.reported].then}"
            yield quoted(cut(reason, MOST_QUESTION_CHARACTERS))
    yield f"{since} has to answer any more."


def _within(left: timedelta) -> str:
    """`within 24 hours`, `within 3 days`: to the nearest, at least two of a unit."""
    seconds = max(round(left.total_seconds()), 0)
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"within {round(seconds / length)} {unit}"
    return f"within {seconds} seconds"
