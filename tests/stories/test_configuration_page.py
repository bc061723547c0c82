"""A repository's configuration on a page: what is in force and why, what is wrong, what did not
start."""

from tests.stories.happening import FIXES
from tests.support.pages import Reader
from tests.support.people import REPOSITORY, repository
from tests.twins.story import story

OTHER = "octo/other"
CONFIG = ".squadron/config.yaml"
PLACES = {
    REPOSITORY: repository({"fixer": {"max_tool_calls": 70}, "tester": {}}),
    OTHER: repository({"other": {}}),
}


def test_each_limit_says_which_layer_it_came_from() -> None:
    with story(PLACES, operator={"ceilings": {"max_tool_calls": 60}}) as squad:
        squad.give("fixer", "The answer is wrong", *FIXES)
        reader = Reader(squad)
        link = reader.page("/configuration").links[REPOSITORY]
        assert link == f"/configuration/{REPOSITORY}"
        page = reader.page(link)
        assert "fixer embedded, model: the operator's default" in page.text
        assert "max_tool_calls 60 " in page.text and "capped by the operator's ceiling" in page.text
        assert "Mistakes None." in page.text
        assert "max_turns" not in page.text
        assert "max_turns 50 built-in" in reader.page(f"{link}?all=yes").text
        told = reader.get(f"/configuration/{REPOSITORY.upper()}.json").json()
        limit = told["roles"]["fixer"]["limits"]["max_tool_calls"]
        assert told["valid"] and limit["value"] == 60 and limit["capped_by"] == "ceiling"


def test_mistakes_stand_with_their_place_and_what_was_sound_before_stays() -> None:
    with story(PLACES) as squad:
        squad.give("fixer", "The answer is wrong", *FIXES)
        squad.pushes({".squadron/agents/fixer.md": "---\nmax_tool_calls: many\n---\nFix it.\n"})
        squad.passes(minutes=6)
        reader = Reader(squad)
        page = reader.page(f"/configuration/{REPOSITORY}")
        [problem] = reader.get(f"/configuration/{REPOSITORY}.json").json()["errors"]
        place = f"{problem['file']}:{problem['line']}:{problem['column']}"
        assert page.links[place].endswith(f"/blob/HEAD/{problem['file']}#L{problem['line']}")
        assert problem["message"] in page.text
        assert "max_tool_calls 70" in page.text, "as before"


def test_where_a_budget_counts_every_agent_its_bound_on_money_is_in_force() -> None:
    budget = {"scope": "repository", "window": "day", "max_cost_usd": 50}
    prices = {"pricing": {"scripted": {"input": 100, "output": 0}}}
    places = {REPOSITORY: repository({"fixer": {}}, {"budgets": [budget]})}
    with story(places, operator=prices) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        told = Reader(squad).get(f"/configuration/{REPOSITORY}.json").json()
        bound = squad.agent(task).assignment.limits.max_cost_usd
        assert told["roles"]["fixer"]["limits"]["max_cost_usd"]["value"] == bound == 1.0


def test_what_did_not_start_says_why() -> None:
    with story(PLACES) as squad:
        squad.give("fixer", "The answer is wrong", *FIXES)
        task = squad.issue("Nobody does that", *FIXES).by("nobody")
        squad.label(task, "squadron:nobody")
        squad.settle()
        page = Reader(squad).page(f"/configuration/{REPOSITORY}")
        assert f"What did not start #{task.number} nobody, for maria" in page.text
        assert page.links[f"#{task.number}"].endswith(f"/octo/demo/issues/{task.number}")
        squad.label(squad.issue("Here", *FIXES, repository=OTHER).by("other"), "squadron:other")
        squad.settle()
        assert "What did not start" not in Reader(squad).page(f"/configuration/{OTHER}").text


def test_while_github_is_away_what_was_in_force_is_shown() -> None:
    with story(PLACES) as squad:
        squad.give("fixer", "The answer is wrong", *FIXES)
        with squad.without("rest"):
            squad.passes(hours=2)
            page = Reader(squad).page(f"/configuration/{REPOSITORY}")
            assert "Its files cannot be read now:" in page.text and "Nobody knows." in page.text
            assert "max_tool_calls 70" in page.text


def test_a_repository_that_switches_itself_off_says_so_and_a_stranger_is_not_there() -> None:
    with story(PLACES) as squad:
        squad.give("fixer", "The answer is wrong", *FIXES)
        squad.pushes({CONFIG: "enabled: false\n"})
        squad.settle()
        reader = Reader(squad)
        page = reader.page(f"/configuration/{REPOSITORY}")
        assert "set enabled: true on its default branch" in page.text
        squad.label(squad.issue("Here", *FIXES, repository=OTHER).by("other"), "squadron:other")
        squad.settle()
        assert "enabled: true" not in reader.page(f"/configuration/{OTHER}").text
        assert reader.get("/configuration/octo/nothing").status_code == 404
        assert reader.get("/configuration/octo/nothing.json").json() == {
            "detail": "Squadron knows no such repository."
        }
