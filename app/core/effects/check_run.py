"""Which check run of an agent says how it stands: the one that is open is brought in line, and one
that has completed is followed by a new one.

GitHub keeps the status and the conclusion of a completed run, and of several runs with one name it
counts the newest. So a run is changed until it completes; after that only its text is.
"""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from app.core.agents.agent import AgentId

Conclusion = Literal["success", "failure", "neutral", "cancelled", "action_required"]
"""How a check run ends (GitHub: create a check run, `conclusion`)."""

_ID: Final = re.compile(r"squadron:(?P<agent>[^:]+):(?P<sha>[^:]*)(?::(?P<n>[1-9]\d{0,8}))?")
"""Runs from before they were counted have no number."""


@dataclass(frozen=True, slots=True)
class RunId:
    """A check run's `external_id`: the n-th run of an agent on a head of its branch."""

    agent: AgentId
    sha: str
    n: int | None
    """From 1; None: the run is from before they were counted, and came first."""

    def __str__(self) -> str:
        number = "" if self.n is None else f":{self.n}"
        return f"squadron:{self.agent}:{self.sha}{number}"

    @classmethod
    def parse(cls, external_id: str) -> "RunId | None":
        """None: it is no agent's check."""
        found = _ID.fullmatch(external_id)
        if found is None:
            return None
        try:
            agent = AgentId.parse(found["agent"])
        except ValueError:
            return None
        return cls(agent, found["sha"], None if found["n"] is None else int(found["n"]))


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A check run of our own App, as GitHub has it."""

    number: int
    """GitHub's id; a newer run has a higher one."""
    url: str
    external_id: str
    conclusion: str | None
    """None: it has not completed."""


@dataclass(frozen=True, slots=True)
class Change:
    """Bring the open run to what is wanted."""

    run: CheckRun


@dataclass(frozen=True, slots=True)
class Reword:
    """Change title, summary and buttons of the completed run, which says what is wanted."""

    run: CheckRun


@dataclass(frozen=True, slots=True)
class Create:
    """Make a new run, for there is none or the last one has completed with something else."""

    external_id: str


def write_of_run(
    agent: AgentId,
    sha: str,
    runs: Iterable[CheckRun],
    wanted: Conclusion | None,
    fixed: Container[int] = (),
) -> Change | Reword | Create:
    """What brings the newest run of an agent on a head in line.

    `runs`: those of its name there, also of others; `wanted` None: in progress; `fixed`: numbers
    of runs that GitHub does not let anybody change.
    """
    own = runs_of(agent, sha, runs)
    if own and own[-1].number not in fixed:
        newest = own[-1]
        if newest.conclusion is None:
            return Change(newest)
        if newest.conclusion == wanted:
            return Reword(newest)
    ids = [RunId.parse(run.external_id) for run in own]
    last = max((each.n or 1 for each in ids if each is not None), default=0)
    return Create(str(RunId(agent, sha, last + 1)))


def runs_of(agent: AgentId, sha: str, runs: Iterable[CheckRun]) -> list[CheckRun]:
    """The agent's own runs on that head, oldest first."""
    own = []
    for run in runs:
        known = RunId.parse(run.external_id)
        if known is not None and (known.agent, known.sha) == (agent, sha):
            own.append(run)
    return sorted(own, key=lambda run: run.number)
