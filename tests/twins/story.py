"""`Story`: the whole service in this process, the people around it, and a clock that it turns.

People act by the box's REST interface; what they and the registry see is asked of both. Nothing
waits in earnest: `settle` lets happen what is under way, and `passes` lets time pass.
"""

import asyncio
import itertools
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, TypeVar, get_args

import httpx
from cryptography.hazmat.primitives.asymmetric import rsa

from app.adapters.runtimes.embedded import EmbeddedRuntime
from app.bootstrap import Adapters, Service, build
from app.config.settings import load_settings
from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import AgentEvent, Waits
from app.core.agents.lifecycle import State
from app.core.rules.brakes import Brake, Place
from app.core.words.glance import glance
from app.core.words.report import report
from app.githubbox.box import Box
from app.githubbox.git import NOTHING
from app.ports import FleetFilter
from app.scripted.model import scripted_model
from app.scripted.script import ComputedStep, Script, Step
from app.services.fleet import MOST_ON_A_PAGE
from app.web.webhook import WebhookEndpoint
from tests.support.github import BOT, is_call
from tests.support.people import PEOPLE, People, Task
from tests.support.squad import ADMIN_TOKEN, MODEL_KEY, WEBHOOK_SECRET, json_text
from tests.twins.clock import TurnedClock
from tests.twins.database import Database, fresh_database, memory
from tests.twins.engine import TwinEngine
from tests.twins.git import MemoryGit
from tests.twins.lives import LIFE, Life
from tests.twins.loop import StoryLoop
from tests.twins.model import ScriptedHere
from tests.twins.shell import TwinShell
from tests.twins.timeline import Timeline, service_log, short
from tests.twins.timetable import TurnedTimetable
from tests.twins.wires import ToGitHub, ToService
from tests.twins.workspace import TwinWorkspace

Json = Any
Found = TypeVar("Found")

SQUADRON: Final = "http://squadron.local"
HAND_SECONDS: Final = 2
"""How long a person takes for one thing: what two of them did is told apart by the second."""
A_SECOND: Final = timedelta(seconds=1)
SOON: Final = timedelta(seconds=30)
"""What waits for less than this belongs to what is under way."""
PASS_SECONDS: Final = 60
LATE_SECONDS: Final = 90
"""Later than one pass, and before the next."""
MOST_SETTLING: Final = timedelta(minutes=20)


GIT_AWAY: Final = "The requested URL returned error: 503"
Outage = Literal["database", "git", "rest", "provider"]
OUTAGES: Final[tuple[Outage, ...]] = get_args(Outage)
"""What may be away for a while."""

_FAULTS: Final[Mapping[str, Json]] = {
    "told": None,
    "doubled": {"kind": "doubled"},
    "late": {"kind": "late", "seconds": LATE_SECONDS},
    "untold": {"kind": "lost"},
    "told in vain": {"kind": "unreachable"},
}
TELLINGS: Final = tuple(_FAULTS)
"""How GitHub tells of what happens: once; twice; late, when a pass has found it; never, so that a
pass has to find it; or while nobody listens, so that it has to be asked again."""
_PASSES: Final[Mapping[str, int]] = {
    "told": 0,
    "doubled": 0,
    "late": 2,
    "untold": 1,
    "told in vain": 2,
}
"""How many passes it takes until all is heard."""


@cache
def _key() -> rsa.RSAPrivateKey:
    """The App's, shorter than GitHub's are: checking a key takes longer than a story."""
    return rsa.generate_private_key(public_exponent=65537, key_size=1024)


class Story(People):
    """A Squadron in one process, and the people around it."""

    def __init__(
        self,
        loop: StoryLoop,
        directory: Path,
        database: Database,
        repositories: Mapping[str, Mapping[str, str]],
        operator: Mapping[str, Any],
        people: Mapping[str, str],
        record: Path | None,
        settings: Mapping[str, str],
    ) -> None:
        self.loop = loop
        self.database = database
        self.clock = TurnedClock()
        self.timeline = Timeline(self.clock)
        self.directory = directory
        self._data = directory / "data"
        self._settings = settings
        self.model = ScriptedHere()
        self._lives = itertools.count(1)
        self._life: Life
        self._tolerated: list[str] = []
        self.box = Box(
            directory,
            webhook_secret=WEBHOOK_SECRET,
            webhook_url=f"{SQUADRON}/webhook",
            webhook_transport=ToService(lambda: self._webhook, self.timeline),
            clock=self.clock,
            key=_key(),
            record=record,
        )
        self._to_github = ToGitHub(self.box.asgi, self.timeline)
        self.tokens = {login: self.box.add_user(login, may) for login, may in people.items()}
        """Of the people, by their logins."""
        for name, files in repositories.items():
            held = {path: text.encode() for path, text in files.items()}
            self.box.host(name, MemoryGit(self.clock.now, held), "main")
        self.workspace = TwinWorkspace(self.box, self._data)
        self._data.mkdir(mode=0o700)
        self._operator = directory / "operator.yaml"
        self._write_rules(operator)
        self.engine: TwinEngine
        self.service: Service
        self._tasks: list[asyncio.Task[None]] = []
        self._webhook: WebhookEndpoint | None = None

    # --- the service ---------------------------------------------------------------------------

    def start(self) -> None:
        """A process that serves."""
        self._life = Life(next(self._lives))
        self.note("operator", f"starts {self._life.name}")
        settings = load_settings(self.environment())
        shell = TwinShell(self.workspace, self.clock)
        self.run(self._start(settings, shell))

    def environment(self) -> dict[str, str]:
        """The settings of the service."""
        return {
            "SQUADRON_GITHUB_APP_ID": str(self.box.identity.app_id),
            "SQUADRON_GITHUB_PRIVATE_KEY": self.box.identity.private_key_pem.decode(),
            "SQUADRON_WEBHOOK_SECRET": WEBHOOK_SECRET,
            "SQUADRON_ADMIN_TOKEN": ADMIN_TOKEN,
            "SQUADRON_GITHUB_API_URL": self.box.url,
            "SQUADRON_DATA_DIR": str(self._data),
            "SQUADRON_DATABASE_URL": self.database.url,
            "SQUADRON_CONFIG": str(self._operator),
            "SQUADRON_MODEL": "openai:scripted",
            "SQUADRON_MODEL_API_KEY": MODEL_KEY,
            **self._settings,
        }

    async def _start(self, settings: Any, shell: TwinShell) -> None:
        LIFE.set(self._life)
        clock, name = self.clock, self._life.name

        def engine(*made_of: Any) -> TwinEngine:
            self.engine = TwinEngine(clock, name, *made_of)
            return self.engine

        self.service = build(
            settings,
            adapters=Adapters(
                clock=clock,
                database=lambda _: self.database.engine,
                timetable=TurnedTimetable(clock),
                engine=engine,
                github=self._to_github,
                workspace=self.workspace,
                processes=shell,
                runtime=EmbeddedRuntime(shell, self._model, sleep=clock.sleep),
            ),
        )
        self.loop.busy = [lambda: self.service.writer.unanswered > 0]
        self._webhook = WebhookEndpoint(self.service.intake, self.service.dispatcher.notify)
        await self.service.start()
        self._tasks = [asyncio.create_task(self.service.dispatcher.run(), name="dispatcher")]

    def stop(self) -> None:
        """The process ends in order, as a platform ends it."""
        self.note("operator", "stops the service")
        stopping = self.loop.create_task(self._stop())
        self._until(stopping.done, "the service has stopped")
        stopping.result()

    def kill(self) -> None:
        """`kill -9`: nothing of the process runs any further, whatever it waited for."""
        self.note("operator", f"kills {self._life.name}")
        self._life.is_over, self._webhook = True, None
        self.service.writer.close()  # of what dies nothing is written any more
        for task in [*self._life.tasks]:
            task.cancel()
        self.loop.run_until_quiet()
        assert not self._life.tasks, f"what nothing ends: {self._life.tasks}"
        self.service.database.dispose()

    def moves_to(self, machine: str) -> None:
        """`kill -9`, and the next process is on another machine, with the same database."""
        self.kill()
        self.workspace.moves_to(machine)
        self.start()

    def restart(self, operator: Mapping[str, Any] | None = None) -> None:
        """`kill -9`, and the next process. `operator`: what its file says from now on, if that is
        something else."""
        self.kill()
        if operator is not None:
            self._write_rules(operator)
        self.start()

    def _write_rules(self, operator: Mapping[str, Any]) -> None:
        rules = {"reconciliation_interval": PASS_SECONDS, "sandbox": {"mode": "off"}, **operator}
        self._operator.write_text(json.dumps(rules))

    def goes_on_for(self, turns: int) -> bool:
        """Let so many turns of the loop go by of what is under way. False: all was over before."""
        self.loop.turns_left = turns
        try:
            self._until(lambda: self._is_out_of_turns() or self.is_settled(), "it goes on")
        finally:
            is_out, self.loop.turns_left = self._is_out_of_turns(), None
        return is_out

    def dies_after(self, turns: int) -> bool:
        """The same, and then the process is killed, and the next one starts."""
        is_out = self.goes_on_for(turns)
        if is_out:
            self.restart()
        return is_out

    def _is_out_of_turns(self) -> bool:
        return self.loop.turns_left is not None and self.loop.turns_left <= 0

    async def _stop(self) -> None:
        self._webhook = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.service.stop()

    def _model(self, name: str) -> Any:
        return scripted_model(self.model.next_step, name, self.clock.sleep)

    # --- what people do ------------------------------------------------------------------------

    def does(self, login: str, method: str, path: str, content: Json = None) -> Json:
        self.clock.turn(timedelta(seconds=HAND_SECONDS))
        self.note(login, f"{method} {path} {short(content)}")
        return self.run(self.box.does(login, method, path, content)).body

    def scripted(self, script: Script) -> None:
        self.model.knows(script)

    def sees(self, path: str) -> Json:
        """What anybody with a browser sees at one address."""
        bare, _, query = path.partition("?")
        asked = dict(httpx.QueryParams(query))
        return self.run(self.box.does("maria", "GET", bare, query=asked)).body

    def give(self, role: str, title: str, *steps: Step | ComputedStep, **about: Any) -> Task:
        """Maria opens an issue and labels it for a role; the agent works as far as it gets."""
        task = self.issue(title, *steps, **about).by(role)
        self.label(task, f"squadron:{role}")
        self.settle()
        return task

    def merge(self, task: Task, by: str = "maria") -> None:
        """Somebody merges the agent's pull request."""
        number = self.agent(task).pull_request
        self.does(by, "PUT", f"/repos/{task.repository}/pulls/{number}/merge")

    def _push(self, files: Mapping[str, str], branch: str, by: str, repository: str) -> str:
        self.clock.turn(timedelta(seconds=HAND_SECONDS))
        git = self.box.world.repositories[repository.lower()].git
        assert isinstance(git, MemoryGit)
        there = git.head(branch)
        start = there or git.head("main")
        assert start is not None, "there is no branch main"
        changed = {**git.files(start), **{path: text.encode() for path, text in files.items()}}
        message = f"Change {', '.join(files)}"
        made = git.make(changed, [start], message, by.title(), f"{by}@example.org")
        self.note(by, f"pushes {', '.join(files)} to {branch}")
        self.run(self.box.push(repository, f"refs/heads/{branch}", made, there or NOTHING, by))
        return made

    def orders(self, what: str, **about: Json) -> None:
        """Something happens on GitHub that no person does: see `app.githubbox.orders`."""
        self.clock.turn(timedelta(seconds=HAND_SECONDS))
        self.note("GitHub", f"{what} {short(about)}")
        self.run(self.box.order(what, about))

    def brakes(self) -> None:
        """The operator says `squadron pause`."""
        self.note("operator", "puts the brake on")
        brake = Brake(Place.everything(), "operator", self.clock.now(), "Not now.")
        self.run(self.service.store.put_brake_on(brake))

    def lifts_the_brake(self) -> None:
        """The operator says `squadron resume`."""
        self.note("operator", "lifts the brake")
        lifted = self.service.store.lift_brake(Place.everything(), "operator", self.clock.now())
        assert self.run(lifted) is not None

    # --- what is to be seen --------------------------------------------------------------------

    def agents(self, task: Task) -> list[Agent]:
        """All agents that ever worked on the issue in that role, oldest first."""
        found = self.run(self.service.store.agents(repository=task.repository, issue=task.number))
        return [agent for agent in found if agent.id.role == task.role]

    def sub_agents(self, task: Task) -> list[Agent]:
        """All that work or worked below agents of the issue, oldest first."""
        found = self.run(self.service.store.agents(repository=task.repository, issue=task.number))
        return [agent for agent in found if agent.parent is not None]

    def agent(self, task: Task) -> Agent:
        """The newest agent of the task."""
        found = self.agents(task)
        assert found, f"there is no agent for {task}"
        return found[-1]

    def state(self, task: Task) -> tuple[State, Waits | None]:
        """Where the newest agent of the task is, and what it waits for."""
        agent = self.agent(task)
        return agent.state, agent.waits_for

    def states(self, task: Task) -> list[tuple[State, Waits | None]]:
        """The same of all agents that the task ever had, oldest first."""
        return [(agent.state, agent.waits_for) for agent in self.agents(task)]

    def was_told(self, task: Task, words: str) -> bool:
        """Whether the model was told these words about the task."""
        name = self.sees(task.path)["body"].split()[0]
        return any(name in text and words in text for text in map(json_text, self.model.requests))

    def checks(self, task: Task) -> list[Json]:
        """Check runs of the role on the newest commit of its agent, newest first."""
        where = f"commits/{self.agent(task).sha}/check-runs"
        name = f"filter=all&check_name=squadron/{task.role}"
        found = self.sees(f"/repos/{task.repository}/{where}?{name}")["check_runs"]
        return list(found)

    def comments(self, task: Task) -> list[str]:
        """What our App wrote on the issue besides its calls, oldest first."""
        return [one["body"] for one in self._ours(task) if not is_call(one)]

    def calls(self, task: Task) -> list[Json]:
        """The comments by which our App calls people, oldest first."""
        return [one for one in self._ours(task) if is_call(one)]

    def _ours(self, task: Task) -> list[Json]:
        found = self.sees(f"{task.path}/comments")
        return [one for one in found if one["user"]["login"] == BOT]

    def needs_human(self, task: Task) -> list[Json]:
        """Open needs-human issues about the issue."""
        found = self.sees(f"/repos/{task.repository}/issues?state=open&labels=needs-human")
        return [one for one in found if f" (#{task.number}, " in one["title"]]

    def stopped(self, task: Task) -> Agent:
        """The agent, which was stopped for good: of that there is a failing check on its work,
        one comment and one needs-human issue (docs/design.md, promise 4)."""
        agent = self.agent(task)
        assert agent.state is State.ESCALATED, f"{agent.id} is {agent.state}"
        assert agent.stop is not None
        check, *_ = self.checks(task)
        assert (check["conclusion"], check["head_sha"]) == ("failure", agent.sha)
        said = check["output"]
        assert agent.stop.reason in f"{said['title']}\n{said['summary']}"
        [comment] = self.comments(task)
        what = "Circuit breaker" if agent.trip is not None else "Squadron stopped the agent"
        assert f"[squadron:{task.role}] ⚠️ {what}: {agent.stop.reason}" in comment
        [issue] = self.needs_human(task)
        by = f": stopped by {agent.trip.limit}" if agent.trip is not None else ": stopped, "
        assert f" (#{task.number}, {task.role}){by}" in issue["title"]
        assert agent.stop.reason in issue["body"]
        return agent

    def alerts(self, kind: str) -> list[str]:
        """What the operator was told of that kind, oldest first."""
        told = (each for each in self.timeline.records if vars(each).get("event") == "ALERT")
        return [each.getMessage() for each in told if vars(each)["kind"] == kind]

    def log(self, agent: AgentId) -> Sequence[AgentEvent]:
        """Everything that happened to an agent."""
        return self.run(self.service.store.log(agent))

    # --- time ----------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let happen what is under way: time passes no further than that needs."""
        self._until(self.is_settled, "nothing is under way")

    def passes(self, **time: float) -> None:
        """Let so much time pass at once, and what follows happen: `passes(hours=2)`."""
        self.note("clock", f"turned by {timedelta(**time)}")
        self.clock.turn(timedelta(**time))
        self.settle()

    @contextmanager
    def telling(self, how: str) -> Iterator[None]:
        """How GitHub tells of what people do meanwhile, one of `TELLINGS`. On the way out the
        service has heard of it, or found it itself."""
        fault = _FAULTS[how]
        if fault is not None:
            self.box.faults.add(fault)
        try:
            yield
        finally:
            self.box.faults.clear()
        self.settle()
        for _ in range(_PASSES[how]):
            self.passes(seconds=PASS_SECONDS + 1)

    @contextmanager
    def trouble(self, **fault: Json) -> Iterator[None]:
        """A fault of the box, as `app.githubbox.faults` describes them."""
        self.note("GitHub", f"has trouble: {fault}")
        self.box.faults.add(fault)
        try:
            yield
        finally:
            self.box.faults.clear()

    @contextmanager
    def without(self, what: Outage) -> Iterator[None]:
        """It answers nothing meanwhile."""
        self.note(what, "is away")
        self._away(what, is_away=True)
        try:
            yield
        finally:
            self._away(what, is_away=False)
            self.note(what, "is back")

    def _away(self, what: Outage, *, is_away: bool) -> None:
        match what:
            case "database":
                self.database.is_away = is_away
            case "git":
                self.workspace.away = GIT_AWAY if is_away else ""
            case "rest":
                self._to_github.is_away = is_away
            case "provider":
                self.model.is_away = is_away

    def has_struck(self) -> bool:
        """Whether a fault that is switched on was met."""
        return any(fault["fired"] for fault in self.box.faults.describe())

    def go_on(self) -> None:
        """Let time pass until somebody wakes, a second at most."""
        self.loop.run_until_quiet()
        step = self.clock.next_in
        self.clock.turn(A_SECOND if step is None else min(step, A_SECOND))
        self.loop.run_until_quiet()

    def is_settled(self) -> bool:
        """Whether all that was told was heard, and what follows from it was done."""
        if self.box.webhooks.is_sending or self.engine.due_within(SOON):
            return False
        return not self.run(self.service.store.undispatched(1))

    def _until(self, is_so: Callable[[], bool], what: str) -> None:
        """Turn the clock from one who waits to the next until it is so."""
        turned = timedelta()
        self.loop.run_until_quiet()
        while not is_so():
            step = self.clock.next_in
            assert step is not None, f"{what}: nobody waits for anything, and it is not so"
            turned += step
            assert turned <= MOST_SETTLING, f"{what}: not within {MOST_SETTLING}"
            self.clock.turn(step)
            self.loop.run_until_quiet()

    def hang_up(self) -> None:
        """GitHub is there no more."""
        self.run(self.box.__aexit__(None, None, None))

    def run(self, work: Coroutine[Any, Any, Found]) -> Found:
        """What a coroutine comes to that needs no time to pass."""
        result: Found = self.loop.finish(self.loop.create_task(work))
        return result

    # --- order ---------------------------------------------------------------------------------

    def note(self, who: str, what: str) -> None:
        """One line of the timeline."""
        self.timeline.note(who, what)

    def tolerates(self, words: str) -> None:
        """Error lines of the service that hold these words belong to the story."""
        self._tolerated.append(words)

    def check(self) -> None:
        """Everything is in order, now and at the end."""
        assert not self.loop.faults, self.loop.faults
        wrong = [
            each
            for each in self.timeline.errors()
            if not any(words in each.what for words in self._tolerated)
        ]
        assert not wrong, f"the service's log: {wrong[0]}"

    def check_end(self) -> None:
        """Besides: no work was given up, no delivery is dead, and no needs-human issue was opened
        before the check and the comment that it speaks of (docs/design.md, promise 4); and lists
        show what is."""
        self.check()
        assert not self.engine.failed(), f"work that failed for good: {self.engine.failed()}"
        dead = self.run(self.service.store.dead_deliveries())
        assert not dead, f"deliveries that were given up: {dead}"
        for agent in self.run(self.service.store.agents(states=frozenset({State.ESCALATED}))):
            done = [each for each in self.timeline.effects if each[0] == str(agent.id)]
            names = [name for _, name in done]
            if "issue" in names and str(agent.id) not in self.timeline.held_up:
                before = names[: names.index("issue")]
                missing = {"check", "comment"} - {*before}
                assert not missing, f"{agent.id}: the needs-human issue came before {missing}"
        self._check_lists()

    def _check_lists(self) -> None:
        """What lists show of whoever is not at work is what its log says."""
        store, now = self.service.store, self.clock.now()
        listed = self.run(store.fleet(FleetFilter(), after=None, most=MOST_ON_A_PAGE))
        for each in listed:
            if each.agent.state is not State.ACTIVE:
                log = self.run(store.log(each.agent.id))
                told = glance(report(each.agent, log, now))
                assert each.seen.at(now) == told, f"lists show something else of {each.agent.id}"


@contextmanager
def story(
    repositories: Mapping[str, Mapping[str, str]],
    *,
    operator: Mapping[str, Any] | None = None,
    people: Mapping[str, str] = PEOPLE,
    is_recorded: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Story]:
    """Begin a story, and look at its end whether everything is in order. `is_recorded`: all that
    is said to and by GitHub is kept in the file `record` of its directory. `settings`: of the
    service, besides its own."""
    loop = StoryLoop()
    with ExitStack() as stack:
        stack.callback(loop.close)
        database = stack.enter_context(fresh_database())
        place = TemporaryDirectory(prefix="squadron-story-", dir=memory())
        directory = Path(stack.enter_context(place))
        record = directory / "record" if is_recorded else None
        here = Story(
            loop, directory, database, repositories, operator or {}, people, record, settings or {}
        )
        stack.callback(here.hang_up)
        stack.enter_context(service_log(here.timeline, loop))
        here.start()
        try:
            yield here
            here.settle()
            here.check_end()
            here.stop()
            here.check()
        except BaseException as error:
            error.add_note(here.timeline.told())
            raise
