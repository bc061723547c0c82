"""`squadron agents` and `squadron explain`: the registry, read from the database."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

import typer

from app.adapters.clock import SystemClock
from app.adapters.store.codec import encode_event
from app.adapters.store.store import SqlStore
from app.cli.failing import fail
from app.cli.registry import AsJson, agent_called, answered, open_ledger, open_registry, opened
from app.cli.tables import NamedRows
from app.cli.terminal import say
from app.core.agents.agent import Agent, AgentId, Effect, EffectName
from app.core.agents.events import AgentEvent, Decided, HeldUp
from app.core.agents.queueing import QueuePlace
from app.core.breaker.verdict import figure
from app.core.rules.brakes import Brake
from app.core.steering.next_step import why_it_stays
from app.core.words.budget import holding_words
from app.core.words.refusals import brake_words
from app.core.words.report import Report, report
from app.core.words.story import command_words, quoted, refused_words, story
from app.ports import DeadDelivery, HeardCommands, Pass, StartRefused, Worker
from app.services.effects.on_github import seen_on_github
from app.services.queueing import place_in_queue, places_in_queue
from app.services.views import (
    REFUSED_SHOWN_FOR,
    Json,
    agent_json,
    brake_json,
    commands_about,
    dead_delivery_json,
    explanation_json,
    not_started_json,
    pass_json,
    refused_json,
    waits_words,
)


def agents(as_json: AsJson = False) -> None:
    """The registry: every agent, its state, and how much of each limit is used; what did not
    start, and why; webhooks that could not be handled; and what the last look at GitHub has
    cost."""
    shown = answered(_all(opened(open_registry)))
    if as_json:
        content = {
            "agents": [
                {**agent_json(each.report), "refused": refused_json(each.effects)}
                for each in shown.agents
            ],
            "not_started": [not_started_json(start) for start in shown.not_started],
            "dead_deliveries": [dead_delivery_json(dead) for dead in shown.dead_deliveries],
            "brakes": [brake_json(brake) for brake in shown.brakes],
            "last_pass": pass_json(shown.last_pass),
        }
        say(json.dumps(content, indent=2))
        return
    named = [_name(each.report.agent) for each in shown.agents]
    table = NamedRows(
        "agent", named, "state", "limits", "stopped or held up by, and what GitHub refuses"
    )
    for name, each in zip(named, shown.agents, strict=True):
        view = each.report
        uses = "  ".join(
            f"{use.name.removeprefix('max_')} {figure(use.observed)}/{figure(use.maximum)}"
            for use in view.uses
        )
        stop = view.agent.stop
        notes = [stop.reason] if stop else []
        if view.held_up is not None:
            notes.append(_held_up_words(view.held_up, view.agent.retry_at))
        notes += refused_words(each.effects)
        table.add(name, waits_words(view.agent), uses, "\n".join(notes))
    table.show()
    if shown.not_started:
        _show_refusals(shown.not_started)
    if shown.dead_deliveries:
        _show_dead(shown.dead_deliveries)
    for brake in shown.brakes:
        say(f"Nothing starts, and nobody works: {quoted(brake_words(brake), 500)}.")
    waiting = sum(each.report.queue is not None for each in shown.agents)
    if waiting and not any(each.takes_agents for each in shown.workers):
        say(f"No worker takes agents now, and {waiting} wait for one: see `squadron workers`.")
    if shown.last_pass is not None:
        say(_pass_words(shown.last_pass))
        for what, kind in shown.last_pass.failed.items():
            say(f"It failed at {quoted(what, 200)} ({kind}); the log says more.")


def _held_up_words(told: HeldUp, retry_at: datetime | None) -> str:
    if retry_at is None:
        return told.why
    return f"{told.why} It looks again at {retry_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC."


def _pass_words(done: Pass) -> str:
    left = ", ".join(f"{number} {kind}" for kind, number in sorted(done.put_off.items()))
    return (
        f"Last look at GitHub: {done.ended_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC,"
        f" {done.repositories} repositories ({done.looked_at_fully} fully) and"
        f" {done.agents} live agents"
        f" in {done.seconds:g} s. It cost {done.requests} requests ({done.unchanged} of them"
        f" answered with 'not modified', which are free) and {done.token_requests} for tokens;"
        f" {left or 'nothing'} put off."
    )


def _show_refusals(starts: Sequence[StartRefused]) -> None:
    posts = [quoted(f"{start.repository}#{start.issue}/{start.role}") for start in starts]
    table = NamedRows("not started", posts, "why", "asked by", "at", "times")
    for post, start in zip(posts, starts, strict=True):
        why, by = quoted(start.reason, 500), quoted(start.by)
        at = f"{start.at.astimezone(UTC):%Y-%m-%d %H:%M}"
        table.add(post, why, by, at, f"{start.times}")
    table.show()


def _show_dead(deliveries: Sequence[DeadDelivery]) -> None:
    table = NamedRows(
        "delivery given up", [each.delivery.id for each in deliveries], "what", "why", "at"
    )
    for each in deliveries:
        told = dead_delivery_json(each)
        place = f"{told['repository']}#{told['issue']}" if told["issue"] else told["repository"]
        what = quoted(f"{each.delivery.event} {told['action'] or ''} {place} by {told['by']}")
        at = f"{each.at.astimezone(UTC):%Y-%m-%d %H:%M}"
        table.add(each.delivery.id, what, quoted(each.reason, 500), at)
    table.show()


def _name(agent: Agent) -> str:
    return f"{agent.id}\n  for {agent.parent}" if agent.parent else str(agent.id)


def explain(
    agent: Annotated[str, typer.Argument(help="octo/demo#12/bug-fix/1")], as_json: AsJson = False
) -> None:
    """Why an agent stopped, from its log."""
    try:
        agent_id = AgentId.parse(agent)
    except ValueError as error:
        fail(str(error), 2)
    read = answered(_read(opened(open_registry), agent_id))
    if read is None:
        fail(f"there is no agent {agent_id} in this registry; `squadron agents` lists them")
    holding = answered(opened(open_ledger).holding(read.report.agent.id))
    if as_json:
        events: list[Json] = [json.loads(encode_event(event)) for event in read.log]
        shown = explanation_json(
            read.report,
            events,
            read.effects,
            read.commands,
            read.decision,
            read.stays,
            holding,
        )
        say(json.dumps(shown, indent=2))
        return
    for line in story(read.report, read.log, read.effects, read.stays):
        say(line)
    if holding is not None:
        say(f"\nIts money\n  {holding_words(holding)}")
    if read.commands:
        say("\nWhat people told it")
    for told in read.commands:
        words = command_words(told.at, told.by, told.lines, is_refused=told.refused)
        say(f"  {words}")


@dataclass(frozen=True, slots=True)
class _Read:
    """What the registry holds of one agent."""

    report: Report
    log: Sequence[AgentEvent]
    effects: Mapping[EffectName, Effect]
    commands: Sequence[HeardCommands] = ()
    """Of people, about it; where they were asked for."""

    @property
    def decision(self) -> Decided | None:
        """The last one that a look has led to."""
        made = (event for event in reversed(self.log) if isinstance(event, Decided))
        return next(made, None)

    @property
    def stays(self) -> Mapping[str, str]:
        """Why nothing moves it, by the rule that says so."""
        return why_it_stays(self.report.agent, self.log, SystemClock().now())


@dataclass(frozen=True, slots=True)
class _Registry:
    """All that `squadron agents` shows."""

    agents: Sequence[_Read]
    not_started: Sequence[StartRefused]
    dead_deliveries: Sequence[DeadDelivery]
    brakes: Sequence[Brake]
    workers: Sequence[Worker]
    last_pass: Pass | None


async def _all(store: SqlStore) -> _Registry:
    now, queue = SystemClock().now(), await places_in_queue(store)
    return _Registry(
        [await _read_of(store, agent, queue.get(agent.id)) for agent in await store.agents()],
        await store.refused_starts(now - REFUSED_SHOWN_FOR),
        await store.dead_deliveries(),
        await store.brakes(),
        await store.workers(now),
        await store.last_pass(),
    )


async def _read(store: SqlStore, agent_id: AgentId) -> _Read | None:
    agent = await agent_called(store, agent_id)
    if agent is None:
        return None
    read = await _read_of(store, agent, await place_in_queue(store, agent))
    heard = await store.heard_commands(agent.id.repository)
    return replace(read, commands=commands_about(agent, read.effects, heard))


async def _read_of(store: SqlStore, agent: Agent, queue: QueuePlace | None) -> _Read:
    log = await store.log(agent.id)
    view, effects = report(agent, log, SystemClock().now(), queue), await store.effects(agent.id)
    return _Read(seen_on_github(view, effects), log, effects)
