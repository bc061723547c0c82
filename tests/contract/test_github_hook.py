"""The App's deliveries: every method of the port against the box."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.github import GitHubApp
from app.githubbox.box import Box
from app.ports import Hook, Refused
from tests.contract.github_support import Judged
from tests.twins.clock import TurnedClock

LISTED = 103
"""More than fit on one page."""


async def test_failures_are_read_back_to_an_instant_and_asked_for_again(tmp_path: Path) -> None:
    root, files = tmp_path / "box", tmp_path / "demo"
    for directory in (root, files):
        directory.mkdir()
    (files / "a.txt").write_text("a")
    clock, url = TurnedClock(datetime.now(UTC)), "http://squadron.test/webhook"
    nobody = httpx.MockTransport(lambda _: httpx.Response(202))
    box = Box(root, webhook_secret="s", webhook_url=url, webhook_transport=nobody, clock=clock)
    async with box:
        await box.add_repository("octo/demo", files)
        wire = Judged(httpx.ASGITransport(box.asgi))
        key = SecretStr(box.identity.private_key_pem.decode())
        hook: Hook = GitHubApp(box.identity.app_id, [key], box.url, clock, wire).hook
        began = clock.now().replace(microsecond=0)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(box.asgi), base_url=box.url
        ) as tester:
            fault = {"kind": "unreachable", "event": "ping", "count": LISTED}
            (await tester.post("/_box/faults", json=fault)).raise_for_status()
            for _ in range(LISTED):
                clock.turn(timedelta(seconds=1))
                (await tester.post("/_box/ping", json={})).raise_for_status()

        found = await hook.failed(began, 1_000)
        assert len(found) == LISTED and len({one.guid for one in found}) == LISTED
        assert [one.at for one in found] == [
            began + timedelta(seconds=LISTED - n) for n in range(LISTED)
        ]
        assert await hook.failed(began, LISTED) == found
        assert await hook.failed(began, 101) == found[:101]
        assert await hook.failed(found[1].at, 1_000) == found[:2]
        assert wire.calls("GET").count("/app/hook/deliveries") == 2 + 2 + 2 + 1
        assert await hook.failed(clock.now() + timedelta(seconds=1), 1_000) == []

        await hook.deliver_again(found[0].number)
        again = next(one for one in box.webhooks.list() if one.redelivery)
        assert again.guid == found[0].guid
        with pytest.raises(Refused) as refused:
            await hook.deliver_again(1)
        assert refused.value.status == 404
