"""The judge is judged: it takes what GitHub itself says, and refuses every corruption of it."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from app.githubbox.data import contract as read_contract
from app.githubbox.data.regenerate import OPERATIONS, WEBHOOKS
from tests.contract.corruption import corruptions
from tests.contract.official_examples import (
    FLAWED_ANSWERS,
    FLAWED_WEBHOOKS,
    Answer,
    Webhook,
    answers,
    mended_body,
    mended_payload,
    path_of,
    webhooks,
)
from tests.contract.openapi import (
    CORRECTED_ANSWERS,
    MAX_PROBLEMS_SHOWN,
    UNDECLARED_STATUSES,
    Contract,
    ContractBroken,
)

Json = Any

CONTRACT: Final = Contract.load()
ANSWERS: Final = tuple(answers())
WEBHOOK_EXAMPLES: Final = tuple(webhooks())
REPO: Final = "/repos/octo/demo"
ISSUE: Final = f"{REPO}/issues/12"


def is_refused(check: Callable[..., None], *arguments: Json) -> bool:
    try:
        check(*arguments)
    except ContractBroken:
        return True
    return False


def check_answer(answer: Answer, body: Json) -> None:
    CONTRACT.check_answer(answer.method, answer.path, answer.status, body)


# What GitHub says


def test_the_committed_contract_has_every_operation_and_webhook_of_the_list() -> None:
    document = read_contract()
    assert {
        path: {method.upper() for method in methods} for path, methods in document["paths"].items()
    } == {path: set(methods.split()) for path, methods in OPERATIONS.items()}
    assert len(document["x-webhooks"]) == sum(
        len(actions.split()) or 1 for actions in WEBHOOKS.values()
    )


def test_every_official_answer_holds_except_the_listed_ones() -> None:
    refused = {each.name for each in ANSWERS if is_refused(check_answer, each, each.body)}
    assert refused == set(FLAWED_ANSWERS)


def test_every_official_webhook_holds_except_the_listed_ones() -> None:
    refused = {
        (each.name, each.position)
        for each in WEBHOOK_EXAMPLES
        if is_refused(CONTRACT.check_webhook, each.event, each.action, each.payload)
    }
    assert refused == {
        (name, position) for name, flaw in FLAWED_WEBHOOKS.items() for position in flaw.positions
    }


def test_a_correction_is_listed_only_where_the_official_schema_refuses_the_official_example(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    corrected = [each for each in ANSWERS if (each.name[:-4], each.status) in CORRECTED_ANSWERS]
    assert len(corrected) == len(CORRECTED_ANSWERS)
    monkeypatch.setattr("tests.contract.openapi.CORRECTED_ANSWERS", {})
    uncorrected = Contract.load.__wrapped__(Contract)
    for each in corrected:
        arguments = each.method, each.path, each.status, each.body
        assert is_refused(uncorrected.check_answer, *arguments)
        assert not is_refused(CONTRACT.check_answer, *arguments)


# Corruption

NOTHING_REQUIRED: Final = {
    "GET /repos/{owner}/{repo}/issues/{issue_number}/timeline 200": "every kind of entry has its"
    " own fields, none is in all of them",
    "POST /app/hook/deliveries/{delivery_id}/attempts 202": "an empty object",
    "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge 405": "GitHub declares no field required",
    "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge 409": "GitHub declares no field required",
    "ping": "GitHub declares no field required",
}


def corrupted_answers(answer: Answer) -> Iterator[tuple[str, Json]]:
    schema = CONTRACT.operation(answer.method, answer.path).answers[answer.status]
    return corruptions(schema, mended_body(answer), CONTRACT.resolved, depth=1)


def corrupted_payloads(webhook: Webhook) -> Iterator[tuple[str, Json]]:
    schema = CONTRACT.webhooks[webhook.name.replace(".", "-").replace("_", "-")]
    return corruptions(schema, mended_payload(webhook), CONTRACT.resolved, depth=1)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.name)
def test_no_answer_can_be_corrupted_unseen(answer: Answer) -> None:
    check_answer(answer, mended_body(answer))
    tried = {what: is_refused(check_answer, answer, it) for what, it in corrupted_answers(answer)}
    assert not [what for what, refused in tried.items() if not refused]
    assert bool(tried) is (answer.name not in NOTHING_REQUIRED)


@pytest.mark.parametrize("webhook", WEBHOOK_EXAMPLES, ids=lambda it: f"{it.name} {it.position}")
def test_no_webhook_can_be_corrupted_unseen(webhook: Webhook) -> None:
    def check(payload: Json) -> None:
        CONTRACT.check_webhook(webhook.event, webhook.action, payload)

    check(mended_payload(webhook))
    tried = {what: is_refused(check, it) for what, it in corrupted_payloads(webhook)}
    assert not [what for what, refused in tried.items() if not refused]
    assert bool(tried) is (webhook.name not in NOTHING_REQUIRED)


# Requests

GOOD_REQUESTS: Final = [
    ("GET", REPO, {}, None),
    ("GET", f"{REPO}/issues", {"labels": "bug,wip", "state": "all", "per_page": "100"}, None),
    ("GET", f"{REPO}/issues/%31%32", {}, None),
    ("GET", f"{ISSUE}/comments", {"since": "2026-01-01T00:00:00Z"}, None),
    ("POST", f"{REPO}/issues", {}, {"title": "Broken", "labels": ["bug", {"name": "wip"}]}),
    ("PATCH", ISSUE, {}, {"state": "closed", "state_reason": "completed"}),
    ("POST", f"{ISSUE}/labels", {}, {"labels": ["bug"]}),
    ("PUT", f"{ISSUE}/lock", {}, None),
    ("PUT", f"{ISSUE}/lock", {}, {"lock_reason": "resolved"}),
    ("DELETE", f"{ISSUE}/labels/feature%3A%20x%2Fy", {}, None),
    ("POST", f"{REPO}/check-runs", {}, {"name": "a", "head_sha": "b", "status": "in_progress"}),
    ("PATCH", f"{REPO}/git/refs/heads/squadron/bug-fix/issue-12", {}, {"sha": "ab"}),
]

BAD_REQUESTS: Final = [
    ("GET", f"{REPO}/unheard-of", {}, None, "unknown operation"),
    ("PUT", f"{REPO}/issues", {}, None, "unknown operation; known are: GET"),
    ("GET", f"{REPO}/labels/feature: x", {}, None, "not percent-encoded"),
    ("GET", f"{REPO}/labels/größe", {}, None, "not percent-encoded"),
    ("GET", f"{REPO}/issues?state=all", {}, None, "not percent-encoded"),
    ("GET", f"{REPO}/issues/twelve", {}, None, "path parameter issue_number"),
    ("GET", f"{REPO}/issues", {"sate": "all"}, None, "query parameter sate: unknown"),
    ("GET", f"{REPO}/issues", {"state": "shut"}, None, "query parameter state"),
    ("GET", f"{REPO}/issues", {"per_page": "many"}, None, "query parameter per_page"),
    ("GET", f"{REPO}/issues", {"since": "yesterday"}, None, 'is not a "date-time"'),
    ("GET", ISSUE, {}, {"state": "closed"}, "a body, where GitHub reads none"),
    ("POST", f"{REPO}/issues", {}, None, "no body"),
    ("POST", f"{REPO}/issues", {}, {"body": "text"}, '"title" is a required property'),
    ("POST", f"{REPO}/issues", {}, {"title": "x", "lables": []}, "/lables: unknown key"),
    ("POST", f"{REPO}/issues", {}, {"title": "x", "labels": [1]}, "/labels/0: "),
    ("PATCH", ISSUE, {}, {"state": "done"}, "/state: "),
    ("PUT", f"{ISSUE}/lock", {}, {"reason": "resolved"}, "/reason: unknown key"),
    ("POST", f"{ISSUE}/labels", {}, ["bug"], 'the root: the value is not of type "object"'),
    ("POST", f"{REPO}/pulls", {}, {"head": "a", "base": "b", "maintainer": 1}, "/maintainer: "),
]


@pytest.mark.parametrize(("method", "path", "query", "body"), GOOD_REQUESTS)
def test_a_good_request_is_taken(method: str, path: str, query: Json, body: Json) -> None:
    CONTRACT.check_request(method, path, query, body)


@pytest.mark.parametrize(("method", "path", "query", "body", "message"), BAD_REQUESTS)
def test_a_bad_request_is_refused(
    method: str, path: str, query: Json, body: Json, message: str
) -> None:
    with pytest.raises(ContractBroken) as refusal:
        CONTRACT.check_request(method, path, query, body)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("path", "template"),
    [
        (f"{REPO}/issues/comments", "/repos/{owner}/{repo}/issues/comments"),
        (f"{REPO}/issues/7", "/repos/{owner}/{repo}/issues/{issue_number}"),
        (f"{REPO}/commits/feature/x", "/repos/{owner}/{repo}/commits/{ref}"),
        (f"{REPO}/commits/feature/x/status", "/repos/{owner}/{repo}/commits/{ref}/status"),
        (f"{REPO}/compare/main...a/b", "/repos/{owner}/{repo}/compare/{basehead}"),
        (f"{REPO}/contents/", "/repos/{owner}/{repo}/contents/{path}"),
        (f"{REPO}/contents/.squadron/config.yaml", "/repos/{owner}/{repo}/contents/{path}"),
    ],
)
def test_a_path_belongs_to_its_most_specific_template(path: str, template: str) -> None:
    assert CONTRACT.operation("GET", path).template == template


def test_every_operation_is_found_by_a_path_of_its_own() -> None:
    for operation in CONTRACT.operations:
        assert CONTRACT.operation(operation.method, path_of(operation.template)) is operation


# Answers


@pytest.mark.parametrize("status", UNDECLARED_STATUSES.keys() - {304})
def test_an_error_may_come_from_anywhere_and_says_why(status: int) -> None:
    CONTRACT.check_answer("GET", "/app", status, {"message": "No."})
    assert is_refused(CONTRACT.check_answer, "GET", "/app", status, {"error": "No."})
    assert is_refused(CONTRACT.check_answer, "GET", "/app", status, None)


def test_a_declared_error_says_why_too() -> None:
    assert is_refused(CONTRACT.check_answer, "GET", ISSUE, 404, {"documentation_url": "x"})


def test_a_status_that_github_never_gives_is_refused() -> None:
    with pytest.raises(ContractBroken, match="unknown status; known are: 200"):
        CONTRACT.check_answer("GET", "/app", 204, None)


def test_an_answer_without_a_body_has_none() -> None:
    for method, path, status in [("DELETE", f"{ISSUE}/lock", 204), ("GET", "/app", 304)]:
        CONTRACT.check_answer(method, path, status, None)
        assert is_refused(CONTRACT.check_answer, method, path, status, {})


def test_an_answer_with_a_body_is_not_empty() -> None:
    assert is_refused(CONTRACT.check_answer, "GET", REPO, 200, None)


def test_an_exchange_is_judged_on_both_sides() -> None:
    good: tuple[Json, ...] = "DELETE", f"{ISSUE}/lock", {}, None, 204, None
    CONTRACT.check_exchange(*good)
    for position, wrong in [(0, "GET"), (2, {"force": "yes"}), (3, {}), (4, 200), (5, {})]:
        assert is_refused(CONTRACT.check_exchange, *good[:position], wrong, *good[position + 1 :])


def test_a_webhook_of_another_event_or_action_is_refused() -> None:
    opened = next(each.payload for each in WEBHOOK_EXAMPLES if each.name == "issues.opened")
    CONTRACT.check_webhook("issues", "opened", opened)
    for event, action in [("issues", "closed"), ("issues", "eaten"), ("issues", None)]:
        assert is_refused(CONTRACT.check_webhook, event, action, opened)


# Messages


def test_a_refusal_says_where_and_what() -> None:
    installation = next(each for each in ANSWERS if each.name == "GET /app/installations 200")
    account = {"login": "octo", "id": "one"}
    with pytest.raises(ContractBroken) as refusal:
        check_answer(installation, [installation.body[0] | {"account": account}])
    first, *problems = str(refusal.value).splitlines()
    assert first == "the answer 200 to GET /app/installations breaks GitHub's contract:"
    assert "  /0/account: " in problems[0]
    assert len(problems) == MAX_PROBLEMS_SHOWN + 1
    assert problems[-1].endswith("more")
