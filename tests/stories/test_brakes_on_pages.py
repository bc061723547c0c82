"""Brakes that people put on and lift on pages."""

from collections.abc import Iterator, Sequence

import pytest

from app.core.agents.lifecycle import State
from app.core.rules.brakes import Brake, Place
from tests.stories.happening import ASKS, AT_REVIEW, FIXES, ROLES
from tests.support.pages import Page, Reader
from tests.support.people import REPOSITORY, repository
from tests.twins.story import Story, story

CONFIGURATION = f"/configuration/{REPOSITORY}"


@pytest.fixture
def squad() -> Iterator[Story]:
    """A service without agents."""
    with story({REPOSITORY: repository(ROLES)}) as squad:
        yield squad


def brakes(squad: Story) -> Sequence[Brake]:
    """Those that are on."""
    return squad.run(squad.service.store.brakes())


def surely(reader: Reader, path: str, button: str, **fields: str) -> Page:
    """What a page shows after one of its buttons was pressed, and then Yes."""
    asked = reader.read(reader.sends(reader.page(path).form(button), button, None, **fields))
    answer = reader.sends(asked.form("Yes"), "Yes")
    assert answer.status_code == 303, answer.text
    return reader.page(answer.headers["location"])


def test_everything_is_paused_and_resumed_by_whoever_is_at_the_machine(squad: Story) -> None:
    task, reader = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES), Reader(squad)
    page = surely(reader, "/health", "Pause all agents", reason="a release")
    assert "Paused: all agents." in page.text
    assert "All agents for 0s, by the operator: a release" in page.text
    squad.comment(task, "Blue.")
    squad.passes(minutes=5)
    assert squad.agent(task).state is State.QUEUED
    page = surely(reader, "/", "Resume")
    assert "Resumed: all agents." in page.text and not brakes(squad)
    squad.passes(seconds=2)
    assert squad.states(task) == [AT_REVIEW]


def test_nothing_is_paused_before_somebody_is_sure(squad: Story) -> None:
    reader = Reader(squad)
    asked = reader.read(
        reader.sends(reader.page("/health").form("Pause all agents"), "Pause all agents")
    )
    assert "Pause all agents?" in asked.text
    assert not brakes(squad)


def test_a_repository_is_paused_and_resumed_on_its_page(squad: Story) -> None:
    squad.give("fixer", "The answer is wrong", *FIXES)
    reader = Reader(squad)
    reader.is_known_as("noel")
    page = surely(reader, CONFIGURATION, f"Pause all agents of {REPOSITORY}")
    assert f"Paused: all agents of {REPOSITORY}." in page.text
    [brake] = brakes(squad)
    assert (brake.place, brake.by) == (Place.repository(REPOSITORY), "noel")
    assert f"Pause all agents of {REPOSITORY}" not in page.text
    assert "Resumed:" in surely(reader, CONFIGURATION, "Resume").text
    assert not brakes(squad)


def test_what_is_paused_already_is_said(squad: Story) -> None:
    reader = Reader(squad)
    form = reader.page("/health").form("Pause all agents")
    surely(reader, "/health", "Pause all agents")
    again = reader.sends(form, "Pause all agents", None, sure="yes")
    assert "were paused already" in reader.page(again.headers["location"]).text
    lifts = reader.page("/health").form("Resume")
    surely(reader, "/health", "Resume")
    again = reader.sends(lifts, "Resume", None, sure="yes")
    assert "no brake of just that place" in reader.page(again.headers["location"]).text


@pytest.mark.parametrize(
    ("scope", "name", "told"),
    [
        ("repository", "octo/nothing", "Squadron was never let into octo/nothing."),
        ("repository", "", "Squadron was never let into ."),
        ("configuration", REPOSITORY, "switches itself off"),
    ],
)
def test_what_cannot_be_paused_by_hand_is_not(
    squad: Story, scope: str, name: str, told: str
) -> None:
    reader = Reader(squad)
    form = reader.page("/health").form("Pause all agents")
    asked = {"sure": "yes", "scope": scope, "name": name}
    answer = reader.sends(form, "Pause all agents", None, **asked)
    assert told in reader.page(answer.headers["location"]).text
    assert not brakes(squad)


def test_a_brake_that_cannot_be_is_not_understood(squad: Story) -> None:
    reader = Reader(squad)
    form = reader.page("/health").form("Pause all agents")
    for fields in ({"scope": "world"}, {"do": "break"}):
        assert reader.sends(form, "", None, **fields).status_code == 400


def test_a_repository_that_switches_itself_off_has_no_button(squad: Story) -> None:
    squad.give("fixer", "The answer is wrong", *FIXES)
    squad.pushes({".squadron/config.yaml": "enabled: false\n"})
    squad.passes(minutes=2)
    assert [each.place for each in brakes(squad)] == [Place.configuration(REPOSITORY)]
    page = Reader(squad).page("/")
    assert "enabled: false" in page.text
    assert all("Resume" not in form.buttons for form in page.forms)
