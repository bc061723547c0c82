"""An open page in a real browser."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.stories.happening import ASKS, FIXES, ROLES
from tests.support.browser import Browser, browsing, needs_chromium
from tests.support.people import REPOSITORY, repository
from tests.support.steps import runs
from tests.twins.shell import TEST
from tests.twins.story import story

PLACES = {REPOSITORY: repository(ROLES)}
SEE = """is_hidden => {
  Object.defineProperty(document, "hidden", { value: is_hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
CHANGED = """async ([before, wanted]) => {
  const { change } = await import("/static/change.js");
  const made = html => {
    const main = document.createElement("main");
    main.innerHTML = html;
    return main;
  };
  const main = made(before);
  change(main, made(wanted));
  return [main.innerHTML, made(wanted).innerHTML];
}"""
pytestmark = needs_chromium


def test_what_happens_comes_to_an_open_page() -> None:
    with story(PLACES) as squad, browsing(squad) as browser:
        browser.opens("/")
        assert "Nobody waits for you." in browser.reads()
        task = squad.give("fixer", "The colour is wrong", *ASKS, *FIXES)
        browser.waits_for("Which colour?")
        assert browser.does(lambda window: str(window.title())).startswith("(1) Needs you")
        squad.comment(task, "Green.")
        browser.waits_for("Nobody waits for you.")
        assert not browser.trouble


def test_the_focus_stays_on_its_agent_when_another_one_comes() -> None:
    with story(PLACES) as squad, browsing(squad) as browser:
        squad.give("fixer", "The first", *ASKS)
        squad.settle()
        browser.opens("/fleet")
        browser.does(lambda window: window.get_by_role("link", name="The first").focus())
        squad.give("fixer", "The second", *ASKS)
        browser.waits_for("The second")
        rows = browser.does(lambda window: window.locator("tbody tr").all_inner_texts())
        assert "The second" in rows[0] and "The first" in rows[1]
        focused = "document.activeElement.textContent"
        assert browser.does(lambda window: window.evaluate(focused)) == "The first"


def test_what_somebody_types_stays() -> None:
    with story(PLACES) as squad, browsing(squad) as browser:
        browser.opens("/fleet")
        browser.does(lambda window: window.get_by_label("Moved since").press_sequentially("2h"))
        squad.give("fixer", "The colour is wrong", *ASKS)
        browser.waits_for("The colour is wrong")
        assert browser.does(lambda window: window.get_by_label("Moved since").input_value()) == "2h"


def test_what_somebody_closed_stays_closed() -> None:
    with story(PLACES) as squad, browsing(squad) as browser:
        task = squad.give("fixer", "The colour is wrong", runs(TEST), *ASKS, *FIXES)
        squad.settle()
        [agent] = squad.agents(task)
        browser.opens(f"/agents/{agent.id.repository}/{agent.id.issue}/fixer/1")
        browser.does(lambda window: window.get_by_text("Last test runs").click())
        squad.comment(task, "Green.")
        browser.waits_for("handed over")
        is_open = "document.querySelector('summary').parentElement.open"
        assert browser.does(lambda window: window.evaluate(is_open)) is False


def test_a_tab_that_nobody_sees_follows_nothing() -> None:
    with story(PLACES) as squad, browsing(squad) as browser:
        browser.opens("/")
        browser.does(lambda window: window.evaluate(SEE, True))
        squad.give("fixer", "The colour is wrong", *ASKS)
        squad.passes(minutes=1)
        assert "Nobody waits for you." in browser.reads()
        browser.does(lambda window: window.evaluate(SEE, False))
        browser.waits_for("Which colour?")


@pytest.mark.full
def test_a_page_says_that_it_has_lost_the_line_and_finds_it_again() -> None:
    with story(PLACES) as squad, browsing(squad) as browser:
        browser.opens("/")
        squad.tolerates("database is locked")
        with squad.without("database"):
            browser.waits_for("Not live since")
        browser.does(lambda window: window.get_by_text("Live", exact=True).wait_for())


def elements() -> st.SearchStrategy[str]:
    """HTML, of few kinds and keys, so that two have something in common."""
    key = st.sampled_from(["", ' data-key="a"', ' data-key="b"', ' id="c"', ' class="d"'])
    words = st.sampled_from(["", "one", "two"])

    def around(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        tag = st.sampled_from(["div", "section", "form", "span"])
        parts = st.tuples(tag, key, st.lists(inner, max_size=4))
        return parts.map(lambda it: f"<{it[0]}{it[1]}>{''.join(it[2])}</{it[0]}>")

    return st.lists(st.recursive(words, around, max_leaves=8), max_size=4).map("".join)


@pytest.fixture(scope="module")
def window() -> Any:
    """A browser on a page that is open."""
    with story(PLACES) as squad, browsing(squad) as browser:
        browser.opens("/")
        yield browser


@given(elements(), elements())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_was_there_looks_as_wanted(window: Browser, before: str, wanted: str) -> None:
    changed, as_wanted = window.does(lambda page: page.evaluate(CHANGED, [before, wanted]))
    assert changed == as_wanted
