"""A process that was stopped, and goes on: that time is nobody's."""

import logging
import os
import signal
import subprocess
import sys
import time

import pytest

from app.adapters.clock import SystemClock
from app.adapters.standstill import LEAST_SECONDS, Standstill
from app.core.agents.clock_set import clock_set
from app.core.agents.counters import fold
from app.core.agents.events import SegmentStarted
from app.services.world import clock_lead

A_LOOK = 1.0


class Machine:
    """Whose monotonic clock somebody turns."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.mark.parametrize(
    ("gaps", "stood"),
    [
        ([A_LOOK] * 20, 0),
        ([LEAST_SECONDS - 0.001] * 20, 0),
        ([A_LOOK, LEAST_SECONDS, A_LOOK], LEAST_SECONDS),
        ([180.0, A_LOOK, 90.0], 270.0),
    ],
)
def test_gaps_between_looks_are_no_time(gaps: list[float], stood: float) -> None:
    machine = Machine()
    standstill = Standstill(machine.monotonic)
    standstill.watch()
    began = standstill.monotonic()
    for gap in gaps:
        machine.seconds += gap
        standstill.monotonic()
    ran = standstill.monotonic() - began
    standstill.end()
    assert (standstill.seconds, ran) == pytest.approx((stood, sum(gaps) - stood))


def test_as_long_as_nobody_watches_all_gaps_are_time() -> None:
    machine = Machine()
    standstill = Standstill(machine.monotonic)
    began = standstill.monotonic()
    machine.seconds += 1_000
    assert standstill.monotonic() - began == 1_000
    standstill.watch()
    standstill.end()
    machine.seconds += 1_000
    assert standstill.monotonic() - began == 2_000


def test_who_asks_first_after_the_gap_is_told_the_truth(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine()
    standstill = Standstill(machine.monotonic)
    clock = SystemClock(standstill.monotonic)
    standstill.watch()
    lead = clock_lead(clock)
    begun = SegmentStarted(at=clock.now(), segment=0, attempt=1, clock_lead=lead)
    machine.seconds += 180
    with caplog.at_level(logging.WARNING):
        told = clock_set(fold([begun]), clock_lead(clock) + 180, clock.now())
    standstill.end()
    assert told is not None and told.by_seconds == pytest.approx(180, abs=1)
    assert "this process stood still for 180.0 s" in caplog.text


@pytest.mark.full
def test_a_process_that_a_signal_stops_knows_for_how_long() -> None:
    """The naive clock, without the look, counts all of it."""
    program = (
        "import sys, time\n"
        "from app.adapters.standstill import Standstill\n"
        "standstill = Standstill()\n"
        "standstill.watch()\n"
        "began, naive = standstill.monotonic(), time.monotonic()\n"
        "print('watching', flush=True)\n"
        "sys.stdin.readline()\n"
        "print(standstill.monotonic() - began, time.monotonic() - naive)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "watching\n"
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(LEAST_SECONDS + A_LOOK)  # for nobody: it is what the test is about
        os.kill(process.pid, signal.SIGCONT)
        ran, naive = map(float, process.communicate("go on\n")[0].split())
    assert naive >= LEAST_SECONDS + A_LOOK
    assert naive - ran >= LEAST_SECONDS
