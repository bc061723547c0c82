"""Words about suggested limits: a table, what each new value would have changed, YAML to paste."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from app.core.history.suggest import LEAST_FINISHED, LimitHistory, RoleHistory, Suggestion
from app.core.limits import CATALOGUE, LimitName
from app.core.words.tables import aligned, in_unit

MOST_AGENTS_NAMED: Final = 3
_MILLION: Final = 1_000_000
_HEAD: Final = ("limit", "now", "median", "p95", "max", "stop", "pause", "warn", "wrong")


def role_lines(history: RoleHistory) -> Iterator[str]:
    """What the registry says about one role, for a terminal of 80 columns."""
    where = ", ".join(history.repositories)
    yield (
        f"{history.role}: {_agents(history.finished)} finished, {history.stopped} stopped by a"
        f" limit ({where})"
    )
    if not history.is_enough:
        yield f"  Too little history: nothing is suggested before {LEAST_FINISHED} have finished."
        return
    yield from (f"  {line}" for line in table_lines(history))
    for each in history.limits:
        if each.suggestion is not None:
            yield f"  {each.name}: {suggestion_words(each, each.suggestion)}"
    if not history.suggestions:
        yield "  Its limits fit: no other value is suggested."


def table_lines(history: RoleHistory) -> Iterator[str]:
    """What finished agents used of each limit that was used at all, how many agents it stopped,
    paused and warned, and how many of its stops and pauses were wrong (`precision`)."""
    rows: list[Sequence[str]] = [_HEAD]
    for each in history.limits:
        used = each.finished
        if used is None or not (used.most or each.trips or each.holds or each.warnings):
            continue
        now = "off" if each.present is None else _short(each.name, each.present)
        figures = (_short(each.name, one) for one in (used.median, used.p95, used.most))
        stood = each.precision
        wrong = f"{stood.wrong}/{stood.judged}" if stood.judged else "-"
        said = map(str, (each.trips, each.holds, each.warnings))
        rows.append((each.name, now, *figures, *said, wrong))
    yield from aligned(rows)


def suggestion_words(history: LimitHistory, suggestion: Suggestion) -> str:
    """`200 → 140: …`, and what that would have changed for the agents of the past."""
    assert history.present is not None, "what is switched off has no suggestion"
    new = in_unit(history.name, suggestion.value)
    ceiling = " (the operator's ceiling)" if suggestion.capped_by_ceiling else ""
    changed = suggestion.changed
    effects = [
        f"would have stopped {_named(changed.stopped)} that finished",
        f"would have let {_named(changed.gone_on)} go on" if changed.gone_on else "",
        f"would have stopped {_named(changed.stopped_earlier)} earlier"
        if changed.stopped_earlier
        else "",
    ]
    return (
        f"{in_unit(history.name, history.present)} -> {new}{ceiling}:"
        f" {', '.join(filter(None, effects))}"
    )


def yaml_block(histories: Iterable[RoleHistory]) -> str:
    """The suggestions as `.squadron/config.yaml` has them; empty where there are none."""
    lines = []
    for history in histories:
        if not history.suggestions:
            continue
        lines.append(f"    {history.role}:")
        for each in history.limits:
            if each.suggestion is None:
                continue
            assert each.finished is not None and each.present is not None, "what it was made from"
            value = yaml_number(each.name, each.suggestion.value)
            lines.append(
                f"      {each.name}: {value}  # was {yaml_number(each.name, each.present)}; 95 % of"
                f" {history.finished} finished agents used at most"
                f" {in_unit(each.name, each.finished.p95)}"
            )
    return "\n".join(["circuit_breakers:", "  roles:", *lines, ""]) if lines else ""


def yaml_number(name: LimitName, value: float) -> str:
    """A limit's value as a file has it: money with cents, all else whole."""
    return f"{value:.2f}" if CATALOGUE[name].is_money else f"{value:.0f}"


def _short(name: LimitName, amount: float) -> str:
    """At most seven characters of any amount that agents use: a terminal has 80."""
    return f"{amount / _MILLION:.1f}M" if amount >= 10 * _MILLION else in_unit(name, amount)


def _agents(count: int) -> str:
    return "1 agent" if count == 1 else f"{count} agents"


def _named(agents: Sequence[str]) -> str:
    """How many, and which if they are few."""
    if not agents:
        return "none"
    shown = f" ({', '.join(agents)})" if len(agents) <= MOST_AGENTS_NAMED else ""
    return f"{len(agents)}{shown}"
