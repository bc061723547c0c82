"""What people read on the pages of a service, without scripts."""

from tests.stories.happening import ASKS, FIXES, ROLES
from tests.support.pages import Reader
from tests.support.people import REPOSITORY, repository
from tests.support.steps import runs
from tests.twins.story import story

PLACES = {REPOSITORY: repository(ROLES)}


def test_the_first_page_says_who_needs_a_person_why_and_where_to_act() -> None:
    with story(PLACES) as squad:
        reader = Reader(squad)
        assert "Nobody waits for you. That is a good sign" in reader.page("/").text
        task = squad.give("fixer", "The colour is wrong", *ASKS, *FIXES)
        squad.passes(minutes=10)
        page = reader.page("/")
        assert "(1) Needs you · Squadron" in page.text
        assert f"{REPOSITORY}#{task.number} · fixer SLEEPING Which colour? for 10m" in page.text
        assert "23h left" in page.text
        [call] = [each for each in squad.calls(task) if "Which colour?" in each["body"]]
        assert page.links[f"comment on #{task.number}"] == call["html_url"]
        issue = f"{squad.box.url}/{REPOSITORY}/issues/{task.number}"
        assert page.links[f"{REPOSITORY}#{task.number}"] == issue
        told = reader.get("/needs-you.json").json()
        assert [each["agent"] for each in told["waiting"]] == [
            f"{REPOSITORY}#{task.number}/fixer/1"
        ]
        squad.comment(task, "Green.")
        squad.settle()
        assert "Nobody waits for you." in reader.page("/").text


def test_the_words_of_strangers_stay_words() -> None:
    title, question = "<script>alert(1)</script>", "</p><img src=x onerror=alert(1)>"
    steps = (runs("true"), runs(f"echo '{question}'"))
    with story(PLACES) as squad:
        squad.give("pauser", title, *steps)
        page = Reader(squad).page("/")
        assert title in page.text and title not in page.html
        assert page.html.count("<script") == 1  # of ours


def test_a_brake_is_told_above_all() -> None:
    with story(PLACES) as squad:
        squad.brakes()
        assert "squadron resume --all" in Reader(squad).page("/").text
        squad.lifts_the_brake()
        assert "squadron resume" not in Reader(squad).page("/").text


def test_what_is_not_there_is_said_to_be_missing() -> None:
    with story(PLACES) as squad:
        missing = Reader(squad).get("/nowhere/<b>")
        assert missing.status_code == 404
        assert "There is no page /nowhere/&lt;b&gt;." in missing.text


def test_a_database_that_is_away_is_said_to_be_away() -> None:
    with story(PLACES) as squad:
        reader = Reader(squad)
        squad.tolerates("database is locked")
        with squad.without("database"):
            away = reader.get("/")
            assert (away.status_code, away.headers["cache-control"]) == (503, "no-store")
            assert "The database does not answer" in away.text
        assert reader.get("/").status_code == 200
