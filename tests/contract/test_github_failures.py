"""Whatever GitHub answers becomes a failure of the port, and says what to do.

The box cannot misbehave in all these ways, so these answers are written down here, as GitHub
documents them.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.github import GitHubApp, wire
from app.ports import GitHubFailed, RateLimited, Refused, Repository, Unreachable
from tests.contract.github_support import app_key
from tests.twins.clock import TurnedClock

HERE = Repository("octo/demo", 7)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TOKEN = "opaque to us, of a shape that is yet to come"
Handler = Callable[[httpx.Request], httpx.Response]


def answering(handler: Handler, private_key: SecretStr | None = None) -> GitHubApp:
    """An App whose requests for tokens succeed; all others are answered by `handler`."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/access_tokens"):
            return token_until(NOON + timedelta(hours=1))
        return handler(request)

    transport = httpx.MockTransport(answer)
    key = app_key() if private_key is None else private_key
    return GitHubApp(7, [key], "http://github.test", TurnedClock(NOON), transport)


def token_until(end: datetime, value: str = TOKEN) -> httpx.Response:
    return httpx.Response(201, json={"token": value, "expires_at": f"{end:%Y-%m-%dT%H:%M:%SZ}"})


def always(
    status: int, message: str = "No", headers: Mapping[str, str] | None = None, **more: object
) -> Handler:
    body = {"message": message, **more}
    return lambda request: httpx.Response(status, json=body, headers=headers)


async def failure_of(handler: Handler) -> GitHubFailed:
    with pytest.raises(GitHubFailed) as raised:
        await answering(handler).comment(HERE, 3, "hello")
    return raised.value


RESET = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOON.timestamp()) + 1800)}
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes."


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize(
    ("message", "headers", "seconds"),
    [
        (SECONDARY, {"retry-after": "90"}, 90),
        ("API rate limit exceeded for installation ID 7.", RESET, 1800),
        ("API rate limit exceeded", {**RESET, "x-ratelimit-reset": "12"}, 0),
        ("API rate limit exceeded", {"x-ratelimit-remaining": "0"}, 60),
        (SECONDARY, {}, 60),
        (SECONDARY, {"x-ratelimit-remaining": "4000", **{"x-ratelimit-reset": "12"}}, 60),
        (SECONDARY, {"retry-after": "Sun, 01 Mar 2026 12:00:10 GMT"}, 60),
    ],
)
async def test_a_limit_says_when_to_come_back(
    status: int, message: str, headers: dict[str, str], seconds: int
) -> None:
    failure = await failure_of(always(status, message, headers))
    assert isinstance(failure, RateLimited)
    assert failure.resets_at == NOON + timedelta(seconds=seconds)


async def test_too_many_requests_is_a_limit_without_any_words() -> None:
    failure = await failure_of(lambda request: httpx.Response(429))
    assert isinstance(failure, RateLimited)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Problems parsing JSON"),
        (401, "Bad credentials"),
        (403, "Resource not accessible by integration"),
        (403, "Unable to create comment because issue is locked."),
        (404, "Not Found"),
        (409, "Git Repository is empty."),
        (410, "This issue was deleted"),
        (422, "Validation Failed"),
    ],
)
async def test_a_refusal_repeats_what_github_said(status: int, message: str) -> None:
    failure = await failure_of(always(status, message))
    assert isinstance(failure, Refused)
    assert failure.status == status
    assert message in str(failure)
    assert "POST /repos/octo/demo/issues/3/comments" in str(failure)


async def test_a_missing_permission_is_named() -> None:
    header = {"x-accepted-github-permissions": "issues=write; pull_requests=write"}
    failure = await failure_of(always(403, "Resource not accessible by integration", header))
    assert "The App needs issues=write; pull_requests=write" in str(failure)


async def test_invalid_fields_are_named() -> None:
    errors = [{"resource": "PullRequest", "code": "custom", "message": "No commits between"}, "x"]
    failure = await failure_of(always(422, "Validation Failed", errors=errors))
    assert str(failure).endswith("Validation Failed; PullRequest custom No commits between; x")


async def test_a_message_without_end_is_cut() -> None:
    assert len(str(await failure_of(always(422, "no " * 9_000)))) < 700


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_trouble_at_github_is_unreachable(status: int) -> None:
    failure = await failure_of(lambda request: httpx.Response(status, text="<html>Unicorn</html>"))
    assert isinstance(failure, Unreachable)
    assert str(status) in str(failure)


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("slow"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("cut"),
    ],
)
async def test_no_answer_is_unreachable(error: Exception) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    assert isinstance(await failure_of(fail), Unreachable)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(201, text="<html>Sign in to the hotel's network</html>"),
        httpx.Response(201, json=[]),
        httpx.Response(201, json={"id": "not a number", "html_url": "https://x"}),
        httpx.Response(201),
    ],
)
async def test_an_answer_that_makes_no_sense_is_unreachable(answer: httpx.Response) -> None:
    assert isinstance(await failure_of(lambda request: answer), Unreachable)


async def test_a_write_is_sent_once_whatever_happens() -> None:
    sent: list[str] = []

    def fail(request: httpx.Request) -> httpx.Response:
        sent.append(request.method)
        return httpx.Response(502)

    await failure_of(fail)
    assert sent == ["POST"]


async def test_an_answer_that_does_not_end_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await asyncio.Event().wait()
            raise AssertionError

    monkeypatch.setattr(wire, "MAX_CALL_SECONDS", 0.05)
    github = GitHubApp(7, [app_key()], "http://github.test", TurnedClock(NOON), Endless())
    with pytest.raises(Unreachable, match="no complete answer"):
        await github.bot_login()


async def test_a_write_that_is_redirected_does_not_become_a_read() -> None:
    def moved(request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/repos/octo/demo"):
            return httpx.Response(301, headers={"location": "/repositories/5/issues/3/comments"})
        return httpx.Response(200, json=[])

    failure = await failure_of(moved)
    assert isinstance(failure, Refused)
    assert failure.status == 301
    assert "renamed" in str(failure)


ISSUE = {
    "number": 3,
    "created_at": "2026-03-01T12:00:00Z",
    "updated_at": "2026-03-01T12:00:00Z",
    "title": "T",
    "body": None,
    "state": "open",
    "labels": ["plain", {"name": "bug"}],
    "assignees": [None, {"login": "mona"}],
    "user": None,
    "html_url": "https://github.test/octo/demo/issues/3",
    "repository_url": "http://github.test/repos/octo/demo",
}


def issue_moved_to(full_name: str, present_name: str) -> Handler:
    """The issue is found in `full_name`; the repository itself is now called `present_name`."""

    def answer(request: httpx.Request) -> httpx.Response:
        match request.url.path:
            case "/repos/octo/demo/issues/3":
                return httpx.Response(301, headers={"location": "/repositories/5/issues/3"})
            case "/repositories/5/issues/3":
                where = f"http://github.test/repos/{full_name}"
                return httpx.Response(200, json={**ISSUE, "repository_url": where})
            case _:
                return httpx.Response(200, json={"full_name": present_name})

    return answer


async def test_a_transferred_issue_is_gone_and_one_in_a_renamed_repository_is_not() -> None:
    transferred = answering(issue_moved_to("octo/other", "octo/demo"))
    assert await transferred.issue(HERE, 3) is None
    renamed = answering(issue_moved_to("Octo/Renamed", "octo/renamed"))
    assert await renamed.issue(HERE, 3) is not None


async def test_an_issue_is_read_leniently() -> None:
    issue = await answering(lambda request: httpx.Response(200, json=ISSUE)).issue(HERE, 3)
    assert issue is not None
    assert (issue.body, issue.author) == ("", "ghost")
    assert (issue.labels, issue.assignees) == (("plain", "bug"), ("mona",))


async def test_checks_of_other_apps_are_not_ours() -> None:
    def run(number: int, app_id: int) -> dict[str, object]:
        return {"id": number, "status": "queued", "app": {"id": app_id}, "output": None}

    found = {"check_runs": [run(3, 7), run(2, 8), run(1, 7)]}
    github = answering(lambda request: httpx.Response(200, json=found))
    checks = await github.checks(HERE, "f" * 40, "squadron/pm")
    assert [each.number for each in checks] == [1, 3]


async def test_a_branch_of_the_same_name_in_a_fork_is_another() -> None:
    def opened_from(number: int, full_name: str | None) -> dict[str, object]:
        repo = None if full_name is None else {"full_name": full_name}
        head = {"sha": "f" * 40, "repo": repo}
        return {
            "number": number,
            "html_url": "https://x",
            "state": "open",
            "head": head,
            "base": {"ref": "main"},
        }

    listed = [opened_from(1, "octo/fork"), opened_from(2, "Octo/Demo"), opened_from(3, None)]
    github = answering(lambda request: httpx.Response(200, json=listed))
    assert [each.number for each in await github.pull_requests(HERE, "squadron/x")] == [2]


@pytest.mark.parametrize("status", [404, 410])
async def test_an_issue_that_is_gone_is_none(status: int) -> None:
    assert await answering(always(status)).issue(HERE, 3) is None


async def test_a_list_without_end_is_refused() -> None:
    pages: list[str] = []

    def page(request: httpx.Request) -> httpx.Response:
        pages.append(request.url.params.get("page", "1"))
        link = f'<http://elsewhere.test/evil?page={len(pages) + 1}>; rel="next"'
        assert request.url.host == "github.test"
        return httpx.Response(200, json=[ISSUE], headers={"link": link})

    with pytest.raises(Refused, match="more than 10000 entries"):
        await answering(page).threads(HERE)
    assert pages == [str(number) for number in range(1, 101)]


async def test_no_failure_holds_a_token() -> None:
    other = "ghs_" + "x" * 36

    def repeat(request: httpx.Request) -> httpx.Response:
        said = f"bad {request.headers['authorization']} and {other}"
        return httpx.Response(422, json={"message": said, "errors": [said]})

    failure = await failure_of(repeat)
    assert TOKEN not in str(failure)
    assert other not in str(failure)
    assert str(failure).count("[redacted]") == 4


@pytest.mark.parametrize("pem", ["", "not a key", app_key().get_secret_value()[:300]])
async def test_a_key_that_is_none_is_refused_without_repeating_it(pem: str) -> None:
    with pytest.raises(Refused, match="no plain RSA key") as raised:
        await answering(always(200), SecretStr(pem)).bot_login()
    assert "MII" not in str(raised.value)


async def test_a_token_that_github_no_longer_takes_is_replaced_once() -> None:
    used: list[str] = []
    issued = iter(["ghs_first", "ghs_second", "ghs_third"])

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/access_tokens"):
            return token_until(NOON + timedelta(hours=1), next(issued))
        used.append(request.headers["authorization"].split()[1])
        if used[-1] == "ghs_second" and json.loads(request.content)["body"] == "works":
            return httpx.Response(201, json={"id": 1, "html_url": "https://x", "body": "works"})
        return httpx.Response(401, json={"message": "Bad credentials"})

    clock = TurnedClock(NOON)
    github = GitHubApp(7, [app_key()], "http://g.test", clock, httpx.MockTransport(answer))
    await github.comment(HERE, 3, "works")
    assert used == ["ghs_first", "ghs_second"]
    with pytest.raises(Refused, match="Bad credentials"):
        await github.comment(HERE, 3, "does not")
    assert used[2:] == ["ghs_second", "ghs_third"]


async def test_a_token_that_was_replaced_meanwhile_is_not_forgotten() -> None:
    issued: list[str] = []
    replaced = asyncio.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/access_tokens"):
            issued.append(f"token-{len(issued)}")
            return token_until(NOON + timedelta(hours=1), issued[-1])
        if request.headers["authorization"] != "token token-0":
            replaced.set()
            return httpx.Response(204)
        if request.url.path.endswith("/2"):  # its refusal comes late
            await asyncio.wait_for(replaced.wait(), 10)
        return httpx.Response(401, json={"message": "Bad credentials"})

    github = GitHubApp(
        7, [app_key()], "http://g.test", TurnedClock(NOON), httpx.MockTransport(answer)
    )
    await asyncio.gather(github.delete_comment(HERE, 1), github.delete_comment(HERE, 2))
    assert issued == ["token-0", "token-1"]


@pytest.mark.parametrize(("minutes", "requests"), [(50, 1), (51, 2)])
async def test_a_token_handed_out_lives_for_ten_more_minutes(minutes: int, requests: int) -> None:
    asked: list[datetime] = []
    clock = TurnedClock(NOON)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(clock.now())
        return token_until(clock.now() + timedelta(hours=1))

    github = GitHubApp(7, [app_key()], "http://g.test", clock, httpx.MockTransport(answer))
    await asyncio.gather(*(github.token(HERE, "write") for _ in range(5)))
    clock.turn(timedelta(minutes=minutes))
    await github.token(HERE, "write")
    assert len(asked) == requests


async def test_a_token_that_ends_too_soon_is_not_handed_out() -> None:
    clock = TurnedClock(NOON + timedelta(minutes=51))
    transport = httpx.MockTransport(lambda request: token_until(NOON + timedelta(hours=1)))
    github = GitHubApp(7, [app_key()], "http://g.test", clock, transport)
    with pytest.raises(Refused, match="clock"):
        await github.token(HERE, "read")


@pytest.mark.parametrize(
    ("api_url", "host"),
    [
        ("https://api.github.com", "users.noreply.github.com"),
        ("https://git.corp.example/api/v3", "users.noreply.git.corp.example"),
        ("https://api.corp.ghe.com/", "users.noreply.corp.ghe.com"),
    ],
)
async def test_commits_are_the_bots_own(api_url: str, host: str) -> None:
    base = httpx.URL(api_url).path.rstrip("/")

    def answer(request: httpx.Request) -> httpx.Response:
        match request.url.path.removeprefix(base):
            case "/app":
                return httpx.Response(200, json={"slug": "squadron"})
            case "/app/installations":
                suspended = {"id": 1, "suspended_at": "2026-01-01T00:00:00Z"}
                return httpx.Response(200, json=[suspended, {"id": 2, "suspended_at": None}])
            case "/app/installations/2/access_tokens":
                return token_until(NOON + timedelta(hours=1))
            case "/users/squadron[bot]":
                return httpx.Response(200, json={"id": 99})
            case _:
                return httpx.Response(500)

    github = GitHubApp(7, [app_key()], api_url, TurnedClock(NOON), httpx.MockTransport(answer))
    assert await github.bot_email() == f"99+squadron[bot]@{host}"


async def test_an_app_that_is_installed_nowhere_says_so() -> None:
    with pytest.raises(Refused, match="install it first"):
        await answering(lambda request: httpx.Response(200, json=[])).bot_email()
