"""What a delivery says: the right fields of GitHub's own examples, and never an exception."""

import gzip
import json
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.github.comment_kinds import CommentKind
from app.core.github.hints import (
    BranchPushed,
    Commented,
    CommentEdited,
    CommitFailed,
    DefaultBranchPushed,
    IssueAssigned,
    IssueChangedHands,
    IssueClosed,
    IssueLabelled,
    IssueOpened,
    PullRequestClosed,
    PullRequestJudged,
    PullRequestLabelled,
    PullRequestPushed,
    Signal,
    read,
)
from app.core.github.payloads import MOST_CHARACTERS, MOST_ELEMENTS, read_of
from app.core.rules.trust import Sender
from tests.core.strategies import EXAMPLES

_FILE = Path(__file__).parent.parent / "data" / "webhooks" / "examples.json.gz"
GITHUBS_EXAMPLES: list[dict[str, Any]] = json.loads(gzip.decompress(_FILE.read_bytes()))
"""GitHub's own example payloads: `[{"event", "payload"}]`."""

EVENTS = sorted({example["event"] for example in GITHUBS_EXAMPLES})


def example(event: str, action: str) -> dict[str, Any]:
    """GitHub's first example of an event, sent through an App."""
    payload: dict[str, Any] = next(
        one["payload"]
        for one in GITHUBS_EXAMPLES
        if one["event"] == event and one["payload"].get("action") == action
    )
    return deepcopy(payload) | {"installation": {"id": 77}}


WHERE: dict[str, Any] = {
    "repository": "octo/demo",
    "installation_id": 77,
    "sender": Sender("mona", is_bot=False),
}


EDITED: list[tuple[CommentKind, str, int]] = [
    ("review", "review", 5),
    ("review_comment", "comment", 3),
]
"""Kind, key of the payload, and the review that it is part of."""


def payload(action: str | None, **more: object) -> dict[str, object]:
    """The least that a delivery of an App says."""
    where = {
        "repository": {"full_name": "octo/demo", "default_branch": "trunk"},
        "installation": {"id": 77},
        "sender": {"login": "mona", "type": "User"},
    }
    return where | ({} if action is None else {"action": action}) | more


ISSUE = {"number": 12, "title": "Login fails", "body": None, "labels": [{"name": "bug"}]}
PULL = {
    "number": 7,
    "title": "A fix",
    "body": "It helps.",
    "user": {"login": "rita"},
    "updated_at": "2026-01-02T03:04:05Z",
}

# --- GitHub's own examples --------------------------------------------------------------------


def test_every_example_of_github_is_read_without_an_exception() -> None:
    read_as = {type(read(one["event"], one["payload"])) for one in GITHUBS_EXAMPLES}
    assert len(GITHUBS_EXAMPLES) > 300
    assert {PullRequestClosed, DefaultBranchPushed, IssueClosed, type(None)} <= read_as


def test_an_example_without_an_installation_is_of_no_concern() -> None:
    labelled = example("issues", "labeled")
    del labelled["installation"]
    assert read("issues", labelled) is None


def test_githubs_example_of_a_label() -> None:
    labelled = example("issues", "labeled")
    assert read("issues", labelled) == IssueLabelled(
        at=datetime.fromisoformat(labelled["issue"]["updated_at"]),
        repository=labelled["repository"]["full_name"],
        installation_id=77,
        sender=Sender(labelled["sender"]["login"], is_bot=False),
        issue=labelled["issue"]["number"],
        label=labelled["label"]["name"],
        title=labelled["issue"]["title"],
        body=labelled["issue"]["body"] or "",
    )


def test_githubs_example_of_an_assignment() -> None:
    assigned = example("issues", "assigned")
    assert read("issues", assigned) == IssueAssigned(
        repository=assigned["repository"]["full_name"],
        installation_id=77,
        sender=Sender(assigned["sender"]["login"], is_bot=False),
        at=datetime.fromisoformat(assigned["issue"]["updated_at"]),
        issue=assigned["issue"]["number"],
        assignee=assigned["assignee"]["login"],
        labels=tuple(label["name"] for label in assigned["issue"]["labels"]),
        title=assigned["issue"]["title"],
        body=assigned["issue"]["body"] or "",
    )


def test_githubs_example_of_a_comment() -> None:
    commented = example("issue_comment", "created")
    assert read("issue_comment", commented) == Commented(
        repository=commented["repository"]["full_name"],
        installation_id=77,
        sender=Sender(commented["sender"]["login"], is_bot=False),
        issue=commented["issue"]["number"],
        comment=commented["comment"]["id"],
        at=datetime.fromisoformat(commented["comment"]["created_at"]),
        body=commented["comment"]["body"],
        link="https://github.com/Codertocat/Hello-World/issues/1#issuecomment-492700400",
    )


# --- each signal in plain values --------------------------------------------------------------

DELIVERIES: list[tuple[str, dict[str, object], Signal | None]] = [
    (
        "issues",
        payload("opened", issue=ISSUE),
        IssueOpened(
            event="issues.opened", at=None, issue=12, title="Login fails", body="", **WHERE
        ),
    ),
    (
        "issues",
        payload("reopened", issue=ISSUE),
        IssueOpened(
            event="issues.reopened", at=None, issue=12, title="Login fails", body="", **WHERE
        ),
    ),
    (
        "issues",
        payload("labeled", issue=ISSUE, label={"name": "squadron:bug-fix"}),
        IssueLabelled(
            at=None, issue=12, label="squadron:bug-fix", title="Login fails", body="", **WHERE
        ),
    ),
    (
        "issues",
        payload("assigned", issue=ISSUE, assignee={"login": "squad[bot]"}),
        IssueAssigned(
            at=None,
            issue=12,
            assignee="squad[bot]",
            labels=("bug",),
            title="Login fails",
            body="",
            **WHERE,
        ),
    ),
    ("issues", payload("closed", issue=ISSUE), IssueClosed(issue=12, **WHERE)),
    ("issues", payload("deleted", issue=ISSUE), IssueClosed(issue=12, is_gone=True, **WHERE)),
    ("issues", payload("transferred", issue=ISSUE), IssueClosed(issue=12, is_gone=True, **WHERE)),
    (
        "issue_comment",
        payload("created", issue=ISSUE, comment={"id": 5, "body": "Go on."}),
        Commented(issue=12, comment=5, at=None, body="Go on.", **WHERE),
    ),
    (
        "pull_request",
        payload("closed", pull_request={"number": 7}),
        PullRequestClosed(number=7, **WHERE),
    ),
    *(
        (
            "pull_request_review",
            payload("submitted", pull_request={"number": 7}, review={"state": state}),
            PullRequestJudged(numbers=(7,), **WHERE),
        )
        for state in ("changes_requested", "commented", "approved")
    ),
    (
        "pull_request_review_comment",
        payload("created", pull_request={"number": 7}, comment={"body": "Name it better."}),
        PullRequestJudged(numbers=(7,), **WHERE),
    ),
    (
        "pull_request_review",
        payload(
            "submitted",
            pull_request={"number": 7},
            review={"id": 3, "body": "No.", "submitted_at": "2026-03-01T12:00:00Z"},
        ),
        PullRequestJudged(
            numbers=(7,),
            words=Commented(
                issue=7,
                comment=3,
                at=datetime(2026, 3, 1, 12, tzinfo=UTC),
                body="No.",
                kind="review",
                review=3,
                **WHERE,
            ),
            **WHERE,
        ),
    ),
    (
        "pull_request_review_comment",
        payload(
            "created",
            pull_request={"number": 7},
            comment={"id": 5, "body": "Name it.", "pull_request_review_id": 3},
        ),
        PullRequestJudged(
            numbers=(7,),
            words=Commented(
                issue=7,
                comment=5,
                at=None,
                body="Name it.",
                kind="review_comment",
                review=3,
                **WHERE,
            ),
            **WHERE,
        ),
    ),
    *(
        (
            f"pull_request_{kind}",
            payload(
                "edited",
                pull_request={"number": 7},
                changes={"body": {"from": "No."}},
                **{
                    key: {
                        "id": 5,
                        "body": "Yes.",
                        "user": {"login": "ada", "type": "User"},
                        "pull_request_review_id": 3,
                    }
                },
            ),
            CommentEdited(
                issue=7,
                comment=5,
                at=None,
                body="Yes.",
                before="No.",
                author=Sender("ada", False),
                kind=kind,
                review=review,
                **WHERE,
            ),
        )
        for kind, key, review in EDITED
    ),
    (
        "check_run",
        payload(
            "completed",
            check_run={"conclusion": "failure", "pull_requests": [{"number": 7}, {"number": 9}]},
        ),
        PullRequestJudged(numbers=(7, 9), **WHERE),
    ),
    (
        "check_run",
        payload("completed", check_run={"conclusion": "success", "pull_requests": [{"number": 7}]}),
        None,
    ),
    (
        "check_run",
        payload("completed", check_run={"conclusion": "failure", "pull_requests": []}),
        None,
    ),
    *(
        (
            "status",
            payload(None, state=state, branches=[{"name": "a"}, {}, {"name": "b"}]),
            CommitFailed(branches=("a", "b"), **WHERE),
        )
        for state in ("failure", "error")
    ),
    ("status", payload(None, state="pending", branches=[{"name": "a"}]), None),
    ("status", payload(None, state="success", branches=[{"name": "a"}]), None),
    ("status", payload(None, state="failure", branches=[]), None),
    ("status", payload(None, state="failure"), None),
    ("push", payload(None, ref="refs/heads/trunk"), DefaultBranchPushed(**WHERE)),
    (
        "push",
        payload(None, ref="refs/heads/squadron/bug-fix/issue-12"),
        BranchPushed(branch="squadron/bug-fix/issue-12", **WHERE),
    ),
    ("push", payload(None, ref="refs/heads/gone", deleted=True), None),
    ("push", payload(None, ref="refs/tags/v1"), None),
    ("push", payload(None, ref="trunk"), None),
    ("issues", payload("edited", issue=ISSUE), None),
    (
        "issues",
        payload("unlabeled", issue=ISSUE, label={"name": "bug"}),
        IssueChangedHands(issue=12, **WHERE),
    ),
    (
        "issues",
        payload("unassigned", issue=ISSUE, assignee={"login": "mona"}),
        IssueChangedHands(issue=12, **WHERE),
    ),
    ("issue_comment", payload("edited", issue=ISSUE, comment={"body": "Go on."}), None),
    ("issue_comment", payload("deleted", issue=ISSUE, comment={"body": "Go on."}), None),
    *(
        (
            "pull_request",
            payload(action, pull_request=PULL),
            PullRequestPushed(
                event=f"pull_request.{action}",
                at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
                number=7,
                author="rita",
                title="A fix",
                body="It helps.",
                **WHERE,
            ),
        )
        for action in ("opened", "reopened", "ready_for_review", "synchronize")
    ),
    (
        "pull_request",
        payload("synchronize", pull_request={"number": 7}),
        PullRequestPushed(
            event="pull_request.synchronize",
            at=None,
            number=7,
            author="",
            title="",
            body="",
            **WHERE,
        ),
    ),
    (
        "pull_request",
        payload("labeled", pull_request=PULL, label={"name": "squadron:pr-review"}),
        PullRequestLabelled(
            at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            number=7,
            label="squadron:pr-review",
            title="A fix",
            body="It helps.",
            **WHERE,
        ),
    ),
    ("pull_request", payload("unlabeled", pull_request=PULL), IssueChangedHands(issue=7, **WHERE)),
    ("pull_request", payload("labeled", pull_request=PULL), None),
    ("pull_request", payload("opened"), None),
    ("star", payload("created"), None),
    ("an event of next year", payload("closed", issue=ISSUE), None),
]


@pytest.mark.parametrize(("event", "document", "signal"), DELIVERIES)
def test_a_delivery_says_what_matters_and_nothing_else(
    event: str, document: dict[str, object], signal: Signal | None
) -> None:
    assert read(event, document) == signal


@pytest.mark.parametrize(
    ("login", "kind", "is_bot"),
    [
        ("mona", "User", False),
        ("squad[bot]", "Bot", True),
        ("squad[bot]", "User", True),
        ("helper", "Bot", True),
        ("octo", "Organization", True),
        ("ghost", None, True),
    ],
)
def test_who_is_not_plainly_a_person_is_a_bot(login: str, kind: str | None, is_bot: bool) -> None:
    sender = {"login": login, "type": kind}
    signal = read("issues", payload("closed", issue=ISSUE) | {"sender": sender})
    assert signal is not None and signal.sender == Sender(login, is_bot)


@pytest.mark.parametrize(
    ("event", "document"),
    [
        ("issues", payload("labeled", issue=ISSUE)),
        ("issues", payload("assigned", issue=ISSUE, assignee=None)),
        ("issues", payload("labeled", issue={"number": "12"}, label={"name": "bug"})),
        ("issues", payload("labeled", issue={"number": True}, label={"name": "bug"})),
        ("issues", payload("labeled", issue=[1], label={"name": "bug"})),
        ("issues", payload("closed", issue=ISSUE) | {"repository": None}),
        ("issues", payload("closed", issue=ISSUE) | {"sender": {"type": "User"}}),
        ("issues", payload("closed", issue=ISSUE) | {"action": ["closed"]}),
        ("issues", payload(None, issue=ISSUE)),
        ("issue_comment", payload("created", issue=ISSUE, comment={})),
        ("issue_comment", payload("created", issue=ISSUE, comment="Go on.")),
        ("pull_request", payload("closed", pull_request={})),
        ("pull_request_review", payload("submitted", pull_request={}, review={})),
    ],
)
def test_a_delivery_without_what_it_should_say_is_of_no_concern(
    event: str, document: dict[str, object]
) -> None:
    assert read(event, document) is None


@pytest.mark.parametrize("labels", [None, "bug", {"name": "bug"}, [None, 1, {"name": 2}, []]])
def test_labels_of_another_shape_are_no_labels(labels: object) -> None:
    issue = ISSUE | {"labels": labels}
    signal = read("issues", payload("assigned", issue=issue, assignee={"login": "squad[bot]"}))
    assert isinstance(signal, IssueAssigned) and signal.labels == ()


# --- anything at all --------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("event", [*EVENTS, ""])
@pytest.mark.parametrize("document", [[], None, "x", {"issue": [1]}, {"issue": {"number": []}}, 0])
def test_documents_of_any_shape_are_of_no_concern(event: str, document: object) -> None:
    assert read(event, document) is None


@EXAMPLES
@given(st.sampled_from(GITHUBS_EXAMPLES), st.data())
def test_an_example_with_anything_in_place_of_a_field_is_read_without_an_exception(
    one: dict[str, Any], data: st.DataObject
) -> None:
    document = deepcopy(one["payload"]) | {"installation": {"id": 77}}
    key = data.draw(st.sampled_from(sorted(document)))
    if isinstance(document[key], dict) and document[key] and data.draw(st.booleans()):
        inner = data.draw(st.sampled_from(sorted(document[key])))
        document[key][inner] = data.draw(json_values)
    else:
        document[key] = data.draw(json_values)
    said = read(one["event"], document)
    assert read(one["event"], read_of(document)) == said


@pytest.mark.parametrize("event", EVENTS)
def test_what_is_kept_of_a_large_example_says_as_much_and_is_small(event: str) -> None:
    found = 0
    for one in GITHUBS_EXAMPLES:
        if one["event"] == event:
            document = deepcopy(one["payload"]) | {"installation": {"id": 77}}
            kept = json.loads(json.dumps(read_of(document)))
            assert read(event, kept) == read(event, document)
            assert len(json.dumps(kept)) < 3_000
            found += 1
    assert found > 0


@pytest.mark.parametrize("payload", [None, [], "text", 7, {"issue": 7}, {"branches": {"a": 1}}])
def test_of_what_has_another_shape_nothing_is_kept(payload: object) -> None:
    assert all(not value for value in read_of(payload).values())


def test_no_text_is_kept_that_is_longer_than_github_takes_and_no_list_without_end() -> None:
    long = {"title": "x" * 1_000_000, "labels": [{"name": "y"}] * 100_000}
    kept = read_of({"issue": long})["issue"]
    assert kept == {"title": "x" * MOST_CHARACTERS, "labels": [{"name": "y"}] * MOST_ELEMENTS}
