"""`squadron agents` and `squadron explain`: the registry, read from the database."""

import asyncio
import json
import os
from collections.abc import Coroutine
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from app.adapters.clock import SystemClock
from app.adapters.store.codec import encode_event
from app.adapters.store.store import SqlStore
from app.bootstrap import open_registry
from app.cli.failing import fail
from app.config.settings import SettingsError, load_local_settings
from app.core.agent import AgentId
from app.core.breaker import figure
from app.core.report import Report, report
from app.ports import StoreUnavailable
from app.services.views import Json, agent_json, explanation_json, waits_words

Answer = TypeVar("Answer")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def agents(as_json: AsJson = False) -> None:
    """The registry: every agent, its state, and how much of each limit is used."""
    reports = _read(_all(_store()))
    if as_json:
        typer.echo(json.dumps({"agents": [agent_json(view) for view in reports]}, indent=2))
        return
    table = Table("agent", "state", "limits", "stopped by")
    for view in reports:
        uses = "  ".join(
            f"{use.name.removeprefix('max_')} {figure(use.observed)}/{figure(use.maximum)}"
            for use in view.uses
        )
        trip = view.agent.trip
        table.add_row(
            str(view.agent.id), waits_words(view.agent), uses, trip.reason if trip else ""
        )
    Console().print(table)


def explain(
    agent: Annotated[str, typer.Argument(help="octo/demo#12/bug-fix/1")], as_json: AsJson = False
) -> None:
    """Why an agent stopped, from its log."""
    try:
        agent_id = AgentId.parse(agent)
    except ValueError as error:
        fail(str(error), 2)
    explanation = _read(_explained(_store(), agent_id))
    if explanation is None:
        fail(f"there is no agent {agent_id} in this registry; `squadron agents` lists them")
    if as_json:
        typer.echo(json.dumps(explanation, indent=2))
        return
    _tell(Console(), explanation)


def _store() -> SqlStore:
    try:
        return open_registry(load_local_settings(os.environ))
    except (SettingsError, FileNotFoundError) as error:
        fail(str(error))


def _read(reading: Coroutine[object, object, Answer]) -> Answer:
    try:
        return asyncio.run(reading)
    except StoreUnavailable as error:
        fail(f"{error}. Is SQUADRON_DATABASE_URL right, and has `squadron serve` run on it?")


async def _all(store: SqlStore) -> list[Report]:
    now = SystemClock().now()
    found = await store.agents()
    return [report(agent, await store.log(agent.id), now) for agent in found]


async def _explained(store: SqlStore, agent_id: AgentId) -> Json | None:
    agent = await store.agent(agent_id)
    if agent is None:
        return None
    log = await store.log(agent_id)
    events: list[Json] = [json.loads(encode_event(event)) for event in log]
    effects = await store.effects(agent_id)
    return explanation_json(report(agent, log, SystemClock().now()), events, effects)


def _tell(console: Console, explanation: Json) -> None:
    agent = explanation["agent"]
    events = explanation["events"]
    effects = explanation["effects"]
    assert isinstance(agent, dict)
    assert isinstance(events, list)
    assert isinstance(effects, list)
    console.print(f"[bold]{agent['id']}[/bold] is {agent['state']}")
    if agent["trip"]:
        console.print(f"stopped by {agent['trip']['layer']}: {agent['trip']['reason']}")
    timeline = Table("#", "at", "event", "what")
    for event in events:
        what = ", ".join(
            f"{name}={value}"
            for name, value in event.items()
            if name not in ("seq", "at", "type") and value not in (None, "", [])
        )
        timeline.add_row(str(event["seq"]), event["at"], event["type"], what[:160])
    console.print(timeline)
    written = Table("effect", "state", "attempts", "url", "error")
    for effect in effects:
        written.add_row(
            effect["name"],
            effect["state"],
            str(effect["attempts"]),
            effect["url"] or "",
            effect["error"],
        )
    console.print(written)
