"""What people do on pages: as commands of comments, and answered there."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from app.core.agents.events import Raised
from app.core.agents.lifecycle import State
from app.web.pages.forms import NOTE_COOKIE
from tests.stories.happening import (
    ASKING,
    ASKS,
    AT_REVIEW,
    CANCELLED,
    FIXES,
    PAUSED,
    ROLES,
    STOPPED,
    at_work,
)
from tests.support.pages import Reader
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import completes, runs
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository(ROLES)}
TOO_MUCH = (runs("true"), runs("true"))


@pytest.fixture
def squad() -> Iterator[Story]:
    """A service without agents."""
    with story(PLACES) as squad:
        yield squad


def known(squad: Story, login: str = "maria") -> Reader:
    """Somebody who has said who they are."""
    reader = Reader(squad)
    reader.is_known_as(login)
    return reader


def page_of(task: Task) -> str:
    """Of its first agent."""
    return f"/agents/{REPOSITORY}/{task.number}/{task.role}/1"


def test_who_was_stopped_is_tried_again(squad: Story) -> None:
    task = squad.give("stopper", "The answer is wrong", *TOO_MUCH)
    page = known(squad).presses("/", "Try again")
    assert f"Tried again: {REPOSITORY}#{task.number}/stopper/1." in page.text
    squad.settle()
    first, second = squad.agents(task)
    assert second.predecessor == str(first.id)


def test_a_call_is_closed_with_its_issue(squad: Story) -> None:
    task = squad.give("stopper", "The answer is wrong", *TOO_MUCH)
    [issue] = squad.needs_human(task)
    page = known(squad).presses("/", "Close")
    assert "Closed:" in page.text and "Nobody waits for you." in page.text
    squad.settle()
    assert not squad.needs_human(task)
    [words] = squad.comments(Task(REPOSITORY, issue["number"], ""))
    assert "maria closed this on a page of Squadron." in words
    assert squad.states(task) == [STOPPED]
    squad.does("ada", "PATCH", f"/repos/{REPOSITORY}/issues/{issue['number']}", {"state": "open"})
    squad.passes(minutes=10)
    known(squad, "ada").presses("/", "Close")
    _, words = squad.comments(Task(REPOSITORY, issue["number"], ""))
    assert "ada closed this" in words


def test_who_waits_for_more_goes_on(squad: Story) -> None:
    task = squad.give("pauser", "Two calls are too many", *TOO_MUCH, completes("Done."))
    assert squad.states(task) == [PAUSED]
    page = known(squad).presses("/", "Resume")
    assert "Resumed:" in page.text
    squad.settle()
    assert squad.states(task) != [PAUSED]


def test_a_limit_is_raised_by_so_much(squad: Story) -> None:
    task = squad.give("pauser", "Two calls are too many", *TOO_MUCH, completes("Done."))
    reader = known(squad)
    page = reader.presses(page_of(task), "Raise", limit="max_tool_calls", amount="+7")
    assert "Raised:" in page.text
    agent = squad.agent(task)
    [raised] = [each for each in squad.log(agent.id) if isinstance(each, Raised)]
    assert (raised.by, raised.amount, raised.maximum) == ("maria", 7, 8)


def test_a_raise_by_very_much_has_to_be_said_twice(squad: Story) -> None:
    task = squad.give("pauser", "Two calls are too many", *TOO_MUCH, completes("Done."))
    reader = known(squad)
    asked = {"limit": "max_tool_calls", "amount": "5000"}
    assert "Raised" not in reader.presses(page_of(task), "Raise", **asked).text
    assert squad.states(task) == [PAUSED]
    assert "Raised:" in reader.presses(page_of(task), "Raise", **asked).text


def test_who_works_is_stopped(squad: Story) -> None:
    task = at_work(squad)
    known(squad).presses(page_of(task), "Stop")
    squad.settle()
    assert squad.states(task) == [CANCELLED]


def test_who_sleeps_is_woken(squad: Story) -> None:
    task = squad.give("fixer", "The colour is wrong", *ASKS, *FIXES)
    assert squad.states(task) == [ASKING]
    known(squad).presses(page_of(task), "Wake")
    squad.settle()
    assert squad.states(task) == [AT_REVIEW]


def test_several_are_tried_again_when_somebody_is_sure(squad: Story) -> None:
    tasks = [squad.give("stopper", f"Number {number}", *TOO_MUCH) for number in range(3)]
    reader = known(squad)
    form = reader.page("/triage").form("Try these again")
    assert len(form.fields["agent"]) == 3
    asked = reader.sends(form, "Try these again")
    assert "Try again: 3 agents?" in asked.text
    assert all(len(squad.agents(task)) == 1 for task in tasks)
    done = reader.sends(reader.read(asked).form("Yes"), "Yes")
    assert "Tried again: 3 of 3." in reader.page(done.headers["location"]).text
    squad.settle()
    assert all(len(squad.agents(task)) == 2 for task in tasks)


def test_the_audit_tells_who_did_what(squad: Story) -> None:
    task = squad.give("stopper", "The answer is wrong", *TOO_MUCH)
    known(squad).presses("/", "Close")
    squad.passes(minutes=1)
    known(squad, "ada").presses(page_of(task), "Try again")
    heard = squad.run(squad.service.store.heard_commands(REPOSITORY))
    assert [(each.by, each.lines) for each in heard] == [
        ("maria", ("close",)),
        ("ada", (f"/squadron retry {REPOSITORY}#{task.number}/stopper/1",)),
    ]


@pytest.mark.parametrize("login", ["rita", "tom", "noel", "nobody-at-all"])
@pytest.mark.parametrize("button", ["Try again", "Close"])
def test_who_may_start_nothing_changes_nothing(squad: Story, login: str, button: str) -> None:
    task = squad.give("stopper", "The answer is wrong", *TOO_MUCH)
    page = known(squad, login).presses("/", button)
    assert f"Nothing was changed in {REPOSITORY}: {login} has the permission" in page.text
    squad.settle()
    assert len(squad.agents(task)) == 1
    assert squad.agent(task).dismissed_at is None


def test_who_has_not_said_who_they_are_is_asked(squad: Story) -> None:
    squad.give("stopper", "The answer is wrong", *TOO_MUCH)
    reader = Reader(squad)
    answer = reader.sends(reader.page("/").form("Try again"), "Try again")
    assert (answer.status_code, answer.headers["location"]) == (303, "/you?back=/")
    assert reader.sends(reader.page("/you").form("That is me"), login="a b").status_code == 400


@pytest.mark.parametrize(
    ("changed", "headers"),
    [
        ({"form": ""}, {}),
        ({"form": "0" * 64}, {}),
        ({"form": "é"}, {}),
        ({}, {"Sec-Fetch-Site": "cross-site"}),
        ({}, {"Sec-Fetch-Site": "same-site"}),
        ({}, {"Sec-Fetch-Site": "none"}),
    ],
)
def test_a_form_of_somebody_elses_does_nothing(
    squad: Story, changed: dict[str, str], headers: dict[str, str]
) -> None:
    task = squad.give("stopper", "The answer is wrong", *TOO_MUCH)
    reader = known(squad)
    form = reader.page("/").form("Try again")
    answer = reader.sends(form, "Try again", headers, **changed)
    assert answer.status_code == 403
    assert "This form is of another session" in answer.text
    assert len(squad.agents(task)) == 1


def test_who_does_too_much_in_an_hour_has_to_wait() -> None:
    operator: dict[str, Any] = {"rate": {"starts_per_user_per_hour": 2}}
    with story(PLACES, operator=operator) as squad:
        task = squad.give("stopper", "The answer is wrong", *TOO_MUCH)
        reader = known(squad, "ada")
        for _ in range(2):
            reader.presses("/", "Close")
            squad.run(squad.service.store.note_dismissed(squad.agent(task).id, None))
        page = reader.presses("/", "Close")
        assert "ada has started or steered as much as is allowed in an hour" in page.text
        assert squad.agent(task).dismissed_at is None


def test_github_that_does_not_answer_is_said_on_the_page(squad: Story) -> None:
    squad.give("stopper", "The answer is wrong", *TOO_MUCH)
    reader = known(squad)
    with squad.without("rest"):
        page = reader.presses("/", "Try again")
    assert "GitHub does not answer" in page.text


def test_a_note_is_shown_once(squad: Story) -> None:
    squad.give("stopper", "The answer is wrong", *TOO_MUCH)
    reader = known(squad)
    assert "Closed:" in reader.presses("/", "Close").text
    assert "Closed:" not in reader.page("/").text


def test_a_note_that_squadron_has_not_written_is_not_shown(squad: Story) -> None:
    reader = Reader(squad)
    words = urlsafe_b64encode(b"Call 555-0100.").decode()
    for seal in ("", "0" * 64, "\u00e9"):
        reader.brings(NOTE_COOKIE, f"{words}.{seal}")
        assert "Call" not in reader.page("/").text


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example/", "/\\evil.example", "", "/a\r\nX: y"]
)
def test_no_form_leads_away_from_here(squad: Story, back: str) -> None:
    reader = Reader(squad)
    form = reader.page("/you").form("That is me")
    answer = reader.sends(form, login="maria", back=back)
    assert answer.headers["location"] == "/"
    assert Reader(squad).page(f"/you?{urlencode({'back': back})}").links["Back"] == "/"


def test_what_nobody_offers_is_not_understood(squad: Story) -> None:
    task = squad.give("stopper", "The answer is wrong", *TOO_MUCH)
    reader = known(squad)
    form = reader.page("/").form("Try again")
    for fields in (
        {"do": "delete"},
        {"do": "retry", "agent": "nothing"},
        {"do": "raise", "limit": "max_turns 5", "amount": "1"},
        {"do": "retry", "agent": [f"octo/demo#{n}/fixer/1" for n in range(51)]},
    ):
        assert reader.sends(form, **fields).status_code == 400
    page = reader.sends(form, do="retry", agent="octo/demo#99/fixer/1")
    assert page.status_code == 303
    assert "knows no agent octo/demo#99/fixer/1" in reader.page("/").text
    assert squad.agent(task).state is State.ESCALATED
