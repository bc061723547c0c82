"""The webhook's door, over HTTP: what is let in, what is refused, and how."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli.main import app
from app.core.agents.lifecycle import State
from tests.contract.official_examples import PAYLOADS
from tests.support import processes
from tests.support.deliveries import deliver, headers, post
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes
from tests.support.waiting import MOST_SECONDS

PING = b'{"zen": "Design for failure."}'
MEBIBYTE = 1024 * 1024
AT_ONCE = 20


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("intake")
    demo = repository({"docs": {}})
    with squad(directory, {"octo/demo": demo}, reconciliation_seconds=3600) as team:
        yield team


def test_peers_24_a_signed_delivery_is_accepted_and_a_known_one_does_nothing(team: Squad) -> None:
    """docs/design.md, promise 1; peers, scenario 24."""
    answers = [deliver(team, "ping", {"zen": "Twice."}, "known-delivery") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert [answer.json()["accepted"] for answer in answers] == [True, False]
    assert "known-delivery" in team.registry.deliveries()


@pytest.mark.full
def test_peers_24_the_same_delivery_at_the_same_instant_takes_effect_once(team: Squad) -> None:
    """Peers, scenario 24."""
    with ThreadPoolExecutor(AT_ONCE) as senders:
        sent = [
            senders.submit(deliver, team, "ping", {"zen": "At once."}, "at-once")
            for _ in range(AT_ONCE)
        ]
        answers = [each.result() for each in sent]
    assert {answer.status_code for answer in answers} == {202}
    assert [answer.json()["accepted"] for answer in answers].count(True) == 1


@pytest.mark.full
def test_peers_24_what_failed_is_handled_again_and_takes_effect_once(team: Squad) -> None:
    """Peers, scenario 24: GitHub could not be asked who has set the label. A pass may ask as well,
    and meet one of the two errors."""
    place = "/collaborators/ada/permission$"
    with team.github.trouble(kind="error", status=502, path=place, count=2):
        task = team.issue("Once", completes("Done.")).by("docs")
        team.label(task, "squadron:docs", by="ada")
        assert team.until(task, State.COMPLETED).started_by == "ada"
        assert team.github.fired() == 2
    again = [line for line in team.service.lines() if "again later" in line["message"]]
    assert [line["failures"] for line in again] in ([1], [1, 2])
    assert again[0]["delivery"] in team.registry.deliveries()
    assert len(team.agents(task)) == 1


@pytest.mark.full
def test_peers_24_what_is_refused_for_good_is_visible_as_dead(team: Squad) -> None:
    """Peers, scenario 24: in the log, in the API, and where people look, `squadron agents`."""
    team.tolerates("delivery given up: GitHub refused")
    task = team.issue("Never", completes("Done.")).by("docs")
    team.settle()
    with team.github.trouble(kind="error", status=403, method="GET", path=f"^{task.path}$"):
        team.label(task, "squadron:docs")
        team.settle()
        dead = [line for line in team.service.lines() if "given up" in line["message"]]
    assert [line["level"] for line in dead] == ["ERROR"]
    assert dead[0]["delivery"] in team.registry.deliveries()
    assert team.agents(task) == []
    [told] = [
        one
        for one in team.asks_api("GET", "/api/agents").json()["dead_deliveries"]
        if one["delivery"] == dead[0]["delivery"]
    ]
    what = (told["event"], told["action"], told["repository"], told["issue"], told["by"])
    assert what == ("issues", "labeled", "octo/demo", task.number, "maria")
    assert "403" in told["reason"] and told["at"]
    shown = CliRunner().invoke(app, ["agents", "--json"], env=dict(team.service.environment))
    assert told in json.loads(shown.output)["dead_deliveries"]
    table = CliRunner().invoke(app, ["agents"], env=dict(team.service.environment))
    assert table.exit_code == 0, table.output
    assert [line for line in table.output.splitlines() if told["delivery"] in line]


@pytest.mark.full
def test_peers_24_all_that_was_answered_survives_kill_9(team: Squad) -> None:
    """docs/design.md, promise 1; peers, scenario 24."""
    task = team.issue("Survive", completes("Done.")).by("docs")
    with team.github.trouble(kind="lost", event="issues.labeled"):
        team.label(task, "squadron:docs")
        team.settle()
    labelled = labelling(team, task)
    answers = [deliver(team, "ping", {"zen": "Here."}, f"survives-{n}") for n in range(50)]
    answers.append(deliver(team, "issues", labelled, "survives-label"))
    team.service.kill()
    assert {answer.status_code for answer in answers} == {202}
    team.service.start()
    known = {"survives-label", *(f"survives-{number}" for number in range(50))}
    assert known <= team.registry.deliveries()
    team.until(task, State.COMPLETED)
    assert deliver(team, "issues", labelled, "survives-label").json()["accepted"] is False
    team.settle()
    assert len(team.agents(task)) == 1


def labelling(team: Squad, task: Task) -> object:
    """The delivery that tells of an issue's label, as GitHub would have sent it."""
    known = [
        one["payload"]
        for one in team.github.exchanges()
        if one.get("webhook") == "issues" and one["action"] == "labeled"
    ]
    issue = team.github.sees(task.path)
    label = next(one for one in issue["labels"] if one["name"] == "squadron:docs")
    return {**known[-1], "issue": issue, "label": label}


@pytest.mark.full
def test_peers_25_a_flood_of_junk_is_refused_and_signed_deliveries_still_get_through(
    team: Squad,
) -> None:
    """Peers, scenario 25."""
    junk = b'[{"flood": true}]'
    unsigned = {**headers("issues", "junk", junk), "X-Hub-Signature-256": "sha256=" + "0" * 64}
    nowhere = {"action": "labeled", "issue": {"number": 1}, "installation": None}
    with ThreadPoolExecutor(3 * AT_ONCE) as senders:
        flood = [senders.submit(post, team, unsigned, junk) for _ in range(200)]
        signed = [
            senders.submit(deliver, team, "issues", nowhere, name)
            for name in ("null-installation-1", "null-installation-2")
        ]
        refused = {each.result().status_code for each in flood}
        accepted = {each.result().status_code for each in signed}
    assert refused == {401}
    assert accepted == {202}
    known = team.registry.deliveries()
    assert {"null-installation-1", "null-installation-2"} <= known and "junk" not in known


@pytest.mark.full
def test_peers_25_an_unknown_repository_starts_nothing(team: Squad) -> None:
    """Peers, scenario 25: signed, and of a repository that the installation does not have."""
    team.tolerates("delivery given up: ")
    payload = {
        "action": "labeled",
        "issue": {"number": 1, "title": "T", "body": "B"},
        "label": {"name": "squadron:docs"},
        "repository": {"full_name": "nobody/nothing"},
        "sender": {"login": "maria", "type": "User"},
        "installation": {"id": team.github.about["installation_id"]},
    }
    assert deliver(team, "issues", payload, "unknown-repository").status_code == 202
    team.settle()
    assert team.registry.agents("nobody/nothing") == []


@pytest.mark.full
def test_peers_25_without_a_secret_the_service_does_not_start(tmp_path: Path) -> None:
    """docs/design.md, Outside interface; peers, scenario 25."""
    done = subprocess.run(
        [sys.executable, "-m", "app.cli.main", "serve", "--port", "0"],
        env={
            **processes.base_environment(tmp_path),
            "SQUADRON_GITHUB_APP_ID": "1",
            "SQUADRON_DATA_DIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    assert done.returncode != 0
    assert "SQUADRON_WEBHOOK_SECRET" in done.stderr and "Traceback" not in done.stderr


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
def test_peers_25_unsigned_nothing_is_let_in(team: Squad, changed: dict[str, str]) -> None:
    """Issue, "Intake"; peers, scenario 25."""
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
def test_peers_25_what_is_no_json_is_refused(team: Squad, body: bytes) -> None:
    """Peers, scenario 25."""
    assert post(team, headers("ping", "no-json", body), body).status_code == 400


@pytest.mark.parametrize(
    "payload",
    [[], None, 1, {"repository": None}, {"installation": {"id": None}}, {"sender": []}],
    ids=["list", "null", "number", "repository", "installation", "sender"],
)
def test_peers_25_json_of_another_shape_concerns_nobody(team: Squad, payload: object) -> None:
    """Peers, scenario 25."""
    delivery = f"shape-{type(payload).__name__}-{len(str(payload))}"
    assert deliver(team, "issues", payload, delivery).status_code == 202
    assert delivery in team.registry.deliveries()


def test_peers_25_a_body_over_25_mb_is_refused_and_one_below_is_taken(team: Squad) -> None:
    """GitHub caps payloads at 25 MB; peers, scenario 25."""
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
