"""A campaign: rounds of work, each ended by a `kill -9`, from one seed; then peace, then the count.

The seed decides what is opened, which process dies and at which kind of moment. When exactly the
machine gets there differs from run to run, and that is welcome.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import httpx

from app.adapters.clock import new_name
from app.core.agents.agent import AgentId
from app.core.agents.lifecycle import State
from app.scripted.script import Scripts
from app.scripted.server import ScriptedServer
from tests.crash.cluster import SQUADRON, Member
from tests.crash.crowd import FULL_SET, ROLES, Crowd, shown
from tests.crash.findings import Logs, World, doubled, forgotten, logs, missing, unsettled
from tests.crash.postman import Postman
from tests.support import processes
from tests.support.github import GitHub, running_box
from tests.support.people import PEOPLE, repository
from tests.support.registry import open_registry
from tests.support.squad import MODEL_KEY, WEBHOOK_SECRET
from tests.support.waiting import NeverCame, until

KILLS = 30
FEW_KILLS = 4
"""As many as `make test` has time for."""
WORKERS = 2
"""Agents that one process runs at once; a campaign has more than ten times as many."""
RECONCILIATION_SECONDS = 2
WORKER_TIMEOUT = 20
"""Seconds: the least that an operator can say."""
REST_SECONDS = 750.0
"""An agent under which workers died again and again waits for up to ten minutes."""
MOST_WAIT_FOR_A_MOMENT = 4.0
PROGRESS = 1
"""Agents that end a segment between two deaths, so that most get on: ten in a row stop one."""
MOST_WAIT_FOR_PROGRESS = 5.0
ANSWER_LOST_SECONDS = 8.0
IN_FLIGHT_SECONDS = 5.0


class Moment(StrEnum):
    """At which kind of moment a process dies."""

    ANY = "any"
    STARTING = "starting"
    """While it recovers, before it is ready."""
    WRITTEN = "written"
    """GitHub has done what it was asked for, and we have not recorded it."""
    IN_FLIGHT = "in flight"
    """GitHub was asked, and does it seconds after the death."""
    MOVED = "moved"
    """An agent's state has just changed: its effects are about to be made."""


WRITES = (
    r"/issues/\d+/comments$",
    r"/check-runs$",
    r"/issues$|/pulls$",
    r"/issues$|/pulls$|/issues/\d+/comments$|/check-runs$",
    r"/git-receive-pack$",
)
_MOMENTS = (
    *(Moment.ANY,) * 10,
    *(Moment.WRITTEN,) * 9,
    *(Moment.IN_FLIGHT,) * 4,
    *(Moment.MOVED,) * 4,
    *(Moment.STARTING,) * 3,
)


@dataclass(frozen=True, slots=True)
class Round:
    """Issues that are opened, and the death at the end."""

    issues: tuple[tuple[str, ...], ...]
    moment: Moment
    after_seconds: float
    """How long after the process is ready (or was started) the moment may come."""
    write: str
    """Which write to GitHub the death has to meet, as a path."""
    kills_all: bool
    """Whether all processes die, as when a machine dies."""


def plan(seed: int) -> Sequence[Round]:
    """The rounds of a campaign; the same seed gives the same."""
    chance = random.Random(seed)
    moments = chance.sample(_MOMENTS, len(_MOMENTS))
    assert len(moments) == KILLS
    return [
        Round(
            issues=_issues(number),
            moment=moment,
            after_seconds=chance.uniform(0.1, 1.5),
            write=chance.choice(WRITES),
            kills_all=chance.random() < 0.2,
        )
        for number, moment in enumerate(moments)
    ]


def short_plan(seed: int) -> Sequence[Round]:
    """The first rounds of a campaign, with one issue each."""
    return [
        replace(each, issues=(roles,))
        for each, roles in zip(plan(seed)[:FEW_KILLS], FULL_SET, strict=False)
    ]


def _issues(number: int) -> tuple[tuple[str, ...], ...]:
    """A crowd at once, then one after the other, and none at the end."""
    if number == 0:
        return FULL_SET
    return (FULL_SET[number % len(FULL_SET)],) if number < KILLS - 8 else ()


@dataclass(slots=True)
class Outcome:
    """What a campaign came to."""

    title: str
    moments: Counter[str] = field(default_factory=Counter)
    met: int = 0
    """Kills that met the write they were meant for."""
    posts: int = 0
    deliveries: int = 0
    repeated: int = 0
    agents: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    gave_up: int = 0
    """Agents stopped after ten deaths of their workers in a row, as `docs/design.md` says."""

    def __str__(self) -> str:
        return (
            f"{self.title}: {self.moments.total()} kills ({shown(self.moments)}; {self.met} met a"
            f" write to GitHub), {self.deliveries} deliveries acknowledged ({self.posts} posts,"
            f" {self.repeated} of known ones), {self.agents.total()} agents"
            f" ({shown(self.agents)}; {self.gave_up} after ten deaths),"
            f" lost {len(self.lost)}, doubled {len(self.doubled)},"
            f" forgotten {len(self.forgotten)}, orphans {len(self.orphans)}"
        )


class Campaign:
    """A running campaign."""

    def __init__(
        self, outcome: Outcome, world: World, members: list[Member], crowd: Crowd,
        postman: Postman,
    ) -> None:  # fmt: skip
        self.outcome = outcome
        self.world = world
        self.members = members
        self.crowd = crowd
        self.postman = postman
        self._before: Logs = {}

    def fight(self, rounds: Sequence[Round], is_enough: Callable[[], bool]) -> None:
        """Round after round; `is_enough` is asked after each."""
        for number, each in enumerate(rounds):
            victim = self.members[number % len(self.members)]
            if each.moment is not Moment.STARTING:
                victim.until_ready()
            for roles in each.issues:
                self.crowd.open(roles)
            self.crowd.tend(self.world.registry)
            if each.moment is not Moment.STARTING:
                self._until_progress()
            self._until_the_moment(each)
            self._compare()
            victims = self.members if each.kills_all else [victim]
            for member in victims:
                member.check_alive()
                member.kill()
            self.outcome.moments[each.moment] += 1
            for member in victims:
                member.start()
            if is_enough():
                return

    def rest(self) -> None:
        """No more kills: wait until nothing moves any more, then count."""
        for member in self.members:
            member.until_ready()
        with suppress(NeverCame):  # what did not come to rest is found below
            until(self._is_at_rest, "everything is at rest", within_seconds=REST_SECONDS)
        self._compare()
        self._count()

    def meets(self, write: str, fault: Mapping[str, object]) -> bool:
        """Wait, with a bound, until the service makes that write; the fault strikes only once."""
        self._box("DELETE")
        self._box("POST", {**fault, "method": "POST", "path": write, "count": 1})
        is_met = self._waits(lambda: self._box("GET").json()[0]["fired"] > 0)
        self._box("DELETE")
        self.outcome.met += is_met
        return is_met

    def count_orphans(self) -> None:
        """After the service has stopped: processes of agents that still run."""
        left = processes.carrying(f"SQUADRON_SEGMENT={self.world.repository}#")
        self.outcome.orphans += [f"{pid}: {command}" for pid, command in left.items()]

    def _until_progress(self) -> None:
        """Wait, with a bound, until some segments have ended."""
        before = self._ended()
        self._waits(lambda: len(self._ended() - before) >= PROGRESS, MOST_WAIT_FOR_PROGRESS)
        self.crowd.tend(self.world.registry)

    def _until_the_moment(self, each: Round) -> None:
        """Wait, with bounds, for the moment at which the process has to die."""
        match each.moment:
            case Moment.ANY | Moment.STARTING:
                time.sleep(each.after_seconds)  # the random moment itself
            case Moment.MOVED:
                before = self._ended()
                self._waits(lambda: self._ended() != before)
            case Moment.WRITTEN:
                lost = {"kind": "timeout", "phase": "after", "seconds": ANSWER_LOST_SECONDS}
                self.meets(each.write, lost)
            case Moment.IN_FLIGHT:
                self.meets(each.write, {"kind": "slow", "seconds": IN_FLIGHT_SECONDS})

    def _waits(
        self, look: Callable[[], bool], within_seconds: float = MOST_WAIT_FOR_A_MOMENT
    ) -> bool:
        with suppress(NeverCame):
            return until(look, "the moment", within_seconds=within_seconds)
        return False

    def _box(self, method: str, content: object = None) -> httpx.Response:
        url = f"{self.world.github.url}/_box/faults"
        return httpx.request(method, url, json=content).raise_for_status()

    def _ended(self) -> Set[tuple[AgentId, State, int]]:
        """Segments that have ended, and how."""
        return {
            (agent.id, agent.state, agent.segment)
            for agent in self.world.agents()
            if agent.state not in (State.QUEUED, State.ACTIVE)
        }

    def _compare(self) -> None:
        """What the database holds now, with what it held before the last kill."""
        now = logs(self.world)
        self.outcome.forgotten += forgotten(self._before, now)
        self._before = now

    def _is_at_rest(self) -> bool:
        for member in self.members:
            member.check_alive()
        self.crowd.tend(self.world.registry)
        return (
            self.postman.is_done
            and self.world.github.is_idle()
            and self.world.registry.is_drained()
            and next(self._complaints(), None) is None
            and next(unsettled(self.world), None) is None
        )

    def _complaints(self) -> Iterator[str]:
        agents = {agent.id.post: agent for agent in self.world.agents()}
        for post in self.crowd.posts:
            agent = agents.get(f"{self.world.repository}{post.name}")
            if agent is None:
                yield f"nobody ever worked on {post.name}"
            elif words := self.crowd.complaint(agent):
                yield words

    def _count(self) -> None:
        outcome, world, postman = self.outcome, self.world, self.postman
        outcome.posts, outcome.repeated = postman.posts, postman.repeated
        outcome.deliveries = len(postman.acknowledged)
        outcome.lost += [
            f"delivery {guid} was acknowledged and is not there"
            for guid in sorted(postman.acknowledged - world.registry.deliveries())
        ]
        outcome.lost += [*postman.refused, *self._complaints(), *unsettled(world)]
        outcome.lost += missing(world)
        outcome.doubled += doubled(world)
        for agent in world.agents():
            waits = f" ({agent.waits_for})" if agent.state is State.SLEEPING else ""
            outcome.agents[f"{agent.state}{waits}"] += 1
            outcome.gave_up += agent.failure is not None and agent.failure.cause == "worker_died"


@contextmanager
def campaign(
    directory: Path,
    seed: int,
    database_url: str | None,
    program: Sequence[str] = SQUADRON,
) -> Iterator[Campaign]:
    """Everything that a campaign needs, started; ended and looked through for orphans after it.

    `database_url`: a PostgreSQL database, on which two processes work; None: SQLite.
    """
    name = f"octo/{new_name()}"  # processes are found by it, also beside another campaign
    data = directory / "data"
    data.mkdir(mode=0o700, parents=True)
    url = database_url or f"sqlite:///{data / 'squadron.sqlite'}"
    port = processes.free_port()
    with ExitStack() as stack:
        postman = stack.enter_context(Postman(seed, f"http://127.0.0.1:{port}/webhook"))
        model = stack.enter_context(ScriptedServer(Scripts(()), api_key=MODEL_KEY))
        files = {name: repository(ROLES)}
        github = stack.enter_context(
            running_box(directory / "box", files, PEOPLE, WEBHOOK_SECRET, postman.url)
        )
        environment = _environment(directory, github, model, url)
        members = [Member((*program, "serve"), environment, directory / "serve.log", port)]
        if database_url is not None:
            log, port = directory / "worker.log", processes.free_port()
            members.append(Member((*program, "worker"), environment, log, port))
        for member in members:
            stack.callback(member.end)
        members[0].start()
        members[0].until_ready()  # it makes the tables
        for member in members[1:]:
            member.start()
        registry = stack.enter_context(open_registry(url))
        kind = "SQLite" if database_url is None else "PostgreSQL"
        outcome = Outcome(f"{kind}, seed {seed}")
        crowd = Crowd(name, github, model)
        here = Campaign(outcome, World(name, github, registry), members, crowd, postman)
        yield here
        for member in members:
            member.end()
        here.count_orphans()


def _environment(
    directory: Path, github: GitHub, model: ScriptedServer, database_url: str
) -> dict[str, str]:
    operator = directory / "operator.yaml"
    operator.write_text(
        f"reconciliation_interval: {RECONCILIATION_SECONDS}\nworkers: {{agents: {WORKERS}}}\n"
        f"worker_timeout: {WORKER_TIMEOUT}\n"
        "sandbox: {mode: off}\n"
    )
    return {
        **processes.base_environment(directory),
        "SQUADRON_GITHUB_APP_ID": str(github.about["app_id"]),
        "SQUADRON_GITHUB_PRIVATE_KEY_FILE": github.about["private_key_file"],
        "SQUADRON_WEBHOOK_SECRET": WEBHOOK_SECRET,
        "SQUADRON_GITHUB_API_URL": github.url,
        "SQUADRON_GITHUB_GIT_URL": github.about["git_url"],
        "SQUADRON_DATA_DIR": str(directory / "data"),
        "SQUADRON_DATABASE_URL": database_url,
        "SQUADRON_CONFIG": str(operator),
        "SQUADRON_MODEL": "openai:scripted",
        "SQUADRON_MODEL_BASE_URL": f"{model.url}/v1",
        "SQUADRON_MODEL_API_KEY": MODEL_KEY,
    }
