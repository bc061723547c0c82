"""One REST call as the handlers see it, and the answers GitHub gives to everybody alike."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeVar
from urllib.parse import urlencode

from app.githubbox.events import Events
from app.githubbox.identity import AsInstallation, AsUser, Caller, Identity
from app.githubbox.render import Render
from app.githubbox.state import Issue, Json, Pull, Repository, Role, User, World
from app.githubbox.webhooks import Webhooks

DOCUMENTATION = "https://docs.github.com/rest"
DEFAULT_PER_PAGE = 30
MAX_PER_PAGE = 100
MAX_BODY_CHARACTERS = 65_536
"""Longest text of an issue, a comment or a check's summary."""

_MEDIA = re.compile(r"application/vnd\.github(?:\.v3)?\.(?P<name>raw|diff)(?:\+json)?\b")

Item = TypeVar("Item")


class Refused(Exception):
    """The call is answered with an error in GitHub's shape."""

    def __init__(
        self,
        status: int,
        message: str,
        errors: Sequence[Json | str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        self.body: Json = {
            "message": message,
            "documentation_url": DOCUMENTATION,
            "status": str(status),
        }
        if errors:
            self.body["errors"] = list(errors)


def not_found() -> Refused:
    return Refused(404, "Not Found")


def forbidden(caller: Caller, *needed: str) -> Refused:
    """`needed`: permissions as `issues=write`, each of which is enough."""
    headers = {"X-Accepted-GitHub-Permissions": "; ".join(needed)} if needed else {}
    who = "personal access token" if isinstance(caller, AsUser) else "integration"
    return Refused(403, f"Resource not accessible by {who}", headers=headers)


def issues_disabled() -> Refused:
    return Refused(410, "Issues has been disabled in this repository.")


def invalid(resource: str, name: str, code: str = "invalid", message: str | None = None) -> Refused:
    """422 in the shape of a failed validation."""
    error: Json = {"resource": resource, "field": name, "code": code}
    if message:
        error["message"] = message
    return Refused(422, "Validation Failed", [error])


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """What is answered in place of JSON, if the call asks for another media type."""


def in_media(name: Literal["raw", "diff"], content: bytes) -> Reply:
    """What a call asks for in a media type of GitHub's own."""
    headers = {
        "Content-Type": f"application/vnd.github.{name}; charset=utf-8",
        "X-GitHub-Media-Type": f"github.v3; param={name}",
    }
    return Reply(200, None, headers, content)


@dataclass(frozen=True, slots=True)
class Fields:
    """The JSON body of a call, read field by field; a wrong type is answered with 422."""

    body: Json
    resource: str

    def __contains__(self, name: str) -> bool:
        return name in self.body

    def text(self, name: str, limit: int = MAX_BODY_CHARACTERS) -> str:
        """A text that has to be there and not blank."""
        value = self.optional_text(name, limit)
        if value is None:
            raise invalid(self.resource, name, "missing_field")
        if not value.strip():
            raise invalid(self.resource, name, "missing_field", f"{name} can't be blank")
        return value

    def optional_text(self, name: str, limit: int = MAX_BODY_CHARACTERS) -> str | None:
        value = self.body.get(name)
        if value is None or isinstance(value, str):
            if value is not None and len(value) > limit:
                raise invalid(
                    self.resource,
                    name,
                    "custom",
                    f"{name} is too long (maximum is {limit} characters)",
                )
            return value
        raise self._wrong_type(name, "a string")

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        value = self.optional_text(name)
        if value is not None and value not in choices:
            raise invalid(self.resource, name)
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts, or of objects with a `name`, as labels may be given."""
        values = self.body.get(name)
        if values is None:
            return []
        if not isinstance(values, list):
            raise self._wrong_type(name, "an array")
        names = []
        for value in values:
            text = value.get("name") if isinstance(value, dict) else value
            if not isinstance(text, str) or not text:
                raise self._wrong_type(name, "an array of strings")
            names.append(text)
        return names

    def whole(self, name: str) -> int | None:
        value = self.body.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise self._wrong_type(name, "an integer")

    def flag(self, name: str) -> bool:
        value = self.body.get(name, False)
        if isinstance(value, bool):
            return value
        raise self._wrong_type(name, "a boolean")

    def objects(self, name: str, most: int) -> list[Json]:
        values = self.body.get(name, [])
        if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
            raise self._wrong_type(name, "an array of objects")
        if len(values) > most:
            raise Refused(422, f"Invalid request.\n\nNo more than {most} items in '{name}'.")
        return values

    def nested(self, name: str) -> Fields | None:
        value = self.body.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self._wrong_type(name, "an object")
        return Fields(value, self.resource)

    def _wrong_type(self, name: str, wanted: str) -> Refused:
        given = json.dumps(self.body.get(name))[:80]
        return Refused(422, f"Invalid request.\n\nFor '{name}', {given} is not {wanted}.")


@dataclass(frozen=True, slots=True)
class Call:
    """One REST call after it was routed and its caller recognised."""

    world: World
    identity: Identity
    render: Render
    events: Events
    """Tells the webhook; says nothing when the change is to be silent."""
    webhooks: Webhooks
    caller: Caller
    now: datetime
    path: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json
    rate: Json
    """What is left of this hour's calls."""

    def fields(self, resource: str) -> Fields:
        return Fields(self.body, resource)

    @property
    def media(self) -> str:
        """Which media type of GitHub's own the call asks for: `raw`, `diff`, or `json`."""
        found = _MEDIA.search(self.headers.get("accept", ""))
        return found["name"] if found else "json"

    @property
    def actor(self) -> User:
        """In whose name the call acts: the person, or the App's bot."""
        return self.caller.user if isinstance(self.caller, AsUser) else self.identity.bot

    def at_least(self, role: Role, permission: str, level: str = "write") -> bool:
        """Would this caller be allowed what takes that role, or that permission for an App?"""
        match self.caller:
            case AsUser(user):
                return self.repository.role(user) >= role
            case AsInstallation():
                return self.caller.may(permission, level)
            case _:
                return False

    @property
    def repository(self) -> Repository:
        """The repository named in the path; the router has made sure that the caller may see it."""
        found = self.world.repository(f"{self.params['owner']}/{self.params['repo']}")
        if found is None:
            raise not_found()
        return found

    def number(self, name: str) -> int:
        if not self.params[name].isdecimal():
            raise not_found()
        return int(self.params[name])

    @property
    def issue(self) -> Issue:
        number = self.number("issue_number")
        found = self.repository.issues.get(number)
        if not self.repository.has_issues and not (found and found.pull):
            raise issues_disabled()
        if number in self.repository.deleted:
            raise Refused(410, "This issue was deleted")
        if found is None:
            raise not_found()
        return found

    @property
    def pull(self) -> tuple[Issue, Pull]:
        found = self.repository.issues.get(self.number("pull_number"))
        if found is None or found.pull is None:
            raise not_found()
        return found, found.pull

    def since(self) -> datetime | None:
        value = self.query.get("since")
        if not value:
            return None
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise invalid("Issue", "since") from None
        return moment if moment.tzinfo else moment.replace(tzinfo=self.now.tzinfo)

    def page(self, items: Sequence[Item]) -> tuple[Sequence[Item], dict[str, str]]:
        """The page of a list that the query asks for, and its Link header."""
        size = self.page_size
        page = self._positive("page", 1)
        last = max(1, -(-len(items) // size))
        links = []
        if page < last:
            links += [("next", page + 1), ("last", last)]
        if page > 1:
            links += [("first", 1), ("prev", min(page - 1, last))]
        header = ", ".join(f'<{self._page_url(number)}>; rel="{rel}"' for rel, number in links)
        return items[(page - 1) * size : page * size], {"Link": header} if header else {}

    @property
    def page_size(self) -> int:
        return min(self._positive("per_page", DEFAULT_PER_PAGE), MAX_PER_PAGE)

    def _positive(self, name: str, default: int) -> int:
        value = self.query.get(name, "")
        return int(value) if value.isdecimal() and int(value) > 0 else default

    def _page_url(self, page: int) -> str:
        query = {**self.query, "page": str(page)}
        return f"{self.render.url}{self.path}?{urlencode(query)}"


def etag(content: bytes) -> str:
    return f'W/"{hashlib.sha256(content).hexdigest()}"'
