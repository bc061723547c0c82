"""`squadron explain`: one agent's story, read from the database."""

import json
from collections.abc import Sequence
from datetime import UTC

from app.adapters.clock import SystemClock
from app.adapters.store.codec import encode_event
from app.adapters.store.store import SqlStore
from app.cli.failing import fail
from app.cli.registry import (
    ReadAgent,
    agent_called,
    answered,
    open_ledger,
    open_registry,
    opened,
    read_agent,
)
from app.cli.terminal import say
from app.core.agents.events import AgentEvent, Decided
from app.core.steering.next_step import why_it_stays
from app.core.words.budget import holding_words
from app.core.words.story import command_words, quoted, story
from app.core.words.timeline import Entry, timeline
from app.ports import HeardCommands
from app.services.closeup import commands_about
from app.services.queueing import place_in_queue
from app.services.views import Json, explanation_json


def explain_agent(agent: str, *, has_timeline: bool, as_json: bool) -> None:
    """One agent's story, from its log. `has_timeline`: with all that it did, a line for each
    thing; JSON has all events anyway."""
    try:
        found = answered(_read(opened(open_registry), agent))
    except ValueError as error:
        fail(str(error), 2)
    if found is None:
        fail(f"there is no agent {quoted(agent)} in this registry; `squadron agents` lists them")
    read, commands = found
    holding = answered(opened(open_ledger).holding(read.view.agent.id))
    stays = why_it_stays(read.view.agent, read.log, SystemClock().now())
    if as_json:
        events: list[Json] = [json.loads(encode_event(event)) for event in read.log]
        decision = _decision(read.log)
        shown = explanation_json(
            read.view, events, read.effects, commands, decision, stays, holding
        )
        say(json.dumps(shown, indent=2))
        return
    for line in story(read.view, read.log, read.effects, stays):
        say(line)
    if holding is not None:
        say(f"\nIts money\n  {holding_words(holding)}")
    if commands:
        say("\nWhat people told it")
    for told in commands:
        words = command_words(told.at, told.by, told.lines, is_refused=told.refused)
        say(f"  {words}")
    if has_timeline:
        say("\nTimeline (UTC)")
        for entry in timeline(enumerate(read.log, 1)):
            say(f"  {_entry_words(entry)}")


def _entry_words(entry: Entry) -> str:
    said = f": {quoted(entry.said)}" if entry.said else ""
    result = f" ({quoted(entry.result)})" if entry.result else ""
    return f"{entry.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} {quoted(entry.what)}{said}{result}"


async def _read(store: SqlStore, called: str) -> tuple[ReadAgent, Sequence[HeardCommands]] | None:
    """The agent, and what people told it."""
    agent = await agent_called(store, called)
    if agent is None:
        return None
    read = await read_agent(store, agent, await place_in_queue(store, agent))
    heard = await store.heard_commands(agent.id.repository)
    return read, commands_about(agent, read.effects, heard)


def _decision(log: Sequence[AgentEvent]) -> Decided | None:
    """The last one that a look has led to."""
    return next((event for event in reversed(log) if isinstance(event, Decided)), None)
