"""A model's endpoint in trouble, for ever: every runtime gives up within bounds and says why."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.adapters.modelproxy import Bounds as DoorBounds
from app.core.rules import outages
from app.core.rules.plan import RuntimeName
from app.ports import ProviderAway
from app.scripted.script import Answer, Failure, Step
from tests.contract.benches import BENCHES, CopilotBench, EmbeddedBench
from tests.contract.embedded import KEY
from tests.contract.runtime_contract import Bench, empty_server
from tests.support.clis import RUNTIMES
from tests.support.sandbox import HAS_SANDBOX

TROUBLES: dict[str, tuple[Step, str]] = {
    "it hangs": (Answer("late", think_seconds=600), "within 1 seconds"),
    "half an answer": (Answer("hello " * 200, breaks_off=True), "broke off"),
    "401": (Failure(401), "401"),
    "402": (Failure(402), "402"),
    "403": (Failure(403), "403"),
    "429": (Failure(429), "429"),
    "500": (Failure(500), "500"),
}
"""What it does each time it is asked, and what the reason says of it."""
MOST_REQUESTS = 5
"""Of the door, and of the embedded runtime."""


@pytest.fixture(params=RUNTIMES)
def bench(request: pytest.FixtureRequest, tmp_path: Path, copilot_cache: Path) -> Iterator[Bench]:
    runtime: RuntimeName = request.param
    with empty_server() as server:
        made = BENCHES[runtime](tmp_path, server)
        if isinstance(made, CopilotBench):
            made.cache = copilot_cache
        made.door_bounds = DoorBounds(first_byte_seconds=1.0, most_failures=3)
        if isinstance(made, EmbeddedBench):
            made.bounds = replace(made.bounds, request_seconds=1.0)
        made.is_walled = HAS_SANDBOX
        yield made


async def away(bench: Bench) -> outages.ProviderFailure:
    """How a turn's provider was away."""
    async with bench.session() as session:
        end = await bench.turn(session)
    assert isinstance(end, ProviderAway), end
    assert KEY not in end.failure.reason
    assert end.failure.provider == bench.model.partition(":")[0]
    return end.failure


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_an_endpoint_that_is_in_trouble_for_ever(bench: Bench, trouble: str) -> None:
    step, words = TROUBLES[trouble]
    bench.play(*[step] * 50)
    failure = await away(bench)
    assert words in failure.reason
    assert failure.is_refused is (trouble in ("401", "403"))
    assert 0 < len(bench.server.requests) <= MOST_REQUESTS


async def test_an_endpoint_that_refuses_connections(bench: Bench) -> None:
    bench.server.close()
    with socket.socket() as nobody_else:  # bound and not listening: it refuses
        nobody_else.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        nobody_else.bind(("127.0.0.1", urlsplit(bench.server.url).port))
        assert "cannot be reached" in (await away(bench)).reason
