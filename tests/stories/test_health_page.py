"""The page of the installation itself: all is well, or what keeps it from its work."""

from app.core.rules.brakes import Brake, Place
from tests.stories.happening import FIXES, ROLES
from tests.support.pages import Reader
from tests.support.people import REPOSITORY, repository
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository(ROLES)}


def wrong(squad: Story) -> str:
    return " ".join(Reader(squad).get("/health.json").json()["wrong"])


def test_who_works_and_was_told_of_things_is_well() -> None:
    with story(PLACES) as squad:
        squad.give("fixer", "The answer is wrong", *FIXES)
        squad.passes(minutes=4)
        page = Reader(squad).page("/health")
        assert "All is well." in page.text and "Last delivery 4m ago" in page.text
        [worker] = squad.run(squad.service.store.workers(squad.clock.now()))
        assert f"{worker.name} {worker.version} 4m 0 of {worker.places} works" in page.text
        assert "1 repositories" in page.text


def test_what_keeps_it_from_its_work_is_told_in_sentences() -> None:
    with story(PLACES) as squad:
        store = squad.service.store
        brake = Brake(Place.repository(REPOSITORY), "maria", squad.clock.now(), "a release")
        squad.run(store.put_brake_on(brake))
        assert "maria paused all agents of octo/demo" in wrong(squad)
        assert "squadron resume --repo octo/demo" in Reader(squad).page("/health").text
        assert squad.run(store.lift_brake(brake.place, "maria", squad.clock.now()))
        with squad.without("provider"):
            squad.give("fixer", "The answer is wrong", *FIXES)
            squad.give("fixer", "The colour is wrong", *FIXES)
            squad.passes(minutes=1)
            assert "openai does not answer since 2026-03-01" in wrong(squad)
            told = Reader(squad).get("/health.json").json()
            [provider] = told["providers"]
            assert provider["name"] == "openai"
            waiting = provider["agents_waiting"]
            assert waiting == told["queued"] >= 1, "of two agents at most one asks"
            assert f"Agents that wait for it: {waiting}." in Reader(squad).page("/health").text
        squad.passes(minutes=30)
        assert wrong(squad) == ""


def test_the_doctor_looks_when_somebody_presses_a_button() -> None:
    with story({}) as squad:
        reader = Reader(squad)
        found = reader.read(reader.sends(reader.page("/health").form("Look now"), "Look now"))
        said = (
            "NO price: nobody knows what x costs To do: name it under pricing ok git: git version"
        )
        assert said in found.text
        assert found.links["Back"] == "/health"
