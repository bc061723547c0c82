"""Reviews in the box: comments on lines, and check runs of other Apps."""

from tests.contract.box_support import REPO, Rig
from tests.contract.test_box_story import branch


async def _pull(box: Rig) -> int:
    app = await box.installation()
    await branch(box, "work", "sum.py", "def add(a, b):\n    return 1\n")
    pull = {"title": "t", "head": "work", "base": "main"}
    return int((await app.post(f"{REPO}/pulls", json=pull)).json()["number"])


async def test_comments_on_lines_belong_to_their_review(box: Rig) -> None:
    number, ann = await _pull(box), box.person("write")
    place = f"{REPO}/pulls/{number}"
    wish = {"path": "sum.py", "line": 2, "side": "RIGHT", "body": "a + b"}
    review = (
        await ann.post(f"{place}/reviews", json={"event": "COMMENT", "comments": [wish]})
    ).json()
    assert (review["state"], review["body"]) == ("COMMENTED", "")
    head = (await ann.get(place)).json()["head"]["sha"]
    single = await ann.post(f"{place}/comments", json={**wish, "line": 1, "commit_id": head})
    assert single.status_code == 201
    found = (await ann.get(f"{place}/comments")).json()
    assert [(one["path"], one["line"]) for one in found] == [("sum.py", 2), ("sum.py", 1)]
    reviews = (await ann.get(f"{place}/reviews")).json()
    assert [one["pull_request_review_id"] for one in found] == [one["id"] for one in reviews]
    assert reviews[0]["id"] == review["id"]
    assert (await ann.get(f"{REPO}/pulls/comments")).json() == found
    assert (await box.heard())[-4:] == [
        "pull_request_review.submitted",
        "pull_request_review_comment.created",
        "pull_request_review.submitted",
        "pull_request_review_comment.created",
    ]


async def test_a_line_outside_the_diff_refuses_the_whole_review(box: Rig) -> None:
    number, ann = await _pull(box), box.person("write")
    place = f"{REPO}/pulls/{number}"
    for path, line, side in (("sum.py", 3, "RIGHT"), ("sum.py", 1, "LEFT"), ("b.py", 1, "RIGHT")):
        wish = {"path": path, "line": line, "side": side, "body": "no"}
        answer = await ann.post(
            f"{place}/reviews", json={"event": "COMMENT", "body": "b", "comments": [wish]}
        )
        assert answer.status_code == 422
    assert (await ann.get(f"{place}/reviews")).json() == []


async def test_another_apps_check_run(box: Rig) -> None:
    app = await box.installation()
    sha = await branch(box, "work", "a.txt", "one\n")
    own = {"name": "ours", "head_sha": sha, "status": "in_progress"}
    await app.post(f"{REPO}/check-runs", json=own)
    order = {"repository": "octo/demo", "ref": "work", "name": "tests", "conclusion": "failure",
             "summary": "2 failed"}  # fmt: skip
    (await box.client().post("/_box/foreign_check", json=order)).raise_for_status()
    runs = (await app.get(f"{REPO}/commits/{sha}/check-runs")).json()["check_runs"]
    assert {(one["name"], one["app"]["slug"]) for one in runs} == {
        ("ours", "squadron-box"),
        ("tests", "ci-box"),
    }
    us = (await app.get(f"{REPO}/commits/{sha}/check-runs?app_id={box.box.identity.app_id}")).json()
    assert [one["name"] for one in us["check_runs"]] == ["ours"]
    assert "check_run.completed" in await box.heard()


async def test_a_review_without_an_event_is_pending_until_its_author_submits_it(box: Rig) -> None:
    number, ann, rita = await _pull(box), box.person("write"), box.person("read")
    place = f"{REPO}/pulls/{number}"
    wish = {"path": "sum.py", "line": 2, "side": "RIGHT", "body": "a + b"}
    before = await box.heard()
    made = await ann.post(f"{place}/reviews", json={"body": "Half.", "comments": [wish]})
    review = made.json()
    assert (made.status_code, review["state"]) == (200, "PENDING")
    assert "submitted_at" not in review
    one = f"{place}/reviews/{review['id']}"
    assert (await rita.get(f"{place}/reviews")).json() == []
    assert (await rita.get(one)).status_code == 404
    assert (await ann.get(f"{place}/reviews")).json() == [review] == [(await ann.get(one)).json()]
    assert (await ann.get(f"{place}/comments")).json() == []
    assert [each["body"] for each in (await ann.get(f"{one}/comments")).json()] == ["a + b"]
    assert await box.heard() == before, "GitHub tells nobody of it"

    for path, content in (("reviews", {"event": "COMMENT", "body": "b"}), ("comments", wish)):
        second = await ann.post(f"{place}/{path}", json=content)
        assert second.status_code == 422
        assert "only have one pending review" in str(second.json()["errors"])

    assert (await ann.put(one, json={"body": "Whole."})).json()["body"] == "Whole."
    assert (await ann.post(f"{one}/events", json={})).status_code == 422
    done = await ann.post(f"{one}/events", json={"event": "REQUEST_CHANGES"})
    assert (done.json()["state"], done.json()["body"]) == ("CHANGES_REQUESTED", "Whole.")
    assert [each["state"] for each in (await rita.get(f"{place}/reviews")).json()] == [
        "CHANGES_REQUESTED"
    ]
    assert len((await rita.get(f"{place}/comments")).json()) == 1
    assert (await box.heard())[len(before) :] == [
        "pull_request_review.submitted",
        "pull_request_review_comment.created",
    ]
    again = await ann.post(f"{one}/events", json={"event": "COMMENT", "body": "b"})
    assert again.status_code == 422
    assert (await ann.delete(one)).status_code == 422


async def test_of_a_pending_review_that_is_deleted_nothing_is_left(box: Rig) -> None:
    number, ann = await _pull(box), box.person("write")
    place = f"{REPO}/pulls/{number}"
    wish = {"path": "sum.py", "line": 2, "side": "RIGHT", "body": "a + b"}
    review = (await ann.post(f"{place}/reviews", json={"comments": [wish]})).json()
    assert (await ann.delete(f"{place}/reviews/{review['id']}")).status_code == 200
    assert (await ann.get(f"{place}/reviews")).json() == []
    done = await ann.post(f"{place}/reviews", json={"event": "APPROVE"})
    assert done.json()["state"] == "APPROVED"
