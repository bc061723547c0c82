"""A session: one turn at a time, interrupted or closed from outside."""

import asyncio
from contextlib import AsyncExitStack

from pydantic_ai.messages import InstructionPart
from pydantic_ai.models import Model, ModelRequestParameters

from app.adapters.runtimes.embedded.bounds import Bounds
from app.adapters.runtimes.embedded.conversation import Conversation
from app.adapters.runtimes.embedded.gate import ClosedGate
from app.adapters.runtimes.embedded.tools import Toolbox
from app.adapters.runtimes.embedded.turn import Desk, Turn
from app.ports import Gate, Halted, Processes, RuntimeFailed, SessionOrder, TurnEnd

CLOSE_SECONDS = 30.0


class EmbeddedSession:
    """One agent's conversation; a `Session` of the ports."""

    def __init__(
        self, order: SessionOrder, gate: Gate, model: Model, processes: Processes, bounds: Bounds
    ) -> None:
        """Resume what `order.session_directory` holds. Raises `OSError` and `ValueError`."""
        tools = Toolbox(order, processes)
        offer = ModelRequestParameters(
            function_tools=tools.definitions(),
            instruction_parts=[InstructionPart(content=order.system_prompt)],
        )
        conversation = Conversation(order.session_directory)
        self.is_resumed = bool(conversation.messages)
        self._desk = Desk(
            order,
            model,
            offer,
            ClosedGate(gate, bounds.gate_seconds),
            tools,
            conversation,
            bounds,
        )
        self._interrupted = asyncio.Event()
        self._running: asyncio.Task[TurnEnd] | None = None
        self._connections: AsyncExitStack | None = None
        self._closed = False

    async def turn(self, prompt: str, most_model_calls: int | None = None) -> TurnEnd:
        """Send a prompt and wait until the session is idle, reported, or was halted.

        At its bound of model calls the turn ends as `Halted`. Raises `RuntimeError` if a turn is
        running already.
        """
        if self._closed:
            return RuntimeFailed("the session is closed")
        if self._running is not None:
            raise RuntimeError("a session runs one turn at a time")
        self._interrupted.clear()
        turn = Turn(self._desk, prompt, most_model_calls, self._interrupted)
        self._running = asyncio.create_task(self._connected(turn))
        try:
            return await self._running
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if self._closed and this is not None and not this.cancelling():
                return Halted("")  # close() ended the turn, nobody ended the caller
            raise
        finally:
            self._running = None

    async def interrupt(self) -> None:
        """Make the running turn end as `Halted`: no further model call, running tools may end."""
        self._interrupted.set()

    async def close(self) -> None:
        """Stop everything, children included. May be called at any time, more than once."""
        self._closed = True
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running], timeout=CLOSE_SECONDS)
        if self._connections is not None:
            connections, self._connections = self._connections, None
            await connections.aclose()

    async def _connected(self, turn: Turn) -> TurnEnd:
        """Run a turn while the model's connections are open; they stay so until `close`."""
        if self._connections is None:
            connections = AsyncExitStack()
            await connections.enter_async_context(self._desk.model)
            self._connections = connections
        return await turn.run()
