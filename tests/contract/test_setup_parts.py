"""Parts of `squadron setup` that the stories cannot reach: time, disks, odd answers of GitHub."""

import asyncio
import json
import re
import resource
import signal
import socket
import stat
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.github.registration import NewApp, convert
from app.cli.setup.command import served
from app.cli.setup.folder import AppFolder, CannotKeep
from app.cli.setup.page import MOST_BROWSERS, Means, Registration
from app.config.variables import DEFAULT_API_URL
from app.core.github.registration import LIFE, Order
from app.githubbox.data import examples
from app.ports import RateLimited, Refused, Unreachable
from tests.twins.clock import TurnedClock

CODE = "a180b1a3d263c81bc6441d7b990bae27d4c10679"
APP = NewApp(7, "octo", "https://github.com/apps/squadron", SecretStr("KEY"), SecretStr("HOOK"))
EXAMPLE: dict[str, Any] = examples()["POST /app-manifests/{code}/conversions"]["201"]


def registration(
    directory: Path, clock: TurnedClock, told: list[str], organization: str | None = None
) -> Registration:
    """One whose GitHub always answers with the same App, and lets others run meanwhile."""

    async def convert_any(_: str) -> NewApp:
        await asyncio.sleep(0)
        return APP

    folder = AppFolder(directory)
    folder.prepare()
    states = map("state{}".format, count())
    means = Means(convert_any, lambda: next(states), folder, clock, told.append)
    order = Order("https://github.com", "https://squadron.example/webhook", organization)
    return Registration(order, clock.now() + LIFE, means)


async def answered(here: Registration) -> httpx.Response:
    """A browser opens the page, and GitHub's redirect comes back to it."""
    here.address = "http://127.0.0.1:8001"
    transport = httpx.ASGITransport(here.asgi())
    async with httpx.AsyncClient(transport=transport, base_url=here.address) as browser:
        page = await browser.get("/")
        [state] = re.findall(r"\?state=(\w+)", page.text)
        return await browser.get("/created", params={"code": CODE, "state": state})


async def test_a_page_that_is_left_alone_ends_by_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = registration(tmp_path / "data", TurnedClock(), [])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert await served(here, listener, timedelta(seconds=0.2)) is None
    assert "The time is over. Nothing was written." in capsys.readouterr().err
    assert list((tmp_path / "data").iterdir()) == []


async def test_a_machine_that_slept_for_the_hour_takes_no_answer_any_more(tmp_path: Path) -> None:
    clock, told = TurnedClock(), list[str]()
    here = registration(tmp_path / "data", clock, told)
    clock.turn(timedelta(hours=1))
    answer = await answered(here)
    assert (answer.status_code, "An hour has passed" in answer.text) == (403, True)
    assert list((tmp_path / "data").iterdir()) == []
    assert told == [
        "An hour has passed since the page was opened, and GitHub's codes live no longer."
        " Nothing was written."
    ]


async def test_an_answer_that_comes_twice_at_once_is_taken_once(tmp_path: Path) -> None:
    told = list[str]()
    here = registration(tmp_path / "data", TurnedClock(), told)
    answers = await asyncio.gather(*(answered(here) for _ in range(3)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409]
    assert here.app == APP
    assert told == []


async def test_only_the_latest_browsers_are_remembered(tmp_path: Path) -> None:
    here = registration(tmp_path / "data", TurnedClock(), [])
    here.address = "http://127.0.0.1:8001"
    transport = httpx.ASGITransport(here.asgi())
    async with httpx.AsyncClient(transport=transport, base_url=here.address) as first:
        [state] = re.findall(r"\?state=(\w+)", (await first.get("/")).text)
        assert state in (await first.get("/")).text, "the same again for the same browser"
        for _ in range(MOST_BROWSERS):
            async with httpx.AsyncClient(transport=transport, base_url=here.address) as another:
                await another.get("/")
        answer = await first.get("/created", params={"code": CODE, "state": state})
    assert (answer.status_code, "has not opened the page" in answer.text) == (403, True)


async def test_an_app_of_somebody_else_is_not_kept(tmp_path: Path) -> None:
    told = list[str]()
    here = registration(tmp_path / "data", TurnedClock(), told, organization="acme")
    assert (await answered(here)).status_code == 500
    assert here.over.is_set() and here.app is None
    assert "belongs to octo, not to acme" in told[0]
    assert list((tmp_path / "data").iterdir()) == []
    same = registration(tmp_path / "data", TurnedClock(), told, organization="OCTO")
    assert (await answered(same)).status_code == 200


async def test_secrets_that_cannot_be_kept_are_told_with_a_way_out(tmp_path: Path) -> None:
    told = list[str]()
    here = registration(tmp_path / "data", TurnedClock(), told)
    (tmp_path / "data").rmdir()
    answer = await answered(here)
    assert answer.status_code == 500
    assert "cannot be written: No such file or directory" in told[0]
    assert "https://github.com/apps/squadron is registered, but its secrets are lost" in told[0]
    assert "HOOK" not in answer.text + told[0]


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    folder = AppFolder(tmp_path / "data")
    folder.prepare()
    folder.environment.write_text("mine")
    with pytest.raises(CannotKeep, match=r"squadron\.env cannot be written: File exists"):
        folder.write(APP)
    assert [path.name for path in folder.directory.iterdir()] == ["squadron.env"]
    assert folder.environment.read_text() == "mine"


def test_a_file_that_cannot_be_finished_is_taken_away(tmp_path: Path) -> None:
    folder = AppFolder(tmp_path / "data")
    folder.prepare()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
    try:
        with pytest.raises(CannotKeep, match=r"squadron\.env cannot be written: File too large"):
            folder.write(APP)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handled)
    assert list(folder.directory.iterdir()) == []


def test_what_is_written_is_for_its_owner_alone_and_names_no_place(tmp_path: Path) -> None:
    folder = AppFolder(tmp_path / "a b", "anthropic:opus", "https://git.example.org/api/v3")
    folder.prepare()
    folder.write(APP)
    assert folder.environment.read_text() == (
        "# The GitHub App https://github.com/apps/squadron.\n"
        "SQUADRON_GITHUB_APP_ID=7\n"
        "SQUADRON_GITHUB_PRIVATE_KEY=S0VZCg==\n"
        "SQUADRON_WEBHOOK_SECRET=HOOK\n"
        "SQUADRON_GITHUB_API_URL=https://git.example.org/api/v3\n"
        "\n"
        "# The model of roles that name none, openai:NAME or anthropic:NAME, and its key.\n"
        "SQUADRON_MODEL=anthropic:opus\n"
        "SQUADRON_MODEL_API_KEY=\n"
    )
    assert stat.S_IMODE(folder.environment.stat().st_mode) == 0o600
    with pytest.raises(CannotKeep, match="there already"):
        folder.check_free()


def test_a_file_in_place_of_the_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(CannotKeep, match="cannot be used: File exists"):
        AppFolder(tmp_path / "data").prepare()


Answer = Callable[[httpx.Request], httpx.Response]


async def converted(answer: Answer, api_url: str = DEFAULT_API_URL) -> NewApp:
    return await convert(CODE, api_url, TurnedClock(), httpx.MockTransport(answer))


async def test_an_enterprise_server_is_asked_at_its_own_address() -> None:
    asked = list[httpx.Request]()

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(201, json=EXAMPLE)

    app = await converted(answer, "https://git.example.org/api/v3")
    url = f"https://git.example.org/api/v3/app-manifests/{CODE}/conversions"
    assert [(one.method, str(one.url), one.content) for one in asked] == [("POST", url, b"")]
    assert "authorization" not in asked[0].headers
    assert (app.id, app.owner, app.page) == (1, "github", "https://github.com/apps/octoapp")
    assert app.webhook_secret.get_secret_value() == EXAMPLE["webhook_secret"]
    assert EXAMPLE["webhook_secret"] not in repr(app) and "PRIVATE" not in repr(app)


@pytest.mark.parametrize(
    ("status", "failure"),
    [(404, Refused), (422, Refused), (429, RateLimited), (500, Unreachable), (302, Refused)],
)
async def test_a_refusal_does_not_repeat_the_code(status: int, failure: type[Exception]) -> None:
    said = {"message": f"No {CODE}"}
    with pytest.raises(failure) as raised:
        await converted(lambda _: httpx.Response(status, json=said))
    assert CODE not in str(raised.value)
    assert "/app-manifests/…/conversions" in str(raised.value)


async def test_a_github_that_is_not_there_is_unreachable() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"no route to {request.url}")

    with pytest.raises(Unreachable, match="could not be reached") as raised:
        await converted(fail)
    assert CODE not in str(raised.value)


@pytest.mark.parametrize("missing", ["id", "pem", "webhook_secret", "html_url", "owner"])
async def test_an_answer_without_all_there_is_to_keep_is_a_refusal(missing: str) -> None:
    """The contract allows null for the webhook's secret; without it nothing could be verified."""
    odd = json.dumps({**EXAMPLE, missing: None})
    with pytest.raises(Refused, match="lacks the App's key or secret"):
        await converted(lambda _: httpx.Response(201, text=odd))


async def test_an_answer_that_is_no_json_is_a_refusal() -> None:
    with pytest.raises(Refused, match="lacks the App's key or secret"):
        await converted(lambda _: httpx.Response(201, text="<html>"))
