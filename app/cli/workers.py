"""`squadron workers`: the processes that work on this database, and how one is told to drain."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from app.adapters.clock import SystemClock
from app.adapters.store.store import SqlStore
from app.cli.failing import fail
from app.cli.registry import answered, open_registry, opened
from app.cli.tables import LEAST_BESIDE, NamedRows
from app.cli.terminal import say
from app.ports import Worker
from app.services.views import Json, worker_json

_LEAST_WORDS: Final = 30
"""Characters for the agents of a worker, if none has a longer id."""


def show_workers(*, as_json: bool) -> None:
    """Each process, and the agents at work in it."""
    found = answered(opened(open_registry).workers(SystemClock().now()))
    if as_json:
        say(json.dumps(_json(found), indent=2))
        return
    if not found:
        say("No process works on this database.")
        return
    names = [each.name for each in found]
    longest_id = max((len(str(agent)) for each in found for agent in each.agents), default=0)
    table = NamedRows(
        "worker",
        names,
        "version",
        "since",
        "agents",
        "state",
        beside=LEAST_BESIDE + max(longest_id, _LEAST_WORDS),
    )
    for each in found:
        agents = "\n".join([_places_words(each), *map(str, each.agents)])
        state = "\n".join(_state_words(each))
        table.add(each.name, each.version, _at(each.started_at), agents, state)
    table.show()


def drain_worker(name: str, *, as_json: bool) -> None:
    """Ask a process to take no further agents, and say what that comes to."""
    done = answered(_drain(opened(open_registry), name, SystemClock().now()))
    if done.worker is None:
        fail(f"there is no worker {name}; {_there_are(done.workers)}")
    if as_json:
        say(json.dumps({"changed": done.is_new, **_json(done.workers)}, indent=2))
        return
    worker = done.worker
    if not done.is_new:
        say(f"Nothing was changed: {worker.name} {'; '.join(_state_words(worker))}.")
        return
    say(f"{worker.name} takes no further agents, within 5 seconds and until it ends.")
    if worker.is_silent:
        say(f"It {_silence(worker)}: it may be gone, and then others have its agents.")
    if worker.agents:
        say(f"At work there, to go on elsewhere: {', '.join(map(str, worker.agents))}.")
    if not any(each.takes_agents for each in done.workers):
        say("No other worker takes agents: agents wait until one does.")


@dataclass(frozen=True, slots=True)
class _Drained:
    """What became of the wish."""

    worker: Worker | None
    """Whom it is about, as it is now; None: there is no such worker."""
    is_new: bool
    workers: Sequence[Worker]
    """All, as they are now."""


async def _drain(store: SqlStore, name: str, now: datetime) -> _Drained:
    before = await store.workers(now)
    is_new = any(each.name == name and each.drain_asked_at is None for each in before)
    if is_new:
        await store.ask_drain(name, now)
    after = await store.workers(now)
    worker = next((each for each in after if each.name == name), None)
    return _Drained(worker, is_new, after)


def _json(found: Sequence[Worker]) -> Json:
    return {"workers": [*map(worker_json, found)]}


def _there_are(found: Sequence[Worker]) -> str:
    if not found:
        return "no process works on this database"
    return f"there are: {', '.join(each.name for each in found)}"


def _places_words(worker: Worker) -> str:
    if worker.places == 0:
        return "leaves them to others"
    return f"{len(worker.agents)} of {worker.places}"


def _state_words(worker: Worker) -> list[str]:
    words = []
    if worker.drain_asked_at is not None:
        words.append(f"takes no further agents since {_at(worker.drain_asked_at)}")
    if worker.is_silent:
        words.append(_silence(worker))
    return words or ["works"]


def _silence(worker: Worker) -> str:
    return f"was not heard of for {worker.quiet_seconds:.0f} s"


def _at(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
