"""A soak: hours of faults in ten minutes, on processes that share nothing but PostgreSQL."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import psycopg

from tests.crash.cluster import Member
from tests.crash.site import Processes, Site
from tests.support.registry import OBSERVER

SHAPE: Final = Processes(takers=2, workers=3, do_takers_work=False, share_a_directory=False)
EVERY_SECONDS: Final = 20.0
FROZEN_SECONDS: Final = 90.0
ISSUES_PER_FAULT: Final = 2
PACE_SECONDS: Final = 8.0
"""Slow enough that most faults meet somebody at work."""
LOOK_SECONDS: Final = 1.0


class Fault(StrEnum):
    """What happens to the processes."""

    KILLED = "killed"
    """`kill -9` of one, and its next start."""
    FROZEN = "stood still"
    """One stands still for 90 seconds; one at a time does."""
    WIPED = "lost its disk"
    """`kill -9` of one, and its next start with an empty data directory."""
    CUT = "all connections cut"
    """By the database, as when it changes over to another server."""
    ROLLED = "rolling restart"
    """SIGTERM to one after the other, each started again before the next."""


_FAULTS: Final = (
    *(Fault.KILLED,) * 8,
    *(Fault.WIPED,) * 9,
    *(Fault.CUT,) * 5,
    *(Fault.ROLLED,) * 3,
)
"""In any order; between them is what has to keep its distance."""
STANDSTILLS: Final = 5
BETWEEN_STANDSTILLS: Final = 6
"""Faults from one to the next: nobody stands still while another one does."""


@dataclass(frozen=True, slots=True)
class Step:
    """One fault, and who it meets."""

    fault: Fault
    chance: float
    """From 0 to 1: picks the process."""


def plan(seed: int) -> Sequence[Step]:
    """The faults of a soak; the same seed gives the same."""
    chance = random.Random(seed)
    faults = [*_FAULTS]
    chance.shuffle(faults)
    for number in range(STANDSTILLS):
        faults.insert(number * BETWEEN_STANDSTILLS, Fault.FROZEN)
    return [Step(fault, chance.random()) for fault in faults]


class Soak:
    """The faults, one after the other, while agents work."""

    def __init__(self, here: Site, database_url: str) -> None:
        self._here = here
        self._database_url = database_url
        self._still: Member | None = None
        self._goes_on_at = 0.0
        """On the monotonic clock."""

    def run(
        self, steps: Sequence[Step], roles: Sequence[str], is_enough: Callable[[], bool]
    ) -> None:
        """Step after step; each opens issues for the next roles. `is_enough` is asked after each
        step."""
        here = self._here
        for number, step in enumerate(steps):
            begun = time.monotonic()
            for n in range(ISSUES_PER_FAULT):
                here.crowd.open((roles[(number * ISSUES_PER_FAULT + n) % len(roles)],))
            self._until(begun + EVERY_SECONDS / 2)
            self._strike(step)
            here.outcome.faults[step.fault] += 1
            self._until(begun + EVERY_SECONDS)
            here.compare()
            if is_enough():
                break
        self._until(self._goes_on_at)

    def _until(self, moment: float) -> None:
        """People and the witness look meanwhile, and who stands still goes on in time."""
        while True:
            self._here.tend()
            for member in self._here.members:
                member.check_alive()
            if self._still is not None and time.monotonic() >= self._goes_on_at:
                os.kill(self._still.pid, signal.SIGCONT)
                self._still = None
            left = moment - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, LOOK_SECONDS))  # faults come by the clock

    def _strike(self, step: Step) -> None:
        able = [member for member in self._here.members if member is not self._still]
        victim = able[int(step.chance * len(able))]
        match step.fault:
            case Fault.KILLED:
                victim.kill()
                victim.start()
            case Fault.WIPED:
                victim.kill()
                shutil.rmtree(victim.data)
                victim.start()
            case Fault.FROZEN:
                os.kill(victim.pid, signal.SIGSTOP)
                self._still, self._goes_on_at = victim, time.monotonic() + FROZEN_SECONDS
            case Fault.CUT:
                self._cut()
            case Fault.ROLLED:
                for member in able:
                    member.end()
                    member.start()
                    member.until_ready()

    def _cut(self) -> None:
        with psycopg.connect(self._database_url, autocommit=True) as connection:
            cut = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND application_name <> %s",
                (OBSERVER,),
            ).fetchall()
        assert len(cut) > len(self._here.members), "each process has several"
