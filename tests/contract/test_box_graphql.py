"""GraphQL of the box: a slice of GitHub's schema, answered from its state."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.contract.box_support import REPO, Rig
from tests.contract.test_box_story import branch

HERE = {"owner": "octo", "name": "demo"}
ISSUES = """
query($owner: String!, $name: String!, $first: Int, $after: String, $states: [IssueState!]) {
  repository(owner: $owner, name: $name) {
    issues(first: $first, after: $after, states: $states,
           orderBy: {field: CREATED_AT, direction: DESC}) {
      totalCount
      nodes { number title state stateReason labels(first: 5) { nodes { name } } }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""
PULL = """
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      number title state isDraft mergeable additions deletions changedFiles headRefName baseRefName
      author { __typename login }
      commits(last: 1) { totalCount nodes { commit { messageHeadline statusCheckRollup {
        state contexts(first: 10) { nodes { __typename
          ... on CheckRun { name status conclusion checkSuite { app { slug } workflowRun { id } } }
          ... on StatusContext { context state }
      } } } } } }
      reviews(first: 10) { nodes { state body author { login } } }
      comments(first: 10) { nodes { body viewerDidAuthor author { login } } }
      closingIssuesReferences(first: 3) { nodes { number } }
      reviewRequests(first: 3) { totalCount } projectCards(first: 3) { totalCount }
      reactionGroups { content users { totalCount } }
    }
  }
}
"""


async def ask(client: httpx.AsyncClient, query: str, **variables: object) -> Any:
    answer = await client.post("/graphql", json={"query": query, "variables": variables})
    assert answer.status_code == 200
    return answer.json()


async def data(client: httpx.AsyncClient, query: str, **variables: object) -> Any:
    answer = await ask(client, query, **variables)
    assert "errors" not in answer, answer
    return answer["data"]["repository"]


async def opened(box: Rig) -> None:
    """Three issues, of which one is closed, and a pull request with everything."""
    app, ann = await box.installation(), box.person("write")
    for number in range(1, 4):
        content = {"title": f"Issue {number}", "labels": ["bug"] if number == 2 else []}
        await ann.post(f"{REPO}/issues", json=content)
    done = {"state": "closed", "state_reason": "not_planned"}
    await ann.patch(f"{REPO}/issues/1", json=done)
    sha = await branch(box, "work", "calc.py", "one\ntwo\n")
    pull = {"title": "Work", "head": "work", "base": "main", "body": "Fixes #2"}
    await app.post(f"{REPO}/pulls", json=pull)
    output = {"title": "Red", "summary": "2 failed"}
    check = {"name": "tests", "head_sha": sha, "conclusion": "failure", "output": output}
    await app.post(f"{REPO}/check-runs", json=check)
    await ann.post(f"{REPO}/statuses/{sha}", json={"state": "success", "context": "ci"})
    await ann.post(f"{REPO}/pulls/4/reviews", json={"event": "APPROVE", "body": "Good."})
    await ann.post(f"{REPO}/issues/4/comments", json={"body": "Thanks."})


async def test_issues_come_in_pages(box: Rig) -> None:
    await opened(box)
    ann = box.person("write")
    first = (await data(ann, ISSUES, **HERE, first=2))["issues"]
    assert [each["number"] for each in first["nodes"]] == [3, 2]
    assert (first["totalCount"], first["pageInfo"]["hasNextPage"]) == (3, True)
    assert first["nodes"][1]["labels"]["nodes"] == [{"name": "bug"}]
    cursor = first["pageInfo"]["endCursor"]
    rest = (await data(ann, ISSUES, **HERE, first=2, after=cursor))["issues"]
    assert [(each["number"], each["stateReason"]) for each in rest["nodes"]] == [(1, "NOT_PLANNED")]
    assert rest["pageInfo"]["hasNextPage"] is False
    still = (await data(ann, ISSUES, **HERE, first=9, states=["OPEN"]))["issues"]
    assert [each["number"] for each in still["nodes"]] == [3, 2]


async def test_a_pull_request_tells_of_its_commits_checks_and_reviews(box: Rig) -> None:
    await opened(box)
    pull = (await data(box.person("write"), PULL, **HERE, number=4))["pullRequest"]
    assert (pull["state"], pull["isDraft"], pull["mergeable"]) == ("OPEN", False, "MERGEABLE")
    assert (pull["additions"], pull["changedFiles"], pull["headRefName"]) == (2, 1, "work")
    assert pull["author"] == {"__typename": "Bot", "login": "squadron-box"}
    [node] = pull["commits"]["nodes"]
    rollup = node["commit"]["statusCheckRollup"]
    assert (pull["commits"]["totalCount"], rollup["state"]) == (1, "FAILURE")
    check, status = rollup["contexts"]["nodes"]
    assert (check["name"], check["status"], check["conclusion"]) == (
        "tests",
        "COMPLETED",
        "FAILURE",
    )
    assert check["checkSuite"] == {"app": {"slug": "squadron-box"}, "workflowRun": None}
    assert (status["context"], status["state"]) == ("ci", "SUCCESS")
    assert pull["reviews"]["nodes"] == [
        {"state": "APPROVED", "body": "Good.", "author": {"login": "write"}}
    ]
    assert pull["comments"]["nodes"][0]["viewerDidAuthor"] is True
    assert pull["closingIssuesReferences"]["nodes"] == [{"number": 2}]
    assert len(pull["reactionGroups"]) == 8
    assert pull["reviewRequests"]["totalCount"] == pull["projectCards"]["totalCount"] == 0


@pytest.mark.parametrize(
    ("inside", "kind", "words"),
    [
        ("issues { nodes { number } }", "MISSING_PAGINATION_BOUNDARIES", "provide a `first` or"),
        ("issues(first: 101) { nodes { number } }", "EXCESSIVE_PAGINATION", "limit of 100 records"),
        ("issues(last: -1) { nodes { number } }", "EXCESSIVE_PAGINATION", "Requesting -1"),
        ('issues(first: 1, after: "?") { nodes { id } }', "INVALID_CURSOR_ARGUMENTS", "`?`"),
        ("issue(number: 99) { id }", "NOT_FOUND", "an Issue with the number of 99"),
        ("issue(number: 4) { id }", "NOT_FOUND", "an Issue with the number of 4"),
        ("pullRequest(number: 1) { id }", "NOT_FOUND", "a PullRequest with the number of 1"),
        ("nonsense", None, "Cannot query field 'nonsense' on type 'Repository'"),
        ("stargazerCount", None, "Cannot query field 'stargazerCount'"),
        ("issues(first: 1) {", None, "Syntax Error"),
    ],
)
async def test_what_github_does_not_answer(
    box: Rig, inside: str, kind: str | None, words: str
) -> None:
    await opened(box)
    query = f'{{ repository(owner: "octo", name: "demo") {{ {inside} }} }}'
    answer = await ask(box.person("write"), query)
    [error] = answer["errors"]
    assert error.get("type") == kind and words in error["message"]


async def test_only_the_length_of_a_list_needs_no_bounds(box: Rig) -> None:
    await opened(box)
    query = '{ repository(owner: "octo", name: "demo") { issues { totalCount } } }'
    assert (await data(box.person("write"), query))["issues"]["totalCount"] == 3


async def test_who_sees_nothing_is_told_that_there_is_nothing(box: Rig) -> None:
    await opened(box)
    box.box.world.repositories["octo/demo"].private = True
    query = '{ repository(owner: "octo", name: "demo") { id } }'
    answer = await ask(box.person("none"), query)
    assert answer["data"] == {"repository": None}
    assert (answer["errors"][0]["type"], answer["errors"][0]["path"]) == (
        "NOT_FOUND",
        ["repository"],
    )
    issue = box.box.world.repositories["octo/demo"].issues[1]
    by_id = f'{{ node(id: "{issue.node_id}") {{ id }} }}'
    assert (await ask(box.person("none"), by_id))["errors"][0]["type"] == "NOT_FOUND"
    assert (await ask(box.person("read"), by_id))["data"] == {"node": {"id": issue.node_id}}
    app = await box.installation(permissions={"metadata": "read"})
    query = '{ repository(owner: "octo", name: "demo") { issue(number: 1) { id } } }'
    assert (await ask(app, query))["errors"][0]["type"] == "FORBIDDEN"
    assert (await box.client().post("/graphql", json={"query": query})).status_code == 401
    assert (await app.post("/graphql", json={"query": 1})).status_code == 400


async def test_it_describes_itself(box: Rig) -> None:
    """By this newer clients find out what a server knows."""
    query = '{ __type(name: "Issue") { fields(includeDeprecated: true) { name } } }'
    found = (await ask(box.person("write"), query))["data"]["__type"]["fields"]
    assert {"stateReason", "title"} <= {each["name"] for each in found}


async def test_an_issue_is_no_draft_by_whatever_id(box: Rig) -> None:
    await opened(box)
    ann = box.person("write")
    ids = [(await ann.get(f"{REPO}/issues/{number}")).json()["node_id"] for number in (1, 4)]
    pull = (await ann.get(f"{REPO}/pulls/4")).json()["node_id"]
    issues = box.box.world.repositories["octo/demo"].issues
    asked = issues[4].pull
    assert asked is not None and ids == [f"I_{issues[1].id}", pull] and pull == f"PR_{asked.id}"
    for each, kind in zip(ids, ("Issue", "PullRequest"), strict=True):
        answer = await ask(ann, f'{{ node(id: "{each}") {{ __typename }} }}')
        assert answer["data"]["node"]["__typename"] == kind
    draft = f'convertPullRequestToDraft(input: {{pullRequestId: "{ids[0]}"}})'
    answer = await ask(ann, f"mutation {{ {draft} {{ pullRequest {{ isDraft }} }} }}")
    assert [error["type"] for error in answer["errors"]] == ["NOT_FOUND"]
