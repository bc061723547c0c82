"""An agent's check on a GitHub that keeps completed runs: the newest run says how it stands."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.github import GitHubApp
from app.core.agents.agent import Agent, Effect, EffectName
from app.core.agents.events import Created, Waits
from app.core.agents.lifecycle import State
from app.core.effects.check_run import RunId
from app.core.words.report import report
from app.githubbox.box import Box
from app.githubbox.git import output
from app.githubbox.state import CheckRun
from app.ports import GitHubFailed
from app.services.effects.check import older_runs, write_check
from tests.contract.github_support import Judged
from tests.core.strategies import START, agent
from tests.twins.clock import TurnedClock


@dataclass
class Story:
    """One agent, its check effect, and the box."""

    box: Box
    wire: Judged
    github: GitHubApp
    clock: TurnedClock
    agent: Agent
    effect: Effect

    async def becomes(self, state: State, waits: Waits | None = None) -> None:
        """The agent's state changes, and its check is written."""
        pull = 7 if waits is Waits.REVIEW else self.agent.pull_request
        self.agent = replace(self.agent, state=state, waits_for=waits, pull_request=pull)
        await self.writes()

    async def writes(self) -> None:
        log = [Created(at=START, started_by="mona", trigger="label squadron:bug-fix")]
        now = self.clock.now()
        view = report(self.agent, log, now)
        self.effect = await write_check(self.github, view, self.effect, now)

    async def moves_on(self) -> str:
        """The branch gets another commit; the head before it."""
        before, bare = self.agent.sha, self.box.world.repositories["octo/demo"].git
        assert before is not None
        tree = (await output("rev-parse", f"{before}^{{tree}}", cwd=bare.path)).strip()
        sha = await bare.commit_tree(tree, [before], "On", "bot", "bot@example.com")
        self.agent = replace(self.agent, sha=sha)
        return before

    def runs(self, sha: str | None = None) -> list[CheckRun]:
        """On the present head or another one, oldest first."""
        checks = self.box.world.repositories["octo/demo"].checks.values()
        return [each for each in checks if each.head_sha == (sha or self.agent.sha)]

    def said(self, sha: str | None = None) -> list[str | None]:
        return [each.conclusion for each in self.runs(sha)]

    @contextmanager
    def refusing(self, status: int) -> Iterator[None]:
        """GitHub answers no change of a check run in the meantime."""
        fault = self.box.faults.add(
            {"kind": "error", "method": "PATCH", "path": "/check-runs/", "status": status}
        )
        yield
        fault.remaining = 0


@pytest.fixture
async def story(tmp_path: Path) -> AsyncIterator[Story]:
    root, files = tmp_path / "box", tmp_path / "demo"
    root.mkdir()
    files.mkdir()
    (files / "a.txt").write_text("a")
    clock = TurnedClock(datetime.now(UTC))
    async with Box(root, webhook_secret="s", clock=clock) as box:
        repository = await box.add_repository("octo/demo", files)
        wire = Judged(httpx.ASGITransport(box.asgi))
        key = SecretStr(box.identity.private_key_pem.decode())
        github = GitHubApp(box.identity.app_id, [key], box.url, clock, wire)
        sha = await repository.git.resolve("refs/heads/main")
        row = replace(agent(State.ACTIVE), sha=sha, installation_id=box.identity.installation_id)
        yield Story(box, wire, github, clock, row, Effect(EffectName.CHECK))


async def test_hand_over_review_trip_pause_and_raise_on_one_head_are_runs_of_their_own(
    story: Story,
) -> None:
    await story.becomes(State.ACTIVE)
    await story.becomes(State.SLEEPING, Waits.REVIEW)
    assert story.said() == ["neutral"], "the open run was completed"
    await story.becomes(State.ACTIVE)
    assert story.said() == ["neutral", None]
    await story.becomes(State.PAUSED)
    assert story.said() == ["neutral", "action_required"]
    await story.becomes(State.ACTIVE)
    await story.becomes(State.ESCALATED)
    assert story.said() == ["neutral", "action_required", "failure"]
    ids = [RunId.parse(str(each.external_id)) for each in story.runs()]
    assert [each.n for each in ids if each] == [1, 2, 3]
    assert story.effect.number == story.runs()[-1].id


async def test_what_a_completed_run_says_is_reworded_in_place(story: Story) -> None:
    await story.becomes(State.ESCALATED)
    before = story.runs()[0].summary
    story.agent = replace(story.agent, summary="I changed the sides.")
    await story.writes()
    [run] = story.runs()
    assert run.conclusion == "failure" and run.summary != before
    assert "I changed the sides." in str(run.summary)


async def test_a_run_made_by_a_request_that_nobody_heard_of_is_taken_up(story: Story) -> None:
    await story.becomes(State.SLEEPING, Waits.REVIEW)
    before = story.effect
    await story.becomes(State.ACTIVE)
    story.effect = before  # the process died between the answer and the note of it
    await story.becomes(State.ESCALATED)
    assert story.said() == ["neutral", "failure"]


async def test_runs_from_before_they_were_counted_are_followed_too(story: Story) -> None:
    await story.becomes(State.SLEEPING, Waits.REVIEW)
    [run] = story.runs()
    run.external_id = str(RunId(story.agent.id, str(story.agent.sha), None))
    known = {key: value for key, value in story.effect.detail.items() if key in {"at", "head"}}
    story.effect = replace(story.effect, detail=known)
    await story.becomes(State.ESCALATED)
    assert story.said() == ["neutral", "failure"]
    assert story.runs()[-1].external_id == str(RunId(story.agent.id, str(story.agent.sha), 2))


async def test_what_github_has_concluded_meanwhile_is_seen_in_its_answer(story: Story) -> None:
    await story.becomes(State.ACTIVE)
    [run] = story.runs()
    run.status, run.conclusion = "completed", "success"
    await story.becomes(State.ESCALATED)
    assert story.said() == ["success", "failure"]


@pytest.mark.parametrize("status", [403, 404, 422])
async def test_a_refusal_to_change_a_run_leaves_a_new_one_that_blocks(
    story: Story, status: int
) -> None:
    await story.becomes(State.ACTIVE)
    with story.refusing(status):
        await story.becomes(State.ESCALATED)
    assert story.said() == [None, "failure"]


async def test_the_new_head_is_blocked_before_the_old_one_is_settled(story: Story) -> None:
    await story.becomes(State.ACTIVE)
    before = await story.moves_on()
    story.wire.sent.clear()
    await story.becomes(State.ESCALATED)
    assert (story.said(), story.said(before)) == (["failure"], ["neutral"])
    assert [each.method for each in story.wire.sent] == ["GET", "POST", "PATCH"]


@pytest.mark.parametrize("status", [403, 404, 422])
async def test_a_refusal_to_settle_the_old_head_holds_nothing_up(story: Story, status: int) -> None:
    await story.becomes(State.ACTIVE)
    before = await story.moves_on()
    with story.refusing(status):
        await story.becomes(State.ESCALATED)
    assert (story.said(), story.said(before)) == (["failure"], [None])
    assert older_runs(story.effect) == [], "GitHub will not have it"


async def test_an_old_head_that_could_not_be_settled_just_now_is_settled_later(
    story: Story,
) -> None:
    await story.becomes(State.ACTIVE)
    before = await story.moves_on()
    with story.refusing(502):
        await story.becomes(State.ESCALATED)
    assert (story.said(), story.said(before)) == (["failure"], [None])
    await story.writes()
    assert (story.said(), story.said(before)) == (["failure"], ["neutral"])


async def test_a_completed_run_on_an_old_head_stays_as_it_was(story: Story) -> None:
    await story.becomes(State.SLEEPING, Waits.REVIEW)
    title = story.runs()[0].title
    before = await story.moves_on()
    await story.becomes(State.ESCALATED)
    [run] = story.runs(before)
    assert (run.conclusion, run.title) == ("neutral", title)


async def test_no_new_run_follows_where_nobody_knows_whether_the_old_one_changed(
    story: Story,
) -> None:
    await story.becomes(State.ACTIVE)
    with story.refusing(502), pytest.raises(GitHubFailed):
        await story.becomes(State.ESCALATED)
    assert story.said() == [None]
