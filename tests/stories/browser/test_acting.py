"""Somebody who acts on pages, in a real browser."""

from typing import Any

from tests.stories.happening import ROLES
from tests.support.browser import browsing, needs_chromium
from tests.support.people import REPOSITORY, repository
from tests.support.steps import completes, runs
from tests.twins.story import story

PLACES = {REPOSITORY: repository(ROLES)}
TOO_MUCH = (runs("true"), runs("true"))
pytestmark = needs_chromium


def is_maria(window: Any) -> None:
    """Says who they are."""
    window.get_by_role("link", name="Who are you?").click()
    window.get_by_label("Login").fill("maria")
    window.get_by_role("button", name="That is me").click()


def test_who_was_stopped_is_tried_again_and_leaves_the_open_page() -> None:
    with story(PLACES) as squad, browsing(squad) as browser:
        task = squad.give("stopper", "The answer is wrong", *TOO_MUCH)
        browser.opens("/")
        browser.does(is_maria)
        browser.does(lambda window: window.get_by_role("button", name="Try again").press("Enter"))
        browser.does(lambda window: window.get_by_text("Tried again: ").wait_for())
        browser.waits_for("The answer is wrong")
        squad.settle()
        first, second = squad.agents(task)
        assert second.predecessor == str(first.id)
        assert not browser.trouble


def test_a_limit_is_raised_and_the_page_follows_the_agent_on() -> None:
    with story(PLACES) as squad, browsing(squad) as browser:
        task = squad.give("pauser", "Two calls are too many", *TOO_MUCH, completes("Done."))
        browser.opens(f"/agents/{REPOSITORY}/{task.number}/pauser/1")
        browser.does(is_maria)

        def raises(window: Any) -> None:
            window.get_by_role("combobox", name="Limit").select_option("max_tool_calls")
            window.get_by_label("More").fill("5")
            window.get_by_role("button", name="Raise").click()

        browser.does(raises)
        browser.does(lambda window: window.get_by_text("Raised: ").wait_for())
        browser.waits_for("COMPLETED")
        assert not browser.trouble


def test_without_scripts_everything_is_there_and_can_be_done() -> None:
    with story(PLACES) as squad, browsing(squad, java_script_enabled=False) as browser:
        task = squad.give("stopper", "The answer is wrong", *TOO_MUCH)
        browser.does(lambda window: window.goto(f"{browser.address}/triage"))
        browser.does(is_maria)
        browser.does(lambda window: window.get_by_role("button", name="Close these").click())
        browser.does(lambda window: window.get_by_text("Closed: ").wait_for())
        assert not squad.needs_human(task)
