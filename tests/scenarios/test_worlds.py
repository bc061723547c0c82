"""Whatever a webhook told, and in whatever order, the end is the same (docs/design.md, promise
10).

Agents here are started, woken and stopped, but never work (`serve --no-worker`): what is looked
at is which of them live, not what they do.

**The same** means, when everything that was delivered is handled and reconciliation has looked
until a pass repairs nothing and puts no repository off: on every issue the same roles have a live
agent, in the same state, waiting for the same; the same effects are outstanding (wanted or
refused, not done); the same needs-human issues are open. How it came to that may differ: where
nobody was told, an agent that was asked for and taken away before anybody looked never was.

`SQUADRON_TEST_WORLDS=200` plays so many worlds, `SQUADRON_TEST_WORLDS_SEED=7` other ones.
"""

import itertools
import os
import random
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from app.core.agents.agent import AgentId, EffectName, EffectState
from app.core.agents.events import Waits
from app.core.effects.wanted import NEEDS_HUMAN, escalation_marker, marker
from tests.support.deliveries import deliver, told_of
from tests.support.github import BOT, git
from tests.support.passes import until_quiet
from tests.support.people import PEOPLE, repository
from tests.support.squad import Squad, squad
from tests.support.standing import Standing, standing
from tests.support.waiting import until

pytestmark = pytest.mark.full

WORLDS: Final = int(os.environ.get("SQUADRON_TEST_WORLDS", "12"))
SEED: Final = int(os.environ.get("SQUADRON_TEST_WORLDS_SEED", "2026"))
EVENTS: Final = 10
"""That happen in one world."""
LOOKS_AFTER: Final = 5
"""So many events reconciliation looks, in the middle of it."""
A_REPOSITORY_HOLDS: Final = 8
"""Worlds; they share nothing but the repository."""
TOLD, UNTOLD, ORDERS = "octo/told", "octo/untold", "octo/orders"
ROLES: Final = ("docs", "release")

Ending = Mapping[str, Any]


def stranger(world: int) -> str:
    """A person whose permission changes in one world, and who appears in no other."""
    return f"pat-{world}"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    places = itertools.chain.from_iterable(
        (f"{TOLD}-{number}", f"{UNTOLD}-{number}") for number in range(_places())
    )
    files = repository({role: {"tests": "none"} for role in ROLES})
    people = {**PEOPLE, **{stranger(world): "none" for world in range(WORLDS)}}
    with squad(
        tmp_path_factory.mktemp("worlds"),
        dict.fromkeys([ORDERS, *places], files),
        reconciliation_seconds=3600,
        people=people,
        operator={"rate": {"starts_per_user_per_hour": 100_000}},
        options=["--no-worker"],
    ) as team:
        team.tolerates("inbox unavailable")  # where the disk stands still for seconds
        yield team


def _places() -> int:
    return -(-WORLDS // A_REPOSITORY_HOLDS)


# --- what the end is ---------------------------------------------------------------------------


def endings(team: Squad, name: str, groups: Sequence[Sequence[int]]) -> list[Ending]:
    """How it ended for each group of issues of a repository, in the words of the module's
    docstring; an issue is named by its place in its group."""
    open_ones = team.github.lists(f"/repos/{name}/issues?labels={NEEDS_HUMAN}")
    everybody, here = team.registry.agents(name), team.github.sees(f"/repos/{name}")["id"]

    def ending(issues: Sequence[int]) -> Ending:
        agents = [each for each in everybody if each.id.issue in issues]
        return {
            "live": sorted(
                (issues.index(each.id.issue), each.id.role, each.state.value, each.waits_for)
                for each in agents
                if not each.is_final
            ),
            "outstanding": sorted(
                (issues.index(each.id.issue), each.id.role, effect.name.value, effect.state.value)
                for each in agents
                for effect in team.registry.effects(each.id).values()
                if effect.state is not EffectState.DONE
            ),
            "asks": sorted(
                index
                for index, issue in enumerate(issues)
                if any(escalation_marker(here, issue) in (one["body"] or "") for one in open_ones)
            ),
        }

    return [ending(issues) for issues in groups]


# --- every order of one story ------------------------------------------------------------------

STORY: Final[Sequence[tuple[str, str, Any]]] = (
    ("POST", "/labels", {"labels": ["squadron:docs"]}),
    ("PATCH", "", {"state": "closed"}),
    ("PATCH", "", {"state": "open"}),
    ("POST", "/labels", {"labels": ["squadron:release"]}),
    ("POST", "/comments", {"body": "/squadron stop docs"}),
)
"""docs is asked for; the issue is closed and opened again, which ends docs; release is asked for,
and somebody wants to be sure of docs."""
HANDS_ON: Final[Mapping[str, tuple[Sequence[tuple[str, str, Any]], Sequence[str]]]] = {
    "the assignment goes": (
        (
            ("POST", "/labels", {"labels": ["squadron:docs"]}),
            ("POST", "/assignees", {"assignees": [BOT]}),
            ("DELETE", "/assignees", {"assignees": [BOT]}),
        ),
        ["docs"],
    ),
    "the label goes": (
        (
            ("POST", "/labels", {"labels": ["squadron:docs"]}),
            ("POST", "/assignees", {"assignees": [BOT]}),
            ("DELETE", "/labels/squadron:docs", None),
        ),
        [],
    ),
}
"""Both ask for docs, one of them is taken back; whose agents are left."""
ACTIONS: Final = ("labeled", "closed", "reopened", "labeled", "created")


def test_all_orders_of_a_story_of_five_events_end_the_same(team: Squad) -> None:
    """Issue 4. The first issue's deliveries come one by one, as it happens; those of 120 others
    afterwards, each in an order of its own; of the last nothing is ever delivered."""
    _all_orders_end(team, STORY, ACTIONS, ["release"])


@pytest.mark.parametrize("story", HANDS_ON)
def test_label_and_assignment_end_the_same_in_all_orders(team: Squad, story: str) -> None:
    steps, roles = HANDS_ON[story]
    last = "unassigned" if roles else "unlabeled"
    _all_orders_end(team, steps, ("labeled", "assigned", last), roles)


def _all_orders_end(
    team: Squad,
    story: Sequence[tuple[str, str, Any]],
    actions: Sequence[str],
    roles: Sequence[str],
) -> None:
    """With a live agent of each of these roles, that has not begun yet, and with nothing else."""
    orders = list(itertools.permutations(range(len(story))))
    live, *others = [_opened(team, ORDERS, "Story") for _ in range(len(orders) + 2)]
    for step in story:
        _happens_at(team, live, step)
        team.settle()
    with team.github.trouble(kind="lost"):
        for number in others:
            for step in story:
                _happens_at(team, number, step)
    told = defaultdict[int, list[tuple[str, Any]]](list)
    for event, payload in told_of(team, ORDERS):
        if "issue" in payload:
            told[payload["issue"]["number"]].append((event, payload))
    for number, order in zip(others, orders, strict=False):
        for place in order:
            event, payload = told[number][place]
            assert payload["action"] == actions[place]
            _until_taken(team, event, payload)
    team.settle()
    until_quiet(team, ORDERS)
    wanted, *found = endings(team, ORDERS, [[live], *([one] for one in others)])
    left = [(0, role, "QUEUED", None) for role in roles]
    assert wanted == {"live": left, "outstanding": [], "asks": []}
    names = [*map(str, orders), "no delivery at all"]
    differing = {name: end for name, end in zip(names, found, strict=True) if end != wanted}
    assert not differing, f"{len(differing)} end differently: {next(iter(differing.items()))}"


def _until_taken(team: Squad, event: str, payload: Any) -> None:
    """One delivery, sent again as people press "Redeliver" where the service had to refuse it."""
    delivery = str(uuid.uuid4())
    until(
        lambda: deliver(team, event, payload, delivery).status_code == 202,
        "the delivery is taken",
        failing=team.check_alive,
    )


def _happens_at(team: Squad, issue: int, step: tuple[str, str, Any]) -> None:
    method, path, body = step
    team.github.does("maria", method, f"/repos/{ORDERS}/issues/{issue}{path}", body)


def _opened(team: Squad, name: str, title: str, **more: Any) -> int:
    """An issue that no webhook tells of; its number."""
    order = {"user": "maria", "method": "POST", "path": f"/repos/{name}/issues"}
    answer = team.github.orders("silently", {**order, "body": {"title": title, **more}})
    assert answer["status"] == 201, answer
    return int(answer["body"]["number"])


# --- random worlds -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Event:
    """Somebody does something about one issue of a world, or gets another permission."""

    by: str
    what: str
    about: str = ""
    """The key of an issue."""
    detail: str = ""


@dataclass(slots=True)
class World:
    """A few issues with what waits there, and what happens to them."""

    number: int
    events: Sequence[Event]
    issues: dict[str, dict[str, int]] = field(default_factory=dict)
    """By repository: key of an issue → number."""

    @property
    def places(self) -> tuple[str, str]:
        """Where all is told, and where nothing is."""
        place = self.number // A_REPOSITORY_HOLDS
        return f"{TOLD}-{place}", f"{UNTOLD}-{place}"


HANDS: Final = ("unlabel", "close", "reopen", "permission")
"""What counts whoever has done it: GitHub lets nobody do it who may not."""
ISSUES: Final = ("blocker", "asker", "waiter", "maker", "stopped", "fresh", "other")
"""One that another waits for, three with a docs agent that waits for an answer, for that one, for
a review; one whose agent was stopped; two that nobody works on."""


def imagined(number: int) -> World:
    """A world by its number: events that make sense after those before them.

    One thing is left out: nobody loses a permission with which he has acted since the last look.
    GitHub tells what somebody may do as of now (REST, "Get repository permissions for a user"),
    and a timeline has no entry for it ("Issue event types"): who was told at once obeyed, who
    looks later must not. Nor is a label set again that was taken off: within two seconds that
    changes nothing, unless it was looked at in between.
    """
    dice = random.Random(f"{SEED} {number}")
    pat, may, used = stranger(number), "none", False
    is_open = dict.fromkeys((*ISSUES, "pull"), True)
    labels = {key: set[str]() for key in ISSUES}
    for key in ("asker", "waiter", "maker", "stopped"):
        labels[key].add("docs")
    events, key, taken_off = list[Event](), ISSUES[0], set[tuple[str, str]]()
    while len(events) < EVENTS:
        used = used and len(events) != LOOKS_AFTER
        key = dice.choice((*ISSUES, *[key] * len(ISSUES)))
        role, by = dice.choice(ROLES), dice.choice(("maria", "maria", "maria", pat))
        what = dice.choice(
            ("label", "unlabel", "close", "reopen", "say", "say", "stop", "wake", "review",
             "merge", "refuse", "permission")
        )  # fmt: skip
        can_do = by == "maria" or may != "none"
        match what:
            case "label" if can_do and role not in labels[key] and (key, role) not in taken_off:
                labels[key].add(role)
            case "unlabel" if can_do and labels[key]:
                role = dice.choice(sorted(labels[key]))
                labels[key].discard(role)
                taken_off.add((key, role))
            case "close" if can_do and is_open[key]:
                is_open[key] = False
            case "reopen" if can_do and not is_open[key]:
                is_open[key] = True
            case "say" | "stop" | "wake":
                pass
            case "review" if is_open["pull"]:
                by = "maria"
            case "merge" | "refuse" if is_open["pull"]:
                by, is_open["pull"] = "maria", False
            case "permission":
                level = dice.choice(("none", "triage", "write"))
                if level == may or used:
                    continue
                by, role, may = pat, level, level
            case _:
                continue
        used = used or (by == pat and may == "write" and what not in HANDS)
        events.append(Event(by, what, key, role))
    return World(number, events)


def test_random_worlds_end_the_same_with_all_webhooks_and_with_none(team: Squad) -> None:
    """Issue 4: issues labelled, closed, reopened, blockers closed, pull requests merged, comments,
    permission changes."""
    worlds = [imagined(number) for number in range(WORLDS)]
    team.service.stop()
    with standing(team) as registry:
        for name, here in itertools.groupby(
            sorted((name, world.number) for world in worlds for name in world.places),
            key=lambda one: one[0],
        ):
            _set_up(team, registry, name, [worlds[number] for _, number in here])
    team.service.start()
    team.settle()
    for turn in range(EVENTS):
        if turn == LOOKS_AFTER:
            team.settle()
            until_quiet(team, ORDERS)
        _happens_in_a_second_of_its_own(team, worlds, turn)
    team.settle()
    until_quiet(team, ORDERS)
    ends = {
        (name, world.number): end
        for name in sorted({name for world in worlds for name in world.places})
        for here in [[world for world in worlds if name in world.places]]
        for world, end in zip(here, _ends(team, name, here), strict=True)
    }
    differing = [
        f"world {world.number}: {_numbered(world)}\n  told: {told}\n  not:  {untold}"
        for world in worlds
        for told, untold in [[ends[name, world.number] for name in world.places]]
        if told != untold
    ]
    assert not differing, f"{len(differing)} of {WORLDS} differ:\n" + "\n".join(differing)


def _happens_in_a_second_of_its_own(team: Squad, worlds: Sequence[World], turn: int) -> None:
    """GitHub tells time in seconds: what came first of two things in one, nobody can say."""
    for world in worlds:
        _happens(team, world, world.events[turn])
    until_second = int(time.time()) + 1
    until(lambda: time.time() >= until_second, "the next second")


def _numbered(world: World) -> str:
    return "; ".join(
        f"{one.by} {one.what} {one.about} {one.detail}".strip() for one in world.events
    )


def _ends(team: Squad, name: str, worlds: Sequence[World]) -> list[Ending]:
    return endings(team, name, [[*world.issues[name].values()] for world in worlds])


def _set_up(team: Squad, registry: Standing, name: str, worlds: Sequence[World]) -> None:
    clone = team.github.clone(name)
    here = team.github.sees(f"/repos/{name}")["id"]
    branches = [f"work-{world.number}" for world in worlds]
    for branch in branches:
        git("switch", "--quiet", "--create", branch, "origin/main", cwd=clone)
        git("commit", "--quiet", "--allow-empty", "--message", branch, cwd=clone)
    with team.github.trouble(kind="lost"):
        git("push", "--quiet", "origin", *branches, cwd=clone)
    for world, branch in zip(worlds, branches, strict=True):
        labelled = {"labels": ["squadron:docs"]}
        issues = {
            key: _opened(
                team,
                name,
                key.capitalize(),
                **(labelled if key in ("asker", "waiter", "maker", "stopped") else {}),
            )
            for key in ISSUES
        }
        pull = {"title": branch, "head": branch, "base": "main"}
        order = {"user": "ada", "method": "POST", "path": f"/repos/{name}/pulls", "body": pull}
        issues["pull"] = int(team.github.orders("silently", order)["body"]["number"])
        stopped = issues["stopped"]
        sign = marker(AgentId(name, stopped, "docs", 1), EffectName.ISSUE)
        told = {
            "title": "Stopped",
            "body": escalation_marker(here, stopped) + sign,
            "labels": [NEEDS_HUMAN],
        }
        order = {"method": "POST", "path": f"/repos/{name}/issues", "body": told}
        escalation = int(team.github.orders("silently", order)["body"]["number"])
        registry.asleep(name, issues["asker"], "docs")
        registry.asleep(
            name, issues["waiter"], "docs", Waits.BLOCKER, blocked_by=(issues["blocker"],)
        )
        registry.asleep(name, issues["maker"], "docs", Waits.REVIEW, pull_request=issues["pull"])
        registry.stopped(name, stopped, "docs", escalation)
        world.issues[name] = issues


def _happens(team: Squad, world: World, event: Event) -> None:
    """In both repositories; only one of them is told of."""
    if event.what == "permission":
        team.github.orders("users", {"login": event.by, "permission": event.detail})
        return
    for name, acts in zip(world.places, (team.github.does, team.github.silently), strict=True):
        number, pull = world.issues[name][event.about], world.issues[name]["pull"]
        issue = f"/repos/{name}/issues/{number}"
        label = f"squadron:{event.detail}"
        match event.what:
            case "label":
                acts(event.by, "POST", f"{issue}/labels", {"labels": [label]})
            case "unlabel":
                acts(event.by, "DELETE", f"{issue}/labels/{label}")
            case "close":
                acts(event.by, "PATCH", issue, {"state": "closed"})
            case "reopen":
                acts(event.by, "PATCH", issue, {"state": "open"})
            case "say":
                acts(event.by, "POST", f"{issue}/comments", {"body": "The blue one."})
            case "stop" | "wake":
                acts(event.by, "POST", f"{issue}/comments", {"body": f"/squadron {event.what}"})
            case "review":
                review = {"event": "REQUEST_CHANGES", "body": "A word is missing."}
                acts(event.by, "POST", f"/repos/{name}/pulls/{pull}/reviews", review)
            case "merge":
                acts(event.by, "PUT", f"/repos/{name}/pulls/{pull}/merge", {})
            case "refuse":
                acts(event.by, "PATCH", f"/repos/{name}/pulls/{pull}", {"state": "closed"})
            case _:
                raise AssertionError(event)
