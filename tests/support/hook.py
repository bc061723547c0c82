"""The hook of one agent on a real store, as a segment has it, in the words of a story.

Nothing here stands for a part of the product: the gate, the store, the shell's grammar and git
are the real ones. Only time and the end of the process come when the test says so.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path

from app.adapters.clock import new_name
from app.adapters.pricing import price_of
from app.adapters.shell import parse
from app.core.agents.agent import Agent
from app.core.agents.counters import Counters, fold
from app.core.agents.events import AgentEvent, Phase, Returned, Spawned, ToolKind, Woken
from app.core.breaker.verdict import Answer, Verdict
from app.core.limits import Limits
from app.core.money import Price
from app.core.text.redact import Redactor
from app.core.words.glance import first_glance
from app.ports import CheckoutOrder, ModelRequest, ModelUsage, ToolCall, ToolResult, Workspace
from app.services.segment.gate import BreakerGate
from tests.contract.git_remote import REPOSITORY, serving, workspaces
from tests.contract.store_support import NOON, World, a_new_agent
from tests.support.moves import begin
from tests.twins.clock import TurnedClock

MODEL = "openai:scripted"
PRICES: Mapping[str, Price] = {"scripted": Price(Decimal(1), Decimal(1))}
"""1,000 nano-USD a token, of whatever kind."""
KINDS = {"bash": ToolKind.SHELL, "create": ToolKind.WRITE, "view": ToolKind.READ}
RED, GREEN = (ToolResult(code == 0, code, said) for code, said in ((1, "FAILED"), (0, "passed")))
WENT_WELL = ToolResult(ok=True, exit_code=None, output="")


class Hook:
    """An agent at work: what it asks, what comes of it, and the deaths of its process."""

    def __init__(
        self, world: World, clock: TurnedClock, agent: Agent, workspace: Workspace, directory: Path
    ) -> None:
        """For an agent whose segment runs; `gate` is there after `starts`."""
        self.clock = clock
        self.agent = agent
        self.gate: BreakerGate
        self._world = world
        self._workspace = workspace
        self._directory = directory
        self._numbers = itertools.count(1)

    # --- the process ---------------------------------------------------------------------------

    async def starts(self) -> None:
        """A process goes on with the segment, from nothing but what the database holds."""
        log = await self.log()
        self.gate = BreakerGate(
            self.agent,
            fold(log),
            len(log) + 1,
            first_glance(self.agent),
            store=self._world.store,
            workspace=self._workspace,
            parse=parse,
            price_of=partial(price_of, overrides=PRICES),
            redact=Redactor(),
            clock=self.clock,
            page="https://github.example/octo/demo",
        )
        self.gate.enter(self._directory)

    async def dies_and_starts_again(self, dead_seconds: float = 1_000) -> None:
        """`kill -9`: all that was in memory is gone, and so long nobody worked."""
        self.waits(dead_seconds)
        agent = await begin(
            self._world.store, self.agent.id, self.agent.segment, "worker-2", self.clock.now()
        )
        assert agent is not None
        self.agent = agent
        await self.starts()

    def waits(self, seconds: float) -> None:
        """Time passes."""
        self.clock.turn(timedelta(seconds=seconds))

    async def log(self) -> list[AgentEvent]:
        """What is in the database."""
        return [*await self._world.store.log(self.agent.id)]

    async def stored(self) -> Counters:
        """The counters that a new process would begin with."""
        return fold(await self.log())

    def twin(self) -> "Hook":
        """The same agent in the hands of another process, once that `starts`."""
        return Hook(self._world, self.clock, self.agent, self._workspace, self._directory)

    # --- asks ----------------------------------------------------------------------------------

    async def turn(self) -> Verdict:
        """One more prompt."""
        return await self.gate.before_turn()

    async def is_reviewed(self) -> Verdict:
        """Feedback on its pull request has woken it, and it is prompted."""
        now = self.clock.now()
        await self.gate.record([Woken(at=now, why="a review", by="mona", feedback=("review 7",))])
        return await self.turn()

    async def asks(self, tool: str = "view", *, spawns: bool = False, **args: object) -> Verdict:
        """A tool is asked for, and goes on running. Without arguments it is like no other."""
        return await self.gate.before_tool(self._call(tool, args, spawns))

    async def uses(
        self,
        tool: str = "view",
        result: ToolResult = WENT_WELL,
        *,
        spawns: bool = False,
        takes_seconds: float = 0,
        **args: object,
    ) -> Verdict:
        """A tool is asked for and, if it may run, ends."""
        call = self._call(tool, args, spawns)
        verdict = await self.gate.before_tool(call)
        if verdict.allowed:
            self.waits(takes_seconds)
            await self.gate.after_tool(call, result)
        return verdict

    async def tries(self, result: ToolResult = RED) -> Verdict:
        """A test run."""
        return await self.uses("bash", result, command="pytest")

    async def tries_in_vain(self) -> Verdict:
        """A test run that cannot run here."""
        return await self.tries(ToolResult(False, 127, "bash: pytest: command not found"))

    async def asks_tests(self) -> Verdict:
        """A test run is asked for, and goes on running."""
        return await self.asks("bash", command="pytest")

    def changes(self) -> None:
        """A fix."""
        (self._directory / "fix.txt").write_text(new_name())

    async def changes_and_tries(self, result: ToolResult = RED) -> Verdict:
        """A fix, and a test run."""
        self.changes()
        return await self.tries(result)

    async def delegates(self) -> Verdict:
        """A sub-agent is started, and ends without having done a thing."""
        verdict = await self.uses("task", spawns=True)
        if verdict.allowed:
            now, child = self.clock.now(), new_name()
            returned = Returned(
                at=now,
                child=child,
                tool_calls=0,
                model_calls=0,
                input_tokens=0,
                output_tokens=0,
                cost_nanousd=0,
                unpriced_calls=0,
                levels=0,
            )
            await self.gate.record([Spawned(at=now, child=child), returned])
        return verdict

    async def ticks(self) -> Verdict:
        """The timer looks; it is told nothing, so what it came to is read from the counters."""
        before = self.gate.counters.trip
        await self.gate.tick()
        trip = self.gate.counters.trip
        if trip is None or before is not None:
            return Verdict(Answer.ALLOW if trip is None else Answer.DENY)
        return Verdict(Answer.HALT, trip.reason, trip.limit, trip.observed, trip.maximum)

    async def asks_model(
        self,
        input_tokens: int = 1_000,
        most_output: int = 1_000,
        phase: Phase = Phase.EXECUTION,
    ) -> Verdict:
        """A request to the model, which is then under way."""
        return await self.gate.before_model(ModelRequest(MODEL, input_tokens, most_output, phase))

    async def answered(
        self,
        input_tokens: int = 1_000,
        output_tokens: int = 1_000,
        phase: Phase = Phase.EXECUTION,
        *,
        says: bool = False,
    ) -> None:
        """The model's answer."""
        usage = ModelUsage(MODEL, input_tokens, output_tokens, phase=phase, has_text=says)
        await self.gate.used(usage)

    async def calls_model(
        self,
        input_tokens: int = 1_000,
        output_tokens: int = 1_000,
        phase: Phase = Phase.EXECUTION,
        *,
        says: bool = False,
    ) -> Verdict:
        """A request and, if it may be sent, its answer: at the most that it was asked for."""
        verdict = await self.asks_model(input_tokens, output_tokens, phase)
        if verdict.allowed:
            await self.answered(input_tokens, output_tokens, phase, says=says)
        return verdict

    def _call(self, tool: str, args: Mapping[str, object], spawns: bool) -> ToolCall:
        number = next(self._numbers)
        kind = KINDS.get(tool, ToolKind.OTHER)
        return ToolCall(f"call-{number}", tool, args or {"path": f"{number}"}, kind, spawns)


Clone = tuple[Workspace, Path]
"""A workspace, and the clone in it that it can be asked about."""
Start = Callable[[Limits], Awaitable[Hook]]


@contextmanager
def a_clone(root: Path) -> Iterator[Clone]:
    """A clone as an agent has one, for the limits that look at its content."""
    with serving(root / "remote") as remote:
        workspace = workspaces(root / "data", remote.url, remote.token)
        order = CheckoutOrder(
            agent="octo/demo#12/bug-fix/1",
            repository=REPOSITORY,
            repository_id=1,
            default_branch="main",
            branch="squadron/x",
            author_name="squadron[bot]",
            author_email="squadron@example.com",
        )
        yield workspace, asyncio.run(workspace.prepare(order)).directory


def starting(world: World, clone: Clone) -> Start:
    """Starts one agent after the other, each with its own limits, all in one clone."""
    issues = itertools.count(1)

    async def start(limits: Limits) -> Hook:
        new = a_new_agent(next(issues))
        new = replace(new, assignment=replace(new.assignment, limits=limits))
        created = await world.store.create(new, NOON)
        assert created is not None
        agent = await begin(world.store, created.id, 0, "worker-1", NOON)
        assert agent is not None
        hook = Hook(world, TurnedClock(NOON), agent, *clone)
        await hook.starts()
        return hook

    return start


def count(log: Iterable[AgentEvent], *kinds: type) -> int:
    """How many events of these kinds are in a log."""
    return sum(isinstance(event, kinds) for event in log)
