"""Keys and secrets change hands while work goes on: `docs/how-to/rotate-keys.md`."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.core.agents.lifecycle import State
from tests.contract.box_support import app_jwt
from tests.support.people import repository
from tests.support.squad import WEBHOOK_SECRET, Squad, squad
from tests.support.steps import commits, completes, writes
from tests.support.waiting import MOST_SECONDS, until

pytestmark = pytest.mark.full

NEXT_SECRET = "canary-next-webhook-secret"
COMMENTS = 30


@contextmanager
def comments_all_the_while(team: Squad, path: str) -> Iterator[None]:
    """Somebody talks on an issue without a pause; every word is a delivery."""
    said = threading.Event()

    def talk() -> None:
        for number in range(COMMENTS):
            team.github.does("rita", "POST", f"{path}/comments", {"body": f"word {number}"})
            if number == COMMENTS // 3:
                said.set()

    talking = threading.Thread(target=talk)
    talking.start()
    assert said.wait(MOST_SECONDS)
    yield  # the rest is said while and after things change
    talking.join(MOST_SECONDS)
    assert not talking.is_alive()


def deliveries(team: Squad, key: str) -> list[Any]:
    """What became of the last deliveries, by the App's own list."""
    bearer = app_jwt(team.github.about["app_id"], key.encode())
    answer = httpx.get(
        f"{team.github.url}/app/hook/deliveries?per_page=100",
        headers={"Authorization": f"Bearer {bearer}"},
        trust_env=False,
    )
    assert answer.status_code == 200, answer.text
    return list(answer.json())


def works(team: Squad, title: str) -> None:
    """One more piece of work, from label to pull request."""
    task = team.give("bug-fix", title, writes("answer", title), commits(title), completes("Done."))
    team.until_handed_over(task)


def test_nothing_is_refused_while_secret_and_key_are_rotated(tmp_path: Path) -> None:
    """Issue, "Many repositories, one click": without downtime, two of each are accepted."""
    secrets = {"SQUADRON_WEBHOOK_SECRET": f"{NEXT_SECRET}\n{WEBHOOK_SECRET}"}
    demo = {"octo/demo": repository({"bug-fix": {}})}
    with squad(tmp_path, demo, further_environment=secrets) as team:
        key_file = Path(team.github.about["private_key_file"])
        old = key_file.read_text()
        new = team.github.orders("keys", {})["private_key"]
        # Both keys in one file, and one start anew: from here on the service is left alone.
        team.service.stop()
        key_file.write_text(old + new)
        team.service.start()
        works(team, "before")

        talk = team.issue("Talk")
        with comments_all_the_while(team, talk.path):
            team.github.orders("webhook_secret", {"secret": NEXT_SECRET})
            team.github.orders("forget_key", {})
        team.settle()
        works(team, "after")

        found = deliveries(team, new)
        assert {one["status_code"] for one in found} == {202}
        assert len(found) > COMMENTS
        assert team.until_logged("GitHub took the App's other private key, after it refused one")
        assert not [
            one for one in team.registry.agents("octo/demo") if one.state is State.ESCALATED
        ]


@pytest.mark.parametrize("kept", [WEBHOOK_SECRET, NEXT_SECRET])
def test_what_is_signed_with_a_secret_that_was_taken_away_is_refused(
    tmp_path: Path, kept: str
) -> None:
    """The control of the story above: one secret alone does refuse the other's deliveries."""
    demo = {"octo/demo": repository({})}
    secrets = {"SQUADRON_WEBHOOK_SECRET": kept}
    with squad(tmp_path, demo, further_environment=secrets) as team:
        for secret in (WEBHOOK_SECRET, NEXT_SECRET):
            team.github.orders("webhook_secret", {"secret": secret})
            team.issue("Told or not")
            until(team.github.is_idle, "all is sent")
        key = Path(team.github.about["private_key_file"]).read_text()
        statuses = {one["status_code"] for one in deliveries(team, key)}
        assert statuses == {202, 401}
