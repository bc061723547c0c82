"""The webhook's door, over HTTP: what is let in, what is refused, and how."""

import gzip
import json
from collections.abc import Iterator

import pytest

from tests.contract.official_examples import PAYLOADS
from tests.support.deliveries import deliver, headers, post
from tests.support.squad import Squad, repository, squad

PING = b'{"zen": "Design for failure."}'
MEBIBYTE = 1024 * 1024


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("intake")
    with squad(directory, {"octo/demo": repository({})}, reconciliation_seconds=3600) as team:
        yield team


def test_a_signed_delivery_is_accepted_and_a_known_one_does_nothing(team: Squad) -> None:
    """DESIGN section 6, promise 1."""
    answers = [deliver(team, "ping", {"zen": "Twice."}, "known-delivery") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert [answer.json()["accepted"] for answer in answers] == [True, False]
    assert "known-delivery" in team.registry.deliveries()


@pytest.mark.parametrize(
    "changed",
    [
        {"X-Hub-Signature-256": ""},
        {"X-Hub-Signature-256": "sha256=" + "0" * 64},
        {"X-Hub-Signature-256": "sha1=" + "0" * 40},
        {"X-Hub-Signature-256": "0" * 64},
    ],
    ids=["none", "wrong", "sha1", "bare"],
)
def test_without_a_right_signature_nothing_is_let_in(team: Squad, changed: dict[str, str]) -> None:
    """Issue, "Intake"."""
    delivery = f"unsigned-{abs(hash(str(changed)))}"
    answer = post(team, {**headers("ping", delivery, PING), **changed}, PING)
    assert answer.status_code == 401
    assert delivery not in team.registry.deliveries()


def test_a_signature_that_is_no_ascii_is_a_wrong_one(team: Squad) -> None:
    """`facts/style.md` section 2, practice 6."""
    sent = headers("ping", "no-ascii", PING)
    raw = [(name.encode(), value.encode()) for name, value in sent.items()]
    raw[-1] = (b"X-Hub-Signature-256", "sha256=é".encode())
    assert post(team, raw, PING).status_code == 401


@pytest.mark.parametrize(
    "missing", ["X-GitHub-Event", "X-GitHub-Delivery"], ids=["event", "delivery"]
)
def test_a_delivery_without_its_headers_is_refused(team: Squad, missing: str) -> None:
    sent = headers("ping", "headless", PING)
    del sent[missing]
    assert post(team, sent, PING).status_code == 400


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"[" * 100_000, b"nope"],
    ids=["empty", "half", "no-utf8", "deep", "word"],
)
def test_what_is_no_json_is_refused(team: Squad, body: bytes) -> None:
    """`facts/peers.md` section 4, 25."""
    assert post(team, headers("ping", "no-json", body), body).status_code == 400


@pytest.mark.parametrize(
    "payload",
    [[], None, 1, {"repository": None}, {"installation": {"id": None}}, {"sender": []}],
    ids=["list", "null", "number", "repository", "installation", "sender"],
)
def test_json_of_another_shape_is_taken_and_concerns_nobody(team: Squad, payload: object) -> None:
    """`facts/peers.md` section 4, 25."""
    delivery = f"shape-{type(payload).__name__}-{len(str(payload))}"
    assert deliver(team, "issues", payload, delivery).status_code == 202
    assert delivery in team.registry.deliveries()


def test_a_body_over_25_mb_is_refused_and_one_below_is_taken(team: Squad) -> None:
    """GitHub caps payloads at 25 MB."""
    large = b'"' + b"x" * (25 * MEBIBYTE) + b'"'
    answer = post(team, headers("ping", "too-large", large), large)
    assert answer.status_code == 413
    most = large[: 25 * MEBIBYTE - 1] + b'"'
    assert post(team, headers("ping", "large", most), most).status_code == 202


def test_githubs_own_examples_all_pass_and_none_starts_anything(team: Squad) -> None:
    """Issue, "How it is judged": all example payloads of `@octokit/webhooks-examples`."""
    team.tolerates("delivery given up: No access to")
    examples = json.loads(gzip.decompress(PAYLOADS.read_bytes()))
    assert len(examples) == 329
    sent = {
        f"example-{number}": deliver(team, one["event"], one["payload"], f"example-{number}")
        for number, one in enumerate(examples)
    }
    assert {answer.status_code for answer in sent.values()} == {202}
    assert sent.keys() <= team.registry.deliveries()
    team.settle()
    assert team.registry.agents("Codertocat/Hello-World") == []
