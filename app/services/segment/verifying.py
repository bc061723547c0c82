"""Whether work is sound, before it is handed over: the commands that the default branch names
(`verify:`, `.squadron/verify.sh`), run in a clean checkout of the commit.

They run the agent's code, so they run behind the agent's walls, without network. What they need
comes from a setup of the default branch alone, which may have a way out. Nothing counts meanwhile:
the agent does not work.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from app.core.agents.agent import VERIFY_SCRIPT, Agent
from app.core.agents.events import (
    AgentEvent,
    ClosingTool,
    Known,
    Reported,
    SentBack,
    Verified,
    VerifyBegun,
)
from app.ports import (
    Checkout,
    CheckoutOrder,
    Ended,
    GitHubFailed,
    Publish,
    WorkspaceFailed,
)
from app.services.segment.attempt import Stops
from app.services.segment.gate import BreakerGate, Superseded
from app.services.segment.setup import (
    SettingUp,
    SetupFailed,
    checkout_in_shell,
    in_shell,
    made_ready,
    script_in_shell,
)
from app.services.segment.supervision import LOOK_SECONDS, Stop
from app.services.waiting import wait_for_all
from app.services.world import World, checkout_order, environment, segment_marker
from app.testruns import Tally, tally

VERIFY_SECONDS: Final = 900.0
"""All commands together."""
MOST_OUTPUT_BYTES: Final = 64_000
MOST_KEPT_CHARACTERS: Final = 8_000
"""Of that output: people and the agent read its end."""
MOST_BASES: Final = 100
"""Commits of default branches of which it is remembered how many tests run."""

_Base = tuple[int | str, ...]
"""Repository, commit, and what runs there."""

log = logging.getLogger("squadron.agents")


@dataclass(frozen=True, slots=True)
class Verifying:
    """Finds out whether work is sound."""

    world: World
    stops: Stops
    bases: dict[_Base, Tally | None] = field(default_factory=dict)
    """How many tests run on commits of default branches."""

    async def judge(self, agent: Agent, gate: BreakerGate, sha: str) -> Verified | Stop:
        """What is known of the commit now, which is in the agent's log; or what stops the agent.

        Work that is not sound goes back to the agent: that is an ask, so that a limit on
        iterations can stop it. Raises `StoreUnavailable`.
        """
        try:
            known = _known(await self.world.store.log(agent.id), sha)
            found = known or await self._find_out(agent, gate, sha)
            if isinstance(found, Stop):
                return found
            if known is None:
                await gate.record([found])
            if found.sound is Known.NO:
                await gate.sent_back()
        except Superseded:
            return Stop.SUPERSEDED
        if gate.superseded.is_set():
            return Stop.SUPERSEDED
        if gate.tripped.is_set():
            return Stop.TRIPPED
        return Stop.HELD if gate.held.is_set() else found

    async def _find_out(self, agent: Agent, gate: BreakerGate, sha: str) -> Verified | Stop:
        world = self.world
        await gate.record([VerifyBegun(at=world.clock.now(), sha=sha)])
        occasion = f"verify:{agent.segment}:{agent.segment_attempts}"
        await world.engine.enqueue(Publish(agent.id, occasion))
        log.info("work is being verified", extra={"agent": str(agent.id), "sha": sha})
        running = asyncio.create_task(self._run(agent, gate, sha), name=f"verify {agent.id}")
        try:
            while await wait_for_all(world.clock, {running}, LOOK_SECONDS):
                await gate.look()
                if gate.superseded.is_set():
                    return Stop.SUPERSEDED
                if (stop := self.stops.now(agent)) is not None:
                    return stop
            return running.result()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await world.processes.kill_marked(segment_marker(world, agent.id, agent.segment))
            await self._tidy_up(agent)

    async def _run(self, agent: Agent, gate: BreakerGate, sha: str) -> Verified:
        """What the commands say; what keeps them from saying anything says nothing of the work."""
        try:
            order = await checkout_order(self.world, agent)
            room = await self._ready(agent, gate, order, sha)
            await self._go_to(room, sha)
            found = await self._commands(agent, room, sha)
            if found.sound is Known.YES:
                base = await self._of_base(agent, gate, order, sha, room.checkout.base_sha)
                found = replace(found, at=self.world.clock.now(), base=base)
            return found
        except (WorkspaceFailed, GitHubFailed, OSError, _NotReady) as error:
            why = self.world.redact(f"It could not be run: {error}")
            log.warning("not verified: %s", why, extra={"agent": str(agent.id)})
            return Verified(at=self.world.clock.now(), sha=sha, sound=Known.UNKNOWN, why=why)

    async def _ready(
        self, agent: Agent, gate: BreakerGate, order: CheckoutOrder, sha: str
    ) -> "_Room":
        """The default branch as its setup leaves it, in a clone that nobody has worked in."""
        world = self.world
        checkout = await world.workspace.check_out(order, sha)
        home = checkout.directory.with_name("home")
        seen = {**environment(world, agent, order), "HOME": str(home)}
        setting_up = SettingUp(world, agent, checkout, seen, gate.record)
        made = await made_ready(setting_up, partial(world.workspace.check_out, order, sha))
        if isinstance(made, SetupFailed):
            raise _NotReady(made.why)
        return _Room(checkout, seen)

    async def _go_to(self, room: "_Room", sha: str) -> None:
        """Behind the walls: a setup may have left hooks."""
        ended = await self._command(checkout_in_shell(f"--detach {sha}"), room, VERIFY_SECONDS)
        if ended.exit_code != 0:
            raise _NotReady(f"git does not check {sha[:12]} out: {ended.output.strip()[-500:]}")

    async def _of_base(
        self, agent: Agent, gate: BreakerGate, order: CheckoutOrder, sha: str, base_sha: str
    ) -> Tally | None:
        """How many tests all commands run on the commit from which the work left the default
        branch, in a clone in which nothing of the agent's has run."""
        assignment = agent.assignment
        key: _Base = (
            agent.repository_id,
            base_sha,
            *assignment.verify,
            assignment.verify_script,
        )
        if key not in self.bases:
            room = await self._ready(agent, gate, order, sha)
            tests = None
            async for _, ended in self._each(agent, room):
                tests = _added(tests, tally(ended.output))
            if len(self.bases) >= MOST_BASES:
                del self.bases[next(iter(self.bases))]
            self.bases[key] = tests
        return self.bases[key]

    async def _commands(self, agent: Agent, room: "_Room", sha: str) -> Verified:
        """Run each command until one fails; with the tests that ran until then."""
        clock, tests = self.world.clock, None
        async for what, ended in self._each(agent, room):
            tests = _added(tests, tally(ended.output))
            if ended.exit_code != 0 or ended.excess:
                return Verified(
                    at=clock.now(),
                    sha=sha,
                    sound=Known.NO,
                    why=f"{what} {_how(ended)}.",
                    output=self.world.redact.tail(ended.output.strip(), MOST_KEPT_CHARACTERS),
                    tests=tests,
                )
        return Verified(at=clock.now(), sha=sha, sound=Known.YES, why="", tests=tests)

    async def _each(self, agent: Agent, room: "_Room") -> AsyncIterator[tuple[str, Ended]]:
        """Every command in turn, by its name for people, and how it ended."""
        clock = self.world.clock
        ends_at = clock.monotonic() + VERIFY_SECONDS
        for what, argv in _commands(agent):
            yield what, await self._command(argv, room, ends_at - clock.monotonic())

    async def _command(self, argv: Sequence[str], room: "_Room", seconds: float) -> Ended:
        return await self.world.processes.run(
            argv,
            cwd=room.checkout.directory,
            environment=room.environment,
            timeout_seconds=max(seconds, 1.0),
            most_output_bytes=MOST_OUTPUT_BYTES,
        )

    async def _tidy_up(self, agent: Agent) -> None:
        try:
            await self.world.workspace.tidy_up(str(agent.id))
        except WorkspaceFailed as error:  # it is deleted with the agent's clone
            log.warning("a checkout stays: %s", error, extra={"agent": str(agent.id)})


@dataclass(frozen=True, slots=True)
class _Room:
    """Where commands run."""

    checkout: Checkout
    environment: Mapping[str, str]


class _NotReady(Exception):
    """Nothing can be said of the work; why, for people."""


def _known(history: Sequence[AgentEvent], sha: str) -> Verified | None:
    """What was found out of the commit and still counts: that it is sound, or whatever came of the
    last report, if a process died after that. Who reports once more what was not sound is heard
    once more."""
    for event in reversed(history):
        match event:
            case Verified() if event.sha == sha:
                return event
            case Reported(tool=ClosingTool.REPORT_COMPLETE) | SentBack():
                break
            case _:
                pass
    sound = (event for event in history if isinstance(event, Verified) and event.sha == sha)
    return next((event for event in sound if event.sound is Known.YES), None)


def _commands(agent: Agent) -> Iterator[tuple[str, Sequence[str]]]:
    """Each with its name for people."""
    for command in agent.assignment.verify:
        yield f"`{command}`", in_shell(command)
    if script := agent.assignment.verify_script:
        yield f"`{VERIFY_SCRIPT}`", script_in_shell(script, VERIFY_SCRIPT)


def _added(one: Tally | None, other: Tally | None) -> Tally | None:
    if one is None or other is None:
        return one or other
    return Tally(one.ran + other.ran, one.skipped + other.skipped)


def _how(ended: Ended) -> str:
    if ended.excess:
        return "took too much of the disk"
    if ended.exit_code is None:
        return f"did not end within {VERIFY_SECONDS:.0f} s"
    return f"ended with exit code {ended.exit_code}"
