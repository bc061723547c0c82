"""What GitHub says about itself: a slice of its OpenAPI description, one of its GraphQL schema, and
its official examples.

All files are made by ``python -m app.githubbox.data.regenerate`` from the packages that
``LICENSE-octokit.txt`` names; nobody edits them by hand.
"""

import gzip
import json
from importlib import resources
from typing import Any


def contract() -> dict[str, Any]:
    """The OpenAPI 3.0 description of the operations and webhooks that Squadron uses.

    ``paths`` and ``x-webhooks`` have their parameters and responses written out, so only
    schemas refer, as ``#/components/schemas/NAME``.
    """
    return _read("contract.json.gz")


def examples() -> dict[str, Any]:
    """GitHub's own examples, by what they exemplify.

    * ``"GET /repos/{owner}/{repo}"`` → ``{status: body}``; a further example of the same
      status is called ``"200 NAME"``. Operations that answer without a body have no entry.
    * ``"webhook issues.opened"``, ``"webhook push"`` → one payload, the fullest one there is.
    """
    return _read("examples.json.gz")


def graphql_schema() -> str:
    """The types and fields of GraphQL that the box knows."""
    return resources.files(__package__).joinpath("schema.graphql").read_text()


def _read(name: str) -> dict[str, Any]:
    packed = resources.files(__package__).joinpath(name).read_bytes()
    document: dict[str, Any] = json.loads(gzip.decompress(packed))
    return document
