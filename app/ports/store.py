"""The durable engine, and the database: inbox, registry, event logs, effects."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from app.core.agents.agent import Agent, AgentId, Assignment, Effect, EffectName
from app.core.agents.events import AgentEvent, FilesMoved, HandedOver, Kept, Passed, Waits, Warned
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace
from app.core.agents.transition import Transition
from app.core.agents.work import Work
from app.core.budgets.ledger import Insufficient
from app.core.github.comment_kinds import CommentKind
from app.core.github.redelivery import AskedAgain
from app.core.history.adapting import Adapted
from app.core.history.agent_history import History
from app.core.rules.brakes import Brake, Place
from app.core.rules.caps import Caps, Full
from app.core.rules.outages import Outage, ProviderFailure
from app.core.steering.asks import Trigger
from app.core.words.glance import NotedGlance
from app.ports.blame import Blame, PortFailed
from app.ports.figures import RegistryFigures
from app.ports.fleet import Facets, FleetAgent, FleetFilter
from app.ports.github import Repository
from app.ports.ledger import Funding
from app.ports.logs import Logged
from app.ports.passes import Pass
from app.ports.starts import StartRefused, TakenBack, WaitingStart
from app.ports.workers import Worker
from app.ports.workspace import Whereabouts

Handler = Callable[[Work], Awaitable[None]]
"""Performs one piece of work. It may be called again for the same piece."""


class Queue(Protocol):
    """Takes work to be done soon."""

    async def enqueue(self, work: Work) -> None:
        """Once for each id, however often it is asked for."""
        ...


class Engine(Queue, Protocol):
    """Runs work at least once, across crashes."""

    async def is_at_work(self, worker: str) -> bool:
        """Whether the process that goes by this name lives, and does not stand still."""
        ...

    async def is_pending(self, work_id: str) -> bool:
        """Whether the work is queued or running, so that it will end without our help."""
        ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook POST, as it was signed."""

    id: str
    event: str
    body: bytes
    received_at: datetime


@dataclass(frozen=True, slots=True)
class DeadDelivery:
    """A delivery that could not be handled, and with which nothing more is tried."""

    delivery: Delivery
    reason: str
    """In people's words."""
    at: datetime
    """When it was given up."""


@dataclass(frozen=True, slots=True)
class NewAgent:
    """What a row of the registry starts from."""

    repository: Repository
    repository_id: int
    issue: int
    role: str
    assignment: Assignment
    branch: str
    """Of the first agent of this post; a successor inherits its predecessor's."""
    default_branch: str
    started_by: str
    trigger: str
    assignees: tuple[str, ...] = ()
    """Of the issue, as of now."""
    parent: AgentId | None = None
    """Whose sub-agent it is. Its parent runs it, so none of its work is ever enqueued; it holds
    no post, and is nobody's predecessor."""
    depth: int = 0
    """Levels of agents above it."""
    said: str = ""
    """Which words of a person started it."""
    delay_seconds: float = 0
    """How long its first segment waits, so that it may be taken along by another."""


@dataclass(frozen=True, slots=True)
class HeardCommands:
    """What somebody told Squadron, once: who, when, what, and whether it was done."""

    repository: str
    name: str
    """Tells it from everything else that was ever told."""
    comment: int | None
    """GitHub's id of the comment; None: a button of a check."""
    thread: int
    """The issue or pull request that it is about."""
    by: str
    lines: tuple[str, ...]
    """Command lines, or what the button is called. Untrusted text."""
    refused: bool
    """Whether something of it was not done."""
    at: datetime
    set_aside: bool = False
    """Whether nothing of it was done, because a line of it was wrong."""
    kind: CommentKind = "comment"
    """What `comment` is the id of."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a person wrote to an agent. Untrusted text."""

    said: str
    """Names the comment: the same words are kept once, whoever heard them."""
    at: datetime
    """To the second, as GitHub tells it."""
    comment: int
    """GitHub's id of it; those of later comments are greater."""
    by: str
    """Login of the author."""
    text: str
    link: str
    """To the comment; empty: unknown."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a repository's configuration in force comes from."""

    digest: str
    """Another one for every other configuration; empty: none was ever in force."""
    steps: tuple[Mapping[str, bytes], ...]
    """Files below `.squadron/`: the newest that were sound as a whole, and behind them those that
    stand in for the roles that these break."""


@dataclass(frozen=True, slots=True)
class Look:
    """How far reconciliation has seen a repository."""

    threads_until: datetime
    """The newest change of an issue or a pull request that was seen, by GitHub's clock."""
    comments_until: datetime
    """How far what was said is known; two minutes earlier where nothing newer was in the list, for
    clocks differ."""
    looked_at: datetime
    fully_at: datetime
    """When all that is open was looked at, rather than what has changed."""
    triggers: Mapping[str, Trigger]
    """Which events start roles, and since when."""
    heads: Mapping[int, str]
    """What open pull requests were about to merge, by number, where pushes start a role."""


class Store(Protocol):
    """The database: inbox, registry, event logs, effects. Each method is one transaction."""

    async def accept(self, delivery: Delivery) -> bool:
        """Commit a delivery to the inbox; False if its id is known. Many share a transaction.

        Raises `StoreUnavailable` when the database cannot be written within its bound.
        """
        ...

    async def try_room(self) -> None:
        """Whether a delivery could be kept now. Raises `StoreUnavailable`."""
        ...

    async def undispatched(self, most: int) -> Sequence[Delivery]:
        """The oldest deliveries that nobody has looked at yet."""
        ...

    async def dispatch(self, ignored: Sequence[str], concerning: Mapping[str, Work]) -> None:
        """Mark deliveries as looked at, and enqueue work for those that concern an agent."""
        ...

    async def delivery(self, delivery: str) -> Delivery | None: ...

    async def shorten_deliveries(self, before: datetime) -> int:
        """Keep of the bodies of deliveries that were looked at and came before an instant what
        anybody reads: nothing of those that concerned nobody. How many were shortened."""
        ...

    async def forget_deliveries(self, before: datetime) -> int:
        """Drop the bodies of deliveries that were looked at and came before an instant; how many.
        Their ids stay, so that a redelivery is still known."""
        ...

    async def known_deliveries(self, deliveries: Collection[str]) -> frozenset[str]:
        """Which of these ids the inbox knows; it forgets none."""
        ...

    async def failures_read_from(self) -> datetime | None:
        """From when on GitHub's failed deliveries are to be read; None: they never were."""
        ...

    async def save_failures_read(self, read_from: datetime, forget_before: datetime) -> None:
        """Keep how far they were read, and forget what was asked for again before."""
        ...

    async def asked_again(self) -> Mapping[str, AskedAgain]:
        """Deliveries that GitHub was asked for again, by guid."""
        ...

    async def note_asked_again(self, asked: AskedAgain) -> None: ...

    async def create(self, new: NewAgent, at: datetime) -> Agent | None:
        """Insert a QUEUED agent, its `Created` event and its first segment's work.

        None if a live agent holds the post. A predecessor is named and its branch inherited.
        """
        ...

    async def places(self) -> Mapping[int, Repository]:
        """Where repositories are, as far as is known, by id: those of agents, and whatever
        `follow` was told of."""
        ...

    async def follow(
        self, repository_id: int, here: Repository, at: datetime
    ) -> Sequence[Repository]:
        """Let whatever is kept of a repository by its name go on here, if it was thought to be
        elsewhere; where that was. What GitHub refused there is due again. That it is here is
        remembered, also of one that is new."""
        ...

    async def create_funded(
        self, new: NewAgent, funding: Funding, at: datetime
    ) -> Agent | Insufficient | None:
        """As `create`, with what the agent may spend, in one transaction: from all its accounts,
        and from what its parent has left, or it is not created at all.
        """
        ...

    async def put_off_start(self, start: WaitingStart) -> bool:
        """Keep a start for later. False if it waits already: then only `due_at` and `budget` are
        changed, and `task` where there was none.
        """
        ...

    async def waiting_starts(self, due_before: datetime) -> Sequence[WaitingStart]:
        """Starts that are due at that instant or earlier, in the order they were asked for."""
        ...

    async def take_back_start(
        self, repository: str, issue: int, role: str, told: TakenBack
    ) -> bool:
        """Let a start that waits not be made; whether it waited. What is asked for later waits
        anew."""
        ...

    async def taken_back_starts(self, repository: str, issue: int) -> Mapping[str, TakenBack]:
        """Starts of an issue that waited and were taken back, by role, until one is made."""
        ...

    async def forget_taken_back(self, before: datetime) -> None:
        """Forget what was taken back before that instant."""
        ...

    async def forget_waiting(self, repository: str, issue: int, role: str) -> None:
        """The start was made, or nobody wants it any more; that one was taken back stays."""
        ...

    async def heard_commands(
        self, repository: str, comment: int | None = None, kind: CommentKind = "comment"
    ) -> Sequence[HeardCommands]:
        """What was told in a repository, or by one comment of that kind in it, oldest first."""
        ...

    async def hear_commands(self, told: HeardCommands) -> None:
        """Remember what was told; a repeat changes nothing."""
        ...

    async def forget_commands(self, before: datetime) -> None:
        """Forget what was told before that instant."""
        ...

    async def write_to(self, agent: AgentId, words: Written) -> bool:
        """Keep what a person wrote to an agent; False if it was kept before."""
        ...

    async def written_to(self, agent: AgentId) -> Sequence[Written]:
        """What people wrote to an agent while it worked or waited for its turn, oldest first."""
        ...

    async def forget_written(self, before: datetime) -> None:
        """Forget what was written before that instant."""
        ...

    async def looks(self) -> Mapping[str, Look]:
        """How far each repository was seen, by `owner/name`."""
        ...

    async def look_at(self, repository: str) -> Look | None:
        """How far one repository was seen; None: not at all."""
        ...

    async def save_look(self, repository: str, look: Look) -> None: ...

    async def outages(self) -> Mapping[str, Outage]:
        """Providers of models that are away, by name."""
        ...

    async def provider_failed(self, failure: ProviderFailure, by: str, at: datetime) -> Outage:
        """A provider was asked in vain; `by`: id of the agent."""
        ...

    async def ask_provider(self, provider: str, by: str, at: datetime) -> Outage | None:
        """Whether an agent may ask a provider, which nobody else does then while it is away; the
        outage that keeps it from that, None: nothing does."""
        ...

    async def ask_providers_at_once(self, at: datetime) -> None:
        """Whoever needs one may ask it now: what was wrong may have been mended."""
        ...

    async def provider_answered(self, provider: str) -> Outage | None:
        """It is back; the outage that is over with that, told to one caller."""
        ...

    async def note_cut_off(self, worker: str, at: datetime) -> None:
        """A process has ended itself since it had lost the database: under no agent is that a
        death."""
        ...

    async def cut_off_workers(self) -> frozenset[str]:
        """Those processes, by name."""
        ...

    async def forget_cut_off(self, before: datetime) -> None:
        """Forget those of before that instant."""
        ...

    async def workers(self, now: datetime) -> Sequence[Worker]:
        """The processes that work on this database, the one that started first first. Where they
        are of several machines, the database's clock tells when each was heard of, and not
        `now`."""
        ...

    async def ask_drain(self, worker: str, at: datetime) -> bool:
        """Tell a process to take no further agents; False: there is none of that name."""
        ...

    async def last_pass(self) -> Pass | None:
        """The pass of reconciliation that ended last; None before the first."""
        ...

    async def save_pass(self, done: Pass) -> None: ...

    async def configuration_digest(self, repository: str) -> str:
        """Of the configuration in force, whichever process has put it there."""
        ...

    async def configuration(self, repository: str) -> Configuration: ...

    async def put_in_force(
        self, repository: str, steps: Sequence[Mapping[str, bytes]], instead_of: str
    ) -> str | None:
        """The new digest; None, and nothing done, if the present one is not `instead_of`."""
        ...

    async def listed_accounts(self, repository: str) -> Mapping[str, int | None]:
        """GitHub's ids of those whom a repository's `trust` block lists, by login in small letters,
        as of the first time that the login stood there; None: nobody had it then."""
        ...

    async def list_accounts(
        self, repository: str, logins: Collection[str], accounts: Mapping[str, int | None]
    ) -> None:
        """Keep accounts of which none is known yet, and forget those of other logins than these."""
        ...

    async def adapted(self, repository: str) -> Sequence[Adapted]:
        """Limits of a repository that were moved without a human, by role and limit."""
        ...

    async def adapt(self, repository: str, step: Adapted) -> None:
        """Keep a step; it takes the place of the one before it."""
        ...

    async def put_brake_on(self, brake: Brake) -> bool:
        """Put a brake on; False if one is on in that place already, which stays as it is."""
        ...

    async def lift_brake(self, place: Place, by: str, at: datetime) -> Brake | None:
        """Lift the brake that is on in that very place; None if there is none."""
        ...

    async def brakes(self, lifted_since: datetime | None = None) -> Sequence[Brake]:
        """Brakes that are on and, if asked for, those that were lifted since then; oldest
        first."""
        ...

    async def last_delivery(self) -> datetime | None:
        """When the last one came of those whose bodies are not forgotten; None: there is none."""
        ...

    async def give_up(self, delivery: str, reason: str, at: datetime) -> None:
        """Keep that nothing more is tried with a delivery; a repeat changes nothing."""
        ...

    async def dead_deliveries(self) -> Sequence[DeadDelivery]:
        """Those that were given up, the latest first, until their bodies are forgotten; bounded."""
        ...

    async def note_refused(self, start: StartRefused, *, is_asked: bool) -> bool:
        """Keep why a start was not made, until an agent starts there; whether that is news.

        `first_at` and `times` are counted by the store. `is_asked`: somebody has asked just now;
        else reconciliation has found that it is still asked for.
        """
        ...

    async def refused_starts(self, since: datetime) -> Sequence[StartRefused]:
        """Those that were asked for since then, the newest first; bounded."""
        ...

    async def forget_refused(self, before: datetime) -> None:
        """Forget those that nobody has asked for since then."""
        ...

    async def agent(self, agent: AgentId) -> Agent | None: ...

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
        ...

    async def changed_agents(self, since: datetime) -> Mapping[AgentId, datetime]:
        """When those were moved last that were since then, sub-agents left out, oldest first."""
        ...

    async def log(self, agent: AgentId) -> Sequence[AgentEvent]:
        """All events of the agent, in order. The sequence number of the first is 1."""
        ...

    async def log_before(
        self, agent: AgentId, *, before: int | None, most: int
    ) -> Sequence[Logged]:
        """The last events with a number below `before`, in order: at most so many. None: the last
        of all."""
        ...

    async def landmarks(self, agent: AgentId, most: int) -> Sequence[Logged]:
        """The last events that tell turns and calls apart, in order: at most so many. Left out are
        prompts, model calls, and calls of tools that test nothing."""
        ...

    async def pack_logs(self, before: datetime) -> int:
        """Let logs of agents that ended before that instant take less room; how many now do.
        They are read as before. Bounded: what is left is packed by the next call.
        """
        ...

    async def warned(self, since: datetime) -> Sequence[tuple[AgentId, Warned | Passed]]:
        """What limits have told agents since then without stopping them, the oldest first.

        Of agents that are live or were moved since then.
        """
        ...

    async def commit_mark(self) -> str:
        """Differs from an earlier one if anything was committed in between; it may differ without
        that."""
        ...

    async def figures(self) -> RegistryFigures:
        """What the registry holds, in figures."""
        ...

    async def stopped_since(self, since: datetime) -> Sequence[History]:
        """Agents that a limit has stopped or paused since then, and all others of their posts,
        oldest first: each with those events of its log that say what became of that
        (`precision.TOLD_BY`)."""
        ...

    async def append(
        self, agent: AgentId, segment: int, first_seq: int, events: Sequence[AgentEvent]
    ) -> bool:
        """Append to the log of the segment that runs, durably. Many agents share a transaction.

        False if the sequence is taken or the agent has moved on: the caller was superseded and
        must stop.
        """
        ...

    async def move(self, change: Transition, seen: NotedGlance | None = None) -> Agent | None:
        """Compare and set on (state, segment, attempt) of `change.before`; write the row, append
        the events, enqueue the work, and note what lists show, all with it. None if the row has
        moved on: nothing changed.
        """
        ...

    async def begin(self, change: Transition, caps: Caps) -> Agent | Full | None:
        """As `move`, for an agent that begins to work; or the cap that is reached: nothing changed.
        Nobody else begins between the count and the change."""
        ...

    async def ended_with_artifacts(self, before: datetime) -> Sequence[AgentId]:
        """Agents that ended before an instant, and of which something is kept for other workers."""
        ...

    async def whereabouts(self, agent: AgentId) -> Whereabouts | None:
        """Where its files are; None: nobody has noted it."""
        ...

    async def note_whereabouts(
        self, agent: Agent, now: Whereabouts, moved: FilesMoved | None = None
    ) -> bool:
        """Remember where its files are, and append that they moved, unless it has gone on since it
        was seen; then False."""
        ...

    async def note_head(self, agent: AgentId, base_sha: str | None, sha: str) -> None:
        """Remember the verified head of the agent's branch."""
        ...

    async def note_dismissed(self, agent: AgentId, at: datetime | None) -> None:
        """Nobody is waited for about a stopped agent; None: somebody is, again."""
        ...

    async def dismiss(
        self, repository_id: int, issue: int, at: datetime, *, stopped_before: datetime | None
    ) -> None:
        """Nobody is waited for about the agents of an issue that were stopped, before an instant or
        at any time. Of those that are dismissed already nothing changes."""
        ...

    async def needs_human_issues(self, repository: str) -> Mapping[AgentId, int]:
        """By which issue people were called for each agent of a repository that was stopped: its
        number."""
        ...

    async def note_pushed_beside(self, agent: Agent, sha: str, work: Work) -> None:
        """Remember a head that others pushed to the branch of an agent, and enqueue the work with
        it; not of one that has gone on since it was seen so."""
        ...

    async def note_kept(self, agent: Agent, kept: Kept) -> None:
        """Append what was pushed after a segment's end, and remember the head; nothing of an agent
        that has gone on since it was seen so."""
        ...

    async def note_handed_over(self, agent: Agent, told: HandedOver) -> None:
        """Append that the agent has a pull request, and remember its number."""
        ...

    async def fleet_states(self, wanted: FleetFilter) -> Mapping[State, int]:
        """How many of the agents that fit are in each state; whatever states are wanted."""
        ...

    async def facets(self, most: int) -> Facets:
        """By what the agents that there are can be told apart: at most so many values of each."""
        ...

    async def fleet(
        self,
        wanted: FleetFilter,
        *,
        after: AgentId | None,
        most: int,
        newest_first: bool = False,
    ) -> Sequence[FleetAgent]:
        """Agents that fit, as lists show them, by age: at most so many, from behind `after`
        on. Sub-agents are among them. None, if there is no agent `after`."""
        ...

    async def newest_agent(self, repository: str, issue: int, role: str) -> Agent | None:
        """The newest agent of an issue that is nobody's sub-agent; `role`: empty for any. Names are
        the same in capitals and small letters."""
        ...

    async def agent_alike(self, name: str) -> Agent | None:
        """The agent whose id is this one, but for capitals; the oldest of several."""
        ...

    async def places_in_queue(
        self, of: Collection[AgentId] | None = None
    ) -> Mapping[AgentId, QueuePlace]:
        """Where those stand that wait for a worker, or these of them, in the order in which they
        are run: by rank, and of the same rank first come, first served. Who waits for something
        else, as for a model's provider, and who is run by a parent, is ahead of nobody."""
        ...

    async def note_glance(self, agent: AgentId, seen: NotedGlance) -> None:
        """Keep what lists show of an agent; what was taken of more of its log stays."""
        ...

    async def behind_glances(self, most: int) -> Sequence[Agent]:
        """Agents that are not at work, with events of which no glance was taken: those that were
        moved last first."""
        ...

    async def effects(self, agent: AgentId) -> Mapping[EffectName, Effect]: ...

    async def save_effect(self, agent: AgentId, effect: Effect) -> None: ...

    async def forget_effect(self, agent: AgentId, name: EffectName) -> None:
        """It is not wanted any more, and was never written."""
        ...

    async def ask_effects_again(self, at: datetime, repository: str | None = None) -> None:
        """What waits for its time, or is refused, is due at once: of all agents, or of those of a
        repository, `owner/name`. It may go through now."""
        ...

    async def failing_effects(self) -> Sequence[tuple[AgentId, Effect]]:
        """What was tried in vain, and is wanted still, by agent."""
        ...

    async def agents_with_new_effects(self, changed_since: datetime) -> Sequence[AgentId]:
        """Agents that were moved since then, with an effect whose item was made and is not known
        to be there once only."""
        ...

    async def agents_with_due_effects(self, at: datetime) -> Sequence[AgentId]:
        """Agents with an effect that is due: wanted, or refused and to be asked for once more."""
        ...


class Exclusive(Protocol):
    """Mutual exclusion by name, across all processes of one database."""

    def __call__(self, name: str) -> AbstractAsyncContextManager[None]:
        """Wait for the name, bounded. Raises `StoreUnavailable` at the bound."""
        ...


class StoreUnavailable(PortFailed):
    """The database could not be reached or written within its bound."""

    blame = Blame.MACHINE
