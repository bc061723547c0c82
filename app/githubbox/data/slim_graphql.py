"""The slice of GitHub's GraphQL schema that the box knows; `regenerate.py` cuts it out."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from graphql import (
    DefinitionNode,
    InputObjectTypeDefinitionNode,
    InterfaceTypeDefinitionNode,
    ObjectTypeDefinitionNode,
    UnionTypeDefinitionNode,
    Visitor,
    parse,
    print_ast,
    visit,
)
from graphql.language import ListTypeNode, NamedTypeNode, Node, NonNullTypeNode, TypeNode

_THREAD: Final = (
    "assignees closed closedAt comments labels locked milestone number projectCards projectItems"
    " reactionGroups repository state timelineItems title url"
)
_LIST: Final = "nodes pageInfo totalCount"
TYPES: Final = {
    "Actor": "avatarUrl login url",
    "App": "name slug",
    "Bot": "databaseId",
    "CheckRun": (
        "checkSuite completedAt conclusion databaseId detailsUrl isRequired name startedAt status"
        " summary title url"
    ),
    "CheckSuite": "app conclusion databaseId status workflowRun",
    "Comment": (
        "author authorAssociation body createdAt includesCreatedEdit updatedAt userContentEdits"
        " viewerDidAuthor"
    ),
    "Commit": (
        "authoredDate authors committedDate messageBody messageHeadline oid statusCheckRollup url"
    ),
    "ConvertPullRequestToDraftPayload": "pullRequest",
    "GitActor": "date email name user",
    "GitActorConnection": _LIST,
    "Issue": f"{_THREAD} stateReason",
    "IssueComment": "isMinimized minimizedReason reactionGroups url",
    "IssueCommentConnection": _LIST,
    "IssueConnection": _LIST,
    "IssueOrPullRequest": "",
    "IssueTimelineItems": "",
    "IssueTimelineItemsConnection": _LIST,
    "Label": "color description name",
    "LabelConnection": _LIST,
    "MarkPullRequestReadyForReviewPayload": "pullRequest",
    "Milestone": "description dueOn number title",
    "Mutation": "convertPullRequestToDraft markPullRequestReadyForReview",
    "Node": "id",
    "Organization": "databaseId name",
    "PageInfo": "endCursor hasNextPage hasPreviousPage startCursor",
    "Project": "name",
    "ProjectCard": "column project",
    "ProjectCardConnection": _LIST,
    "ProjectColumn": "name",
    "ProjectV2": "title",
    "ProjectV2Item": "project",
    "ProjectV2ItemConnection": _LIST,
    "PullRequest": (
        f"{_THREAD} additions baseRefName baseRefOid changedFiles closingIssuesReferences commits"
        " deletions files headRefName headRefOid headRepository headRepositoryOwner"
        " isCrossRepository isDraft latestReviews maintainerCanModify mergeCommit mergeStateStatus"
        " mergeable merged mergedAt mergedBy potentialMergeCommit reviewDecision reviewRequests"
        " reviews statusCheckRollup"
    ),
    "PullRequestChangedFile": "additions deletions path",
    "PullRequestChangedFileConnection": _LIST,
    "PullRequestCommit": "commit",
    "PullRequestCommitConnection": _LIST,
    "PullRequestConnection": _LIST,
    "PullRequestReview": "commit reactionGroups state submittedAt url",
    "PullRequestReviewConnection": _LIST,
    "PullRequestTimelineItems": "",
    "PullRequestTimelineItemsConnection": _LIST,
    "Query": "node repository viewer",
    "ReactingUserConnection": "totalCount",
    "ReactionGroup": "content users",
    "Ref": "name",
    "RenamedTitleEvent": "actor createdAt",
    "Repository": (
        "createdAt defaultBranchRef description hasIssuesEnabled isArchived isFork isPrivate issue"
        " issueOrPullRequest issues name nameWithOwner owner pullRequest pullRequests url"
        " viewerPermission"
    ),
    "RepositoryOwner": "avatarUrl id login url",
    "RequestedReviewer": "",
    "ReviewRequest": "requestedReviewer",
    "ReviewRequestConnection": _LIST,
    "StatusCheckRollup": "contexts state",
    "StatusCheckRollupContext": "",
    "StatusCheckRollupContextConnection": _LIST,
    "StatusContext": "context createdAt description isRequired state targetUrl",
    "Team": "name organization slug",
    "User": "databaseId name",
    "UserConnection": _LIST,
    "UserContentEdit": "editedAt editor",
    "UserContentEditConnection": _LIST,
    "Workflow": "name",
    "WorkflowRun": "workflow",
}
"""Type → its fields, besides those of its interfaces; a union has those types that are here."""


def slim_schema(text: str) -> str:
    """The types above with all that their fields take, and no words for people."""
    every = {
        definition.name.value: definition
        for definition in parse(text, no_location=True).definitions
        if hasattr(definition, "name")
    }
    chosen: dict[str, DefinitionNode] = {}
    waiting = [*TYPES]
    while waiting:
        name = waiting.pop()
        if name in every and name not in chosen:
            chosen[name] = visit(_slim(every[name]), _Bare())
            waiting.extend(_types_taken(chosen[name]))
    return "\n\n".join(print_ast(chosen[name]) for name in sorted(chosen)) + "\n"


class _Bare(Visitor):
    """Takes descriptions and directives off."""

    def leave(self, node: Node, *_args: object) -> Node:
        bare: dict[str, Any] = {"description": None, "directives": ()}
        return replace(node, **{name: none for name, none in bare.items() if hasattr(node, name)})


def _slim(definition: DefinitionNode) -> DefinitionNode:
    match definition:
        case ObjectTypeDefinitionNode() | InterfaceTypeDefinitionNode():
            interfaces = [one for one in definition.interfaces or () if one.name.value in TYPES]
            names = (definition.name.value, *(one.name.value for one in interfaces))
            wanted = {field for name in names for field in TYPES[name].split()}
            fields = [one for one in definition.fields or () if one.name.value in wanted]
            if missing := wanted - {one.name.value for one in fields}:
                raise SystemExit(f"{names[0]} has no {', '.join(sorted(missing))}")
            return replace(definition, fields=tuple(fields), interfaces=tuple(interfaces))
        case UnionTypeDefinitionNode():
            types = [one for one in definition.types or () if one.name.value in TYPES]
            return replace(definition, types=tuple(types))
        case _:
            return definition


def _types_taken(definition: DefinitionNode) -> Iterator[str]:
    """Names of the types of arguments and values: of enums, scalars and inputs."""
    match definition:
        case ObjectTypeDefinitionNode() | InterfaceTypeDefinitionNode():
            for one in definition.fields or ():
                yield _name(one.type)
                yield from (_name(argument.type) for argument in one.arguments or ())
        case InputObjectTypeDefinitionNode():
            yield from (_name(one.type) for one in definition.fields or ())
        case _:
            pass


def _name(node: TypeNode) -> str:
    while isinstance(node, ListTypeNode | NonNullTypeNode):
        node = node.type
    assert isinstance(node, NamedTypeNode)
    return node.name.value
