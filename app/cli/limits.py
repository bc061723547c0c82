"""`squadron limits suggest`: limits from what the agents of this installation really used."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import typer

from app.adapters.store.store import SqlStore
from app.cli.directories import operator_of
from app.cli.failing import fail
from app.cli.registry import AsJson, answered, open_registry, opened
from app.cli.terminal import say
from app.core.agents.agent import Agent
from app.core.history.adapting import Adapted
from app.core.history.advice import role_lines, yaml_block
from app.core.history.suggest import (
    MOST_AGENTS,
    History,
    LimitHistory,
    RoleHistory,
    Used,
    role_history,
)
from app.core.limits import LimitName
from app.core.text.markdown import instant as day
from app.core.words.tables import in_unit
from app.services.views import Json, amount, instant

limits = typer.Typer(no_args_is_help=True, help="Limits, and what they should be.")


@limits.command()
def suggest(
    role: Annotated[str | None, typer.Option(help="Only this role.")] = None,
    repository: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME", help="Only agents of this repository.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Suggest limits from what finished agents used, and say what they would have changed."""
    ceilings = operator_of().ceilings
    histories, moved = answered(_read(opened(open_registry), role, repository))
    if not histories and (role is not None or repository is not None):
        who = "no agent" if role is None else f"no agent of the role {role}"
        where = "here" if repository is None else f"in {repository}"
        fail(f"{who} has ever worked {where}; `squadron agents` lists them")
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


Moved = tuple[str, Adapted]
"""A limit that was moved without a human, and in which repository."""


async def _read(
    store: SqlStore, role: str | None, repository: str | None
) -> tuple[Mapping[str, list[History]], list[Moved]]:
    """The newest agents of each role, oldest first, with their logs; and what was moved."""
    agents: dict[str, list[Agent]] = {}
    for agent in await store.agents():
        if repository is not None and agent.repository.casefold() != repository.casefold():
            continue
        if agent.parent is None and role in (None, agent.id.role):
            agents.setdefault(agent.id.role, []).append(agent)
    histories = {
        name: [History(agent, await store.log(agent.id)) for agent in same[-MOST_AGENTS:]]
        for name, same in agents.items()
    }
    where = sorted({agent.repository for same in agents.values() for agent in same})
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
