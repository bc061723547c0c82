"""A session: one turn at a time, interrupted or closed from outside."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack

from pydantic_ai.messages import InstructionPart
from pydantic_ai.models import Model, ModelRequestParameters

from app.adapters.runtimes.embedded.bounds import Bounds, Sleep
from app.adapters.runtimes.embedded.conversation import Conversation, guessed_tokens
from app.adapters.runtimes.embedded.kept import KeptResults
from app.adapters.runtimes.embedded.results import ResultGuard
from app.adapters.runtimes.embedded.tools import Toolbox
from app.adapters.runtimes.embedded.turn import Desk, Turn
from app.adapters.runtimes.gate import ClosedGate
from app.core.agents.events import Phase
from app.ports import Gate, Halted, Processes, RuntimeFailed, SessionOrder, TurnEnd

CLOSE_SECONDS = 30.0


class EmbeddedSession:
    """One agent's conversation; a `Session` of the ports."""

    def __init__(
        self,
        order: SessionOrder,
        gate: Gate,
        models: Mapping[str, Model],
        processes: Processes,
        bounds: Bounds,
        sleep: Sleep,
    ) -> None:
        """Resume what `order.session_directory` holds; `models` has all that the order names.

        Raises `OSError` and `SessionDamaged`.
        """
        conversation = Conversation(order.session_directory)
        kept = KeptResults(
            order.session_directory, bounds.most_kept_results, bounds.most_kept_bytes
        )
        tools = Toolbox(order, processes, kept)
        offer = ModelRequestParameters(
            function_tools=tools.definitions(),
            instruction_parts=[InstructionPart(content=order.system_prompt)],
        )
        self.is_resumed = bool(conversation.messages)
        self._desk = Desk(
            order,
            models,
            offer,
            _guessed_tokens(offer),
            ClosedGate(gate, bounds.gate_seconds),
            tools,
            ResultGuard(kept, bounds),
            conversation,
            bounds,
            sleep,
        )
        self._interrupted = asyncio.Event()
        self._running: asyncio.Task[TurnEnd] | None = None
        self._connections: AsyncExitStack | None = None
        self._closed = False

    async def turn(self, prompt: str) -> TurnEnd:
        """Send a prompt and wait until the session is idle, reported, or was halted.

        Raises `RuntimeError` if a turn is running already.
        """
        return await self._run(prompt, None)

    async def summarise(self, prompt: str, most_model_calls: int) -> TurnEnd:
        """As `turn`, in short answers. At its bound of model calls it ends as `Halted`."""
        return await self._run(prompt, most_model_calls)

    async def _run(self, prompt: str, most_model_calls: int | None) -> TurnEnd:
        if self._closed:
            return RuntimeFailed("the session is closed")
        if self._running is not None:
            raise RuntimeError("a session runs one turn at a time")
        self._interrupted.clear()
        turn = Turn(self._desk, prompt, self._phase(), most_model_calls, self._interrupted)
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
            async with AsyncExitStack() as connections:
                for model in self._desk.models.values():
                    await connections.enter_async_context(model)
                self._connections = connections.pop_all()
        return await turn.run()

    def _phase(self) -> Phase:
        """The first turn plans, until the agent itself has ended it; see `Turn`."""
        plans = self._desk.order.planning_model is not None
        is_planned = self._desk.conversation.is_planned
        return Phase.PLANNING if plans and not is_planned else Phase.EXECUTION


def _guessed_tokens(offer: ModelRequestParameters) -> int:
    """About what the system prompt and the tools add to each request."""
    prompts = [part.content for part in offer.instruction_parts or ()]
    tools = [
        f"{tool.name} {tool.description} {json.dumps(tool.parameters_json_schema)}"
        for tool in offer.function_tools
    ]
    return sum(guessed_tokens(each) for each in (*prompts, *tools))
