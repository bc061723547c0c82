"""What stories about money look at: who works, who waits for a budget, and what is said of it."""

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from tests.support.people import Task
from tests.support.squad import Squad
from tests.support.waiting import until


def until_runs(team: Squad, task: Task) -> Agent:
    """The agent, once a shell of it waits for the story."""
    agent = team.until(task, State.ACTIVE)
    until(lambda: team.processes(agent.id), f"a shell of {task}", failing=team.check_alive)
    return agent


def refused(team: Squad, task: Task, words: str) -> str:
    """The only comment on the issue, which says why nothing starts; and nothing has started."""
    text = team.until_comment(task, words)
    team.settle()
    assert (len(team.comments(task)), team.agents(task)) == (1, [])
    return text


def notes(team: Squad, task: Task) -> int:
    """How often it was said that no agent starts yet."""
    return sum("not started yet" in one["body"] for one in team.comments(task))
