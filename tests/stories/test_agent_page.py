"""One agent's page: what people find on it, without scripts."""

from tests.stories.happening import ASKS, FIXES, ROLES
from tests.stories.test_sub_agents import at_once, led, part
from tests.support.pages import Reader
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import completes, runs, writes
from tests.twins.shell import TEST
from tests.twins.story import story

PLACES = {REPOSITORY: repository(ROLES)}
MOST_PAGES = 10
TOO_MUCH = (runs("true"), runs("false"))


def path_of(task: Task, role: str, attempt: int = 1) -> str:
    return f"/agents/{task.repository}/{task.number}/{role}/{attempt}"


def test_the_page_of_a_stopped_agent_says_why_and_what_to_do() -> None:
    with story(PLACES) as squad:
        task = squad.give("stopper", "Two calls are too many", *TOO_MUCH)
        squad.passes(hours=2)
        reader = Reader(squad)
        listed = reader.page("/")
        assert listed.links["Two calls are too many"] == path_of(task, "stopper")
        page = reader.page(path_of(task, "stopper"))
        assert f"{REPOSITORY}#{task.number}/stopper/1 · Squadron" in page.text
        assert "ESCALATED for 2h: max_tool_calls reached: 1 of 1 tool calls." in page.text
        assert "Failed and pending" in page.text
        assert "Stopped for good, by the hook layer max_tool_calls reached" in page.text
        assert "What to do" in page.text and "/squadron retry stopper" in page.text
        assert page.text.index("max_tool_calls 1 of 1 tool calls") < page.text.index("max_turns")
        [issue] = squad.needs_human(task)
        assert page.links["on GitHub"] == issue["html_url"]
        assert page.links[f"{REPOSITORY}#{task.number}"] == (
            f"{squad.box.url}/{REPOSITORY}/issues/{task.number}"
        )


def test_the_page_of_finished_work_shows_what_squadron_saw_of_it() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        page = Reader(squad).page(path_of(task, "fixer"))
        assert "Tests run after the last edit: yes Tests passed: yes" in page.text
        assert "1 file changed, +1 −1 lines" in page.text
        assert "What it says: It is 42." in page.text
        assert "Failed and pending" not in page.text
        assert f"bash {TEST} tests: passed" in page.text
        told = [page.text.index(words) for words in ("Its work became pull", "A prompt was sent")]
        assert told == sorted(told), "the last comes first"


def test_what_was_wrong_and_is_over_is_not_in_the_way() -> None:
    with story(PLACES) as squad:
        task = squad.give("pauser", "Two calls are too many", *TOO_MUCH, completes("Done."))
        reader, path = Reader(squad), path_of(Task(REPOSITORY, 1, ""), "pauser")
        assert "Failed and pending 12:00:04 A limit pauses it" in reader.page(path).text
        squad.comment(task, "/squadron raise max_tool_calls +5")
        squad.settle()
        page = reader.page(path)
        assert "Failed and pending" not in page.text and "A limit pauses it" in page.text


def test_what_people_say_to_an_agent_and_what_it_asks_stand_in_its_timeline() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The colour is wrong", *ASKS, *FIXES)
        squad.comment(task, "Green.")
        squad.settle()
        squad.comment(task, "/squadron status")
        squad.settle()
        page = Reader(squad).page(path_of(task, "fixer"))
        assert "It fell asleep, and waits for: an answer Which colour?" in page.text
        assert "Woken by maria" in page.text
        assert "maria: /squadron status" in page.text


def test_a_sub_agent_and_whoever_started_it_lead_to_each_other() -> None:
    with led({"max_tool_calls": 50}) as squad:
        asked = part(squad, "part", runs("true"), completes("Done."))
        task = squad.give("lead", "One part", at_once(asked), completes("Both."))
        squad.settle()
        reader, [child] = Reader(squad), squad.sub_agents(task)
        page = reader.page(path_of(task, "lead"))
        below = page.links[str(child.id)]
        assert (
            f"It started {child.id}" in page.text and f"{child.id} ended (1 tool call" in page.text
        )
        assert reader.page(below).links[str(squad.agent(task).id)] == path_of(task, "lead")


def test_a_long_timeline_is_read_page_by_page() -> None:
    steps = [runs(f"echo {number}") for number in range(150)]
    with story(
        {REPOSITORY: repository({"fixer": {"max_tool_calls": 500, "max_turns": 500}})}
    ) as squad:
        task = squad.give("fixer", "Count", *steps, completes("Counted."))
        reader, seqs = Reader(squad), list[int]()
        path = path_of(task, "fixer")
        page = reader.page(path)
        assert "echo 149" in page.text and "echo 0 " not in page.text
        for _ in range(MOST_PAGES):
            page = reader.page(page.links.get("Older", path))
            if "Older" not in page.links:
                break
        assert "echo 0 " in page.text and "maria started it" in page.text
        told = reader.get(f"{path}.json").json()
        for _ in range(MOST_PAGES):
            seqs += [each["seq"] for each in told["timeline"]]
            if told["older"] is None:
                break
            told = reader.get(f"{path}.json?before={told['older']}").json()
        assert seqs == sorted({*seqs}, reverse=True), "each line once, the last first"
        news = reader.page(f"{path}?only=news")
        assert "maria started it" in news.text and "echo" not in news.text


def test_the_words_of_agents_and_tools_stay_words() -> None:
    evil = "<script>alert(1)</script>"
    with story(PLACES) as squad:
        task = squad.give("fixer", evil, runs(f"echo '{evil}'"), writes("x", evil), completes(evil))
        page = Reader(squad).page(path_of(task, "fixer"))
        assert page.text.count(evil) >= 3 and evil not in page.html
        assert page.html.count("<script") == 1  # of ours


def test_where_no_agent_is_there_is_no_page() -> None:
    with story(PLACES) as squad:
        reader = Reader(squad)
        for path in ("octo/demo/1/fixer/1", "octo/demo/0/fixer/1", f"octo/demo/{'9' * 99}/a/1"):
            assert "Squadron knows no such agent." in reader.get(f"/agents/{path}").text
            assert reader.get(f"/agents/{path}.json").status_code == 404
        for path in ("octo/demo", "octo/demo/one/fixer/1", "octo/demo/1/fixer/1/more"):
            assert "There is no page" in reader.get(f"/agents/{path}").text
