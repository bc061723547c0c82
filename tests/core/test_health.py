"""What keeps an installation from its work, in sentences."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.core.agents.agent import EffectName, EffectState
from app.core.agents.lifecycle import State
from app.core.rules.brakes import Brake, Place
from app.ports import DeadDelivery, Delivery, Pass, RegistryFigures, Worker
from app.services.health import Health

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
EVERY = timedelta(minutes=5)
WORKER = Worker("here", "1.0", 4, NOON, NOON, 0.0, None, ())
PASS = Pass("interval", NOON, 1.0, 0, 1, 1, 0, 3, 0, 1, {}, {})
WELL = Health(
    at=NOON,
    last_delivery=NOON,
    last_pass=PASS,
    pass_every=EVERY,
    brakes=(),
    outages={},
    workers=(WORKER,),
    registry=RegistryFigures(),
    dead=(),
)
DEAD = DeadDelivery(Delivery("d", "issues", b"{}", NOON), "no", NOON)


def test_nothing_is_wrong_where_all_is_done() -> None:
    assert WELL.wrong == []


@pytest.mark.parametrize("quiet", [15.0, 15.1])
def test_a_worker_that_is_silent_is_named(quiet: float) -> None:
    silent = replace(WELL, workers=(WORKER, replace(WORKER, name="there", quiet_seconds=quiet)))
    said = ["The worker there was not heard of for 15 s."]
    assert silent.wrong == (said if quiet > 15 else [])


def test_without_a_worker_that_takes_agents_nothing_starts() -> None:
    for workers in ((), (replace(WORKER, places=0),), (replace(WORKER, drain_asked_at=NOON),)):
        assert replace(WELL, workers=workers).wrong == ["No worker takes agents: nothing starts."]


@pytest.mark.parametrize(("minutes", "is_wrong"), [(14, False), (15, True)])
def test_who_waits_for_long_for_a_worker_is_told_of(minutes: int, is_wrong: bool) -> None:
    since = NOON - timedelta(minutes=minutes)
    found = replace(WELL, registry=RegistryFigures(queued_since=since)).wrong
    assert found == (["An agent waits for a worker for 15m."] if is_wrong else [])


@pytest.mark.parametrize(("seconds", "is_wrong"), [(900, False), (901, True)])
def test_a_pass_that_is_overdue_is_told_of(seconds: int, is_wrong: bool) -> None:
    late = replace(WELL, last_pass=replace(PASS, ended_at=NOON - timedelta(seconds=seconds)))
    said = ["The last look at GitHub ended 15m ago; one is due each 5m."]
    assert late.wrong == (said if is_wrong else [])


def test_all_else_is_told_each_in_a_sentence() -> None:
    figures = RegistryFigures(
        agents={
            (State.QUEUED, "fixer"): 2,
            (State.QUEUED, "tester"): 1,
            (State.ACTIVE, "fixer"): 4,
        },
        unwritten={
            (EffectName.CHECK, EffectState.REFUSED): 1,
            (EffectName.ISSUE, EffectState.REFUSED): 1,
            (EffectName.ISSUE, EffectState.WANTED): 3,
        },
    )
    ill = replace(
        WELL,
        last_pass=replace(PASS, failed={"acme/shop": "KeyError"}),
        brakes=(
            Brake(Place.everything(), "maria", NOON),
            Brake(Place.configuration("a/b"), "", NOON),
        ),
        registry=figures,
        dead=(DEAD, DEAD),
    )
    assert ill.wrong == [
        "The last look at GitHub failed at acme/shop: KeyError. The log has more.",
        "maria paused all agents at 2026-11-29 12:00 UTC (squadron resume --all).",
        "the repository's configuration says `enabled: false`"
        " (a/b: set `enabled: true` on its default branch).",
        "GitHub refuses 2 writes.",
        "2 deliveries could not be handled, and nothing more is tried.",
    ]
    assert (ill.queued, ill.refused, ill.unwritten) == (3, 2, 3)
