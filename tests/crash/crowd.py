"""The work of a campaign: many more agents than workers, of every kind, and the people around."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, ToolEnded, Waits, Woken
from app.core.agents.lifecycle import State
from app.core.limits import LimitName
from app.core.words.prompts import COMPACTION_MARK, SUMMARY_MARK
from app.scripted.script import Answer, Script, Scripts
from app.scripted.server import ScriptedServer
from tests.support.github import GitHub
from tests.support.people import TRIES
from tests.support.registry import Registry
from tests.support.steps import commits, completes, is_blocked, runs, says, writes

PERSON = "maria"
STORY = "story"
SHARED = "shared-story"
"""Begins the name of a story that several agents play."""
ROLES: Mapping[str, Mapping[str, Any]] = {
    "builder": {"tests": "none"},
    "reader": {},
    "waiter": {},
    "asker": {},
    "reviewed": {"tests": "none"},
    "dropped": {},
    "prepared": {
        "tests": "none",
        "setup": ["test ! -e half.txt && touch half.txt && sleep 1 && mv half.txt setup.txt"],
    },
    "runaway": {"max_tool_calls": 3, "summary_wait": 5},
    "racer": {"max_iterations": 1, "summary_wait": 5},
}
CUT_OFF_AGAIN = 2
"""A scripted agent whose command was cut off goes on with its next one. What a story comes down to
is done by a short command of its own, and once more after it."""
_LINGERS = "setsid sleep 600 >/dev/null 2>&1 & sleep 0.3"
"""Starts a process that no process group holds, and that is to end with its command."""
USUAL_PACE = 0.3


@dataclass(frozen=True, slots=True)
class _Told:
    """What a story is told with."""

    name: str
    blocker: int
    """An issue that has to be closed first; 0: none."""
    pace_seconds: float

    def works(self, at: str = "it", then: str = "") -> Answer:
        """A command that takes its time, and another one after it."""
        return runs(f"echo {at}; sleep {self.pace_seconds:g}{then and '; '}{then}")


_KINDS: Mapping[str, Callable[[_Told], tuple[Answer, ...]]] = {
    "builder": lambda told: (
        runs(f"sh {TRIES}"),
        writes(f"{told.name}.txt", "built\n"),
        runs(_LINGERS),
        told.works(then=f"sh {TRIES}"),
        commits("Build it"),
        completes("It is built."),
    ),
    "reader": lambda told: (
        runs(_LINGERS),
        told.works(then="cat README.md"),
        completes("All is well."),
    ),
    "waiter": lambda told: (
        told.works(),
        is_blocked("It needs the other one.", told.blocker),
        told.works("again"),
        completes("The other one is done, so nothing is left."),
    ),
    "asker": lambda told: (
        told.works(),
        says("Which one?"),
        says("Red or blue?"),
        told.works("again"),
        completes("Red it is."),
    ),
    "reviewed": lambda told: (
        writes(f"{told.name}.txt", "a first try\n"),
        told.works(),
        commits("Build it"),
        completes("It is built."),
        writes(f"{told.name}.txt", "what was asked for\n"),
        told.works("again"),
        commits("Build what was asked for"),
        completes("It is what you asked for."),
    ),
    "dropped": lambda told: (
        writes("half.txt", "half done\n"),
        runs(f"{_LINGERS}; sleep 1"),
        told.works(then="sleep 1"),
        says("Is this still wanted?"),
        says("I would rather ask."),
    ),
    "prepared": lambda told: (
        told.works(),
        *[runs(f"cp setup.txt {told.name}.txt")] * CUT_OFF_AGAIN,
        completes("Prepared."),
    ),
    "runaway": lambda told: tuple(told.works(then=f"echo {n} >> log.txt") for n in range(9)),
    "racer": lambda told: (
        told.works(then=f"sh {TRIES}"),
        *(
            step
            for n in range(9)
            for step in (runs(f"echo {n} > answer"), told.works(f"{n}", f"sh {TRIES}"))
        ),
    ),
}
REPORTS_AGAIN = 3
"""A process can die when the agent has reported and before that is recorded. Asked again, it says
so again."""
FULL_SET: tuple[tuple[str, ...], ...] = (
    ("builder",), ("runaway",), ("waiter",), ("reader",), ("runaway", "racer"), ("asker",),
    ("prepared",), ("dropped",), ("racer",),
)  # fmt: skip
"""The roles that each issue is labelled for; those of one issue share its story."""


@dataclass(slots=True)
class Post:
    """One role on one issue, and what people still have to do about it."""

    issue: int
    role: str
    blocker: int | None = None
    tended: set[int] = field(default_factory=set)
    """The segments in which somebody has done something about it."""

    @property
    def name(self) -> str:
        """As `AgentId.post` ends."""
        return f"#{self.issue}/{self.role}"


class Crowd:
    """Opens issues, answers questions, closes blockers, merges, and takes work away."""

    def __init__(
        self, repository: str, github: GitHub, model: ScriptedServer, pace_seconds: float
    ) -> None:
        """`pace_seconds`: how long each piece of an agent's work takes."""
        self.repository = repository
        self._pace_seconds = pace_seconds
        self.posts: list[Post] = []
        self._github = github
        self._model = model

    def open(self, roles: tuple[str, ...], *steps: Answer) -> None:
        """One more issue, labelled for these roles; `steps` take the place of their story."""
        blocker = self._issue("Somebody else's work", "") if "waiter" in roles else None
        name = f"{STORY if len(roles) == 1 else SHARED}-{len(self._model.scripts.scripts)}"
        if not steps:
            steps = _KINDS[roles[-1]](_Told(name, blocker or 0, self._pace_seconds))
            steps += steps[-1:] * REPORTS_AGAIN
        script = Script(name, steps, Answer("This is what I did."))
        self._model.scripts = Scripts(
            (*self._model.scripts.scripts, script), (SUMMARY_MARK,), (COMPACTION_MARK,)
        )
        labels = [f"squadron:{role}" for role in roles]
        number = self._issue(name, f"SCENARIO:{name}\n")
        self._does("POST", f"issues/{number}/labels", {"labels": labels})
        self.posts += [Post(number, role, blocker) for role in roles]

    def tend(self, registry: Registry) -> None:
        """What people do once they see that an agent waits for them; once in each segment: an
        agent that has lost its conversation asks again."""
        agents = {agent.id.post: agent for agent in registry.agents(self.repository)}
        for post in self.posts:
            agent = agents.get(f"{self.repository}{post.name}")
            if agent is not None and agent.segment not in post.tended:
                self._answer(post, agent, registry)

    def _answer(self, post: Post, agent: Agent, registry: Registry) -> None:
        match post.role, agent.waits_for:
            case "waiter", Waits.BLOCKER:
                self._does("PATCH", f"issues/{post.blocker}", {"state": "closed"})
            case "asker", Waits.ANSWER:
                self._does("POST", f"issues/{post.issue}/comments", {"body": "Red."})
            case "dropped", _ if _has_begun(registry.log(agent.id)):
                self._does("PATCH", f"issues/{post.issue}", {"state": "closed"})
            case "builder", Waits.REVIEW if agent.pull_request is not None and post.issue % 2:
                self._does("PUT", f"pulls/{agent.pull_request}/merge", {})
            case "reviewed", Waits.REVIEW if agent.pull_request is not None:
                self._review(agent.pull_request, registry.log(agent.id))
            case _:
                return
        post.tended.add(agent.segment)

    def _review(self, pull_request: int, log: Sequence[AgentEvent]) -> None:
        """Ask for changes, and merge them."""
        if any(isinstance(event, Woken) for event in log):
            self._does("PUT", f"pulls/{pull_request}/merge", {})
            return
        review = {"event": "REQUEST_CHANGES", "body": "This is not what I asked for."}
        self._does("POST", f"pulls/{pull_request}/reviews", review)

    def complaint(self, agent: Agent) -> str:
        """What is wrong with how an agent ended; empty if it is at rest as its story says."""
        wanted: tuple[State, Waits | None]
        found = (agent.state, agent.waits_for)
        if agent.failure is not None and agent.failure.cause == "worker_died":
            return ""  # docs/design.md, States: ten deaths of its worker; counted elsewhere
        match agent.id.role:
            case "builder" if agent.id.issue % 2:
                wanted = (State.COMPLETED, None)
            case "builder" | "prepared":
                wanted = (State.SLEEPING, Waits.REVIEW)
            case "reader" | "waiter" | "asker" | "reviewed":
                wanted = (State.COMPLETED, None)
            case "dropped":
                wanted = (State.CANCELLED, None)
            case _:
                wanted = (State.ESCALATED, None)
        if found != wanted:
            return f"{agent.id} is {found}, not {wanted}: {agent.failure}"
        if agent.state is State.ESCALATED and not self._is_a_limit(agent):
            return f"{agent.id} was stopped by {agent.failure}"
        return ""

    @staticmethod
    def _is_a_limit(agent: Agent) -> bool:
        return agent.trip is not None and agent.trip.limit in list(LimitName)

    def _issue(self, title: str, body: str) -> int:
        opened = self._does("POST", "issues", {"title": title, "body": body})
        number: int = opened["number"]
        return number

    def _does(self, method: str, path: str, content: Any) -> Any:
        return self._github.does(PERSON, method, f"/repos/{self.repository}/{path}", content)


def _has_begun(log: Sequence[AgentEvent]) -> bool:
    return any(isinstance(event, ToolEnded) for event in log)


def shown(counts: Mapping[str, int]) -> str:
    """A small table in one line."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
