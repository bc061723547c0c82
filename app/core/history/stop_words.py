"""Words about limits that were reached, and about how often they were right."""

from collections.abc import Iterator, Sequence

from app.core.agents.counters import Counters, seconds
from app.core.breaker.verdict import amount_words, figure, money
from app.core.history.precision import Judged, Precision, Stop, precisions
from app.core.history.violations import Came, Violation
from app.core.money import usd
from app.core.text.markdown import cut, in_one_line, instant
from app.core.words.tables import aligned

_TOLD = {
    Came.STOP: "stopped it",
    Came.PAUSE: "paused it",
    Came.ASK: "it paused to ask for more",
    Came.WARN: "warned it (on_limit: warn)",
    Came.SHADOW: "only watched it (shadow)",
    Came.REFUSED: "refused it what it asked for",
}


def violation_lines(violation: Violation) -> Iterator[str]:
    """One that a limit was reached, in four lines or five."""
    agent, used = violation.agent, violation.used
    yield f"{instant(violation.at)}  {agent.id}"
    seen = f" ({violation.layer})" if violation.layer else ""
    yield f"  {_figures(violation)}: {_TOLD[violation.came]}{seen}"
    yield f"  {cut(in_one_line(agent.assignment.task.title), 60)}; model {agent.assignment.model}"
    yield f"  by then {used_words(used)}"
    if violation.last_call:
        yield f"  last call: {cut(in_one_line(violation.last_call), 100)}"
    if violation.stop is not None:
        yield f"  {judged_words(violation.stop)}"


def _figures(violation: Violation) -> str:
    if violation.observed is None or violation.maximum is None:
        return violation.limit
    info = violation.agent.assignment.limits.info(violation.limit)
    return f"{violation.limit}, {amount_words(info, violation.observed, violation.maximum)}"


def used_words(used: Counters) -> str:
    """All that an agent had used, in one line."""
    cost = "unknown cost" if used.unpriced_calls else money(usd(used.cost_nanousd))
    return (
        f"{used.turns} turns, {used.tool_calls} tool calls, {used.model_calls} model calls,"
        f" {used.tokens} tokens, {cost}, {figure(round(seconds(used.active)))} s"
    )


def judged_words(stop: Stop) -> str:
    """What people made of a stop."""
    match stop.judged, bool(stop.taken_back):
        case Judged.WRONG, _:
            return f"wrong: {stop.taken_back}, and the work was taken"
        case Judged.RIGHT, True:
            return f"right: {stop.taken_back}, and the work was not taken"
        case Judged.RIGHT, False:
            return "right: nobody took it back"
        case _, True:
            return f"open: {stop.taken_back}, and nobody has judged the work yet"
        case _:
            return "open: nobody has answered yet"


def precision_lines(found: Sequence[Stop]) -> Iterator[str]:
    """A table, and in its last row all together."""
    rows = [("limit", "role", "right", "wrong", "open", "precision")]
    of_each = precisions(found)
    rows += [(limit, role, *_cells(each)) for (limit, role), each in of_each.items()]
    if len(of_each) > 1:
        rows.append(("all", "", *_cells(Precision.of(found))))
    yield from aligned(rows)


def _cells(precision: Precision) -> tuple[str, str, str, str]:
    ratio = "-" if precision.ratio is None else f"{precision.ratio:.0%}"
    return str(precision.right), str(precision.wrong), str(precision.open), ratio
