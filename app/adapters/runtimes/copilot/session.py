"""A session with the Copilot CLI: one turn at a time, interrupted or closed from outside."""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from copilot.generated.rpc import PermissionDecisionReject

from app.adapters.runtimes.closing import reported
from app.adapters.runtimes.copilot.bounds import Bounds
from app.adapters.runtimes.copilot.cli import Cli, CliFailed
from app.adapters.runtimes.copilot.hooks import Hooks
from app.adapters.runtimes.copilot.installed import files
from app.adapters.runtimes.copilot.options import (
    base_directory,
    environment,
    forget_all_but_the_conversation,
    outputs,
    session_id,
    session_options,
    was_begun,
    without_servers,
)
from app.adapters.runtimes.copilot.owntools import OwnTools
from app.adapters.runtimes.copilot.relay import Relay
from app.adapters.runtimes.copilot.translating import shortened
from app.adapters.runtimes.door import ModelDoor
from app.adapters.runtimes.gate import ClosedGate
from app.core.agents.events import Phase
from app.ports import (
    Gate,
    Halted,
    Idle,
    Processes,
    ProviderAway,
    Report,
    RuntimeFailed,
    SessionOrder,
    Stay,
    TurnEnd,
    Walls,
)

SUMMARY_TOKENS: Final = 1_500
"""Most output of one answer that only says what was done."""
_PLANNED: Final = "planned"
"""The file that says that the first turn has ended: later processes find it."""
_CLOSE_SECONDS: Final = 30.0
_DIED: Final = "the Copilot CLI died in the middle of a turn"

log = logging.getLogger("squadron.copilot")


class CopilotSession:
    """One agent's conversation; a `Session` of the ports. `start` it once, `close` it always."""

    def __init__(
        self, order: SessionOrder, gate: Gate, processes: Processes, walls: Walls, bounds: Bounds
    ) -> None:
        self._order = order
        self._processes = processes
        self._walls = walls
        self._bounds = bounds
        self._tools = OwnTools(order)
        self._hooks = Hooks(
            ClosedGate(gate, bounds.gate_seconds),
            self._tools.closing,
            self._tools.granted,
            bounds,
            self._end_turn,
            self._tools_ended,
        )
        self._planned = order.session_directory / _PLANNED
        self._open = AsyncExitStack()
        self._background: set[asyncio.Task[None]] = set()
        self._running: asyncio.Task[TurnEnd] | None = None
        self._is_closed = False
        self._cli: Cli
        self._door: ModelDoor
        self._relay: Relay
        self._sdk: Any = None
        self._begin_listening()
        self.is_resumed = was_begun(order)

    @property
    def cli_pid(self) -> int | None:
        """The process of the CLI; None: it was not started."""
        return self._cli.pid

    async def start(
        self, program: Path, cache: Path, door: AbstractAsyncContextManager[ModelDoor]
    ) -> None:
        """Start this CLI, unpacked in `cache`, and open or resume the conversation.

        Raises `ModelUnusable`, `OSError`, `RuntimeError`.
        """
        order, bounds = self._order, self._bounds
        workspace = self._walls.name_inside(order.workspace)
        options = session_options(replace(order, workspace=workspace), self._tools.names)
        await asyncio.to_thread(forget_all_but_the_conversation, order)
        self._door = await self._open.enter_async_context(door)
        self._relay = Relay(self._door, bounds.request_seconds)
        self._open.push_async_callback(self._relay.close)
        given = environment(order, cache)
        for directory in (writable := (base_directory(order), outputs(order))):
            directory.mkdir(parents=True, exist_ok=True)
        servers = await asyncio.to_thread(without_servers, order)
        readable = (*files(program, given["PATH"]), cache, servers)
        stay = Stay(order.workspace, given, readable=readable, writable=writable)
        entered = await self._open.enter_async_context(self._walls.around(stay))
        self._cli = Cli([*entered.before, str(program)], given, self._processes, bounds)
        self._open.push_async_callback(self._cli.stop)
        try:
            await self._cli.start(base_directory(order), order.workspace, self._relay)
            async with asyncio.timeout(bounds.start_seconds):
                self._sdk = await self._conversation(options)
        except CliFailed as error:
            raise RuntimeError(str(error)) from error
        except TimeoutError as error:
            raise RuntimeError("the Copilot CLI opened no session in time") from error

    async def _conversation(self, options: dict[str, Any]) -> Any:
        client, name = self._cli.client, session_id(self._order)
        given = {
            **options,
            "tools": self._tools.for_cli(),
            "on_event": self._heard,
            "on_permission_request": _reject,
            "hooks": {
                "on_pre_tool_use": self._hooks.before,
                "on_post_tool_use": self._hooks.after,
                "on_post_tool_use_failure": self._hooks.after_failure,
            },
        }
        if self.is_resumed:
            return await client.resume_session(name, continue_pending_work=False, **given)
        return await client.create_session(session_id=name, **given)

    # --- turns ------------------------------------------------------------------------------

    async def turn(self, prompt: str) -> TurnEnd:
        """Send a prompt and wait until the session is idle, reported, or was halted.

        Raises `RuntimeError` if a turn is running already.
        """
        return await self._run(prompt, None)

    async def summarise(self, prompt: str, most_model_calls: int) -> TurnEnd:
        """As `turn`, in short answers. At its bound of model calls it ends as `Halted`."""
        return await self._run(prompt, most_model_calls)

    async def _run(self, prompt: str, most_model_calls: int | None) -> TurnEnd:
        if self._is_closed:
            return RuntimeFailed("the session is closed")
        if self._running is not None:
            raise RuntimeError("a session runs one turn at a time")
        self._running = asyncio.create_task(self._turn(prompt, most_model_calls))
        try:
            return await self._running
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if self._is_closed and this is not None and not this.cancelling():
                return Halted("")  # close() ended the turn, nobody ended the caller
            raise
        finally:
            self._running = None

    async def _turn(self, prompt: str, most_model_calls: int | None) -> TurnEnd:
        phase = self._begin_turn(most_model_calls)
        try:
            await self._asked(self._sdk.send(prompt))
            await self._until_idle()
        except CliFailed as error:
            await self._cli.kill()
            return self._failed(str(error))
        finally:
            self._relay.is_shut = True
            self._hooks.is_ending = True
            await self._hooks.cut_off()
        end = self._end()
        if phase is Phase.PLANNING and isinstance(end, Idle | Report):
            await asyncio.to_thread(self._planned.touch)
        return end

    def _begin_turn(self, most_model_calls: int | None) -> Phase:
        order = self._order
        is_planning = order.planning_model is not None and not self._planned.exists()
        phase = Phase.PLANNING if is_planning else Phase.EXECUTION
        most_output = order.most_output_tokens
        if most_model_calls is not None:
            most_output = min(most_output or SUMMARY_TOKENS, SUMMARY_TOKENS)
        self._door.begin_turn(
            model=(is_planning and order.planning_model) or order.model,
            phase=phase,
            most_output_tokens=most_output,
        )
        self._begin_listening()
        self._tools.closed = None
        self._hooks.begin_turn()
        self._relay.calls_left = most_model_calls
        self._relay.is_shut = False
        return phase

    def _begin_listening(self) -> None:
        self._text = ""
        self._error = ""
        self._has_to_end = False
        self._answered = asyncio.Event()
        """The agent says and does nothing more by itself."""
        self._idle = asyncio.Event()
        """Nothing that it started runs any more, either."""
        self._stopping = asyncio.Event()
        """The CLI was told to stop."""

    async def _until_idle(self) -> None:
        """Raises `CliFailed` if the CLI dies or does not stop."""
        watched = (self._answered, self._idle, self._stopping, self._door.stopped)
        while not (self._idle.is_set() or self._answered.is_set() or self._stopping.is_set()):
            await self._first(*watched)
            if self._door.stopped.is_set():
                self._end_turn()
        if self._idle.is_set():
            return
        if not self._stopping.is_set():
            await self._first(self._idle, seconds=self._bounds.background_seconds)
            if not self._idle.is_set():  # what still runs has nobody to tell its end to
                self._abort()
        await self._first(self._idle, seconds=self._bounds.idle_seconds)
        if not self._idle.is_set():
            raise CliFailed("the Copilot CLI did not stop when it was told to; it was killed")

    async def _first(self, *events: asyncio.Event, seconds: float | None = None) -> None:
        """Wait for one of the events, at most so long. Raises `CliFailed` if the CLI dies."""
        waiting = [asyncio.create_task(each.wait()) for each in (*events, self._cli.died)]
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        if self._cli.died.is_set():
            raise CliFailed(self._cli.end or _DIED)

    async def _asked(self, asking: Coroutine[Any, Any, Any]) -> None:
        """An order to the CLI, within its bound. Raises `CliFailed`."""
        try:
            async with asyncio.timeout(self._bounds.ask_seconds):
                await asking
        except Exception as error:
            mute = f"the Copilot CLI does not answer ({type(error).__name__})"
            raise CliFailed(self._cli.end or mute) from error

    def _end(self) -> TurnEnd:
        text = shortened(self._text, self._bounds.most_text_characters)
        if self._hooks.broken is not None:
            return RuntimeFailed(str(self._hooks.broken))
        if self._tools.closed is not None:
            return reported(self._tools.closed)
        if self._door.failed is not None:
            return self._failed(self._door.failed)
        if self._has_to_end or self._relay.calls_left == 0:
            return Halted(text)
        if self._error:
            return self._failed(f"the Copilot CLI gave the turn up: {self._error}")
        return Idle(text)

    def _failed(self, reason: str) -> RuntimeFailed | ProviderAway:
        """Whose fault it is, the door knows, however the CLI ended."""
        away = self._door.away
        return RuntimeFailed(reason) if away is None else ProviderAway(away)

    # --- stopping ---------------------------------------------------------------------------

    async def interrupt(self) -> None:
        """Make the running turn end as `Halted`: no further model call, running tools may end."""
        if self._running is not None:
            self._end_turn()

    def _end_turn(self) -> None:
        """No further model call and no further tool; those that run may end."""
        self._has_to_end = True
        self._hooks.is_ending = True
        self._relay.is_shut = True
        self._tools_ended()

    def _tools_ended(self) -> None:
        if self._has_to_end and not self._hooks.runs_tools:
            self._abort()

    def _abort(self) -> None:
        """Not awaited: a hook may ask for it, and would wait for itself."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        task = asyncio.create_task(self._ordered_to_stop())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _ordered_to_stop(self) -> None:
        try:
            await self._asked(self._sdk.abort())
        except CliFailed as error:  # the turn's own bound sees to it
            log.warning("%s", error)

    async def close(self) -> None:
        """Stop everything, children included. May be called at any time, more than once."""
        self._is_closed = True
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running], timeout=_CLOSE_SECONDS)
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._save()
        await self._open.aclose()

    async def _save(self) -> None:
        """The CLI writes what was said when it likes, and all of it when its session is closed."""
        if self._sdk is None or self._cli.died.is_set():
            return
        with suppress(Exception):  # what is not saved is said again: the agent starts anew
            async with asyncio.timeout(self._bounds.save_seconds):
                await self._sdk.disconnect()

    # --- events -----------------------------------------------------------------------------

    def _heard(self, event: Any) -> None:
        """An event of the CLI; those of a kind that nobody knows are let pass."""
        if event.agent_id is not None:
            return
        match event.type.value:
            case "assistant.message":
                self._text = event.data.content or self._text
            case "assistant.idle":
                self._answered.set()
            case "session.idle":
                self._idle.set()
            case "session.error":
                status = event.data.status_code
                with_status = "" if status is None else f", HTTP status {status}"
                self._error = f"{str(event.data.error_type)[:100]}{with_status}"
            case _:
                pass


async def _reject(request: object, invocation: object) -> Any:
    """The second wall: what reaches it had no verdict."""
    return PermissionDecisionReject(feedback="no verdict of the circuit breaker")
