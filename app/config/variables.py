"""Every variable of the environment that Squadron reads: what it means, and what holds without it.

The reader of the environment, its messages and the documents all take their words from here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

PREFIX: Final = "SQUADRON_"
"""Before each name."""
DEFAULT_API_URL: Final = "https://api.github.com"
DEFAULT_DATA_DIR: Final = ".squadron-data"
"""Below the directory in which Squadron is started; images and services set the variable."""
DEFAULT_DATABASE_POOL: Final = 10
"""Connections."""

DEFAULT_PAGES: Final = "loopback"
DEFAULT_PAGES_PORT: Final = 8001


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable, for people."""

    meaning: str
    """A noun phrase: `set SQUADRON_… to …` goes on with it."""
    default: str | None = None
    """What holds when it is not set; None: nothing does."""
    is_required: bool = False
    """Whether `serve` and `worker` refuse to start without it."""
    is_secret: bool = False
    """Whether a file can hold it instead (`…_FILE`), and no message may show it."""


VARIABLES: Final[Mapping[str, Variable]] = MappingProxyType(
    {
        "GITHUB_APP_ID": Variable(meaning="the App id of your GitHub App", is_required=True),
        "GITHUB_PRIVATE_KEY": Variable(
            meaning="a private key of your GitHub App, as PEM or as the base64 of that in one line",
            is_required=True,
            is_secret=True,
        ),
        "WEBHOOK_SECRET": Variable(
            meaning="the webhook secret of your GitHub App; without it anybody could send orders",
            is_required=True,
            is_secret=True,
        ),
        "MODEL": Variable(
            meaning="`openai:NAME` or `anthropic:NAME`, for roles that name no model"
        ),
        "MODEL_API_KEY": Variable(
            meaning="the key of `SQUADRON_MODEL`'s provider; `providers` in the operator's file"
            " names those of others",
            is_secret=True,
        ),
        "MODEL_BASE_URL": Variable(
            meaning="an OpenAI-compatible (`…/v1`) or Anthropic-compatible endpoint",
            default="the provider's",
        ),
        "COPILOT_CLI": Variable(
            meaning="the Copilot CLI, for roles with `runtime: copilot`",
            default="`copilot` in `PATH`",
        ),
        "DATA_DIR": Variable(
            meaning="the directory of database, mirrors, workspaces and conversations",
            default=f"`{DEFAULT_DATA_DIR}`",
        ),
        "DATABASE_URL": Variable(
            meaning="`postgresql://…` or `sqlite:////path`; it may hold a password",
            default="SQLite in the data directory",
            is_secret=True,
        ),
        "DATABASE_POOL": Variable(
            meaning="the most connections to PostgreSQL that a process keeps for its queries, 3 to"
            " 200; it needs three more besides",
            default=f"{DEFAULT_DATABASE_POOL}",
        ),
        "ARTIFACTS": Variable(
            meaning="a directory or an address (`s3://BUCKET/PATH`) that all workers reach, for"
            " what is kept of agents for other machines",
            default="the database",
        ),
        "CONFIG": Variable(meaning="the operator's file"),
        "ADMIN_TOKEN": Variable(
            meaning="the bearer token of `/api`", default="`/api` is off", is_secret=True
        ),
        "ADMIN_TOKENS_FILE": Variable(
            meaning="a file of tokens of `/api` with names, `NAME TOKEN` a line: each has a rate of"
            " its own, and its name stands in the log of what it did",
        ),
        "PAGES": Variable(
            meaning="`loopback` for pages that whoever is at this machine opens by the link that"
            " `serve` prints, or `off`",
            default=f"`{DEFAULT_PAGES}`",
        ),
        "PAGES_PORT": Variable(
            meaning="the port of these pages on 127.0.0.1; 0 takes any that is free",
            default=f"{DEFAULT_PAGES_PORT}",
        ),
        "GITHUB_API_URL": Variable(
            meaning="the address of GitHub's REST interface", default=f"`{DEFAULT_API_URL}`"
        ),
        "GITHUB_GIT_URL": Variable(
            meaning="the address that repositories are cloned from",
            default="follows from `SQUADRON_GITHUB_API_URL`",
        ),
    }
)
"""By the name without `PREFIX`."""
