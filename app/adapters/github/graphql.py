"""Requests to GitHub's GraphQL, for what REST does not tell or do."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from app.adapters.github.call import Call


def graphql(api_url: str, query: str, variables: Mapping[str, object]) -> Call:
    """The request. An Enterprise Server's GraphQL lies beside its REST, not below it."""
    parts = urlsplit(api_url)
    is_enterprise = parts.path.rstrip("/") == "/api/v3"
    path = f"{parts.scheme}://{parts.netloc}/api/graphql" if is_enterprise else "/graphql"
    return Call("POST", path, body={"query": query, "variables": {**variables}})
