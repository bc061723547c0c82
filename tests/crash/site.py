"""Where crash tests take place: a box, a model, a crowd, and the processes of one Squadron."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from app.adapters.clock import new_name
from app.core.agents.lifecycle import State
from app.scripted.script import Scripts
from app.scripted.server import ScriptedServer
from tests.crash.cluster import SQUADRON, Member
from tests.crash.crowd import ROLES, USUAL_PACE, Crowd, shown
from tests.crash.findings import Logs, World, doubled, forgotten, logs, missing, unsettled, untold
from tests.crash.postman import Postman
from tests.crash.witness import Witness
from tests.support import processes
from tests.support.github import GitHub, running_box
from tests.support.people import PEOPLE, repository
from tests.support.registry import open_registry
from tests.support.squad import MODEL_KEY, WEBHOOK_SECRET
from tests.support.waiting import NeverCame, until

WORKERS = 2
"""Agents that one process runs at once; a campaign has more than ten times as many."""
RECONCILIATION_SECONDS = 2
WORKER_TIMEOUT = 20
"""Seconds: the least that an operator can say."""
REST_SECONDS = 750.0
"""An agent under which workers died again and again waits for up to ten minutes."""
MOST_WAIT_FOR_A_MOMENT = 4.0


@dataclass(frozen=True, slots=True)
class Processes:
    """Which processes there are."""

    takers: int
    """Processes `serve`, which take deliveries."""
    workers: int = 0
    """Processes `worker`."""
    do_takers_work: bool = True
    """Without: `serve --no-worker`."""
    share_a_directory: bool = True
    """As they would on one machine; else each has a data directory of its own."""


ONE = Processes(takers=1)
TWO = Processes(takers=1, workers=1)


@dataclass(slots=True)
class Outcome:
    """What it came to."""

    title: str
    faults: Counter[str] = field(default_factory=Counter)
    met: int = 0
    """Kills that met the write they were meant for."""
    posts: int = 0
    deliveries: int = 0
    repeated: int = 0
    agents: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    """What agents lost and were not told of."""
    orphans: list[str] = field(default_factory=list)
    gave_up: int = 0
    """Agents stopped after ten deaths of their workers in a row, as `docs/design.md` says."""

    @property
    def found(self) -> list[str]:
        """Everything that must not be."""
        return self.lost + self.doubled + self.forgotten + self.untold + self.orphans

    def __str__(self) -> str:
        return (
            f"{self.title}: {self.faults.total()} faults ({shown(self.faults)}; {self.met} met a"
            f" write to GitHub), {self.deliveries} deliveries acknowledged ({self.posts} posts,"
            f" {self.repeated} of known ones), {self.agents.total()} agents"
            f" ({shown(self.agents)}; {self.gave_up} after ten deaths),"
            f" lost {len(self.lost)}, doubled {len(self.doubled)},"
            f" forgotten {len(self.forgotten)}, untold {len(self.untold)},"
            f" orphans {len(self.orphans)}"
        )


class Site:
    """All of it, running."""

    def __init__(
        self, outcome: Outcome, world: World, members: Sequence[Member], crowd: Crowd,
        postman: Postman, witness: Witness,
    ) -> None:  # fmt: skip
        self.outcome = outcome
        self.world = world
        self.members = members
        self.crowd = crowd
        self.postman = postman
        self.witness = witness
        self._before: Logs = {}

    def compare(self) -> None:
        """What the database holds now, with what it held when this was asked last."""
        now = logs(self.world)
        self.outcome.forgotten += forgotten(self._before, now)
        self._before = now

    def tend(self) -> None:
        """People see what agents wait for, and the witness what the model was told."""
        self.crowd.tend(self.world.registry)
        self.witness.look()

    def rest(self) -> None:
        """No more faults: wait until nothing moves any more, then count."""
        for member in self.members:
            member.until_ready()
        with suppress(NeverCame):  # what did not come to rest is found below
            until(self._is_at_rest, "everything is at rest", within_seconds=REST_SECONDS)
        self.compare()
        self._count()

    def meets(self, write: str, fault: Mapping[str, object]) -> bool:
        """Wait, with a bound, until the service makes that write; the fault strikes only once."""
        self._box("DELETE")
        self._box("POST", {**fault, "method": "POST", "path": write, "count": 1})
        is_met = self.waits(lambda: self._box("GET").json()[0]["fired"] > 0)
        self._box("DELETE")
        self.outcome.met += is_met
        return is_met

    def waits(
        self, look: Callable[[], bool], within_seconds: float = MOST_WAIT_FOR_A_MOMENT
    ) -> bool:
        """Whether a moment came in time."""
        with suppress(NeverCame):
            return until(look, "the moment", within_seconds=within_seconds)
        return False

    def count_orphans(self) -> None:
        """After the service has stopped: processes of agents that still run."""
        left = processes.carrying(f"SQUADRON_SEGMENT={self.world.repository}#")
        self.outcome.orphans += [f"{pid}: {command}" for pid, command in left.items()]

    def _box(self, method: str, content: object = None) -> httpx.Response:
        url = f"{self.world.github.url}/_box/faults"
        return httpx.request(method, url, json=content).raise_for_status()

    def _is_at_rest(self) -> bool:
        for member in self.members:
            member.check_alive()
        self.tend()
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
        outcome.untold += [*self.witness.untold, *untold(world, self.witness.told)]
        for agent in world.agents():
            waits = f" ({agent.waits_for})" if agent.state is State.SLEEPING else ""
            outcome.agents[f"{agent.state}{waits}"] += 1
            outcome.gave_up += agent.failure is not None and agent.failure.cause == "worker_died"


@contextmanager
def site(
    directory: Path,
    seed: int,
    database_url: str | None,
    program: Sequence[str] = SQUADRON,
    shape: Processes | None = None,
    pace_seconds: float = USUAL_PACE,
) -> Iterator[Site]:
    """Everything that a campaign needs, started; ended and looked through for orphans after it.

    `database_url`: a PostgreSQL database, on which two processes work unless `shape` says what
    else; None: SQLite. `pace_seconds`: how long each piece of an agent's work takes.
    """
    name = f"octo/{new_name()}"  # processes are found by it, also beside another campaign
    if shape is None:
        shape = ONE if database_url is None else TWO
    shared = directory / "data"
    shared.mkdir(mode=0o700, parents=True)
    url = database_url or f"sqlite:///{shared / 'squadron.sqlite'}"
    ports = [processes.free_port() for _ in range(shape.takers + shape.workers)]
    addresses = [f"http://127.0.0.1:{port}/webhook" for port in ports[: shape.takers]]
    with ExitStack() as stack:
        postman = stack.enter_context(Postman(seed, addresses))
        model = stack.enter_context(ScriptedServer(Scripts(()), api_key=MODEL_KEY))
        files = {name: repository(ROLES)}
        github = stack.enter_context(
            running_box(directory / "box", files, PEOPLE, WEBHOOK_SECRET, postman.url)
        )
        environment = _environment(directory, github, model, url)
        serve = ("serve",) if shape.do_takers_work else ("serve", "--no-worker")
        commands = [serve] * shape.takers + [("worker",)] * shape.workers
        members = []
        for number, (command, port) in enumerate(zip(commands, ports, strict=True), 1):
            own = f"{command[0]}-{number}"
            data = shared if shape.share_a_directory else directory / own
            log = directory / f"{own}.log"
            members.append(Member((*program, *command), environment, log, port, data))
        for member in members:
            stack.callback(member.end)
        members[0].start()
        members[0].until_ready()  # it makes the tables
        for member in members[1:]:
            member.start()
        registry = stack.enter_context(open_registry(url))
        kind = "SQLite" if database_url is None else "PostgreSQL"
        outcome = Outcome(f"{kind}, seed {seed}")
        crowd = Crowd(name, github, model, pace_seconds)
        here = Site(
            outcome, World(name, github, registry), members, crowd, postman, Witness(model)
        )  # fmt: skip
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
        "SQUADRON_DATABASE_URL": database_url,
        "SQUADRON_CONFIG": str(operator),
        "SQUADRON_MODEL": "openai:scripted",
        "SQUADRON_MODEL_BASE_URL": f"{model.url}/v1",
        "SQUADRON_MODEL_API_KEY": MODEL_KEY,
    }
