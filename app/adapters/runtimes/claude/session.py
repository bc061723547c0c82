"""A session: the CLI is started for its first turn, and again after it has died."""

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from app.adapters.runtimes.claude.bounds import Bounds
from app.adapters.runtimes.claude.calls import Confines, offered
from app.adapters.runtimes.claude.hooks import Hooks
from app.adapters.runtimes.claude.launch import (
    SESSION_VARIABLE,
    Place,
    arguments,
    by_socket,
    environment,
    system_prompt,
)
from app.adapters.runtimes.claude.process import CliFailed, CliProcess
from app.adapters.runtimes.claude.turn import DoorGate, Offer, Turn
from app.adapters.runtimes.closing import closing_tools, reported
from app.adapters.runtimes.door import ModelDoor, OpenDoor
from app.adapters.runtimes.gate import ClosedGate
from app.adapters.runtimes.serving import ServedTools
from app.core.agents.events import Phase
from app.core.text.redact import redact
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
_WATCH_SECONDS: Final = 0.5
_GRACE_SECONDS: Final = 10.0
"""What the CLI gets to end its turn when the door is shut."""
_PLANNED: Final = "planned"
_MOST_REASON_CHARACTERS: Final = 500


class ClaudeSession:
    """One agent's conversation; a `Session` of the ports."""

    def __init__(
        self,
        order: SessionOrder,
        gate: Gate,
        processes: Processes,
        walls: Walls,
        open_door: OpenDoor,
        bounds: Bounds,
        cli: Path,
    ) -> None:
        """Raises `OSError`."""
        served, closing = ServedTools(order), closing_tools(order)
        self._order = order
        self._gate = ClosedGate(gate, bounds.gate_seconds)
        self._door_gate = DoorGate(gate)
        self._processes = processes
        self._walls = walls
        self._open_door = open_door
        self._bounds = bounds
        self._cli = cli
        self._place = Place(order)
        self._place.prepare(system_prompt(order, [*served.offered, *closing]))
        self._offer = Offer(
            frozenset(offered(order)),
            frozenset(served.offered),
            frozenset(closing),
            Confines(order.workspace, walls.name_inside(order.workspace)),
        )
        self._hooks = Hooks(served, closing, bounds)
        self._marker = f"{order.session_directory}"
        self.is_resumed = self._place.found_conversation()
        self._doors = AsyncExitStack()
        self._inside = AsyncExitStack()
        """Where the CLI runs, while it does."""
        self._door: ModelDoor | None = None
        self._process: CliProcess | None = None
        self._client: ClaudeSDKClient | None = None
        self._turn: Turn | None = None
        self._running: asyncio.Task[TurnEnd] | None = None
        self._text = ""
        self._closed = False

    @property
    def cli_pid(self) -> int | None:
        """The process of the CLI, while it runs."""
        return None if self._process is None else self._process.pid

    async def turn(self, prompt: str) -> TurnEnd:
        """Send a prompt and wait until the session is idle, reported, or was halted.

        Raises `RuntimeError` if a turn is running already.
        """
        return await self._run(prompt, None)

    async def summarise(self, prompt: str, most_model_calls: int) -> TurnEnd:
        """As `turn`, in short answers. At its bound of model calls it ends as `Halted`."""
        return await self._run(prompt, most_model_calls)

    async def interrupt(self) -> None:
        """Make the running turn end as `Halted`: no further model call, running tools may end."""
        turn = self._turn
        if turn is not None:
            turn.is_interrupted = True
            if not turn.running:
                await self._stop_cli()

    async def close(self) -> None:
        """Stop everything, children included. May be called at any time, more than once."""
        self._closed = True
        is_idle = self._running is None
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        await self._end_cli(gently=is_idle)
        self._door = None
        await self._doors.aclose()

    async def _run(self, prompt: str, most_model_calls: int | None) -> TurnEnd:
        if self._closed:
            return RuntimeFailed("the session is closed")
        if self._running is not None:
            raise RuntimeError("a session runs one turn at a time")
        self._running = asyncio.create_task(self._turned(prompt, most_model_calls))
        try:
            return await self._running
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if self._closed and this is not None and not this.cancelling():
                return Halted("")  # close() ended the turn, nobody ended the caller
            self._running.cancel()
            await asyncio.wait([self._running])
            raise
        finally:
            self._running = None

    async def _turned(self, prompt: str, most_model_calls: int | None) -> TurnEnd:
        turn = Turn(self._gate, self._offer, self._bounds, most_model_calls)
        self._turn = self._hooks.turn = self._door_gate.turn = turn
        self._text = ""
        phase = self._phase()
        try:
            client, door = await self._ready(phase, is_summary=most_model_calls is not None)
            if turn.is_interrupted:
                return self._halted()
            await client.query(prompt)
            result = await self._heard(client, door, turn)
            await turn.is_over()
            end = self._end(turn, door, result)
        except Exception as error:  # the SDK raises it bare where the CLI refuses a request
            await self._end_cli(gently=False)
            end = self._failed(f"Claude Code cannot go on: {_words(error)}")
        finally:
            self._turn = self._hooks.turn = self._door_gate.turn = None
            with suppress(Exception):
                await turn.is_over()
        if phase is Phase.PLANNING and isinstance(end, Idle | Report):
            (self._order.session_directory / _PLANNED).touch()
        return end

    async def _ready(self, phase: Phase, *, is_summary: bool) -> tuple[ClaudeSDKClient, ModelDoor]:
        """The CLI, started if it does not run. Raises `CliFailed`, and what the SDK raises."""
        order = self._order
        if self._door is None:
            opened = self._open_door(order, self._door_gate)
            self._door = await self._doors.enter_async_context(opened)
        door = self._door
        most = order.most_output_tokens
        if is_summary:
            most = min(most or SUMMARY_TOKENS, SUMMARY_TOKENS)
        planning = phase is Phase.PLANNING and order.planning_model
        door.begin_turn(model=planning or order.model, phase=phase, most_output_tokens=most)
        if self._client is None:
            self._client = await self._started(door)
        return self._client, door

    async def _started(self, door: ModelDoor) -> ClaudeSDKClient:
        order, bounds = self._order, self._bounds
        tools = offered(order)
        resume = self._place.found_conversation()
        given = environment(order, self._place, door, bounds, self._marker)
        stay = Stay(
            order.workspace,
            given,
            readable=(self._cli, self._place.system_prompt),
            writable=self._place.shared(),
            door=door.socket,
        )
        entered = await self._inside.enter_async_context(self._walls.around(stay))
        process = CliProcess(
            arguments(self._cli, order, self._place, tools, resume=resume),
            order.workspace,
            given | by_socket(entered.door),
            bounds,
            entered.before,
        )
        self._process = process
        # Its flags are given above: the SDK gives them only to a process that it starts itself.
        options = ClaudeAgentOptions(
            hooks=self._hooks.matchers(),
            mcp_servers={"squadron": self._hooks.server()},
            skills=[],
            verbatim_prompts=True,  # `@path` and `/command` of an issue's author are only words
        )
        client = ClaudeSDKClient(options, transport=process)
        try:
            async with asyncio.timeout(bounds.start_seconds):
                await client.connect()
        except TimeoutError as error:
            raise CliFailed(f"it did not start within {bounds.start_seconds:g} seconds") from error
        return client

    async def _heard(self, client: ClaudeSDKClient, door: ModelDoor, turn: Turn) -> ResultMessage:
        """What ends the turn, as the CLI says it. Raises `CliFailed`, and what the SDK raises."""
        reading = asyncio.create_task(self._read(client, turn))
        silent, shut, last = 0.0, 0.0, -1
        try:
            while True:
                await asyncio.wait([reading], timeout=_WATCH_SECONDS)
                if reading.done():
                    return reading.result()
                is_quiet = self._hooks.heard == last and not turn.running
                silent = silent + _WATCH_SECONDS if is_quiet else 0.0
                last = self._hooks.heard
                is_shut = door.stopped.is_set() or (turn.must_stop and not turn.running)
                shut = shut + _WATCH_SECONDS if is_shut else 0.0
                if shut >= _GRACE_SECONDS:
                    raise CliFailed("it did not end its turn when it was told to")
                if silent >= self._bounds.silent_seconds:
                    raise CliFailed(f"nothing was heard of it for {silent:.0f} seconds")
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, client: ClaudeSDKClient, turn: Turn) -> ResultMessage:
        asked: dict[str, ToolUseBlock] = {}
        async for message in client.receive_response():
            self._hooks.heard += 1
            match message:
                case ResultMessage():
                    return message
                case AssistantMessage(content=blocks, error=None, parent_tool_use_id=None):
                    calls = [each for each in blocks if isinstance(each, ToolUseBlock)]
                    asked.update({each.id: each for each in calls})
                    said = "".join(each.text for each in blocks if isinstance(each, TextBlock))
                    self._text = said or self._text
                case UserMessage(content=list() as blocks):
                    for block in blocks:
                        if isinstance(block, ToolResultBlock) and block.tool_use_id in asked:
                            call = asked.pop(block.tool_use_id)
                            await turn.refused_by_cli(call.name, call.input, call.id)
                case _:
                    pass
        raise CliFailed("it broke off in the middle of a turn")

    def _end(self, turn: Turn, door: ModelDoor, result: ResultMessage) -> TurnEnd:
        """What matters first: an end that could not be counted, then what the agent said."""
        if turn.broken is not None:
            return RuntimeFailed(str(turn.broken))
        if turn.closing is not None:
            return reported(turn.closing)
        if door.failed is not None:
            return self._failed(door.failed)
        if turn.is_halted or turn.is_interrupted or door.halted is not None:
            return self._halted()
        if result.is_error:
            said = result.result or "; ".join(result.errors or ()) or result.subtype
            return self._failed(f"Claude Code could not go on: {_shortened(said)}")
        return Idle(self._last_words())

    def _failed(self, reason: str) -> RuntimeFailed | ProviderAway:
        """Whose fault it is, the door knows, however the CLI ended."""
        away = None if self._door is None else self._door.away
        return RuntimeFailed(reason) if away is None else ProviderAway(away)

    async def _stop_cli(self) -> None:
        """Tell it that the turn is over; one that does not hear is ended by `_heard`."""
        if self._client is not None:
            with suppress(Exception):
                async with asyncio.timeout(self._bounds.control_seconds):
                    await self._client.interrupt()

    async def _end_cli(self, *, gently: bool) -> None:
        """End the CLI and everything that it started."""
        client, process = self._client, self._process
        self._client = self._process = None
        try:
            if process is not None:
                if gently:  # it saves the conversation
                    await process.end_input()
                    await process.ended(self._bounds.goodbye_seconds)
                await process.close()
                await self._processes.kill_marked(self._marker, SESSION_VARIABLE)
        finally:
            await self._inside.aclose()
        if client is not None:
            with suppress(Exception):
                await client.disconnect()

    def _phase(self) -> Phase:
        """The first turn plans, until the agent itself has ended it."""
        plans = self._order.planning_model is not None
        is_planned = (self._order.session_directory / _PLANNED).exists()
        return Phase.PLANNING if plans and not is_planned else Phase.EXECUTION

    def _halted(self) -> Halted:
        return Halted(self._last_words())

    def _last_words(self) -> str:
        text, most = self._text.strip(), self._bounds.most_text_characters
        if len(text) <= most:
            return text
        half = most // 2
        return f"{text[:half]}\n[… {len(text) - 2 * half} characters cut …]\n{text[-half:]}"


def _words(error: Exception) -> str:
    return _shortened(str(error) or type(error).__name__)


def _shortened(text: str) -> str:
    return redact(text)[:_MOST_REASON_CHARACTERS]
