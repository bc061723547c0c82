"""Many repositories and agents: what one pass of reconciliation costs, and that it misses nothing.

`SQUADRON_TEST_MANY=200x25` plays it with 200 repositories of 25 agents each. The figures
are in the service's log.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.services.configuration.plans import KEPT_FOR
from tests.support.crowd import LABEL, MOST_PASS_SECONDS, STOPPED, Crowd
from tests.support.crowd import crowd as crowd_of
from tests.support.github import GitHub, git
from tests.support.waiting import NeverCame, until

pytestmark = pytest.mark.full

REPOSITORIES, AGENTS = map(int, os.environ.get("SQUADRON_TEST_MANY", "36x2").split("x"))
MOST_REQUESTS: Final = 999
BESIDE: Final = 1
"""Requests of what goes on beside a pass: who we are, asked once in the life of a process."""
QUICKLY_SECONDS: Final = 10
"""From pass to pass, where a test waits for many of them."""
LONG: Final = 2 * KEPT_FOR + timedelta(seconds=QUICKLY_SECONDS)
"""Within which each configuration would be read again."""
MOST_PASSES: Final = 8
"""Within which all that has changed was found, and all that was to be written is written."""


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    with crowd_of(tmp_path_factory.mktemp("many"), REPOSITORIES) as crowd:
        crowd.falls_asleep(AGENTS)
        yield crowd


def passes(crowd: Crowd, is_enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The pass after which it is enough; each of them has its bound, and tells its cost."""
    for _ in range(MOST_PASSES):
        before = crowd.requests()
        done = crowd.one_pass()
        crowd.team.service.stop()
        asked = crowd.requests() - before
        assert done["requests"] <= MOST_REQUESTS, done
        assert abs(done["requests"] - asked) <= BESIDE or done["repairs"], (asked, done)
        assert done["repositories"] + done["put_off"].get("looks", 0) == REPOSITORIES, done
        if is_enough(done):
            return done
    raise AssertionError(f"{MOST_PASSES} passes were not enough: {done}")


def test_a_pass_costs_a_few_requests_for_each_repository_and_says_so(crowd: Crowd) -> None:
    """200 repositories with 5,000 agents cost less than 1,000 requests, whatever they wait for."""
    done = passes(crowd, lambda done: done["repairs"] == 0)
    assert done["agents"] == REPOSITORIES * AGENTS, done
    assert REPOSITORIES > done["looked_at_fully"] > 0, done


def test_what_has_changed_in_any_of_them_is_found(crowd: Crowd) -> None:
    """Whether it is looked at fully or only for what is new."""
    github, labels = crowd.team.github, f"labels/{LABEL}"
    for number, name in enumerate(crowd.names):
        issue = f"/repos/{name}/issues/1"
        match number % 3:
            case 0:
                github.silently("maria", "PATCH", issue, {"state": "closed"})
            case 1:
                github.silently("maria", "DELETE", f"{issue}/{labels}")
            case _:
                body = {"body": "/squadron stop"}
                github.silently("maria", "POST", f"{issue}/comments", body)

    def workers(name: str) -> list[Agent]:
        return [agent for agent in crowd.agents(name) if agent.id.role != STOPPED]

    def firsts() -> list[State]:
        return [one.state for name in crowd.names for one in workers(name) if one.id.issue == 1]

    done = passes(crowd, lambda _: {*firsts()} == {State.CANCELLED})
    assert 0 < done["looked_at_fully"] < REPOSITORIES, done
    others = [one.state for name in crowd.names for one in workers(name) if one.id.issue != 1]
    assert {*others} == {State.SLEEPING}


def test_who_has_not_pushed_need_not_be_asked_for_the_configuration(crowd: Crowd) -> None:
    """Nor does a push escape that no webhook told of."""
    team, name = crowd.team, crowd.names[0]
    crowd.reconciles_every(QUICKLY_SECONDS)
    seen = len(crowd.passes())
    team.service.start()
    read = dict[datetime, Counter[str]]()
    """What had been read at the end of each pass that looked at all of them."""

    def asked_for_of_late() -> list[str]:
        """Whose configuration was read within `LONG`; all of them before so much has passed."""
        done = crowd.passes()
        if len(done) == seen or done[-1]["repositories"] < REPOSITORIES:
            return [*crowd.names]
        last = datetime.fromisoformat(done[-1]["at"])
        if last not in read:
            read[last] = crowd.configurations_read()
        before = max((at for at in read if last - at > LONG), default=None)
        return [*crowd.names] if before is None else [*(read[last] - read[before])]

    # Whatever else happens in a repository may ask for its configuration as well.
    try:
        until(
            lambda: len(asked_for_of_late()) <= REPOSITORIES / 10,
            "configurations are not read for a while",
            within_seconds=MOST_PASS_SECONDS + LONG.total_seconds(),
            failing=team.check_alive,
        )
    except NeverCame as never:
        never.add_note(f"read of late: {asked_for_of_late()}; passes: {crowd.passes()[seen:]}")
        raise
    for done in crowd.passes()[seen:]:
        assert done["requests"] <= MOST_REQUESTS, done
    _switches_off(team.github, name)
    until(
        lambda: [
            line
            for line in team.service.lines()
            if line["message"].startswith("switched off") and line["repository"] == name
        ],
        "the push is found",
        within_seconds=MOST_PASS_SECONDS,
        failing=team.check_alive,
    )
    team.service.stop()


def _switches_off(github: GitHub, name: str) -> None:
    """By a push to the default branch that nobody tells of."""
    clone = github.clone(name)
    (clone / ".squadron").mkdir()
    (clone / ".squadron/config.yaml").write_text("enabled: false\n")
    git("switch", "--quiet", "--create", "off", cwd=clone)
    git("add", ".", cwd=clone)
    git("commit", "--quiet", "--message", "Off", cwd=clone)
    git("push", "--quiet", "origin", "off", cwd=clone)
    sha = git("rev-parse", "HEAD", cwd=clone).strip()
    github.silently("maria", "PATCH", f"/repos/{name}/git/refs/heads/main", {"sha": sha})
