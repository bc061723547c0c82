"""`squadron agents`: the registry in lines, read from the database."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from rich.console import Console
from rich.text import Text

from app.adapters.clock import SystemClock
from app.adapters.store.store import SqlStore
from app.cli.commands.options import AgentsBy
from app.cli.directories import settings_of
from app.cli.registry import answered, open_registry, opened
from app.cli.terminal import clean, say
from app.config.settings import git_url_of
from app.core.agents.lifecycle import FINAL, State
from app.core.breaker.verdict import LimitUse, figure
from app.core.limits import LimitInfo
from app.core.money import usd
from app.core.rules.brakes import Brake
from app.core.words.ages import age_words
from app.core.words.matters import Matter
from app.core.words.refusals import standing_words
from app.core.words.story import quoted
from app.ports import DeadDelivery, FleetAgent, FleetFilter, Pass, StartRefused, Worker
from app.services.fleet import matters_of, whole_fleet
from app.services.views import (
    REFUSED_SHOWN_FOR,
    Json,
    brake_json,
    dead_delivery_json,
    fleet_json,
    not_started_json,
    pass_json,
    refused_json,
    waits_words,
)

MOST_OF_THE_REST: Final = 10
"""Starts, and deliveries, that are told of below the agents; `--json` has all."""

STATE_COLOURS: Final[Mapping[State, str]] = {
    State.QUEUED: "white",
    State.ACTIVE: "cyan",
    State.SLEEPING: "blue",
    State.PAUSED: "yellow",
    State.STOPPING: "magenta",
    State.COMPLETED: "green",
    State.ESCALATED: "red",
    State.CANCELLED: "magenta",
}


@dataclass(frozen=True, slots=True)
class _Line:
    """What is told of one agent."""

    id: str
    is_sub_agent: bool
    is_in_line: bool
    """Whether it waits for a worker."""
    page: str
    """Of its issue, below GitHub's address."""
    state: State
    state_words: str
    created_at: datetime
    updated_at: datetime
    nearest: LimitUse | None
    cost_nanousd: int
    has_unpriced: bool
    matters: Sequence[Matter]
    json: Json

    @classmethod
    def of(cls, listed: FleetAgent, now: datetime, *, as_json: bool) -> Self:
        """Nothing of its task: a registry may have many agents."""
        agent, seen = listed.agent, listed.seen
        shown = {**fleet_json(listed), "refused": refused_json(listed.effects)} if as_json else {}
        return cls(
            id=str(agent.id),
            is_sub_agent=agent.parent is not None,
            is_in_line=listed.queue is not None,
            page=f"{agent.repository}/issues/{agent.id.issue}",
            state=agent.state,
            state_words=waits_words(agent),
            created_at=agent.created_at,
            updated_at=agent.updated_at,
            nearest=seen.nearest,
            cost_nanousd=seen.cost_nanousd,
            has_unpriced=seen.has_unpriced,
            matters=matters_of(listed, now),
            json=shown,
        )

    @property
    def share(self) -> float:
        """How much is used of the limit that is nearest."""
        return 0.0 if self.nearest is None else self.nearest.share


_ORDERS: Final[Mapping[AgentsBy, Callable[[_Line], float]]] = {
    AgentsBy.CREATED: lambda line: line.created_at.timestamp(),
    AgentsBy.CHANGED: lambda line: line.updated_at.timestamp(),
    AgentsBy.LIMIT: lambda line: line.share,
    AgentsBy.COST: lambda line: line.cost_nanousd,
}
"""What people look for comes last: it stands above the prompt."""


@dataclass(frozen=True, slots=True)
class _Registry:
    """All that the command shows."""

    lines: Sequence[_Line]
    """In the order in which they are shown."""
    not_started: Sequence[StartRefused]
    dead_deliveries: Sequence[DeadDelivery]
    brakes: Sequence[Brake]
    workers: Sequence[Worker]
    last_pass: Pass | None


def show_registry(wanted: FleetFilter, by: AgentsBy, *, as_json: bool) -> None:
    """The agents that are wanted, and what keeps others from being there. If those are wanted that
    may wait for a person, only those are shown that do."""
    now = SystemClock().now()
    registry = answered(_read(opened(open_registry), wanted, by, now, as_json=as_json))
    if as_json:
        say(json.dumps(_as_json(registry), indent=2))
        return
    shown = _Shown(Console(highlight=False), now, git_url_of(settings_of().github_api_url))
    shown.agents(registry.lines, _MATTERS if wanted.may_need_person else _USES)
    if wanted == FleetFilter():
        shown.the_rest(registry)


def _as_json(registry: _Registry) -> Mapping[str, object]:
    return {
        "agents": [line.json for line in registry.lines],
        "not_started": [*map(not_started_json, registry.not_started)],
        "dead_deliveries": [*map(dead_delivery_json, registry.dead_deliveries)],
        "brakes": [*map(brake_json, registry.brakes)],
        "last_pass": pass_json(registry.last_pass),
    }


async def _read(
    store: SqlStore, wanted: FleetFilter, by: AgentsBy, now: datetime, *, as_json: bool
) -> _Registry:
    found = [
        _Line.of(listed, now, as_json=as_json) async for listed in whole_fleet(store, wanted, now)
    ]
    lines = [line for line in found if line.matters or not wanted.may_need_person]
    return _Registry(
        sorted(lines, key=_ORDERS[by]),
        await store.refused_starts(now - REFUSED_SHOWN_FOR),
        await store.dead_deliveries(),
        await store.brakes(),
        await store.workers(now),
        await store.last_pass(),
    )


_NEAREST_CHARACTERS: Final = 22


@dataclass(frozen=True, slots=True)
class _Column:
    """Beside the id of an agent."""

    title: str
    format: str
    text: Callable[[_Line, datetime], str]

    def cell(self, text: str) -> str:
        """The text, as wide as the column."""
        return format(text, self.format)


def _nearest(line: _Line, _: datetime) -> str:
    use = line.nearest
    if use is None:
        return ""
    of = f"{_amount(use.info, use.observed)}/{_amount(use.info, use.maximum)}"
    name = Text(use.name.removeprefix("max_"))
    name.truncate(_NEAREST_CHARACTERS - 1 - len(of), overflow="ellipsis")
    return f"{name} {of}"


def _amount(info: LimitInfo, amount: float) -> str:
    if info.unit == "seconds":
        return age_words(timedelta(seconds=amount))
    if info.is_money:
        return f"${amount:.2f}"
    return f"{amount / 1_000_000:.1f}M" if amount >= 1_000_000 else figure(amount)


def _cost(line: _Line, _: datetime) -> str:
    if line.has_unpriced:
        return "unknown"
    return f"${usd(line.cost_nanousd):.2f}" if line.cost_nanousd else ""


def _age(line: _Line, now: datetime) -> str:
    return age_words(now - line.created_at)


def _since(line: _Line, now: datetime) -> str:
    return age_words(now - line.matters[0].since)


def _left(line: _Line, now: datetime) -> str:
    deadline = line.matters[0].deadline
    return "" if deadline is None else age_words(deadline - now)


def _action(line: _Line, _: datetime) -> str:
    return line.matters[0].action


_STATE: Final = _Column("state", "18.18", lambda line, _: line.state_words)
_USES: Final = (
    _Column("nearest limit", str(_NEAREST_CHARACTERS), _nearest),
    _Column("cost", ">7", _cost),
    _Column("age", ">4", _age),
)
_MATTERS: Final = (
    _Column("needs you to", "24.24", _action),
    _Column("for", ">4", _since),
    _Column("left", ">4", _left),
)


class _Shown:
    """Lines within the width of the terminal; colours and links where it has them."""

    def __init__(self, console: Console, now: datetime, github: str) -> None:
        """`github`: its address in a browser."""
        self._console = console
        self._now = now
        self._github = github

    def agents(self, lines: Sequence[_Line], columns: Sequence[_Column]) -> None:
        """One line each, and their sum. An id that is too long stands on a line of its own."""
        beside = (_STATE, *columns)
        room = self._console.width - sum(1 + len(column.cell("")) for column in beside)
        width = min(max((len(_name(line)) for line in lines), default=0), max(room, 0))
        if lines:
            titles = " ".join(column.cell(column.title) for column in beside)
            self._line(Text(f"{'agent':<{width}} {titles}", "dim"))
        for line in lines:
            name = Text(_name(line), f"link {self._github}/{line.page}")
            if len(name) > width:
                self._console.print(name, soft_wrap=True)
                name = Text("")
            name.pad_right(width - len(name))
            state, *others = (column.cell(column.text(line, self._now)) for column in beside)
            coloured = Text(state, STATE_COLOURS[line.state])
            self._line(Text(" ").join([name, coloured, *map(Text, others)]))
        self._line(Text(_sum(lines)))

    def the_rest(self, registry: _Registry) -> None:
        """What is no agent, or keeps agents from working."""
        self._some("Not started", [*map(self._not_started, registry.not_started)])
        self._some("Deliveries given up", [*map(self._dead, registry.dead_deliveries)])
        for brake in registry.brakes:
            self._line(Text(f"Nothing starts, and nobody works: {_said(standing_words(brake))}."))
        waiting = sum(line.is_in_line for line in registry.lines)
        if waiting and not any(each.takes_agents for each in registry.workers):
            self._line(
                Text(f"No worker takes agents, and {waiting} in the queue: see squadron workers.")
            )
        if registry.last_pass is not None:
            for words in _pass_words(registry.last_pass):
                self._line(Text(words))

    def _some(self, title: str, entries: Sequence[Sequence[str]]) -> None:
        if entries:
            self._line(Text(title, "dim"))
        for head, why in entries[:MOST_OF_THE_REST]:
            self._console.print(Text(head), soft_wrap=True)
            self._line(Text(f"  {why}"))
        if len(entries) > MOST_OF_THE_REST:
            more = len(entries) - MOST_OF_THE_REST
            self._line(Text(f"  … {more} more: squadron agents --json"))

    def _not_started(self, start: StartRefused) -> tuple[str, str]:
        post = f"{start.repository}#{start.issue}/{start.role}"
        times = f", {start.times} times" if start.times > 1 else ""
        head = f"{post}, asked by {start.by}, {age_words(self._now - start.at)} ago{times}"
        return _said(head), _said(start.reason)

    def _dead(self, dead: DeadDelivery) -> tuple[str, str]:
        told = dead_delivery_json(dead)
        place = f"{told['repository']}#{told['issue']}" if told["issue"] else told["repository"]
        what = f"{dead.delivery.event} {told['action'] or ''} {place} by {told['by']}"
        head = f"{dead.delivery.id}, {age_words(self._now - dead.at)} ago"
        return _said(head), _said(f"{what}: {dead.reason}")

    def _line(self, text: Text) -> None:
        text.rstrip()
        self._console.print(text, no_wrap=True, overflow="ellipsis")


def _name(line: _Line) -> str:
    """The id; a sub-agent's is indented."""
    name = clean(line.id)
    return f"  {name}" if line.is_sub_agent else name


def _said(text: str) -> str:
    """Words that others wrote, in one line."""
    return quoted(text, 500)


def _sum(lines: Sequence[_Line]) -> str:
    states = [line.state for line in lines]
    need = sum(bool(line.matters) for line in lines)
    counts = {
        "needs you" if need == 1 else "need you": need,
        "at work": states.count(State.ACTIVE),
        "queued": states.count(State.QUEUED),
        "ended": sum(state in FINAL for state in states),
    }
    told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    spent = usd(sum(line.cost_nanousd for line in lines))
    agents = "1 agent" if len(lines) == 1 else f"{len(lines)} agents"
    return f"{agents}{told and ': '}{told}{f'; ${spent:.2f}' if spent else ''}"


def _pass_words(done: Pass) -> Iterator[str]:
    """What the last look at GitHub has cost; the rest of it is in the JSON."""
    yield (
        f"Last look at GitHub: {done.ended_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC,"
        f" {done.repositories} repositories, {done.requests} requests."
    )
    if done.put_off:
        left = ", ".join(f"{number} {kind}" for kind, number in sorted(done.put_off.items()))
        yield f"It put off {left}."
    for what, kind in done.failed.items():
        yield f"It failed at {_said(what)} ({kind}); the log says more."
