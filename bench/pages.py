"""Pages in a browser: how long until the first byte, and until an open one shows what happens."""

import asyncio
import http.client
import json
import statistics
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from time import perf_counter, sleep
from typing import Final
from urllib.parse import urlsplit

import sqlalchemy as sa

from app.adapters.clock import SystemClock
from app.adapters.store import log
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.tables import SPEND
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import AgentId
from app.core.agents.events import AgentEvent, ModelAsked, ModelCalled, ToolAsked, ToolEnded
from bench import databases, fleet, servers

AGENTS: Final = 5_000
CALLS: Final = 100
"""Model calls of each agent but the first: all on one day."""
DAYS: Final = 30
"""The days that agents worked on, one after the other."""
STEPS: Final = 2_500
"""Of the first agent: four events each."""
ROUNDS: Final = 60
AIM_MS: Final = 200.0
CHANGES: Final = 100
LIVE_AIM_MS: Final = 1_000.0
PASS_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.2
PATHS: Final = (
    "/",
    "/fleet",
    "/fleet?state=ESCALATED&repository=octo/demo",
    "/triage",
    "/costs",
    "/costs?by=role",
    "/limits",
    "/health",
    "/agents/octo/demo/1/bug-fix/1",
    "/agents/octo/demo/1/bug-fix/1?only=news",
    "/agents/octo/demo/1/bug-fix/1.json?before=5000",
)


def main() -> None:
    """Print the figures."""
    print(
        f"pages: first byte with {AGENTS:,} agents that were stopped, and one with"
        f" {4 * STEPS:,} events; p95 of {ROUNDS}; aim: {AIM_MS:.0f} ms"
    )
    for kind in databases.KINDS:
        with databases.empty(kind) as address:
            _fill(address)
            with servers.service(address, has_pages=True) as server:
                connection, cookie = _entered(server.pages)
                _measure(kind, connection, cookie)
                _follow(kind, address, connection, cookie)
                connection.close()


def _fill(address: str) -> None:
    engine, now = make_engine(address), SystemClock().now()
    migrate(engine)
    with closing(GroupWriter(engine)) as writer:
        store = SqlStore(engine, writer, fleet.enqueue_nothing)
        long = asyncio.run(fleet.first(engine, store, now - timedelta(days=1)))
    fleet.more(engine, 1, AGENTS, now - timedelta(days=1))
    with engine.begin() as connection:
        log.add(connection, long, 0, [*_steps(now - timedelta(hours=5))])
        spent = (
            {**row, "agent_id": str(AgentId(fleet.REPOSITORY, issue, fleet.ROLE, 1))}
            for issue in range(2, AGENTS + 1)
            for row in _spent(now - timedelta(days=issue % DAYS))
        )
        connection.execute(sa.insert(SPEND), [*spent])
    engine.dispose()


def _steps(begin: datetime) -> Iterator[AgentEvent]:
    for step in range(STEPS):
        at = begin + timedelta(seconds=step)
        call, command = f"call-{step}", f"python -m pytest tests/test_{step}.py"
        yield ModelAsked(at=at)
        yield ModelCalled(
            at=at, model="openai:x", input_tokens=900, output_tokens=90, cost_nanousd=1_000_000
        )
        yield ToolAsked(at=at, call=call, tool="bash", what=command)
        yield ToolEnded(at=at, call=call, ok=step % 7 > 0)


def _spent(at: datetime) -> Iterator[dict[str, object]]:
    for seq in range(1, CALLS + 1):
        yield {
            "seq": seq,
            "at": at,
            "model": "openai:x",
            "nanousd": 1_000_000,
            "input_tokens": 900,
            "output_tokens": 90,
        }


def _wait_for_a_pass(connection: http.client.HTTPConnection, cookie: dict[str, str]) -> None:
    """A service that has just started looks through all agents first."""
    until = perf_counter() + PASS_SECONDS
    while perf_counter() < until:
        connection.request("GET", "/health.json", headers=cookie)
        if json.load(connection.getresponse())["last_pass"] is not None:
            return
        sleep(LOOK_SECONDS)
    raise SystemExit(f"no pass within {PASS_SECONDS:.0f} s")


def _entered(link: str) -> tuple[http.client.HTTPConnection, dict[str, str]]:
    """Whoever has opened the link: a connection, and what the browser shows from then on."""
    at = urlsplit(link)
    assert at.hostname is not None
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=60)
    connection.request("GET", f"{at.path}?{at.query}")
    entered = connection.getresponse()
    entered.read()
    cookie = {"Cookie": str(entered.getheader("Set-Cookie")).partition(";")[0]}
    _wait_for_a_pass(connection, cookie)
    return connection, cookie


def _measure(kind: str, connection: http.client.HTTPConnection, cookie: dict[str, str]) -> None:
    for path in PATHS:
        took, length = [], 0
        for _ in range(ROUNDS):
            began = perf_counter()
            connection.request("GET", path, headers=cookie)
            answer = connection.getresponse()
            took.append((perf_counter() - began) * 1e3)
            length = len(answer.read())
            assert answer.status == 200, f"{path}: {answer.status}"
        p95 = _centile(took, 95)
        over = "" if p95 < AIM_MS else "  over the aim"
        print(
            f"  {kind}, {path:<46} p50 {_centile(took, 50):6.1f} ms, p95 {p95:6.1f} ms,"
            f" {length / 1024:5.0f} KiB{over}"
        )


def _follow(
    kind: str, address: str, connection: http.client.HTTPConnection, cookie: dict[str, str]
) -> None:
    """How long it takes from a commit until an open first page has it."""
    engine, took = make_engine(address), list[float]()
    connection.request("GET", "/needs-you.live", headers=cookie)
    events = connection.getresponse()
    first = AgentId.parse(_event(events).partition(' data-key="')[2].partition(" ")[0])
    with closing(GroupWriter(engine)) as writer, asyncio.Runner() as runner:
        store = SqlStore(engine, writer, fleet.enqueue_nothing)
        for number in range(CHANGES):
            sleep(number * 0.37 % 0.8)  # whatever the service is about
            is_gone = number % 2 == 0
            runner.run(store.note_dismissed(first, SystemClock().now() if is_gone else None))
            began = perf_counter()
            while (f'data-key="{first} ' in _event(events)) == is_gone:
                pass
            took.append((perf_counter() - began) * 1e3)
    engine.dispose()
    p99 = _centile(took, 99)
    over = "" if p99 < LIVE_AIM_MS else "  over the aim"
    print(
        f"  {kind}, a change reaches the open first page: p50 {_centile(took, 50):.0f} ms,"
        f" p99 {p99:.0f} ms of {CHANGES}; aim: {LIVE_AIM_MS:.0f} ms{over}"
    )


def _centile(took: Sequence[float], part: int) -> float:
    return statistics.quantiles(took, n=100, method="inclusive")[part - 1]


def _event(events: http.client.HTTPResponse) -> str:
    """The page that is sent next."""
    lines = list[str]()
    while line := events.readline().decode().rstrip("\n"):
        lines.append(line)
    return "\n".join(lines) if "event: page" in lines else _event(events)
