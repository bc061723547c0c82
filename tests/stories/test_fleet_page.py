"""All agents on a page, cut down by what stands in its address."""

from urllib.parse import parse_qs, urlsplit

import pytest

import app.web.pages.fleet
from tests.stories.happening import ASKS, FIXES, ROLES
from tests.support.pages import Reader
from tests.support.people import REPOSITORY, repository
from tests.support.steps import runs
from tests.twins.story import story

OTHER = "octo/other"
PLACES = {REPOSITORY: repository(ROLES), OTHER: repository(ROLES)}


def test_each_agent_is_a_line_and_the_address_says_which() -> None:
    with story(PLACES) as squad:
        squad.give("fixer", "The colour is wrong", *ASKS, *FIXES)
        squad.give("stopper", "Two calls are too many", runs("true"), runs("true"))
        reader = Reader(squad)
        page = reader.page("/fleet")
        assert page.links["The colour is wrong"] == "/agents/octo/demo/1/fixer/1"
        assert "SLEEPING Which colour?" in page.text
        assert "max_tool_calls 1 of 1 tool calls" in page.text
        assert page.text.index("Two calls are") < page.text.index("The colour is"), "newest first"
        only = reader.page("/fleet?role=&state=escalated&repository=octo%2FDEMO")
        assert "The colour is wrong" not in only.links and "Two calls are too many" in only.links
        assert "No agent fits." in reader.page("/fleet?repository=octo/other").text
        assert "No agent fits." in reader.page("/fleet?started_by=nobody").text
        programs = reader.page("/fleet?started_by=Maria").links["This page for programs (JSON)"]
        assert programs == "/fleet.json?started_by=Maria"
        assert len(reader.get(programs).json()["agents"]) == 2
        squad.passes(hours=3)
        assert "No agent fits." in reader.page("/fleet?since=2h").text


def test_a_wrong_address_is_told_so() -> None:
    with story(PLACES) as squad:
        reader = Reader(squad)
        for query, words in (
            ("state=BUSY", "'BUSY' is no state: there are QUEUED"),
            ("since=soon", "'soon' is no instant"),
            ("colour=red", "'colour' is none of repository, role,"),
            ("after=x", "x"),
        ):
            refused = reader.get(f"/fleet.json?{query}")
            assert refused.status_code == 400 and words in refused.json()["detail"], query
            assert reader.get(f"/fleet?{query}").status_code == 400


def test_a_large_fleet_is_read_page_by_page_with_its_filter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(app.web.pages.fleet, "ON_A_PAGE", 2)
    with story(PLACES) as squad:
        for number in range(3):
            squad.give("fixer", f"Task {number}", *ASKS)
        squad.give("stopper", "Task 3", runs("true"), runs("true"))
        reader = Reader(squad)
        first = reader.page("/fleet?role=fixer&state=SLEEPING")
        assert "Fleet 3" in first.text
        assert "Fleet 1" in reader.page("/fleet?state=ESCALATED").text
        assert [f"Task {number}" in first.links for number in range(4)] == [
            False,
            True,
            True,
            False,
        ]
        older = first.links["Older"]
        asked = parse_qs(urlsplit(older).query)
        assert (asked["role"], asked["state"]) == (["fixer"], ["SLEEPING"])
        last = reader.page(older)
        assert "Task 0" in last.links and "Task 1" not in last.links and "Older" not in last.links
        both = reader.page(reader.page("/fleet").links["Older"])
        assert {"Task 0", "Task 1"} <= both.links.keys() and "Older" not in both.links
