"""Which handler answers a path, and who may call it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal, assert_never
from urllib.parse import unquote

from app.githubbox.http import Call, Refused, Reply, forbidden, not_found
from app.githubbox.identity import AsApp, AsInstallation, AsUser, Nobody, sees
from app.githubbox.state import Repository, Role

Handler = Callable[[Call], Awaitable[Reply]]
_MAY_CONTAIN_SLASHES = {"path", "ref", "basehead", "branch"}


@dataclass(frozen=True, slots=True)
class Need:
    """What a call takes: one of these permissions for an App, at least that role for a person."""

    permissions: tuple[str, ...]
    level: Literal["read", "write"]
    role: Role
    app_only: bool = False
    public: bool = False
    """Whether any token will do where the repository is public, but for one that was narrowed to
    certain repositories: of the others such a token sees nothing here."""


def reading(*permissions: str) -> Need:
    return Need(permissions, "read", Role.NONE)


def writing(role: Role, *permissions: str, app_only: bool = False) -> Need:
    return Need(permissions, "write", role, app_only)


Special = Literal["app", "installation", "members", "known", "anybody"]
"""The App by its JWT; an installation's token; one that may see an organisation's members, or a
person; any installation's token, or a person; every caller."""


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    template: str
    handler: Handler
    access: Need | Special

    @property
    def pattern(self) -> re.Pattern[str]:
        def one(match: re.Match[str]) -> str:
            wide = match[1] in _MAY_CONTAIN_SLASHES
            return f"(?P<{match[1]}>{'.*' if wide else '[^/]+'})"

        return re.compile(re.sub(r"\{(\w+)\}", one, self.template))

    @property
    def literal_segments(self) -> int:
        return sum(not part.startswith("{") for part in self.template.split("/"))


class Router:
    """Routes by the raw path, so that an encoded slash stays inside its name."""

    def __init__(self, routes: Iterable[Route]) -> None:
        ordered = sorted(routes, key=lambda route: -route.literal_segments)
        self._routes = [(route, route.pattern) for route in ordered]

    def find(self, method: str, raw_path: str) -> tuple[Route, dict[str, str]] | None:
        for route, pattern in self._routes:
            match = pattern.fullmatch(raw_path) if route.method == method else None
            if match:
                return route, {name: unquote(value) for name, value in match.groupdict().items()}
        return None


def authorise(call: Call, access: Need | Special) -> None:
    """Refuse as GitHub does: 401 without a credential, 404 for what is hidden, 403 for the rest."""
    match access:
        case "anybody":
            return
        case "app":
            if not isinstance(call.caller, AsApp):
                raise Refused(401, "A JSON web token could not be decoded")
        case "installation":
            if not isinstance(call.caller, AsInstallation):
                raise Refused(403, "You must authenticate with an installation access token")
        case "known" | "members":
            if isinstance(call.caller, Nobody | AsApp):
                raise Refused(401, "Requires authentication")
            if access == "known":
                return
            if isinstance(call.caller, AsInstallation) and not call.caller.may("members", "read"):
                raise forbidden(call.caller, "members=read")
        case Need():
            _authorise_in_repository(call, call.repository, access)
        case _:
            assert_never(access)


def _authorise_in_repository(call: Call, repository: Repository, need: Need) -> None:
    caller = call.caller
    if isinstance(caller, AsApp):
        raise Refused(401, "Bad credentials")
    is_narrow = isinstance(caller, AsInstallation) and caller.repository_ids is not None
    if need.public and not repository.private and not is_narrow:
        return
    if not sees(caller, repository):
        raise not_found()
    match caller:
        case Nobody():
            if need.level == "write":
                raise Refused(401, "Requires authentication")
        case AsInstallation():
            if not any(caller.may(one, need.level) for one in need.permissions):
                raise forbidden(caller, *(f"{one}={need.level}" for one in need.permissions))
        case AsUser(user):
            if need.app_only:
                raise Refused(403, "You must authenticate via a GitHub App.")
            if repository.role(user) < need.role:
                raise Refused(403, "Must have admin rights to Repository.")
        case _:
            assert_never(caller)
    if repository.archived and need.level == "write":
        raise Refused(403, "Repository was archived so is read-only.")
