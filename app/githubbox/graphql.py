"""GraphQL: what `gh` and its like read, and what REST does not tell or do.

The schema is a slice of GitHub's own; a query for anything else gets GraphQL's answer to a
mistake.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from graphql import (
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    OverlappingFieldsCanBeMergedRule,
    build_schema,
    execute,
    parse,
    specified_rules,
    validate,
)

from app.githubbox.data import graphql_schema
from app.githubbox.graphql_nodes import Nodes
from app.githubbox.graphql_pages import Info, Node, mistake
from app.githubbox.http import Call, Refused, Reply, forbidden
from app.githubbox.identity import AsInstallation, AsUser, Caller, sees
from app.githubbox.routing import Route
from app.githubbox.state import (
    NO_DRAFTS,
    Issue,
    Json,
    Repository,
    Role,
    TimelineEvent,
)

MOST_TOKENS = 10_000
"""Of one query."""
_RULES = [rule for rule in specified_rules if rule is not OverlappingFieldsCanBeMergedRule]
"""GitHub lets `state` of an issue and of a pull request stand in one answer, though these are of
different types; `gh` relies on it."""


@cache
def _schema() -> GraphQLSchema:
    return build_schema(graphql_schema())


async def answer(call: Call) -> Reply:
    """GraphQL answers 200 to mistakes as well, and says them in `errors`."""
    query, variables = call.body.get("query"), call.body.get("variables") or {}
    if not isinstance(query, str) or not isinstance(variables, dict):
        raise Refused(400, "A query attribute must be specified and must be a string.")
    try:
        document = parse(query, max_tokens=MOST_TOKENS)
    except GraphQLSyntaxError as error:
        return Reply(200, {"errors": [_shown(error)]})
    if mistakes := validate(_schema(), document, _RULES):
        return Reply(200, {"errors": [_shown(each) for each in mistakes]})
    operation = call.body.get("operationName")
    result: Any = execute(
        _schema(),
        document,
        _Root(call).fields(),
        variable_values=variables,
        operation_name=operation if isinstance(operation, str) else None,
    )
    if hasattr(result, "__await__"):
        result = await result
    body: Json = {"data": result.data}
    if result.errors:
        body["errors"] = [_shown(each) for each in result.errors]
    return Reply(200, body)


def _shown(error: GraphQLError) -> Json:
    """A mistake as GitHub shows it, which puts its kind beside the message."""
    shown: Json = dict(error.formatted)
    kind = shown.pop("extensions", {}).get("type")
    return shown if kind is None else {"type": kind, **shown}


class _Root:
    """What can be asked for and told, by one caller."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._nodes = Nodes(call)

    def fields(self) -> Node:
        return {
            "repository": lambda _, owner, name, **_more: self._nodes.seen(f"{owner}/{name}"),
            "viewer": lambda _: self._nodes.account(self._call.actor),
            "node": lambda _, id: self._node(id),
            "markPullRequestReadyForReview": lambda info, input: self._draft(info, input, False),
            "convertPullRequestToDraft": lambda info, input: self._draft(info, input, True),
        }

    def _node(self, name: str) -> Node:
        for repository in self._call.world.repositories.values():
            if name == f"R_{repository.id}" and sees(self._call.caller, repository):
                return self._nodes.repository(repository)
        return self._nodes.thread(*self._thread(name))

    def _thread(self, name: str) -> tuple[Repository, Issue]:
        """The issue or pull request of that global id, where the caller sees it."""
        for repository in self._call.world.repositories.values():
            for issue in repository.issues.values():
                if name == issue.node_id and sees(self._call.caller, repository):
                    return repository, issue
        raise _unknown(name)

    async def _draft(self, _: Info, asked: Json, is_draft: bool) -> Node:
        call, name = self._call, asked["pullRequestId"]
        repository, issue = self._thread(name)
        pull = issue.pull
        if pull is None:
            raise _unknown(name)
        if not _may_draft(call.caller, repository, issue):
            raise mistake("FORBIDDEN", str(forbidden(call.caller)))
        if is_draft and not repository.has_drafts:
            raise mistake("UNPROCESSABLE", NO_DRAFTS)
        if pull.draft != is_draft:
            pull.draft, issue.updated_at = is_draft, call.now
            action = "converted_to_draft" if is_draft else "ready_for_review"
            what = "convert_to_draft" if is_draft else action
            entry = TimelineEvent(call.world.next_id(), what, call.actor, call.now, None)
            issue.timeline.append(entry)
            await call.events.pull_request(action, repository, issue, pull, call.actor)
        return {"pullRequest": self._nodes.thread(repository, issue)}


def _unknown(name: str) -> GraphQLError:
    return mistake("NOT_FOUND", f"Could not resolve to a node with the global id of '{name}'")


def _may_draft(caller: Caller, repository: Repository, issue: Issue) -> bool:
    match caller:
        case AsInstallation():
            return caller.may("pull_requests", "write")
        case AsUser(user):
            return repository.role(user) >= Role.WRITE or user is issue.author
        case _:
            return False


ROUTES = (Route("POST", "/graphql", answer, "known"),)
