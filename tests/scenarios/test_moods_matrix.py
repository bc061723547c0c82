"""Each fault and mood of GitHub, once at each effect of an escalation: exactly one of each.

What passes meets every effect of one escalation, one after the other. What somebody has to undo
comes at the very call of an effect, and has an escalation for each: what GitHub refuses is named,
and comes when it is undone. All of them at once, in one service.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from app.core.agents.agent import Agent, AgentId, EffectName, EffectState
from app.core.agents.lifecycle import State
from app.core.words.story import refused_words
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import commits, runs, waits_for, writes
from tests.support.waiting import MOST_SECONDS, until

pytestmark = pytest.mark.full

WRITES = "POST|PATCH"
EFFECTS = {
    "push": ("POST", r"{}\.git/git-receive-pack"),
    "check": (WRITES, r"repos/{}/check-runs(/\d+)?"),
    "comment": (WRITES, r"repos/{}/issues/(\d+/comments|comments/\d+)"),
    "label": ("POST", r"repos/{}/labels"),
    "issue": ("POST", r"repos/{}/issues"),
}
"""Of an escalation, in order: how each is asked for."""
PASSING: Mapping[str, Mapping[str, Any]] = {
    "primary-limit": {"kind": "primary_limit", "retry_after": 1},
    "secondary-limit": {"kind": "secondary_limit", "retry_after": 1},
    "error-before": {"kind": "error"},
    "error-after": {"kind": "error", "phase": "after"},
    "unavailable": {"kind": "error", "status": 503},
    "cut-off-after": {"kind": "timeout", "phase": "after"},
    "token-expired": {"kind": "token_expired"},
    "token-refused": {"kind": "unauthorized"},
}
UNSTATED = "unstated-limit"
"""A secondary limit that does not say how long: a minute. It holds for a whole installation."""
LOCKED = "locked"
"""What is written can be edited there all the same, so it comes at the first comment."""
MANY, ON_FIRST_PAGE = "many-issues", 100
"""The needs-human issue that was made unseen is on the second page of the list."""


@dataclass(frozen=True, slots=True)
class Mood:
    """What owners do, and undo."""

    word: str
    """Of what is named; empty: nobody has to be told, for nobody has to undo it."""
    order: str
    there: Mapping[str, Any]
    back: Mapping[str, Any] = field(default_factory=dict)
    undone_by: str = ""
    """The order, if it is another one."""
    refuses: tuple[str, ...] = ("push", "check", "comment", "label", "issue")
    apart: bool = False
    """Whether it holds for a whole installation."""


MOODS = {
    "archived": Mood("archived", "repository", {"archived": True}, {"archived": False}),
    "no-issues": Mood(
        "Issues", "repository", {"issues": False}, {"issues": True}, "", ("comment", "issue")
    ),
    LOCKED: Mood("locked", "lock", {"locked": True}, {"locked": False}, "", ("comment",)),
    "renamed": Mood("", "move", {}),
    "given": Mood("", "move", {}),
    "suspended": Mood(
        "suspended",
        "installation",
        {"action": "suspend"},
        {"action": "unsuspend"},
        apart=True,
    ),
    "uninstalled": Mood(
        "not installed",
        "installation",
        {"action": "deleted"},
        {},
        "install_further",
        apart=True,
    ),
    **{
        f"without-{permission}": Mood(
            f"The App needs {permission}=",
            "permissions",
            {"withheld": [permission]},
            {"withheld": []},
            "",
            refuses,
            apart=True,
        )
        for permission, refuses in (
            ("contents", ("push",)),
            ("checks", ("check",)),
            ("issues", ("comment", "issue")),
        )
    },
}
CELLS = [f"{name}-{effect}" for name, mood in MOODS.items() for effect in mood.refuses]
SLOW = [f"{UNSTATED}-{effect}" for effect in EFFECTS]


def place_of(name: str) -> str:
    """The repository of a story; what holds for a whole installation has an owner of its own."""
    mood = MOODS.get(name.rpartition("-")[0])
    is_apart = name in SLOW or (mood is not None and mood.apart)
    return f"{name}/demo" if is_apart else f"octo/{name}"


@dataclass(slots=True)
class Story:
    """One escalation, and what it meets."""

    task: Task
    agent: AgentId
    named: Sequence[str] = ()
    """What `squadron agents` and the log said that GitHub refuses, before it was undone."""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    files = repository({"caller": {"max_tool_calls": 3}})
    places = [place_of(name) for name in (*PASSING, MANY, *CELLS, *SLOW)]
    directory = tmp_path_factory.mktemp("matrix")
    with squad(
        directory,
        dict.fromkeys((*places, "elsewhere/demo"), files),
        workers=len(places),
        reconciliation_seconds=3,
    ) as team:
        team.tolerates("delivery given up")
        owners = {place.partition("/")[0] for place in places} - {"octo"}
        for owner in (*sorted(owners), "elsewhere"):
            team.github.orders("install_further", {"owner": owner})
        yield team


def strike(team: Squad, name: str, effect: str, fault: Mapping[str, Any]) -> None:
    """Let an effect of a story meet a fault, once."""
    method, place = EFFECTS[effect]
    path = f"^/{place.format(place_of(name))}$"
    team.github.orders("faults", {**fault, "method": method, "path": path, "count": 1})


def strike_mood(team: Squad, name: str) -> None:
    """Let the mood of a cell come at the call of its effect."""
    mood, _, effect = name.rpartition("-")
    what = MOODS[mood]
    at_the_call = {"kind": "order", "order": what.order, "body": order(name, what)}
    strike(team, name, effect, at_the_call)


def order(name: str, mood: Mood) -> dict[str, Any]:
    """What the owner does at the very call; no webhook tells of it."""
    body: dict[str, Any] = {**mood.there, "silently": True}
    if mood.apart:
        return {**body, "owner": name}
    if mood.order == "lock":
        return {**body, "repository": place_of(name), "number": 1}
    if mood.order == "move":
        return {**body, "repository": place_of(name), "to": moved_to(name)}
    return {**body, "repository": place_of(name)}


def moved_to(name: str) -> str:
    """Where a repository goes; a new owner has an installation of its own."""
    return f"elsewhere/{name}" if name.startswith("given") else f"octo/new-{name}"


@pytest.fixture(scope="module")
def stories(team: Squad) -> Mapping[str, Story]:
    """All have begun, all meet what they meet, and all go on at once."""
    begun, go_on = dict[str, Story](), waits_for(team.signal("go"), look_seconds=1)
    strike_mood(team, f"{LOCKED}-comment")
    for name in (*PASSING, MANY, *CELLS, *SLOW):
        steps = (writes("work.txt", name), commits("Work"), go_on, runs("one too many"))
        task = team.give("caller", name, *steps, repository=place_of(name))
        begun[name] = Story(task, AgentId(task.repository, task.number, "caller", 1))
    for name, story in begun.items():
        if not name.startswith(LOCKED):
            team.until_comment(story.task, "The agent works.")
    for name, fault in PASSING.items():
        for effect in EFFECTS:
            strike(team, name, effect, fault)
    for name in SLOW:
        strike(team, name, name.rpartition("-")[2], {"kind": "secondary_limit"})
    fill_a_page(team)
    strike(team, MANY, "issue", PASSING["cut-off-after"])
    for name in CELLS:
        if not name.startswith(LOCKED):
            strike_mood(team, name)
    team.go("go")
    team.until(begun[MANY].task, State.ESCALATED)
    undo_all(team, {name: begun[name] for name in CELLS})
    return begun


def undo_all(team: Squad, left: dict[str, Story]) -> None:
    """Each as soon as the agent has ended and what is refused was named, or was followed."""

    def look() -> bool:
        for name, story in [*left.items()]:
            mood, agent = MOODS[name.rpartition("-")[0]], team.registry.agent(story.agent)
            if not mood.word:
                if agent.repository != moved_to(name):
                    continue
                story.task = replace(story.task, repository=moved_to(name))
            else:
                story.named = refused_words(team.registry.effects(story.agent))
                if agent.state is not State.ESCALATED or not story.named:
                    continue
                undo(team, story, mood)
            del left[name]
        return not left

    within_seconds = 3 * MOST_SECONDS  # of many at once
    until(look, "what owners do is undone", within_seconds=within_seconds, failing=team.check_alive)


def undo(team: Squad, story: Story, mood: Mood) -> None:
    """No webhook tells of it either."""
    place = story.task.repository
    body = {**mood.back, "silently": True, "owner": place.partition("/")[0]}
    if not mood.apart:
        body = {**mood.back, "silently": True, "repository": place, "number": story.task.number}
    team.github.orders(mood.undone_by or mood.order, body)


def fill_a_page(team: Squad) -> None:
    """Needs-human issues of our App, about other issues."""
    path = f"/repos/{place_of(MANY)}/issues"
    for number in range(ON_FIRST_PAGE):
        body = {"title": f"Another {number}", "labels": ["needs-human"]}
        made = team.github.orders("silently", {"method": "POST", "path": path, "body": body})
        assert made["status"] == 201, made


def assert_told_once(team: Squad, story: Story) -> Agent:
    """The work on its branch, one failing check there, and one comment."""
    task = story.task
    until(
        lambda: EffectName.ISSUE in team.registry.effects(story.agent),
        f"{story.agent} is told of",
        failing=team.check_alive,
    )
    until(
        lambda: (
            {one.state for one in team.registry.effects(story.agent).values()} == {EffectState.DONE}
        ),
        f"all is done for {story.agent}",
        failing=team.check_alive,
    )
    agent = team.registry.agent(story.agent)
    assert agent.state is State.ESCALATED
    [head, *_] = team.github.commits(task.repository, task.branch)
    assert head["sha"] == agent.sha
    changed = team.github.sees(f"/repos/{task.repository}/commits/{agent.sha}")["files"]
    assert "work.txt" in {one["filename"] for one in changed}
    team.until_check(task, "failure")  # all that names the work follows it, pushed late as it may
    assert "Circuit breaker" in team.until_comment(task, str(agent.sha)[:12])
    assert len(team.checks(task)) == len(team.comments(task)) == 1
    return agent


def assert_one_issue(team: Squad, story: Story, agent: Agent) -> None:
    """It names the work as GitHub has it, as soon as that is there."""

    def bodies() -> list[str]:
        here, number = story.task.repository, story.task.number
        return [one["body"] for one in team.github.escalations(here, number)]

    work = f"`{story.task.branch}` at `{agent.sha}`"
    until(lambda: work in "".join(bodies()), "the issue names it", failing=team.check_alive)
    assert len(bodies()) == 1


@pytest.mark.parametrize("name", PASSING)
def test_peers_28_what_passes_at_an_effect_is_waited_for(
    team: Squad, stories: Mapping[str, Story], name: str
) -> None:
    """Peers, scenario 28: each effect has met it once, and none is there twice."""
    agent = assert_told_once(team, stories[name])
    assert_one_issue(team, stories[name], agent)


@pytest.mark.parametrize("name", CELLS)
def test_peers_28_what_owners_do_at_an_effect_is_named_and_can_be_undone(
    team: Squad, stories: Mapping[str, Story], name: str
) -> None:
    """Peers, scenario 28: where GitHub says no, until it does not."""
    story, mood = stories[name], MOODS[name.rpartition("-")[0]]
    assert not mood.word or any(mood.word in sentence for sentence in story.named), story.named
    agent = assert_told_once(team, story)
    assert_one_issue(team, story, agent)


def test_what_was_made_unseen_is_found_on_the_second_page(
    team: Squad, stories: Mapping[str, Story]
) -> None:
    story = stories[MANY]
    agent = assert_told_once(team, story)
    number = team.registry.effects(agent.id)[EffectName.ISSUE].number
    place, us = f"/repos/{story.task.repository}/issues", "squadron-box%5Bbot%5D"
    query = f"state=all&labels=needs-human&creator={us}&sort=created&direction=asc&per_page=100"
    pages = [team.github.sees(f"{place}?{query}&page={page}") for page in (1, 2)]
    assert [len(page) for page in pages] == [ON_FIRST_PAGE, 1]
    assert pages[1][0]["number"] == number


@pytest.mark.parametrize("name", SLOW)
def test_an_unstated_limit_is_waited_for_a_minute(
    team: Squad, stories: Mapping[str, Story], name: str
) -> None:
    agent = assert_told_once(team, stories[name])
    assert_one_issue(team, stories[name], agent)


def test_every_fault_has_struck(team: Squad, stories: Mapping[str, Story]) -> None:
    """Otherwise the stories above would prove nothing."""
    assert team.github.fired() == len(PASSING) * len(EFFECTS) + len(CELLS) + len(SLOW) + 1
