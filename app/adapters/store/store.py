"""`ports.Store` on a database: writes share transactions, reads use the pool.

Every write waits at most `writer.MOST_WAIT_SECONDS`, every read `reading.MOST_READ_SECONDS`; both
fail with `StoreUnavailable`.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial

import sqlalchemy as sa

from app.adapters.store import (
    adapted,
    artifacts,
    brakes,
    commits,
    configurations,
    cut_off,
    effects,
    figures,
    fleet,
    glances,
    heard,
    inbox,
    ledger,
    listed,
    log,
    looks,
    names,
    outages,
    packing,
    passes,
    places,
    ranks,
    redelivery,
    refused,
    registry,
    room,
    waiting,
    whereabouts,
    workers,
    written,
)
from app.adapters.store.reading import read
from app.adapters.store.registry import Enqueue
from app.adapters.store.tables import DeliveryState
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import Agent, AgentId, Effect, EffectName
from app.core.agents.events import AgentEvent, FilesMoved, HandedOver, Kept, Passed, Waits, Warned
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace
from app.core.agents.transition import Transition
from app.core.budgets.ledger import Book, Insufficient
from app.core.github.comment_kinds import CommentKind
from app.core.github.redelivery import AskedAgain
from app.core.history.adapting import Adapted
from app.core.history.agent_history import History
from app.core.rules.brakes import Brake, Place
from app.core.rules.caps import Caps, Full
from app.core.rules.outages import Outage, ProviderFailure
from app.core.words.glance import NotedGlance
from app.ports import (
    Artifact,
    ArtifactKind,
    Configuration,
    DeadDelivery,
    Delivery,
    Facets,
    FleetAgent,
    FleetFilter,
    Funding,
    HeardCommands,
    Logged,
    Look,
    NewAgent,
    Pass,
    RegistryFigures,
    Repository,
    StartRefused,
    TakenBack,
    WaitingStart,
    Whereabouts,
    Work,
    Worker,
    Written,
)


class SqlStore:
    """Implements `ports.Store` on SQLite and PostgreSQL."""

    def __init__(self, engine: sa.Engine, writer: GroupWriter, enqueue: Enqueue) -> None:
        self._engine = engine
        self._writer = writer
        self._enqueue = enqueue

    async def accept(self, delivery: Delivery) -> bool:
        """Commit a delivery to the inbox; False if its id is known."""
        return await self._writer.run_batched(inbox.accept, delivery)

    async def try_room(self) -> None:
        """Commit what a delivery takes, and take it out again. Raises `StoreUnavailable`."""
        await self._writer.run(room.fill)
        await self._writer.run(room.clear)

    async def undispatched(self, most: int) -> Sequence[Delivery]:
        """The oldest deliveries that nobody has looked at yet."""
        return await read(self._engine, lambda connection: inbox.undispatched(connection, most))

    async def dispatch(self, ignored: Sequence[str], concerning: Mapping[str, Work]) -> None:
        """Mark deliveries as looked at, and enqueue work for those that concern an agent."""

        def job(connection: sa.Connection) -> None:
            inbox.mark(connection, ignored, DeliveryState.IGNORED)
            inbox.mark(connection, [*concerning], DeliveryState.CONCERNING)
            for work in concerning.values():
                self._enqueue(connection, work)

        await self._writer.run(job)

    async def delivery(self, delivery: str) -> Delivery | None:
        """One delivery; None if it is not known or its body was forgotten."""
        return await read(self._engine, lambda connection: inbox.delivery(connection, delivery))

    async def known_deliveries(self, deliveries: Collection[str]) -> frozenset[str]:
        """Which of these ids the inbox knows."""
        return await read(self._engine, lambda connection: inbox.known(connection, deliveries))

    async def failures_read_from(self) -> datetime | None:
        """From when on GitHub's failed deliveries are to be read; None: they never were."""
        return await read(self._engine, redelivery.read_from)

    async def save_failures_read(self, read_from: datetime, forget_before: datetime) -> None:
        """Keep how far they were read, and forget what was asked for before."""
        await self._writer.run(
            lambda connection: redelivery.save_read(connection, read_from, forget_before)
        )

    async def asked_again(self) -> Mapping[str, AskedAgain]:
        """Deliveries that GitHub was asked for again, by guid."""
        return await read(self._engine, redelivery.asked)

    async def note_asked_again(self, asked: AskedAgain) -> None:
        """Keep that GitHub is asked for one now."""
        await self._writer.run(lambda connection: redelivery.note(connection, asked))

    async def forget_deliveries(self, before: datetime) -> int:
        """Drop the bodies of deliveries that were looked at and came before; how many.

        Their ids stay, so that a redelivery is still known.
        """
        return await self._until_none(lambda connection: inbox.forget(connection, before))

    async def shorten_deliveries(self, before: datetime) -> int:
        """Keep of the bodies of deliveries that were looked at and came before what anybody reads:
        nothing of those that concerned nobody. How many were shortened."""
        done = await self._until_none(lambda connection: inbox.forget_ignored(connection, before))
        while bodies := await read(self._engine, partial(inbox.whole, before=before)):
            short = await asyncio.to_thread(inbox.short, bodies)
            await self._writer.run(partial(inbox.keep_short, bodies=short))
            done += len(short)
        return done

    async def create(self, new: NewAgent, at: datetime) -> Agent | None:
        """Insert a QUEUED agent with all that belongs to it; None if the post is taken."""
        return await self._writer.run(
            lambda connection: registry.create(connection, self._enqueue, new, at)
        )

    async def create_funded(
        self, new: NewAgent, funding: Funding, at: datetime
    ) -> Agent | Insufficient | None:
        """As `create`, with what the agent may spend, or not at all."""
        parent = None if new.parent is None else str(new.parent)

        def change(connection: sa.Connection, book: Book) -> Agent | Insufficient | None:
            with connection.begin_nested() as attempt:
                created = registry.create(connection, self._enqueue, new, at)
                if created is None:
                    return None
                payer = parent if parent in book.holdings else None
                granted = book.reserve(
                    str(created.id), payer, funding.accounts, funding.amount_nanousd, at
                )
                if isinstance(granted, Insufficient):
                    attempt.rollback()
                    return granted
            return created

        entry = ledger.Entry(
            change, () if parent is None else (parent,), at, accounts=funding.accounts
        )
        answer: Agent | Insufficient | None
        answer = await self._writer.run_batched(ledger.settle, entry)
        return answer

    async def places(self) -> Mapping[int, Repository]:
        """Where repositories are, as far as is known, by id."""
        return await read(self._engine, places.of_all)

    async def follow(
        self, repository_id: int, here: Repository, at: datetime
    ) -> Sequence[Repository]:
        """Let all go on here that is kept of a repository by its name; where it was before."""
        if await read(
            self._engine, lambda connection: places.is_noted(connection, repository_id, here)
        ):
            return ()
        return await self._writer.run(
            lambda connection: places.follow(connection, repository_id, here, at)
        )

    async def put_off_start(self, start: WaitingStart) -> bool:
        """Keep a start for later; False if it waits already."""
        return await self._writer.run(lambda connection: waiting.wait(connection, start))

    async def waiting_starts(self, due_before: datetime) -> Sequence[WaitingStart]:
        """Starts that are due, in the order they were asked for."""
        return await read(self._engine, lambda connection: waiting.due(connection, due_before))

    async def take_back_start(
        self, repository: str, issue: int, role: str, told: TakenBack
    ) -> bool:
        """Let a start that waits not be made; whether it waited."""
        return await self._writer.run(
            lambda connection: waiting.take_back(connection, repository, issue, role, told)
        )

    async def taken_back_starts(self, repository: str, issue: int) -> Mapping[str, TakenBack]:
        """Starts of an issue that waited and were taken back, by role."""
        return await read(
            self._engine, lambda connection: waiting.taken_back(connection, repository, issue)
        )

    async def forget_taken_back(self, before: datetime) -> None:
        """Forget what was taken back before that instant."""
        await self._writer.run(lambda connection: waiting.forget_taken_back(connection, before))

    async def forget_waiting(self, repository: str, issue: int, role: str) -> None:
        """The start was made, or nobody wants it any more."""
        await self._writer.run(
            lambda connection: waiting.forget(connection, repository, issue, role)
        )

    async def heard_commands(
        self, repository: str, comment: int | None = None, kind: CommentKind = "comment"
    ) -> Sequence[HeardCommands]:
        """What was told in a repository, or by one comment of that kind in it, oldest first."""
        return await read(
            self._engine, lambda connection: heard.of(connection, repository, comment, kind)
        )

    async def hear_commands(self, told: HeardCommands) -> None:
        """Remember what was told; a repeat changes nothing."""
        await self._writer.run(lambda connection: heard.save(connection, told))

    async def forget_commands(self, before: datetime) -> None:
        """Forget what was told before that instant."""
        await self._writer.run(lambda connection: heard.forget(connection, before))

    async def write_to(self, agent: AgentId, words: Written) -> bool:
        """Keep what a person wrote to an agent; False if it was kept before."""
        return await self._writer.run(lambda connection: written.save(connection, agent, words))

    async def written_to(self, agent: AgentId) -> Sequence[Written]:
        """What people wrote to an agent, oldest first."""
        return await read(self._engine, lambda connection: written.to(connection, agent))

    async def forget_written(self, before: datetime) -> None:
        """Forget what was written before that instant."""
        await self._writer.run(lambda connection: written.forget(connection, before))

    async def looks(self) -> Mapping[str, Look]:
        """How far each repository was seen."""
        return await read(self._engine, looks.all_of_them)

    async def look_at(self, repository: str) -> Look | None:
        """How far one repository was seen."""
        return await read(self._engine, lambda connection: looks.of(connection, repository))

    async def save_look(self, repository: str, look: Look) -> None:
        """Keep how far a repository was seen; it takes the place of the look before it."""
        await self._writer.run(lambda connection: looks.save(connection, repository, look))

    async def outages(self) -> Mapping[str, Outage]:
        """Providers of models that are away, by name."""
        return await read(self._engine, outages.all_of_them)

    async def provider_failed(self, failure: ProviderFailure, by: str, at: datetime) -> Outage:
        """A provider was asked in vain, by an agent."""
        return await self._writer.run(lambda connection: outages.note(connection, failure, by, at))

    async def ask_provider(self, provider: str, by: str, at: datetime) -> Outage | None:
        """Let an agent ask it, and nobody else while it is away; or what keeps it from that."""
        return await self._writer.run(lambda connection: outages.ask(connection, provider, by, at))

    async def ask_providers_at_once(self, at: datetime) -> None:
        """Whoever needs one may ask it now."""
        await self._writer.run(lambda connection: outages.ask_at_once(connection, at))

    async def provider_answered(self, provider: str) -> Outage | None:
        """It is back; the outage that is over with that, told to one caller."""
        return await self._writer.run(lambda connection: outages.over(connection, provider))

    async def note_cut_off(self, worker: str, at: datetime) -> None:
        """A process has ended itself since it had lost the database."""
        await self._writer.run(lambda connection: cut_off.note(connection, worker, at))

    async def cut_off_workers(self) -> frozenset[str]:
        """Those processes, by name."""
        return await read(self._engine, cut_off.workers)

    async def forget_cut_off(self, before: datetime) -> None:
        """Forget those of before that instant."""
        await self._writer.run(lambda connection: cut_off.forget(connection, before))

    async def workers(self, now: datetime) -> Sequence[Worker]:
        """The processes that work on this database."""
        return await read(self._engine, lambda connection: workers.all_of(connection, now))

    async def ask_drain(self, worker: str, at: datetime) -> bool:
        """Tell a process to take no further agents."""
        return await self._writer.run(lambda connection: workers.ask_drain(connection, worker, at))

    async def last_pass(self) -> Pass | None:
        """The pass of reconciliation that ended last; None before the first."""
        return await read(self._engine, passes.last)

    async def save_pass(self, done: Pass) -> None:
        """Keep what a pass has cost; it takes the place of the one before it."""
        await self._writer.run(lambda connection: passes.save(connection, done))

    async def configuration_digest(self, repository: str) -> str:
        """Changes with the configuration in force."""
        return await read(
            self._engine, lambda connection: configurations.digest(connection, repository)
        )

    async def configuration(self, repository: str) -> Configuration:
        """What the configuration in force comes from."""
        return await read(
            self._engine, lambda connection: configurations.of(connection, repository)
        )

    async def put_in_force(
        self, repository: str, steps: Sequence[Mapping[str, bytes]], instead_of: str
    ) -> str | None:
        """Keep what is in force from now on."""
        return await self._writer.run(
            lambda connection: configurations.put(connection, repository, steps, instead_of)
        )

    async def listed_accounts(self, repository: str) -> Mapping[str, int | None]:
        """Who had the logins that the repository's `trust` block lists."""
        return await read(self._engine, lambda connection: listed.of(connection, repository))

    async def list_accounts(
        self, repository: str, logins: Collection[str], accounts: Mapping[str, int | None]
    ) -> None:
        """Keep who has them now, as far as that is not known."""
        await self._writer.run(
            lambda connection: listed.put(connection, repository, logins, accounts)
        )

    async def adapted(self, repository: str) -> Sequence[Adapted]:
        """Limits of a repository that were moved without a human."""
        return await read(self._engine, lambda connection: adapted.of(connection, repository))

    async def adapt(self, repository: str, step: Adapted) -> None:
        """Keep the latest step of one limit."""
        await self._writer.run(lambda connection: adapted.save(connection, repository, step))

    async def put_brake_on(self, brake: Brake) -> bool:
        """Put a brake on; False if one is on there already."""
        return await self._writer.run(lambda connection: brakes.put_on(connection, brake))

    async def lift_brake(self, place: Place, by: str, at: datetime) -> Brake | None:
        """Lift the brake that is on there; None if there is none."""
        return await self._writer.run(lambda connection: brakes.lift(connection, place, by, at))

    async def brakes(self, lifted_since: datetime | None = None) -> Sequence[Brake]:
        """Brakes that are on, and those that were lifted since then."""
        return await read(self._engine, lambda connection: brakes.brakes(connection, lifted_since))

    async def give_up(self, delivery: str, reason: str, at: datetime) -> None:
        """Keep that nothing more is tried with a delivery."""
        await self._writer.run(lambda connection: inbox.give_up(connection, delivery, reason, at))

    async def last_delivery(self) -> datetime | None:
        """When the last one came of those whose bodies are not forgotten."""
        return await read(self._engine, inbox.last)

    async def dead_deliveries(self) -> Sequence[DeadDelivery]:
        """Deliveries that were given up, the latest first."""
        return await read(self._engine, inbox.dead)

    async def note_refused(self, start: StartRefused, *, is_asked: bool) -> bool:
        """Keep why a start was not made; whether that is news."""
        return await self._writer.run(
            lambda connection: refused.note(connection, start, is_asked=is_asked)
        )

    async def refused_starts(self, since: datetime) -> Sequence[StartRefused]:
        """Starts that were asked for since then and not made, the newest first."""
        return await read(self._engine, lambda connection: refused.newest_first(connection, since))

    async def forget_refused(self, before: datetime) -> None:
        """Forget refusals of starts that nobody has asked for since then."""
        await self._writer.run(lambda connection: refused.forget_before(connection, before))

    async def agent(self, agent: AgentId) -> Agent | None:
        """One agent."""
        return await read(self._engine, lambda connection: registry.agent(connection, agent))

    async def agents(
        self,
        *,
        repository: str | None = None,
        issue: int | None = None,
        states: frozenset[State] | None = None,
        waits_for: Waits | None = None,
        changed_since: datetime | None = None,
        parent: AgentId | None = None,
    ) -> Sequence[Agent]:
        """Rows that fit, oldest first; sub-agents among them."""
        return await read(
            self._engine,
            lambda connection: registry.agents(
                connection, repository, issue, states, waits_for, changed_since, parent
            ),
        )

    async def changed_agents(self, since: datetime) -> Mapping[AgentId, datetime]:
        """When those were moved last that were since then, sub-agents left out, oldest first."""
        return await read(self._engine, lambda connection: registry.changed(connection, since))

    async def log(self, agent: AgentId) -> Sequence[AgentEvent]:
        """All events of the agent, in order."""
        return await read(self._engine, lambda connection: log.read(connection, agent))

    async def log_before(
        self, agent: AgentId, *, before: int | None, most: int
    ) -> Sequence[Logged]:
        """The last events below a number, in order."""
        return await read(
            self._engine, lambda connection: log.read_before(connection, agent, before, most)
        )

    async def landmarks(self, agent: AgentId, most: int) -> Sequence[Logged]:
        """The last events that tell turns and calls apart, in order."""
        return await read(
            self._engine, lambda connection: log.read_landmarks(connection, agent, most)
        )

    async def pack_logs(self, before: datetime) -> int:
        """Let logs of agents that ended before an instant take less room; how many now do."""
        packed = 0
        for agent in await read(self._engine, lambda connection: packing.due(connection, before)):
            now = await read(self._engine, partial(packing.pack, agent=agent))
            packed += await self._writer.run(partial(packing.keep, packed=now))
        return packed

    async def warned(self, since: datetime) -> Sequence[tuple[AgentId, Warned | Passed]]:
        """What limits have told agents since then without stopping them."""
        return await read(self._engine, lambda connection: log.warned(connection, since))

    async def commit_mark(self) -> str:
        """Differs from an earlier one if anything was committed in between."""
        return await read(self._engine, commits.mark)

    async def figures(self) -> RegistryFigures:
        """What the registry holds, in figures."""
        return await read(self._engine, figures.of_registry)

    async def stopped_since(self, since: datetime) -> Sequence[History]:
        """Agents that a limit has stopped or paused since then, and all others of their posts."""
        return await read(self._engine, lambda connection: figures.stopped_since(connection, since))

    async def append(
        self, agent: AgentId, segment: int, first_seq: int, events: Sequence[AgentEvent]
    ) -> bool:
        """Append to the log of the segment that runs; False if the caller was superseded."""
        return await self._writer.run_batched(
            log.append, log.Append.of(agent, segment, first_seq, events)
        )

    async def move(self, change: Transition, seen: NotedGlance | None = None) -> Agent | None:
        """Compare and set on (state, segment, attempt) of `change.before`; None if the row has
        moved on."""
        return await self._writer.run(
            lambda connection: registry.move(connection, self._enqueue, change, seen)
        )

    async def begin(self, change: Transition, caps: Caps) -> Agent | Full | None:
        """As `move`, for an agent that begins to work; or the cap that is reached."""
        return await self._writer.run(
            lambda connection: registry.begin(connection, self._enqueue, change, caps)
        )

    async def whereabouts(self, agent: AgentId) -> Whereabouts | None:
        """Where its files are; None: nobody has noted it."""
        return await read(self._engine, lambda connection: whereabouts.of(connection, agent))

    async def note_whereabouts(
        self, agent: Agent, now: Whereabouts, moved: FilesMoved | None = None
    ) -> bool:
        """Remember where its files are, and append that they moved, unless it has gone on since it
        was seen; then False."""
        return await self._writer.run(
            lambda connection: whereabouts.note(connection, agent, now, moved)
        )

    async def artifact(self, agent: AgentId, kind: ArtifactKind) -> Artifact | None:
        """What was kept of it last; None: nothing."""
        return await read(self._engine, lambda connection: artifacts.find(connection, agent, kind))

    async def keep_artifact(self, agent: Agent, kind: ArtifactKind, artifact: Artifact) -> bool:
        """In the place of what was kept before, unless it has gone on since it was seen; then
        False."""
        return await self._writer.run(
            lambda connection: artifacts.keep(connection, agent, kind, artifact)
        )

    async def ended_with_artifacts(self, before: datetime) -> Sequence[AgentId]:
        """Agents that ended before an instant, and of which something is kept."""
        return await read(self._engine, lambda connection: artifacts.of_ended(connection, before))

    async def forget_artifacts(self, agent: AgentId) -> None:
        """Keep nothing of it any longer."""
        await self._writer.run(lambda connection: artifacts.forget(connection, agent))

    async def note_head(self, agent: AgentId, base_sha: str | None, sha: str) -> None:
        """Remember the verified head of the agent's branch."""
        base = {} if base_sha is None else {"base_sha": base_sha}
        await self._writer.run(
            lambda connection: registry.note(connection, agent, {"sha": sha, **base})
        )

    async def note_dismissed(self, agent: AgentId, at: datetime | None) -> None:
        """Nobody is waited for about a stopped agent; None: somebody is, again."""
        values = {"dismissed_at": at}
        await self._writer.run(lambda connection: registry.note(connection, agent, values))

    async def dismiss(
        self, repository_id: int, issue: int, at: datetime, *, stopped_before: datetime | None
    ) -> None:
        """Nobody is waited for about the stopped agents of an issue."""
        await self._writer.run(
            lambda connection: registry.dismiss(
                connection, repository_id, issue, at, stopped_before
            )
        )

    async def needs_human_issues(self, repository: str) -> Mapping[AgentId, int]:
        """By which issue people were called for each agent that was stopped."""
        return await read(
            self._engine, lambda connection: registry.needs_human_issues(connection, repository)
        )

    async def note_pushed_beside(self, agent: Agent, sha: str, work: Work) -> None:
        """Remember a head that others pushed, with the work that follows from it."""
        await self._writer.run(
            lambda connection: registry.note_pushed_beside(
                connection, self._enqueue, agent, sha, work
            )
        )

    async def note_kept(self, agent: Agent, kept: Kept) -> None:
        """Append what was pushed after a segment's end, and remember the head."""
        await self._writer.run(lambda connection: registry.note_kept(connection, agent, kept))

    async def note_handed_over(self, agent: Agent, told: HandedOver) -> None:
        """Append that the agent has a pull request, and remember its number."""
        await self._writer.run(
            lambda connection: registry.note_handed_over(connection, agent, told)
        )

    async def fleet_states(self, wanted: FleetFilter) -> Mapping[State, int]:
        """How many of the agents that fit are in each state."""
        return await read(self._engine, lambda connection: fleet.states(connection, wanted))

    async def facets(self, most: int) -> Facets:
        """By what the agents that there are can be told apart."""
        return await read(self._engine, lambda connection: fleet.facets(connection, most))

    async def fleet(
        self,
        wanted: FleetFilter,
        *,
        after: AgentId | None,
        most: int,
        newest_first: bool = False,
    ) -> Sequence[FleetAgent]:
        """A page of the agents that fit, as lists show them."""
        return await read(
            self._engine,
            lambda connection: fleet.page(connection, wanted, after, most, newest_first),
        )

    async def newest_agent(self, repository: str, issue: int, role: str) -> Agent | None:
        """The newest agent of an issue, or of a role on it."""
        return await read(
            self._engine,
            lambda connection: names.newest(connection, repository, issue, role),
        )

    async def agent_alike(self, name: str) -> Agent | None:
        """The agent whose id is this one, but for capitals."""
        return await read(self._engine, lambda connection: names.alike(connection, name))

    async def places_in_queue(
        self, of: Collection[AgentId] | None = None
    ) -> Mapping[AgentId, QueuePlace]:
        """Where those stand that wait for a worker, the first of them first."""
        return await read(self._engine, lambda connection: ranks.places(connection, of))

    async def note_glance(self, agent: AgentId, seen: NotedGlance) -> None:
        """Keep what lists show of an agent."""
        await self._writer.run(lambda connection: glances.note(connection, agent, seen))

    async def behind_glances(self, most: int) -> Sequence[Agent]:
        """Agents of whose log lists do not show all."""
        return await read(self._engine, lambda connection: glances.behind(connection, most))

    async def effects(self, agent: AgentId) -> Mapping[EffectName, Effect]:
        """All effects of an agent, in the order of an escalation."""
        return await read(self._engine, lambda connection: effects.of_agent(connection, agent))

    async def save_effect(self, agent: AgentId, effect: Effect) -> None:
        """Remember an effect as it is now."""
        await self._writer.run(lambda connection: effects.save(connection, agent, effect))

    async def forget_effect(self, agent: AgentId, name: EffectName) -> None:
        """It is not wanted any more, and was never written."""
        await self._writer.run(lambda connection: effects.forget(connection, agent, name))

    async def ask_effects_again(self, at: datetime, repository: str | None = None) -> None:
        """What waits for its time, or is refused, is due at once: of all agents, or of those of a
        repository."""
        await self._writer.run(lambda connection: effects.ask_again(connection, at, repository))

    async def failing_effects(self) -> Sequence[tuple[AgentId, Effect]]:
        """What was tried in vain, and is wanted still."""
        return await read(self._engine, effects.failing)

    async def agents_with_new_effects(self, changed_since: datetime) -> Sequence[AgentId]:
        """Agents that were moved since then, with an effect that may be there twice."""
        return await read(
            self._engine, lambda connection: effects.agents_with_new(connection, changed_since)
        )

    async def agents_with_due_effects(self, at: datetime) -> Sequence[AgentId]:
        """Agents with an effect that is wanted and due."""
        return await read(self._engine, lambda connection: effects.agents_with_due(connection, at))

    async def _until_none(self, job: Callable[[sa.Connection], int]) -> int:
        """How many it did, in as many transactions as it takes until it finds none."""
        done = 0
        while part := await self._writer.run(job):
            done += part
        return done
