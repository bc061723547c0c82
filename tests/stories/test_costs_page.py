"""What agents have cost, on a page: by whom, what is left, and what a merged pull request cost."""

from app.core.breaker.verdict import money
from app.core.money import CostsBy, usd, whole_nanousd
from tests.stories.happening import FIXES, ROLES
from tests.support.pages import Reader
from tests.support.people import REPOSITORY, repository
from tests.support.steps import runs
from tests.twins.story import Story, story

PRICES = {"pricing": {"scripted": {"input": 100, "output": 0}}}
BUDGETS = {"budgets": [{"scope": "repository", "window": "day", "max_cost_usd": 50}]}
PLACES = {REPOSITORY: repository(ROLES)}


def priced(squad: Story, by: CostsBy) -> int:
    """What the ledger says, in nano-dollars."""
    return sum(cost.nanousd for cost in squad.run(squad.service.ledger.costs(by)))


def test_costs_agree_with_the_ledger_whoever_they_are_put_down_to() -> None:
    with story(PLACES, operator=PRICES) as squad:
        squad.give("fixer", "The answer is wrong", *FIXES)
        squad.give("stopper", "Two calls are too many", runs("true"), runs("true"))
        reader, all_of_it = Reader(squad), priced(squad, CostsBy.AGENT)
        assert all_of_it > 0
        for by in CostsBy:
            told = reader.get(f"/costs.json?by={by}").json()
            lines = [whole_nanousd(each["cost_usd"]) for each in told["costs"]]
            assert sum(lines) == whole_nanousd(told["total"]["cost_usd"]) == all_of_it, by
            assert f"In all {money(usd(all_of_it))}" in reader.page(f"/costs?by={by}").text
        by_agent = reader.page("/costs?by=agent")
        assert by_agent.links["octo/demo#3/stopper/1"] == "/agents/octo/demo/3/stopper/1"
        assert reader.page("/costs?by=role").links["fixer"] == "/fleet?role=fixer"
        days = reader.get("/costs.json").json()
        assert [each["key"] for each in days["costs"]] == ["2026-03-01"], "by day, unless asked"


def test_a_merged_pull_request_costs_what_failed_too() -> None:
    with story(PLACES, operator=PRICES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        squad.give("stopper", "Two calls are too many", runs("true"), runs("true"))
        reader = Reader(squad)
        assert "Each, with all that failed none was merged" in reader.page("/costs").text
        squad.merge(task)
        squad.settle()
        told = reader.get("/costs.json?by=role").json()
        assert told["total"]["merged_pull_requests"] == 1
        assert {each["key"]: each["merged_pull_requests"] for each in told["costs"]} == {
            "fixer": 1,
            "stopper": 0,
        }
        by_model = reader.get("/costs.json?by=model").json()
        assert by_model["total"]["merged_pull_requests"] == 1
        each = money(usd(priced(squad, CostsBy.AGENT)))
        words = f"Merged pull requests 1 Each, with all that failed {each}"
        assert words in reader.page("/costs").text


def test_what_has_no_price_is_named_and_never_nothing() -> None:
    with story(PLACES) as squad:
        squad.merge(squad.give("fixer", "The answer is wrong", *FIXES))
        squad.settle()
        reader = Reader(squad)
        page = reader.page("/costs?by=role")
        assert "Merged pull requests 1 Each, with all that failed unknown" in page.text
        assert "No price is known of openai:scripted (4 calls)" in page.text
        assert "fixer unknown" in page.text
        told = reader.get("/costs.json?by=role").json()
        assert told["total"]["cost_usd"] is None and told["without_price"] == ["openai:scripted"]


def test_only_the_time_that_is_asked_for_is_counted() -> None:
    with story(PLACES, operator=PRICES) as squad:
        squad.give("fixer", "The answer is wrong", *FIXES)
        squad.passes(hours=5)
        reader = Reader(squad)
        assert "No model was called in that time." in reader.page("/costs?since=2h").text
        assert "No model was called in that time." in reader.page("/costs?until=6h&since=1d").text
        assert reader.get("/costs.json?since=1d&until=1h").json()["total"]["cost_usd"] > 0
        for query in ("by=colour", "since=soon", "until=soon"):
            assert reader.get(f"/costs?{query}").status_code == 400
            assert reader.get(f"/costs.json?{query}").status_code == 400


def test_budgets_stand_with_what_is_left_of_them() -> None:
    with story({REPOSITORY: repository(ROLES, BUDGETS)}, operator=PRICES) as squad:
        squad.give("stopper", "Two calls are too many", runs("true"), runs("true"))
        page = Reader(squad).page("/costs")
        [balance] = squad.run(squad.service.ledger.balances(squad.clock.now()))
        assert f"{money(usd(balance.left_nanousd))} in " in page.text
