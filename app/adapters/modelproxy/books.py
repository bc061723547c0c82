"""The books of one proxy: what the gate said, what was counted, and why nothing is sent any more.

They fail closed: no answer of the gate, a late one and an exception are all a denial, and an
answer that could not be counted is the last one of its turn.
"""

import asyncio
import logging
from dataclasses import dataclass

from app.adapters.modelproxy.bounds import Bounds
from app.adapters.modelproxy.reading import Billed
from app.core.agents.events import Phase
from app.core.breaker.verdict import Answer, Verdict
from app.core.rules.outages import REFUSED_STATUSES, ProviderFailure, is_away, provider_of
from app.ports import Gate, ModelRequest, ModelUsage

log = logging.getLogger("squadron.modelproxy")


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for the requests of one turn."""

    model: str
    """`provider:name`."""
    phase: Phase
    most_output_tokens: int | None

    @property
    def name(self) -> str:
        """The model as its provider knows it."""
        return self.model.partition(":")[2]


class NotCounted(Exception):
    """An answer could not be recorded; nothing may go on uncounted."""


class Books:
    """Asks and tells the gate for all requests of one session."""

    def __init__(self, gate: Gate, terms: Terms, bounds: Bounds) -> None:
        self._gate = gate
        self._bounds = bounds
        self._failures = 0
        self._untold: list[str] = []
        self.terms = terms
        self.halted: Verdict | None = None
        self.failed: str | None = None
        self.away: ProviderFailure | None = None
        """How the endpoint failed last, if it has not answered since and it is the provider that
        fails."""
        self.stopped = asyncio.Event()

    def begin_turn(self, terms: Terms) -> None:
        """What stopped the turn before stops no other; the gate still has its word."""
        self.terms = terms
        self.halted = None
        self.failed = None
        self.away = None
        self._failures = 0
        self.stopped.clear()

    async def ask(self, request: ModelRequest) -> Verdict:
        """The gate's verdict, or a denial that says why there is none."""
        try:
            async with asyncio.timeout(self._bounds.gate_seconds):
                verdict = await self._gate.before_model(request)
        except Exception as error:  # whatever went wrong, nothing must be sent
            verdict = Verdict(
                Answer.DENY,
                f"The circuit breaker gave no verdict ({type(error).__name__}); nothing is sent to"
                " a model without one.",
            )
        if verdict.answer is Answer.WARN:
            self._untold.append(verdict.reason)
        if not verdict.allowed and self.halted is None:
            self.halted = verdict
            self.stopped.set()
        return verdict

    def notes(self) -> tuple[str, ...]:
        """Warnings that no answered request has carried yet."""
        return tuple(self._untold)

    def told(self, notes: tuple[str, ...]) -> None:
        """A request with these warnings was answered."""
        self._untold = [each for each in self._untold if each not in notes]

    async def count(self, terms: Terms, billed: Billed, *, has_text: bool, is_whole: bool) -> None:
        """Tell the gate of an answer. Raises `NotCounted`."""
        usage = ModelUsage(
            terms.model,
            billed.input_tokens,
            billed.output_tokens,
            billed.cache_read_tokens,
            billed.cache_write_tokens,
            terms.phase,
            has_text,
            billed.is_estimate,
            is_whole,
        )
        try:
            async with asyncio.timeout(self._bounds.gate_seconds):
                await self._gate.used(usage)
        except Exception as error:  # whatever went wrong, it was not counted
            kind = type(error).__name__
            words = f"the agent was stopped: what it used could not be recorded ({kind})"
            self.away = None
            self._stop(words)
            raise NotCounted(words) from error

    def went_well(self) -> None:
        """The model's endpoint has given a whole answer."""
        self._failures = 0
        self.away = None

    def went_wrong(
        self,
        words: str,
        *,
        status: int | None = None,
        is_final: bool = False,
        retry_after_seconds: float | None = None,
    ) -> None:
        """The model's endpoint has failed; finally, or once more in a row. `status`: of its answer;
        None: there was none, or not all of it."""
        self._failures += 1
        self.away = None
        if status is None or is_away(status):
            self.away = ProviderFailure(
                provider_of(self.terms.model),
                words,
                status in REFUSED_STATUSES,
                retry_after_seconds,
            )
        log.warning("the model failed (%d in a row): %s", self._failures, words)
        if is_final or self._failures >= self._bounds.most_failures:
            times = "1 try" if self._failures == 1 else f"{self._failures} tries in a row"
            self._stop(f"{words} ({times})")

    def _stop(self, words: str) -> None:
        if self.failed is None:
            self.failed = words
            self.stopped.set()
