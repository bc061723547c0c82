"""Durable work: its ids and what an engine keeps of it are stored, so they do not change."""

from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.agent import AgentId
from app.core.agents.work import (
    HandleDelivery,
    Publish,
    Reconcile,
    Redeliver,
    RunSegment,
    Work,
    WorkKind,
    about,
    work_of,
)
from tests.core.strategies import EXAMPLES

AGENT: Final = AgentId("octo/demo", 12, "bug-fix", 1)


@pytest.mark.parametrize(
    ("work", "kind", "work_id", "kept"),
    [
        (HandleDelivery("d1"), "delivery", "delivery:d1", ("d1", 0)),
        (HandleDelivery("d1", 2), "delivery", "delivery:d1:again:2", ("d1", 2)),
        (RunSegment(AGENT, 3), "segment", f"agent:{AGENT}:seg:3", (str(AGENT), 3)),
        (Publish(AGENT, "trip:1:1"), "effects", f"agent:{AGENT}:effects:trip:1:1", (str(AGENT), 0)),
        (Reconcile("interval", "7"), "reconciliation", "reconcile:7", ("interval", 0)),
        (Reconcile.after("d1"), "reconciliation", "reconcile:delivery:d1", ("access", 0)),
        (Redeliver("start", "start:w"), "redelivery", "redelivery:start:w", ("start", 0)),
    ],
)
def test_ids_and_what_is_kept(work: Work, kind: str, work_id: str, kept: tuple[str, int]) -> None:
    assert (work.kind.value, work.id, about(work)) == (kind, work_id, kept)


WORDS: Final = st.text("ab:/#-1", min_size=1, max_size=12)
SECONDS: Final = st.floats(0, 1e6)
WORKS: Final = st.one_of(
    st.builds(HandleDelivery, WORDS, st.integers(0, 9), SECONDS),
    st.builds(RunSegment, st.just(AGENT), st.integers(0, 99), SECONDS),
    st.builds(Publish, st.just(AGENT), WORDS, SECONDS),
    st.builds(Reconcile, WORDS, WORDS, SECONDS),
    st.builds(Redeliver, WORDS, WORDS, SECONDS),
)


@EXAMPLES
@given(WORKS)
def test_an_engine_gives_back_what_it_was_given(work: Work) -> None:
    assert work_of(work.kind, work.id, *about(work)) == replace(work, delay_seconds=0)


def test_there_is_work_of_every_kind() -> None:
    kinds = [each.kind for each in (HandleDelivery, RunSegment, Publish, Reconcile, Redeliver)]
    assert kinds == [*WorkKind]
