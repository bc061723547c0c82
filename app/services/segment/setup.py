"""What makes a clone ready to be worked in, before the agent's first turn, or to be judged in,
after its last: `setup:` of its role, then `.squadron/setup.sh`.

Both are the default branch's, and so is what they work on, whatever the clone holds: they may reach
hosts, and a `preinstall` script of an agent's would reach them, too.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from shlex import quote
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, HostRefused, SetUp
from app.core.text.redact import Redactor
from app.ports import Checkout, Ended, KeptSetupFailed, RefusedHost, SetupOrder
from app.services.moves.readiness import Readiness, note_readiness, readiness
from app.services.world import World

SETUP_SECONDS: Final = 900.0
SETUP_OUTPUT_CHARACTERS: Final = 1_500
SCRIPT: Final = ".squadron/setup.sh"
MOST_HOSTS_NAMED: Final = 5

log = logging.getLogger("squadron.agents")


def was_cut_off(world: World, agent: Agent) -> bool:
    """Whether its clone, if there is one, may hold half of what a setup makes, and nobody's
    work."""
    return any(_commands(agent)) and readiness(world, agent) is None


def is_ready(world: World, agent: Agent, checkout: Checkout) -> bool:
    """Whether its clone was made ready before."""
    return not checkout.is_fresh and readiness(world, agent) is Readiness.READY


def note_ready(world: World, agent: Agent) -> None:
    """Its clone is ready from now on."""
    note_readiness(world, agent, Readiness.READY)


@dataclass(frozen=True, slots=True)
class SetupFailed:
    """A clone is not ready."""

    why: str
    """For people: which command failed, and how."""


@dataclass(frozen=True, slots=True)
class SettingUp:
    """Makes one clone ready, once."""

    world: World
    agent: Agent
    checkout: Checkout
    environment: Mapping[str, str]
    """Of its processes."""
    record: Callable[[Sequence[AgentEvent]], Awaitable[None]]
    """Tells the agent's log."""

    async def run(self, *, takes_kept: bool = True) -> SetUp | SetupFailed | None:
        """Run what the agent's assignment says, or take what an equal setup has left, where the
        work left the default branch; then go on to the work. None: there is nothing to run.

        Hosts that it may not reach are told in the agent's log. Raises `KeptSetupFailed`: the
        clone is to be made anew; `OSError`, `Superseded`, `StoreUnavailable`.
        """
        commands = [*_commands(self.agent)]
        if not commands:
            return None
        if problem := await self._go(f"--detach {self.checkout.base_sha}"):
            return SetupFailed(problem)
        made_at = await self._taken() if takes_kept else None
        if made_at is None and (problem := await self._made(commands)):
            return SetupFailed(problem)
        if problem := await self._go(quote(self.agent.branch)):
            return SetupFailed(problem)
        lacks = self.checkout.changes_dependencies
        return SetUp(at=self.world.clock.now(), made_at=made_at, lacks_dependencies=lacks)

    async def _go(self, where: str) -> str:
        """Check something else out, where the clone holds somebody's work; what keeps git from it,
        in words. Behind the walls, and with no way out: a setup may have left hooks."""
        if self.checkout.is_unchanged:
            return ""
        ended = await self.world.processes.run(
            checkout_in_shell(where),
            cwd=self.checkout.directory,
            environment=self.environment,
            timeout_seconds=SETUP_SECONDS,
        )
        if ended.exit_code == 0:
            return ""
        return f"`git checkout {where}` {_failed_words(ended, self.world.redact)}"

    async def _made(self, commands: Sequence[tuple[str, Sequence[str]]]) -> str:
        """Run all commands, and keep what they leave."""
        what_to_keep = self._kept
        begun = "" if what_to_keep is None else await self.world.setups.begin(what_to_keep)
        for what, argv in commands:
            prepared = await self.world.preparation.run(
                argv,
                cwd=self.checkout.directory,
                environment=self.environment,
                timeout_seconds=SETUP_SECONDS,
            )
            await self._tell(prepared.refused)
            if prepared.ended.exit_code != 0 or prepared.ended.excess:
                failed = _failed_words(prepared.ended, self.world.redact)
                return f"{what} {failed}{_refused_words(prepared.refused)}"
        if what_to_keep is not None and begun:
            await self._keep(what_to_keep, begun)
        return ""

    # What goes wrong with kept setups costs time, and no agent.

    @property
    def _kept(self) -> SetupOrder | None:
        """What tells equal setups; None: nothing does."""
        if not (self.checkout.is_fresh and self.checkout.dependencies):
            return None
        return SetupOrder(
            repository_id=self.agent.repository_id,
            commands=self.agent.assignment.setup,
            script=self.agent.assignment.setup_script,
            dependencies=self.checkout.dependencies,
            workspace=self.checkout.directory,
            environment=self.environment,
        )

    async def _taken(self) -> datetime | None:
        if (wanted := self._kept) is None:
            return None
        try:
            made_at = await self.world.setups.take(wanted, self.world.clock.now())
        except OSError as error:
            self._say("kept setups cannot be taken: %s", error)
            return None
        if made_at is not None:
            self._say("a setup was taken from the one that ran at %s", made_at)
        return made_at

    async def _keep(self, what: SetupOrder, begun: str) -> None:
        try:
            why = await self.world.setups.keep(what, begun, self.world.clock.now())
        except OSError as error:
            why = str(error)
        if why:
            self._say("what a setup made is not kept: %s", self.world.redact(why))

    async def _tell(self, refused: Sequence[RefusedHost]) -> None:
        now = self.world.clock.now()
        for each in refused:
            where = {"agent": str(self.agent.id), "host": each.host, "times": each.times}
            log.warning("a setup did not reach a host: %s", each.why, extra=where)
        if refused:
            await self.record(
                [
                    HostRefused(at=now, host=each.host, why=each.why, times=each.times)
                    for each in refused
                ]
            )

    def _say(self, what: str, why: object) -> None:
        log.info(what, why, extra={"agent": str(self.agent.id)})


async def made_ready(
    setting_up: SettingUp, anew: Callable[[], Awaitable[Checkout]]
) -> SetUp | SetupFailed | None:
    """As `SettingUp.run`. Where a kept setup could not be taken, parts of it may lie in the clone:
    then the setup runs in a clone that is made `anew`. Raises what that raises, too."""
    try:
        return await setting_up.run()
    except KeptSetupFailed as error:
        where = {"agent": str(setting_up.agent.id)}
        log.warning("a kept setup could not be taken, so it runs: %s", error, extra=where)
    return await replace(setting_up, checkout=await anew()).run(takes_kept=False)


def _commands(agent: Agent) -> Iterator[tuple[str, Sequence[str]]]:
    """Each with its name for people."""
    for command in agent.assignment.setup:
        yield f"The setup command `{command}`", in_shell(command)
    if script := agent.assignment.setup_script:
        yield f"`{SCRIPT}`", script_in_shell(script, SCRIPT)


def in_shell(command: str) -> Sequence[str]:
    """The arguments that run a command of a configuration."""
    return ["bash", "-o", "pipefail", "-c", command]


def checkout_in_shell(where: str) -> Sequence[str]:
    """The arguments that check something else out; tracked files become what it holds."""
    return in_shell(f"git checkout --quiet --force {where}")


def script_in_shell(script: str, path: str) -> Sequence[str]:
    """The arguments that run a script by its content, with its path as `$0`: the file that is in a
    clone may be another by now."""
    return ["bash", "-e", "-o", "pipefail", "-c", script, path]


def _failed_words(ended: Ended, redact: Redactor) -> str:
    if ended.excess:
        how = f"took too much of the disk. {ended.excess} Its output"
    elif ended.exit_code is None:
        how = f"did not end within {SETUP_SECONDS:.0f} s"
    else:
        how = f"ended with exit code {ended.exit_code}"
    return f"{how}: {redact.tail(ended.output.strip(), SETUP_OUTPUT_CHARACTERS)}"


def _refused_words(refused: Sequence[RefusedHost]) -> str:
    """Whom it asked for, as that is often the reason."""
    if not refused:
        return ""
    named = "; ".join(f"{each.host} {each.why}" for each in refused[:MOST_HOSTS_NAMED])
    more = len(refused) - MOST_HOSTS_NAMED
    return f"\nIt did not reach: {named}" + (f"; and {more} more" if more > 0 else "")
