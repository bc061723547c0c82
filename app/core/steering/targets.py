"""Whom the commands of a comment are meant for, and which of them are obeyed already. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import Created, Raised, TakenAway, Woken
from app.core.agents.lifecycle import State
from app.core.commands.grammar import (
    Command,
    Explain,
    ForOne,
    Misread,
    Raise,
    Resume,
    Retry,
    Stop,
    Wake,
)
from app.core.words.answers import which_of_words
from app.core.words.pauses import unknown_agent_words, which_agent_words

Obeyed = Created | Raised | TakenAway | Woken
"""What the log of an agent says of a command that it obeyed."""


_Changing = Raise | Resume | Stop | Wake | Retry
"""Commands that change something; the others are only asked."""


def of_thread(
    agents: Sequence[Agent], thread: int, called_for: Collection[AgentId] = ()
) -> list[Agent]:
    """The newest agent of each role that works, or worked, on the issue or the pull request.

    `agents`: all of the repository, oldest first, and so is what is found; `called_for`: whom the
    thread, an escalation issue, was opened for. Who took over from one of these belongs to it.
    """
    own = [agent for agent in agents if agent.parent is None]
    newest = {_post(agent): agent.id for agent in own}
    here = {
        _post(agent)
        for agent in own
        if thread in (agent.id.issue, agent.pull_request) or agent.id in called_for
    }
    return [agent for agent in own if _post(agent) in here and newest[_post(agent)] == agent.id]


def _post(agent: Agent) -> tuple[int, str]:
    return agent.id.issue, agent.id.role


@dataclass(frozen=True, slots=True)
class Waiting:
    """A start that waits, in the place of an agent."""

    role: str


def targets(
    agents: Sequence[Agent], read: Sequence[Command], waiting: Collection[str] = ()
) -> list[Agent | Waiting | str | None]:
    """For each command the agent that it is about, or what to say if that cannot be told; None:
    it is about none in particular. `waiting`: roles that wait to start; those can be stopped.

    Each is read as its author means it: with what those before it will have done by then.
    """
    found, by_then, waits = list[Agent | Waiting | str | None](), list(agents), set(waiting)
    for command in read:
        target = _target(by_then, waits, command) if isinstance(command, ForOne) else None
        if isinstance(target, Waiting):
            waits.discard(target.role)
        if not isinstance(target, Agent):
            found.append(target)
            continue
        place = by_then.index(target)
        found.append(agents[place])
        by_then[place] = _after(command, target)
    return found


def _after(command: Command, agent: Agent) -> Agent:
    """The agent, or who takes over from it, when a command is obeyed. Of raises there may be
    several for one pause."""
    match command:
        case Stop() if not agent.has_ended:
            return replace(agent, state=State.CANCELLED)
        case Retry() if agent.has_ended:
            return replace(agent, state=State.QUEUED)
        case Wake() if agent.state is State.SLEEPING:
            return replace(agent, state=State.QUEUED)
        case _:
            return agent


def _target(
    agents: Sequence[Agent], waiting: Collection[str], command: ForOne
) -> Agent | Waiting | str:
    who = command.who
    if isinstance(command, Stop) and (begins := _to_stop(agents, waiting, who)):
        return begins
    if who is not None:
        named = [agent for agent in agents if _is_called(agent.id, who)]
        return named[-1] if named else unknown_agent_words(who, agents)
    meant = [agent for agent in agents if _is_meant(command, agent)]
    if len(meant) > 1 and isinstance(command, Raise | Resume):
        return which_agent_words(meant)
    if len(meant) > 1:
        verb = type(command).__name__.lower()
        return which_of_words(verb, [agent.id.role for agent in meant])
    running = [agent for agent in agents if not agent.is_final]
    newest = (meant or running or agents)[-1:]
    return newest[0] if newest else unknown_agent_words(None, agents)


def _to_stop(
    agents: Sequence[Agent], waiting: Collection[str], who: str | None
) -> Waiting | str | None:
    """The start that is meant, or what to ask if another may be meant as well; None: no start
    is."""
    at_work = {agent.id.role for agent in agents if not agent.has_ended}
    waits = [role for role in waiting if role not in at_work]
    if who is not None:
        named = (role for role in waits if role.casefold() == who.strip("`").casefold())
        return next(map(Waiting, named), None)
    if not waits:
        return None
    roles = at_work | {*waits}
    return which_of_words("stop", roles) if len(roles) > 1 else Waiting(waits[0])


def _is_called(agent: AgentId, who: str) -> bool:
    return who.strip("`").casefold() in (agent.role.casefold(), str(agent).casefold())


def _is_meant(command: ForOne, agent: Agent) -> bool:
    """Whether the agent is in a state in which it can do what it is told."""
    match command:
        case Raise() | Resume():
            return agent.state is State.PAUSED
        case Wake():
            return agent.state is State.SLEEPING
        case Stop():
            return not agent.has_ended
        case Retry():
            return agent.has_ended
        case Explain():
            return True
        case _:
            assert_never(command)


def left_over(
    read: Sequence[Command | Misread], obeyed: Sequence[tuple[AgentId, Obeyed]]
) -> list[Command | Misread]:
    """The commands of one comment that are still to be obeyed, where the logs of agents tell of
    these already.

    They are obeyed in order: what stands before one that was obeyed was obeyed too, or refused.
    What is only asked is answered once more, as that changes nothing.
    """
    last = max(_obeyed(read, obeyed), default=-1)
    return [
        command
        for position, command in enumerate(read)
        if position > last or not isinstance(command, _Changing)
    ]


def refused_before(
    read: Sequence[Command | Misread], obeyed: Sequence[tuple[AgentId, Obeyed]]
) -> list[int]:
    """Positions of the commands that were refused before a later one was obeyed."""
    found = _obeyed(read, obeyed)
    return [
        position
        for position, command in enumerate(read[: max(found, default=0)])
        if isinstance(command, _Changing) and position not in found
    ]


def _obeyed(
    read: Sequence[Command | Misread], obeyed: Sequence[tuple[AgentId, Obeyed]]
) -> set[int]:
    """Positions of the commands of which the logs of agents tell."""
    open_, found = list(obeyed), set[int]()
    for position, command in enumerate(read):
        of_it = [(agent, event) for agent, event in open_ if _tells_of(agent, event, command)]
        if of_it:
            found.add(position)
            if not isinstance(command, Raise | Resume):  # several become one move
                open_.remove(of_it[0])
    return found


def _tells_of(agent: AgentId, event: Obeyed, command: Command | Misread) -> bool:
    match event, command:
        case Raised(limit=limit), Raise(limit=wanted) if limit is not wanted:
            return False
        case (
            (Raised(), Raise(who=who) | Resume(who=who))
            | (TakenAway(), Stop(who=who))
            | (Woken(), Wake(who=who))
            | (Created(), Retry(who=who))
        ):
            return who is None or _is_called(agent, who) or _is_of_post(agent, who)
        case _:
            return False


def _is_of_post(agent: AgentId, who: str) -> bool:
    """Whether an id names an agent in whose place this one works, or worked."""
    return who.strip("`").casefold().startswith(f"{agent.post}/".casefold())
