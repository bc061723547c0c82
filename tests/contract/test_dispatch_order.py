"""The dispatcher: each delivery is looked at once, oldest first, whatever comes in what order."""

import asyncio
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.adapters.exclusive import NamedLocks
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.ports import Delivery, Work, about
from app.services.intake.dispatch import Dispatcher
from tests.contract.store_support import a_new_agent, later
from tests.twins.clock import TurnedClock

KINDS = ("labeled", "ping", "list", "edited", "foreign-comment", "own-comment", "command")
CONCERNING = {"labeled", "own-comment", "command"}
"""A label may start an agent; a comment concerns one where one is at work, a command is answered
wherever it is written."""
COMMENT = {"id": 7, "body": "hi"}


@dataclass(frozen=True)
class Came:
    """A delivery of some kind comes; equal numbers are the same delivery, come again."""

    number: int
    kind: str


DRAIN = "the dispatcher runs"
STEPS = st.lists(
    st.one_of(st.just(DRAIN), st.builds(Came, st.integers(0, 12), st.sampled_from(KINDS))),
    max_size=30,
)


def body(kind: str) -> tuple[str, object]:
    """Event and payload."""
    where = {
        "installation": {"id": 77},
        "sender": {"login": "maria", "type": "User"},
        "issue": {"number": 1, "title": "t", "body": ""},
        "repository": {"full_name": "octo/demo"},
    }
    match kind:
        case "labeled":
            return "issues", {**where, "action": "labeled", "label": {"name": "squadron:docs"}}
        case "edited":
            return "issues", {**where, "action": "edited"}
        case "list":
            return "issues", []
        case "ping":
            return "ping", {"zen": "Keep it simple."}
        case "own-comment":
            return "issue_comment", {**where, "action": "created", "comment": COMMENT}
        case _:
            elsewhere = {"repository": {"full_name": "octo/elsewhere"}}
            body = "/squadron resume" if kind == "command" else "hi"
            comment = {"action": "created", "comment": {**COMMENT, "body": body}}
            return "issue_comment", {**where, **elsewhere, **comment}


def delivery(came: Came, second: int) -> Delivery:
    event, payload = body(came.kind)
    return Delivery(f"d{came.number}", event, json.dumps(payload).encode(), later(second))


async def play(steps: list[Came | str], directory: Path) -> tuple[list[str], list[str]]:
    """What was enqueued in the end, in order, and what should have been."""
    engine = make_engine(f"sqlite:///{directory / 's.sqlite'}")
    migrate(engine)
    enqueued: list[str] = []

    def enqueue(_: sa.Connection, work: Work) -> None:
        enqueued.append(about(work)[0])

    writer = GroupWriter(engine)
    store = SqlStore(engine, writer, enqueue)
    dispatcher = Dispatcher(store, NamedLocks(engine), TurnedClock(), Unknown())
    await start_an_agent(store)
    enqueued.clear()
    expected: dict[str, None] = {}
    known: set[int] = set()
    for second, step in enumerate([*steps, DRAIN]):
        if isinstance(step, Came):
            assert await store.accept(delivery(step, second)) is (step.number not in known)
            if step.number not in known and step.kind in CONCERNING:
                expected[f"d{step.number}"] = None
            known.add(step.number)
        else:
            while await dispatcher.drain():
                pass
    assert await store.undispatched(100) == []
    assert await dispatcher.drain() == 0, "a second look finds nothing"
    await asyncio.to_thread(writer.close)
    engine.dispose()
    return enqueued, list(expected)


class Unknown:
    """No plan of anybody."""

    async def last(self, full_name: str) -> None: ...

    def forget(self, full_name: str) -> None: ...


async def start_an_agent(store: SqlStore) -> None:
    """In octo/demo somebody works, in octo/elsewhere nobody does."""
    assert await store.create(a_new_agent(), later(0)) is not None


@pytest.mark.full
@given(steps=STEPS)
@example(steps=[Came(1, "labeled"), Came(1, "labeled"), DRAIN, Came(1, "labeled")])
@example(steps=[Came(2, "labeled"), DRAIN, Came(1, "labeled"), Came(3, "ping")])
@settings(deadline=None, derandomize=True, max_examples=40)
def test_each_delivery_is_looked_at_once_and_in_the_order_in_which_it_came(
    steps: list[Came | str],
) -> None:
    """docs/design.md, promise 1."""
    with tempfile.TemporaryDirectory() as directory:
        enqueued, expected = asyncio.run(play(steps, Path(directory)))
    assert enqueued == expected
