"""`squadron limits`: what limits did to the agents of this installation, how often that was right,
and what the limits should be."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from app.adapters.clock import SystemClock
from app.adapters.store.store import SqlStore
from app.cli.directories import operator_of
from app.cli.failing import fail
from app.cli.registry import answered, open_registry, opened
from app.cli.terminal import say
from app.core.agents.agent import Agent
from app.core.history.adapting import Adapted
from app.core.history.advice import role_lines, yaml_block
from app.core.history.agent_history import History
from app.core.history.precision import stops
from app.core.history.stop_words import precision_lines, violation_lines
from app.core.history.suggest import (
    MOST_AGENTS,
    LimitHistory,
    RoleHistory,
    Used,
    role_history,
)
from app.core.history.violations import violations
from app.core.limits import LimitName
from app.core.text.markdown import instant as day
from app.core.words.tables import in_unit
from app.services.views import Json, amount, instant, precision_json, violation_json

EVER: Final = datetime.min.replace(tzinfo=UTC)


def suggest_limits(role: str | None, repository: str | None, *, as_json: bool) -> None:
    """Limits from what finished agents used."""
    ceilings = operator_of().ceilings
    histories, moved = answered(_with_moved(opened(open_registry), role, repository))
    _refuse_nobody(histories, role, repository)
    found = [role_history(name, each, ceilings) for name, each in sorted(histories.items())]
    if as_json:
        shown = {
            "roles": [_json(each) for each in found],
            "adapted": [_moved_json(where, each) for where, each in moved],
            "yaml": yaml_block(found),
        }
        say(json.dumps(shown, indent=2))
        return
    for line in _lines(found, moved):
        say(line)


def show_trips(
    role: str | None, repository: str | None, days: int | None, *, as_json: bool
) -> None:
    """Every time that a limit was reached."""
    found = violations(_asked_for(role, repository, with_sub_agents=True))
    since = _since(days)
    shown = [each for each in found if each.at >= since]
    if as_json:
        for each in shown:
            say(json.dumps(violation_json(each)))
        return
    for each in shown:
        for line in violation_lines(each):
            say(line)
    say(f"{_times(len(shown))} a limit was reached." if shown else "No limit was reached.")


def show_precision(
    role: str | None, repository: str | None, days: int | None, *, as_json: bool
) -> None:
    """How often limits were right."""
    since = _since(days)
    found = [each for each in stops(_asked_for(role, repository)) if each.why.at >= since]
    if as_json:
        say(json.dumps(precision_json(found), indent=2))
    elif not found:
        say("No limit has stopped or paused an agent.")
    else:
        for line in precision_lines(found):
            say(line)


def _asked_for(
    role: str | None, repository: str | None, *, with_sub_agents: bool = False
) -> Sequence[History]:
    store = opened(open_registry)
    histories = answered(_read(store, role, repository, with_sub_agents=with_sub_agents))
    _refuse_nobody(histories, role, repository)
    return [each for same in histories.values() for each in same]


def _refuse_nobody(
    histories: Mapping[str, list[History]], role: str | None, repository: str | None
) -> None:
    if not histories and (role is not None or repository is not None):
        who = "no agent" if role is None else f"no agent of the role {role}"
        where = "here" if repository is None else f"in {repository}"
        fail(f"{who} has ever worked {where}; `squadron agents` lists them")


def _since(days: int | None) -> datetime:
    return EVER if days is None else SystemClock().now() - timedelta(days=days)


def _times(count: int) -> str:
    return "Once" if count == 1 else f"{count} times"


Moved = tuple[str, Adapted]
"""A limit that was moved without a human, and in which repository."""


async def _read(
    store: SqlStore, role: str | None, repository: str | None, *, with_sub_agents: bool = False
) -> Mapping[str, list[History]]:
    """The newest agents of each role, oldest first, with their logs."""
    agents: dict[str, list[Agent]] = {}
    for agent in await store.agents():
        if repository is not None and agent.repository.casefold() != repository.casefold():
            continue
        if role in (None, agent.id.role) and (with_sub_agents or agent.parent is None):
            agents.setdefault(agent.id.role, []).append(agent)
    return {
        name: [History(agent, await store.log(agent.id)) for agent in same[-MOST_AGENTS:]]
        for name, same in agents.items()
    }


async def _with_moved(
    store: SqlStore, role: str | None, repository: str | None
) -> tuple[Mapping[str, list[History]], list[Moved]]:
    """These, and what was moved without a human."""
    histories = await _read(store, role, repository)
    where = sorted({each.agent.repository for same in histories.values() for each in same})
    moved = [(name, step) for name in where for step in await store.adapted(name)]
    return histories, [each for each in moved if role in (None, each[1].role)]


def _lines(found: Sequence[RoleHistory], moved: Sequence[Moved]) -> Iterator[str]:
    if not found:
        yield "No agent has ever worked here: there is nothing to learn from."
    for history in found:
        yield from role_lines(history)
        yield ""
    if moved:
        yield "Moved without a human (adaptive: apply), as long as the files say the same:"
        for where, step in moved:
            base, value = in_unit(step.name, step.base), in_unit(step.name, step.value)
            since = f"since {day(step.at)}"
            yield f"  {where} {step.role} {step.name}: {base} -> {value} ({since})"
        yield ""
    block = yaml_block(found)
    if block:
        yield "To paste into .squadron/config.yaml (limits in .squadron/agents/*.md win over it):"
        yield ""
        yield block.rstrip()


def _json(history: RoleHistory) -> Json:
    return {
        "role": history.role,
        "repositories": list(history.repositories),
        "finished": history.finished,
        "stopped": history.stopped,
        "enough": history.is_enough,
        "limits": {each.name.value: _limit_json(each) for each in history.limits},
    }


def _limit_json(history: LimitHistory) -> Json:
    suggestion = history.suggestion
    return {
        "present": amount(history.name, history.present),
        "finished": _used_json(history.name, history.finished),
        "stopped": _used_json(history.name, history.stopped),
        "tripped": history.trips,
        "held": history.holds,
        "warned": history.warnings,
        "passed": history.passes,
        "wrong": history.precision.wrong,
        "judged": history.precision.judged,
        "suggested": None if suggestion is None else amount(history.name, suggestion.value),
        "capped_by": "ceiling" if suggestion is not None and suggestion.capped_by_ceiling else None,
        "changes": {
            "finished_stopped": list(suggestion.changed.stopped),
            "stopped_gone_on": list(suggestion.changed.gone_on),
            "stopped_earlier": list(suggestion.changed.stopped_earlier),
        }
        if suggestion is not None
        else None,
    }


def _moved_json(where: str, step: Adapted) -> Json:
    return {
        "repository": where,
        "role": step.role,
        "limit": step.name.value,
        "configured": amount(step.name, step.base),
        "value": amount(step.name, step.value),
        "at": instant(step.at),
    }


def _used_json(name: LimitName, used: Used | None) -> Json | None:
    if used is None:
        return None
    figures = {"median": used.median, "p95": used.p95, "max": used.most}
    return {key: amount(name, figure) for key, figure in figures.items()}
