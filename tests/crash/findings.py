"""What a campaign has lost and what it has doubled, from the registry and GitHub alone."""

import urllib.parse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from app.core.agents.agent import Agent, AgentId, EffectName, EffectState
from app.core.agents.counters import Counters, fold
from app.core.agents.events import AgentEvent, FilesMoved, Kept, ModelCalled
from app.core.agents.lifecycle import State
from app.core.effects.wanted import NEEDS_HUMAN, escalation_marker, marker, wanted
from app.core.words.files import lost_words
from tests.support.github import BOT, GitHub, Json
from tests.support.registry import Registry

CONCLUSIONS: Mapping[State, str] = {
    State.SLEEPING: "success",  # at rest only a review is slept for
    State.COMPLETED: "success",
    State.ESCALATED: "failure",
    State.CANCELLED: "cancelled",
}
"""EXAMPLES, "Checks"."""


@dataclass(frozen=True, slots=True)
class World:
    """Where to look."""

    repository: str
    github: GitHub
    registry: Registry

    def agents(self) -> Sequence[Agent]:
        """All agents, oldest first."""
        return self.registry.agents(self.repository)

    def comments(self, issue: int) -> list[str]:
        """Bodies of our App's comments."""
        return [one["body"] for one in self.github.comments(self.repository, issue)]

    def checks(self, sha: str, role: str) -> list[Json]:
        """Check runs, newest first: the first one counts."""
        return self.github.checks(self.repository, sha, role)

    def escalations(self, issue: int, state: str = "open") -> list[Json]:
        """Needs-human issues of our App about an issue."""
        sign = escalation_marker(self.agents()[0].repository_id, issue)
        path = f"/repos/{self.repository}/issues?state={state}&labels={NEEDS_HUMAN}"
        return [
            one
            for one in self.github.sees(path)
            if one["user"]["login"] == BOT and sign in one["body"]
        ]

    def pull_requests(self, branch: str) -> list[Json]:
        """All pull requests of a branch."""
        owner = self.repository.partition("/")[0]
        head = urllib.parse.quote(f"{owner}:{branch}", safe="")
        return list(self.github.sees(f"/repos/{self.repository}/pulls?state=all&head={head}"))


def doubled(world: World) -> Iterator[str]:
    """Everything that is there twice and must be there once."""
    agents = world.agents()
    yield from (
        f"{count} agents for {post}"
        for post, count in Counter(agent.id.post for agent in agents).items()
        if count > 1
    )
    for agent in agents:
        sign = marker(agent.id, EffectName.COMMENT)
        comments = [body for body in world.comments(agent.id.issue) if sign in body]
        if len(comments) > 1:
            yield f"{len(comments)} comments of {agent.id}"
        heads = {event.sha for event in world.registry.log(agent.id) if isinstance(event, Kept)}
        for sha in filter(None, {*heads, agent.sha}):
            runs = world.checks(sha, agent.id.role)
            open_runs = [one for one in runs if one["conclusion"] is None]
            if len(open_runs) > 1 or (open_runs and open_runs[0] is not runs[0]):
                yield f"{len(open_runs)} of {len(runs)} checks of {agent.id} on {sha} are open"
            ids = Counter(one["external_id"] for one in runs if one["conclusion"] != "neutral")
            yield from (f"{n} checks {name}" for name, n in ids.items() if n > 1)
        if len(found := world.pull_requests(agent.branch)) > 1:
            yield f"{len(found)} pull requests of {agent.id}"
        yield from _doubled_escalations(world, agent.id)


def _doubled_escalations(world: World, agent: AgentId) -> Iterator[str]:
    found = world.escalations(agent.issue)
    if len(found) > 1:
        yield f"{len(found)} open needs-human issues about #{agent.issue}"
    sign = marker(agent, EffectName.ISSUE)
    told = sum(_tellings(world, one, sign) for one in found)
    if told > 1:
        yield f"{agent} is told of {told} times in #{found[0]['number']}"


def _tellings(world: World, issue: Json, sign: str) -> int:
    bodies = [issue["body"], *world.comments(issue["number"])]
    return sum(sign in body for body in bodies)


def missing(world: World) -> Iterator[str]:
    """What an agent at rest has not left on GitHub, though it should have."""
    for agent in world.agents():
        sign = marker(agent.id, EffectName.COMMENT)
        if not any(sign in body for body in world.comments(agent.id.issue)):
            yield f"no comment of {agent.id}"
        # The branch of merged work is gone; its last commit is not.
        head = (agent.sha if agent.state is State.COMPLETED else None) or agent.branch
        said = [one["conclusion"] for one in world.checks(head, agent.id.role)][:1]
        if said != [CONCLUSIONS.get(agent.state)]:
            yield f"the check of {agent.id} ({agent.state}) says {said}"
        if agent.state is State.ESCALATED:
            sign = marker(agent.id, EffectName.ISSUE)
            # It is closed with the issue that it is about.
            told = world.escalations(agent.id.issue, "all")
            if not any(_tellings(world, one, sign) for one in told):
                yield f"no needs-human issue tells of {agent.id}"
        if agent.state is State.SLEEPING and not world.pull_requests(agent.branch):
            yield f"no pull request of {agent.id}"
        if agent.state is State.CANCELLED and not has_file(world, agent.branch, "half.txt"):
            yield f"the work of {agent.id} is not on its branch"


def untold(world: World, told: Set[str]) -> Iterator[str]:
    """Losses of files that the log names, and the agent or people do not know. `told`: names of
    stories whose agents were told."""
    for agent in world.agents():
        log = world.registry.log(agent.id)
        moved = [event for event in log if isinstance(event, FilesMoved) and event.lost]
        if not moved:
            continue
        has_gone_on = any(isinstance(event, ModelCalled) for event in log[log.index(moved[-1]) :])
        if has_gone_on and agent.assignment.task.title not in told:
            yield f"{agent.id} was not told what it has lost"
        words = lost_words(moved[-1].lost)
        sign = marker(agent.id, EffectName.COMMENT)
        if not any(sign in body and words in body for body in world.comments(agent.id.issue)):
            yield f"the comment of {agent.id} does not say that it has lost {words}"


def has_file(world: World, branch: str, file: str) -> bool:
    """Whether a branch on GitHub holds a file."""
    ref = urllib.parse.quote(branch, safe="")
    path = f"/repos/{world.repository}/contents/{file}?ref={ref}"
    return world.github.asks("maria", "GET", path).is_success


_UNTIL_NEEDED: Final = (EffectName.WORK, EffectName.CALL, EffectName.LABEL)
"""Effects of which there is nothing where the work was pushed before the agent's state said
anything, and where it never waited for a person."""


def unsettled(world: World) -> Iterator[str]:
    """Effects that are still to be made, or to be looked at for doubles; the latest first."""
    for agent in reversed(world.agents()):
        effects = world.registry.effects(agent.id)
        for name in wanted(agent):
            effect = effects.get(name)
            if effect is None and name in _UNTIL_NEEDED:
                continue
            if effect is None or effect.state is EffectState.WANTED:
                yield f"{name} of {agent.id}: {effect.error if effect else 'not begun'}"
            elif "at" in effect.detail and "settled" not in effect.detail:
                yield f"{name} of {agent.id} is young"


# --- counters ----------------------------------------------------------------------------------

Logs = Mapping[AgentId, Sequence[AgentEvent]]


def logs(world: World) -> Logs:
    """The whole event log of every agent, as the database has it now."""
    return {agent.id: tuple(world.registry.log(agent.id)) for agent in world.agents()}


def forgotten(before: Logs, after: Logs) -> Iterator[str]:
    """Events and figures that were there before a kill, and are not, or are smaller, after it."""
    for agent, earlier in before.items():
        later = after.get(agent, ())
        if later[: len(earlier)] != earlier:
            yield f"the log of {agent} lost something of its {len(earlier)} events"
        was, now = _figures(fold(earlier)), _figures(fold(later))
        yield from (
            f"{name} of {agent} fell from {was[name]} to {now[name]}"
            for name in was
            if now[name] < was[name]
        )


def _figures(counters: Counters) -> Mapping[str, float]:
    """What only ever grows. A fix cycle is given back when its run passes, so it is left out."""
    return {
        "tool calls": counters.tool_calls,
        "turns": counters.turns,
        "test runs": counters.test_runs,
        "model calls": counters.model_calls,
        "input tokens": counters.input_tokens,
        "output tokens": counters.output_tokens,
        "active seconds": counters.active.total_seconds(),
    }
