"""Configuration where people see it: the check on the pull request that changes it (promise 8)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from app.core.agents.lifecycle import State
from tests.support.deliveries import deliver
from tests.support.github import git
from tests.support.people import REPOSITORY, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes, waits_for
from tests.support.waiting import until

pytestmark = pytest.mark.full

HERE = f"/repos/{REPOSITORY}"
CONFIG = ".squadron/config.yaml"
AGENT = ".squadron/agents/docs.md"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("configuration")
    config = {"circuit_breakers": {"defaults": {"max_iterations": 4}}}
    repositories = {REPOSITORY: repository({"docs": {"max_tool_calls": 20}}, config)}
    with squad(directory, repositories, reconciliation_seconds=3600) as team:
        yield team


def proposes(team: Squad, branch: str, path: str, content: str) -> tuple[int, str]:
    """Maria opens a pull request that writes one file; its number and its head."""
    head = writes(team, branch, path, content)
    return opens(team, branch), head


def opens(team: Squad, head: str, by: str = "maria") -> int:
    """Somebody opens a pull request of a branch, or of a fork's (`owner:branch`)."""
    about = {"title": "Change", "head": head, "base": "main"}
    return int(team.github.does(by, "POST", f"{HERE}/pulls", about)["number"])


def writes(team: Squad, branch: str, path: str, content: str) -> str:
    """Maria pushes a branch on which one file is changed; its head."""
    return pushes(team, branch, lambda clone: (clone / path).write_text(content))


def pushes(
    team: Squad,
    branch: str,
    change: Callable[[Path], object],
    where: str = REPOSITORY,
    by: str = "maria",
) -> str:
    """Somebody pushes a branch with a change made in a clone; its head."""
    clone = team.github.clone(where, by)
    known = git("branch", "--remotes", cwd=clone).split()
    start = branch if f"origin/{branch}" in known else "main"
    git("switch", "--quiet", "--force-create", branch, f"origin/{start}", cwd=clone)
    change(clone)
    git("add", "--all", cwd=clone)
    git("commit", "--quiet", "--message", f"Change {branch}", cwd=clone)
    git("push", "--quiet", "origin", branch, cwd=clone)
    return git("rev-parse", "HEAD", cwd=clone).strip()


def checks(team: Squad, head: str) -> list[Any]:
    return [
        check
        for check in team.github.lists(f"{HERE}/commits/{head}/check-runs", "check_runs")
        if check["name"] == "squadron/config"
    ]


def until_checked(team: Squad, head: str) -> Any:
    [check] = until(lambda: checks(team, head), "it is checked", failing=team.check_alive)
    return check


def test_peers_27_a_mistake_is_shown_on_its_line_before_it_is_merged(team: Squad) -> None:
    """Peers, scenario 27."""
    _, head = proposes(team, "typo", AGENT, "---\nmax_tool_calls: 20\nmax_tunrs: 3\n---\nDocs.\n")
    check = until_checked(team, head)
    assert check["conclusion"] == "failure"
    assert check["output"]["title"] == "1 mistake in the configuration"
    [note] = team.github.lists(f"{HERE}/check-runs/{check['id']}/annotations")
    assert (note["path"], note["start_line"], note["end_line"]) == (AGENT, 3, 3)
    assert "max_turns" in note["message"]
    assert note["annotation_level"] == "failure"


def test_a_sound_change_shows_the_limits_before_and_after(team: Squad) -> None:
    _, head = proposes(team, "more", AGENT, "---\nmax_tool_calls: 35\n---\nDocs.\n")
    check = until_checked(team, head)
    assert (check["conclusion"], check["output"]["title"]) == (
        "success",
        "Valid: 1 limit would change",
    )
    row = "| `docs` | `max_tool_calls` | 20 tool calls | **35 tool calls** |"
    assert row in check["output"]["summary"]
    assert "| `max_turns` | 50 turns | 50 turns | built-in |" in check["output"]["summary"]


@pytest.mark.parametrize("path", [AGENT, CONFIG], ids=["another-file", "the-same-file"])
def test_what_main_has_changed_meanwhile_is_no_part_of_the_change(team: Squad, path: str) -> None:
    """The branch is behind: what counts is what comes of merging it, also into a change of which
    no webhook told."""
    sound = (team.github.clone(REPOSITORY) / CONFIG).read_text()
    changed = "---\nmax_tool_calls: 35\n---\nDocs.\n"
    if path == CONFIG:
        opening = '"circuit_breakers": {'
        changed = sound.replace(opening, opening + '"roles": {"docs": {"max_turns": 7}},')
    branch = f"behind-{Path(path).stem}"
    head = writes(team, branch, path, changed)
    with team.github.trouble(kind="lost", event="push"):
        writes(team, "main", CONFIG, sound.replace('"max_iterations": 4', '"max_iterations": 3'))
    opens(team, branch)
    output = until_checked(team, head)["output"]
    writes(team, "main", CONFIG, sound)
    assert output["title"] == "Valid: 1 limit would change", output["summary"]
    assert "| `docs` | `max_iterations` |" not in output["summary"]
    assert "| `max_iterations` | 3 fix cycles | 3 fix cycles |" in output["summary"]


def test_a_branch_that_does_not_merge_says_so(team: Squad) -> None:
    sound = (team.github.clone(REPOSITORY) / CONFIG).read_text()
    four, three, two = (
        sound.replace('"max_iterations": 4', f'"max_iterations": {n}') for n in (4, 3, 2)
    )
    assert len({four, three, two}) == 3
    head = writes(team, "clash", CONFIG, two)
    writes(team, "main", CONFIG, three)
    opens(team, "clash")
    output = until_checked(team, head)["output"]
    writes(team, "main", CONFIG, sound)
    assert f"The default branch has changed `{CONFIG}` meanwhile" in output["summary"]
    assert "| `docs` | `max_iterations` | 3 fix cycles | **2 fix cycles** |" in output["summary"]


@pytest.mark.parametrize("is_touched", [True, False], ids=["touched", "untouched"])
def test_more_files_than_github_lists_hide_nothing(team: Squad, is_touched: bool) -> None:
    """Its list of a pull request's files ends at 3,000; they come before what matters."""

    def change(clone: Path) -> None:
        (clone / "!crowd").mkdir()
        if is_touched:
            (clone / AGENT).write_text("---\nmax_tool_calls: 36\n---\nDocs.\n")
        for number in range(3_000):
            (clone / f"!crowd/{number}.txt").write_text(f"{number}\n")

    # '!' sorts before '.', so that the configuration is what the list leaves out.
    head = pushes(team, f"crowd-{is_touched}", change)
    number = opens(team, f"crowd-{is_touched}")
    files = f"{HERE}/pulls/{number}/files?per_page=100"
    last, beyond = (team.github.sees(f"{files}&page={page}") for page in (30, 31))
    assert (len(last), beyond) == (100, [])
    assert {file["filename"].partition("/")[0] for file in last} == {"!crowd"}
    if is_touched:
        title = until_checked(team, head)["output"]["title"]
        assert title == "Valid: 1 limit would change"
    else:
        team.settle()
        assert checks(team, head) == []


def test_every_new_head_is_checked_once(team: Squad) -> None:
    number, first = proposes(team, "twice", AGENT, "---\nmax_tool_calls: -1\n---\nDocs.\n")
    assert until_checked(team, first)["conclusion"] == "failure"
    second = writes(team, "twice", AGENT, "---\nmax_tool_calls: 1\n---\nDocs.\n")
    assert until_checked(team, second)["conclusion"] == "success"
    for state in ("closed", "open"):  # opened again is told of again
        team.github.does("maria", "PATCH", f"{HERE}/pulls/{number}", {"state": state})
    team.settle()
    assert [len(checks(team, head)) for head in (first, second)] == [1, 1]


def test_other_pull_requests_are_left_alone(team: Squad) -> None:
    _, head = proposes(team, "readme", "README.md", "# Other\n")
    team.settle()
    assert checks(team, head) == []


@pytest.mark.parametrize(
    ("path", "to", "title", "said"),
    [
        (CONFIG, ".squadron/config.yml", "1 mistake in the configuration", "rename it"),
        (CONFIG, "squadron.yaml", "Valid: 7 limits would change", "| `docs` | `max_iterations` |"),
        (CONFIG, None, "Valid: 7 limits would change", "| 4 fix cycles | **5 fix cycles** |"),
        (AGENT, ".squadron/agents/texts.md", "Valid: ", "| – | **20 tool calls** |"),
        (AGENT, "docs/docs.md", "Valid: ", "| `docs` | `max_tool_calls` | 20 tool calls | **–** |"),
        (AGENT, None, "Valid: ", "| `docs` | `max_tool_calls` | 20 tool calls | **–** |"),
    ],
    ids=["misnamed", "moved-out", "gone", "agent-renamed", "agent-moved-out", "agent-gone"],
)
def test_what_is_renamed_or_deleted_is_checked_like_what_is_written(
    team: Squad, path: str, to: str | None, title: str, said: str
) -> None:
    def change(clone: Path) -> None:
        if to is None:
            (clone / path).unlink()
        else:
            (clone / to).parent.mkdir(exist_ok=True)
            (clone / path).rename(clone / to)

    branch = f"{Path(path).stem}-{Path(to).stem if to else 'gone'}"
    head = pushes(team, branch, change)
    opens(team, branch)
    check = until_checked(team, head)
    assert title in check["output"]["title"]
    assert said in check["output"]["summary"]
    assert check["conclusion"] == ("failure" if "mistake" in title else "success")


def test_what_comes_from_a_fork_is_checked_on_its_head_in_this_repository(team: Squad) -> None:
    """By somebody who may only read here; their fork has no App."""
    fork = team.github.orders("fork", {"repository": REPOSITORY, "user": "rita"})["full_name"]

    def change(line: str) -> Callable[[Path], object]:
        return lambda clone: (clone / AGENT).write_text(f"---\n{line}\n---\nDocs.\n")

    first = pushes(team, "theirs", change("max_tunrs: 3"), fork, by="rita")
    number = opens(team, "rita:theirs", by="rita")
    assert team.github.sees(f"{HERE}/pulls/{number}")["head"]["repo"]["full_name"] == fork
    check = until_checked(team, first)
    assert check["conclusion"] == "failure"
    [note] = team.github.lists(f"{HERE}/check-runs/{check['id']}/annotations")
    assert (note["path"], note["start_line"]) == (AGENT, 2)
    second = pushes(team, "theirs", change("max_tool_calls: 60"), fork, by="rita")
    row = "| `docs` | `max_tool_calls` | 20 tool calls | **60 tool calls** |"
    check = until_checked(team, second)
    assert (check["conclusion"], row in check["output"]["summary"]) == ("success", True)
    team.settle()
    assert [len(checks(team, head)) for head in (first, second)] == [1, 1]


def readings(team: Squad) -> int:
    """How often the configuration of the default branch was read so far."""
    return sum(
        one.get("path") == f"{HERE}/contents/.squadron" and not one["query"].get("ref")
        for one in team.github.exchanges()
    )


@pytest.mark.parametrize(
    ("mistake", "column"),
    [("max_tunrs: 3", 1), ("max_tool_calls: -1", 17), ("runtime: embeded", 10)],
    ids=["misspelt", "negative", "unknown"],
)
def test_peers_27_each_kind_of_mistake_is_an_error_with_file_line_and_column(
    team: Squad, mistake: str, column: int
) -> None:
    """Peers, scenario 27: misspelt keys, negative numbers, names that do not exist."""
    _, head = proposes(team, mistake.partition(":")[0], AGENT, f"---\n{mistake}\n---\nDocs.\n")
    check = until_checked(team, head)
    assert check["conclusion"] == "failure"
    said = f"{check['output']['summary']}{check['output']['text']}"
    assert f"{AGENT}:2:{column}:" in said, said


def test_peers_27_a_label_for_an_unknown_role_is_an_error(team: Squad) -> None:
    """Peers, scenario 27."""
    config = '{"triggers": {"labels": {"bug": "nobody"}}}\n'
    _, head = proposes(team, "unknown-role", CONFIG, config)
    check = until_checked(team, head)
    assert check["conclusion"] == "failure"
    assert "nobody" in f"{check['output']['summary']}{check['output']['text']}"


def troubles(team: Squad) -> list[Any]:
    return team.github.lists(f"{HERE}/issues?state=all&labels=squadron-config")


def test_peers_27_what_a_push_has_broken_is_told_once_and_the_last_good_one_stays(
    team: Squad,
) -> None:
    """Peers, scenario 27. Served within a second: of several, so that one may meet a busy machine,
    the one in the middle."""
    sound = (team.github.clone(REPOSITORY) / CONFIG).read_text()
    team.until(team.give("docs", "Reads it first", completes("Nothing.")), State.COMPLETED)
    for broken in ("limits: [\n", "limits: {\n"):
        team.settle()
        before = readings(team)
        writes(team, "main", CONFIG, broken)
        [trouble] = until(
            lambda: [one for one in troubles(team) if f"{CONFIG}:2:1" in one["body"]],
            "it is told of",
            failing=team.check_alive,
        )
        team.settle()
        assert readings(team) == before + 1, "each push is one reload"
    assert trouble["state"] == "open"
    assert "the last sound one stays in force" in trouble["body"]
    task = team.give("docs", "Works all the same", completes("Nothing to change."))
    answers = [deliver(team, "ping", {"zen": "Next."}, f"next-delivery-{n}") for n in range(5)]
    assert {answer.status_code for answer in answers} == {202}, "the next delivery is served"
    assert median(answer.elapsed.total_seconds() for answer in answers) < 1
    assert team.until(task, State.COMPLETED).assignment.limits.max_tool_calls == 20
    writes(team, "main", CONFIG, sound)
    until(lambda: troubles(team)[0]["state"] == "closed", "it is closed", failing=team.check_alive)
    assert len(troubles(team)) == 1


def test_peers_27_a_role_that_a_push_has_broken_works_on_as_it_was(team: Squad) -> None:
    """Peers, scenario 27: a misspelt key. What else the push has changed is in force."""
    sound = (team.github.clone(REPOSITORY) / AGENT).read_text()
    writes(team, "main", AGENT, "---\nmax_tool_cals: 3\n---\nYou write docs.\n")
    until(
        lambda: [one for one in troubles(team) if "did you mean max_tool_calls" in one["body"]],
        "it is told of",
        failing=team.check_alive,
    )
    task = team.give("docs", "Works as before", completes("Nothing to change."))
    assert team.until(task, State.COMPLETED).assignment.limits.max_tool_calls == 20
    writes(team, "main", AGENT, sound)
    until(lambda: troubles(team)[0]["state"] == "closed", "it is closed", failing=team.check_alive)


@pytest.mark.parametrize(("path", "broken"), [(CONFIG, "limits: [\n"), (AGENT, "---\n[\n---\n")])
def test_what_was_sound_between_two_pushes_was_never_in_force(
    team: Squad, path: str, broken: str
) -> None:
    """A series of commits that is pushed at once: one in its middle is sound, the last is not."""
    sound = (team.github.clone(REPOSITORY) / path).read_text()
    agent = (team.github.clone(REPOSITORY) / AGENT).read_text()

    def series(clone: Path) -> None:
        (clone / AGENT).write_text("---\nmax_tool_calls: 500\n---\nYou write docs.\n")
        git("commit", "--quiet", "--all", "--message", "Far more", cwd=clone)
        (clone / path).write_text(broken)

    team.until(team.give("docs", "Reads it first", completes("Nothing.")), State.COMPLETED)
    pushes(team, "main", series)
    until(
        lambda: [one for one in troubles(team) if one["state"] == "open"],
        "it is told",
        failing=team.check_alive,
    )
    task = team.give("docs", f"Works as before: {path}", completes("Nothing to change."))
    assert team.until(task, State.COMPLETED).assignment.limits.max_tool_calls == 20

    def mend(clone: Path) -> None:
        (clone / path).write_text(sound)
        (clone / AGENT).write_text(agent)

    pushes(team, "main", mend)
    until(lambda: troubles(team)[0]["state"] == "closed", "it is closed", failing=team.check_alive)


def test_a_configuration_that_is_too_large_to_be_read_is_told_and_the_last_good_one_stays(
    team: Squad,
) -> None:
    """Also when the push that mends it is told to nobody, and the service has forgotten all."""
    sound = (team.github.clone(REPOSITORY) / CONFIG).read_text()
    writes(team, "main", CONFIG, sound + "#" * 300_000)
    until(
        lambda: [one for one in troubles(team) if "at most 262144 are read" in one["body"]],
        "it is told of",
        failing=team.check_alive,
    )
    task = team.give("docs", "Works all the same", completes("Nothing to change."))
    assert team.until(task, State.COMPLETED).assignment.limits.max_tool_calls == 20
    team.service.stop()
    with team.github.trouble(kind="lost", event="push"):
        writes(team, "main", CONFIG, sound)
    team.service.start()
    until(lambda: troubles(team)[0]["state"] == "closed", "it is closed", failing=team.check_alive)


def test_peers_27_a_push_takes_effect_at_once_and_does_not_disturb_who_works(
    team: Squad,
) -> None:
    """Peers, scenario 27."""
    task = team.give("docs", "Before", waits_for(team.signal("pushed")), completes("Done."))
    team.until(task, State.ACTIVE)
    writes(team, "main", AGENT, "---\nmax_tool_calls: 7\n---\nYou write docs.\n")
    team.settle()
    after = team.give("docs", "After", completes("Done."))
    assert team.until(after, State.COMPLETED).assignment.limits.max_tool_calls == 7
    team.go("pushed")
    assert team.until(task, State.COMPLETED).assignment.limits.max_tool_calls == 20
