"""What limits do to agents, on a page: who is close, what was right, what agents used."""

import pytest

import app.core.history.role_use
import app.core.history.suggest
from app.core.history.agent_history import History
from app.core.history.role_use import ADD_UP
from app.core.history.suggest import role_history
from app.core.limits import LimitName
from app.scripted.script import Answer
from app.services.views import amount
from tests.stories.happening import ASKS, FIXES, ROLES
from tests.stories.test_sub_agents import part
from tests.support.pages import Reader
from tests.support.people import REPOSITORY, repository
from tests.support.steps import completes, runs, writes
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository(ROLES), "octo/other": repository(ROLES)}
PRICES = {"pricing": {"scripted": {"input": 100, "output": 0}}}
BUDGETS = {"budgets": [{"scope": "repository", "window": "day", "max_cost_usd": 50}]}
TOO_MUCH = (runs("true"), runs("true"))


def histories(squad: Story) -> list[History]:
    """Of all fixers, with their whole logs."""
    agents = squad.run(squad.service.store.agents())
    return [History(each, squad.log(each.id)) for each in agents if each.id.role == "fixer"]


def test_who_is_close_to_a_limit_leads_to_its_page() -> None:
    with story(PLACES) as squad:
        reader = Reader(squad)
        assert "Nobody who works or waits has used four fifths" in reader.page("/limits").text
        task = squad.give("pauser", "Two calls are too many", *TOO_MUCH)
        squad.give("fixer", "The colour is wrong", *ASKS)
        page = reader.page("/limits")
        assert page.links["Two calls are too many"] == f"/agents/octo/demo/{task.number}/pauser/1"
        assert "max_tool_calls 2 of 1 tool calls" in page.text or "1 of 1 tool calls" in page.text
        assert "The colour is wrong" not in page.links
        for query in ("role=fixer", "repository=octo/other"):
            assert "Two calls are too many" not in reader.page(f"/limits?{query}").links


def test_a_stop_that_people_took_back_was_wrong() -> None:
    with story(PLACES) as squad:
        task = squad.give("pauser", "Two calls are too many", *TOO_MUCH, *FIXES)
        right = squad.give("stopper", "These, too", *TOO_MUCH)
        reader = Reader(squad)
        assert "pauser 0 0 1 –" in reader.page("/limits").text, "open: nobody has said yet"
        squad.comment(task, "/squadron raise max_tool_calls +9")
        squad.settle()
        squad.merge(task)
        squad.settle()
        told = reader.get("/limits.json").json()
        found = {each["agent"]: each["judged"] for each in told["reached"]}
        assert found == {
            f"octo/demo#{task.number}/pauser/1": "wrong",
            f"octo/demo#{right.number}/stopper/1": "right",
        }
        assert told["precision"]["all"]["precision"] == 0.5
        text = reader.page("/limits").text
        assert "pauser 0 1 0 0 %" in text and "stopper 1 0 0 100 %" in text
        assert "all 1 1 0 50 %" in text
        only = reader.get("/limits.json?role=stopper&repository=Octo/Demo").json()
        assert [each["role"] for each in only["reached"]] == ["stopper"]
        assert reader.get("/limits.json?repository=octo/other").json()["reached"] == []
        squad.passes(hours=3)
        assert reader.get("/limits.json?since=2h").json()["reached"] == []


def test_what_finished_agents_used_is_what_their_logs_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without reading those."""
    for module in (app.core.history.role_use, app.core.history.suggest):
        monkeypatch.setattr(module, "LEAST_FINISHED", 3)
    with story({REPOSITORY: repository(ROLES, BUDGETS)}, operator=PRICES) as squad:
        for number in range(3):
            more = [runs("true")] * number
            does = [*more, writes(f"more-{number}", "42\n"), *FIXES]
            task = squad.give("fixer", f"Answer {number} is wrong", *does)
            squad.merge(task)
            squad.settle()
        squad.give("stopper", "Two calls are too many", *TOO_MUCH)
        by_logs = {each.name: each for each in role_history("fixer", histories(squad), {}).limits}
        told = Reader(squad).get("/limits.json?role=fixer").json()
        assert told["finished"] == 3
        assert {"max_tool_calls", "max_turns", "max_cost_usd"} <= told["used"].keys()
        for name in map(LimitName, told["used"]):
            expected, shown = by_logs[name], told["used"][name.value]
            assert name in ADD_UP and expected.finished is not None
            used = expected.finished
            assert (shown["median"], shown["p95"], shown["max"]) == tuple(
                amount(name, figure) for figure in (used.median, used.p95, used.most)
            ), name
            suggestion = expected.suggestion
            assert shown["suggested"] == (suggestion and amount(name, suggestion.value)), name
        assert told["used"]["max_tool_calls"]["suggested"] == 8
        assert "max_tool_calls 200 5 6 6 8" in Reader(squad).page("/limits?role=fixer").text


def test_only_stops_of_the_time_that_is_asked_for_are_told() -> None:
    with story(PLACES) as squad:
        task = squad.give("pauser", "Two calls are too many", *TOO_MUCH, *TOO_MUCH)
        squad.passes(hours=3)
        squad.comment(task, "/squadron raise max_tool_calls +1")
        squad.settle()
        reader = Reader(squad)
        both, late = (reader.get(f"/limits.json?since={since}") for since in ("1d", "2h"))
        assert [len(each.json()["reached"]) for each in (both, late)] == [2, 1]
        times = [each["at"] for each in both.json()["reached"]]
        assert times == sorted(times, reverse=True)


def test_what_a_sub_agent_used_is_of_its_parent() -> None:
    places = {REPOSITORY: repository({"lead": {"tests": "none"}, "helper": {}})}
    with story(places) as squad:
        asked = part(squad, "part-1", runs("true"), completes("Done."))
        squad.give("lead", "One part", Answer("", (asked,)), completes("Done."))
        squad.settle()
        reader = Reader(squad)
        finished = {
            role: reader.get(f"/limits.json?role={role}").json()["finished"]
            for role in ("lead", "helper")
        }
        assert finished == {"lead": 1, "helper": 0}


def test_without_a_price_nobody_knows_what_money_was_used() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        squad.merge(task)
        squad.settle()
        reader = Reader(squad)
        assert "max_cost_usd" not in reader.get("/limits.json?role=fixer").json()["used"]
        assert "With fewer than 10 nothing is suggested." in reader.page("/limits?role=fixer").text
        assert "No agent of that role has finished yet." in reader.page("/limits?role=dear").text


def test_a_wrong_address_is_told_so() -> None:
    with story(PLACES) as squad:
        reader = Reader(squad)
        for query, words in (
            ("since=91d", "at most 90 days"),
            ("since=soon", "no instant"),
            ("limit=x", "'limit' is none of repository, role, since."),
        ):
            refused = reader.get(f"/limits.json?{query}")
            assert refused.status_code == 400 and words in refused.json()["detail"], query
        assert reader.get("/limits?since=90d").status_code == 200
