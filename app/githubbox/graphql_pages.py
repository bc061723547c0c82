"""Lists of GraphQL come in pages, by GitHub's rules
(https://docs.github.com/graphql/guides/using-pagination-in-the-graphql-api).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from graphql import GraphQLError, GraphQLResolveInfo

MOST_NODES = 100
Node: TypeAlias = Mapping[str, object]
Info: TypeAlias = GraphQLResolveInfo[Any]
Item = TypeVar("Item")


def mistake(kind: str, message: str) -> GraphQLError:
    """What GitHub says of a field that it cannot answer."""
    return GraphQLError(message, extensions={"type": kind})


def page(
    info: Info,
    items: Sequence[Item],
    asked: Mapping[str, Any],
    node: Callable[[Item], Node],
) -> Node:
    """A page of a list. Its length is told to everybody; who wants what is in it has to say how
    much, and no more than a hundred."""
    name = info.field_name
    first, last = asked.get("first"), asked.get("last")

    def chosen() -> range:
        if first is None and last is None:
            words = f"You must provide a `first` or `last` value to properly paginate `{name}`."
            raise mistake("MISSING_PAGINATION_BOUNDARIES", words)
        for which, number in (("first", first), ("last", last)):
            if number is not None and not 0 <= number <= MOST_NODES:
                words = (
                    f"Requesting {number} records on the `{name}` connection exceeds the `{which}`"
                    f" limit of {MOST_NODES} records."
                )
                raise mistake("EXCESSIVE_PAGINATION", words)
        start, end = _after(asked.get("after"), 0), _after(asked.get("before"), len(items) + 1) - 1
        end = min(end, len(items))
        if first is not None:
            end = min(end, start + first)
        if last is not None:
            start = max(start, end - last)
        return range(start, max(start, end))

    def nodes(_: Info) -> list[Node]:
        return [node(items[at]) for at in chosen()]

    def page_info(_: Info) -> Node:
        shown = chosen()
        return {
            "hasNextPage": shown.stop < len(items),
            "hasPreviousPage": shown.start > 0,
            "startCursor": _cursor(shown.start) if shown else None,
            "endCursor": _cursor(shown.stop - 1) if shown else None,
        }

    return {"totalCount": len(items), "nodes": nodes, "pageInfo": page_info}


def _cursor(index: int) -> str:
    return base64.b64encode(f"cursor:{index + 1}".encode()).decode()


def _after(cursor: str | None, otherwise: int) -> int:
    """How many items there are up to a cursor."""
    if cursor is None:
        return otherwise
    try:
        return int(base64.b64decode(cursor, validate=True).decode().removeprefix("cursor:"))
    except (ValueError, binascii.Error):
        words = f"`{cursor}` does not appear to be a valid cursor."
        raise mistake("INVALID_CURSOR_ARGUMENTS", words) from None
