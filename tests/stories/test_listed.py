"""Whom `trust` lists is known by GitHub's id: a login can pass to somebody else."""

import json
from typing import Any, Final

import pytest

from tests.stories.happening import FIXES
from tests.support.people import REPOSITORY, Task, repository
from tests.twins.story import Story, story

ROLES: Final[dict[str, dict[str, Any]]] = {"fixer": {}}
LISTED: Final = {"trust": {"logins": ["Tom"]}}
LABEL: Final = "squadron:fixer"


def labelled(squad: Story, title: str, by: str = "tom") -> Task:
    task = squad.issue(title, *FIXES).by("fixer")
    squad.label(task, LABEL, by=by)
    squad.settle()
    return task


def starts(squad: Story, title: str, by: str = "tom") -> bool:
    return len(squad.agents(labelled(squad, title, by))) == 1


def passes_on(squad: Story, login: str) -> None:
    """Whoever has the login gives it up, and somebody else registers it."""
    squad.orders("give_up_login", user=login)
    squad.orders("users", login=login, permission="triage")


@pytest.mark.parametrize("is_restarted", [False, True])
def test_who_takes_a_listed_login_inherits_nothing(is_restarted: bool) -> None:
    with story({REPOSITORY: repository(ROLES, LISTED)}) as squad:
        assert starts(squad, "By Tom")
        passes_on(squad, "tom")
        if is_restarted:
            squad.restart()
        squad.passes(hours=1)
        assert not starts(squad, "By another Tom")
        assert starts(squad, "By Maria", by="maria")
        squad.orders("users", login="tom", permission="write")
        squad.passes(hours=1)
        assert starts(squad, "By him who may write by now"), "his own permission counts"


def test_it_is_resolved_before_they_ask_for_the_first_time() -> None:
    with story({REPOSITORY: repository(ROLES, LISTED)}) as squad:
        assert starts(squad, "By Maria", by="maria")
        passes_on(squad, "tom")
        assert not starts(squad, "By another Tom")


def test_who_is_taken_out_and_listed_anew_counts_as_they_are_now() -> None:
    files = {name: text for name, text in repository(ROLES, LISTED).items() if "config" in name}
    [name] = files
    with story({REPOSITORY: repository(ROLES, LISTED)}) as squad:
        assert starts(squad, "By Tom")
        passes_on(squad, "tom")
        squad.pushes({name: json.dumps({**json.loads(files[name]), "trust": {}})})
        squad.passes(hours=1)
        assert starts(squad, "By Maria", by="maria")
        squad.pushes({name: files[name]})
        squad.passes(hours=1)
        assert starts(squad, "By Tom as he is now")


def test_a_login_that_nobody_had_is_nobodys_when_somebody_takes_it() -> None:
    with story({REPOSITORY: repository(ROLES, {"trust": {"logins": ["new-tom"]}})}) as squad:
        assert starts(squad, "By Maria", by="maria")
        squad.orders("users", login="new-tom", permission="triage")
        assert not starts(squad, "By whoever was quick", by="new-tom")
