"""REST of the App itself: who it is, its installation, its tokens and its deliveries."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping

from app.githubbox.apps import App
from app.githubbox.http import Call, Fields, Refused, Reply, invalid, not_found
from app.githubbox.identity import AsApp, AsInstallation
from app.githubbox.render import REPO, TEAM_MEMBERSHIP, instant
from app.githubbox.routing import Route
from app.githubbox.state import Json, Repository, Role
from app.githubbox.webhooks import Delivery

_ORDER = ["", "read", "write", "admin"]


async def get_app(call: Call) -> Reply:
    app = _app(call)
    return Reply(200, call.render.app(app) | {"installations_count": len(_installations(call))})


def _app(call: Call) -> App:
    assert isinstance(call.caller, AsApp)
    return call.caller.app


def _installations(call: Call) -> list[int | None]:
    """Where the App is installed; None: the first installation."""
    identity = call.identity
    if _app(call) is not identity.app:
        return []
    every = (None, *identity.further)
    return [number for number in every if identity.condition(number).is_installed]


async def list_installations(call: Call) -> Reply:
    found = [call.render.installation(number) for number in _installations(call)]
    page, links = call.page(found)
    return Reply(200, page, links)


async def get_installation(call: Call) -> Reply:
    return Reply(200, call.render.installation(_own_installation(call)))


async def repository_installation(call: Call) -> Reply:
    repository = call.repository  # 404 for one that does not exist
    if repository.installation_id not in _installations(call):
        raise not_found()
    return Reply(200, call.render.installation(repository.installation_id))


async def create_token(call: Call) -> Reply:
    """A token of the installation, narrowed to what the body asks for."""
    further = _own_installation(call)
    if call.identity.condition(further).suspended_at is not None:
        raise Refused(403, "This installation has been suspended")
    fields = call.fields("InstallationToken")
    permissions = _narrowed_permissions(call, fields, further)
    chosen = _chosen_repositories(call, fields, further)
    ids = None if chosen is None else frozenset(one.id for one in chosen)
    long = call.headers.get("x-github-stateless-s2s-token") != "disabled"
    token, holder = call.identity.installation_token(permissions, ids, long, further)
    body: Json = {
        "token": token,
        "expires_at": instant(holder.expires_at),
        "permissions": dict(permissions),
        "repository_selection": "all" if chosen is None else "selected",
    }
    if chosen is not None:
        body["repositories"] = [call.render.repository(one) for one in chosen]
    return Reply(201, body)


def _own_installation(call: Call) -> int | None:
    """The further installation that is named; None: the first."""
    number = call.number("installation_id")
    further = None if number == call.identity.installation_id else number
    if further not in _installations(call):
        raise not_found()
    return further


def _narrowed_permissions(call: Call, fields: Fields, further: int | None) -> Mapping[str, str]:
    """None named, or an empty object: all that the installation has."""
    wanted, granted = fields.nested("permissions"), call.identity.granted(further)
    if wanted is None or not wanted.body:
        return granted
    for name, level in wanted.body.items():
        if level not in _ORDER[1:] or _ORDER.index(level) > _ORDER.index(granted.get(name, "")):
            raise Refused(422, "The permissions requested are not granted to this installation.")
    return {"metadata": "read", **wanted.body}


def _chosen_repositories(
    call: Call, fields: Fields, further: int | None
) -> list[Repository] | None:
    names, ids = fields.texts("repositories"), fields.body.get("repository_ids") or []
    if not isinstance(ids, list):
        raise invalid("InstallationToken", "repository_ids")
    if not names and not ids:
        return None
    chosen = [
        one
        for one in call.world.repositories.values()
        if one.installed
        and one.installation_id == further
        and (one.id in ids or one.name.lower() in {name.lower() for name in names})
    ]
    if len(chosen) != len({*ids} | {name.lower() for name in names}):
        raise Refused(
            422,
            "There is at least one repository that does not exist or is not "
            "accessible to the parent installation.",
        )
    return chosen


async def list_repositories(call: Call) -> Reply:
    assert isinstance(call.caller, AsInstallation)
    ids = call.caller.repository_ids
    reached = [
        one
        for one in call.world.repositories.values()
        if one.installed
        and (ids is None or one.id in ids)
        and one.installation_id == call.caller.installation_id
    ]
    page, links = call.page(reached)
    return Reply(
        200,
        {
            "total_count": len(reached),
            "repository_selection": "all" if ids is None else "selected",
            "repositories": [call.render.repository(one, Role.WRITE) for one in page],
        },
        links,
    )


async def list_deliveries(call: Call) -> Reply:
    """Newest first; `cursor` is the id below which the next page goes on."""
    found = [one for one in call.webhooks.list() if one.status != "pending"]
    if cursor := call.query.get("cursor"):
        found = [one for one in found if not cursor.isdecimal() or one.id < int(cursor)]
    if (wanted := call.query.get("status")) in ("success", "failure"):
        found = [one for one in found if (one.status == "OK") == (wanted == "success")]
    size, links = call.page_size, {}
    page = found[:size]
    if len(found) > size:
        query = "&".join(f"{key}={value}" for key, value in call.query.items() if key != "cursor")
        following = f"{call.render.url}/app/hook/deliveries?{query}&cursor={page[-1].id}"
        links["Link"] = f'<{following}>; rel="next"'
    return Reply(200, [one.summary() for one in page], links)


async def get_delivery(call: Call) -> Reply:
    return Reply(200, _delivery(call).detail())


async def redeliver(call: Call) -> Reply:
    call.webhooks.redeliver(_delivery(call))
    return Reply(202, {})


def _delivery(call: Call) -> Delivery:
    found = call.webhooks.find(call.number("delivery_id"))
    if found is None:
        raise not_found()
    return found


async def convert_manifest(call: Call) -> Reply:
    """The secrets of an App that was just registered, to whoever shows its code: once."""
    app = call.identity.apps.take(call.params["code"], call.now)
    if app is None:
        raise not_found()
    _, pem = await asyncio.to_thread(app.new_key)
    return Reply(
        201,
        call.render.app(app)
        | {
            "client_secret": secrets.token_hex(20),
            "webhook_secret": app.hook_secret if app.hook_url else None,
            "pem": pem.decode(),
        },
    )


async def get_user(call: Call) -> Reply:
    user = call.world.user(call.params["username"])
    if user is None:
        raise not_found()
    owned = sum(one.owner is user for one in call.world.repositories.values())
    return Reply(200, call.render.public_user(user, owned))


async def get_team_membership(call: Call) -> Reply:
    """404 for who is no member, and for a team that does not exist."""
    org, slug, login = (call.params[name] for name in ("org", "team_slug", "username"))
    if call.world.user(login) not in call.world.team(org, slug):
        raise not_found()
    return Reply(200, call.render.team_membership(org, slug, login))


async def rate_limit(call: Call) -> Reply:
    """All buckets as full as `core` is; asking does not count."""
    names = ("core", "search", "graphql", "integration_manifest", "code_search")
    return Reply(200, {"resources": dict.fromkeys(names, call.rate), "rate": call.rate})


ROUTES = (
    Route("GET", "/app", get_app, "app"),
    Route("POST", "/app-manifests/{code}/conversions", convert_manifest, "anybody"),
    Route("GET", "/app/installations", list_installations, "app"),
    Route("GET", "/app/installations/{installation_id}", get_installation, "app"),
    Route("POST", "/app/installations/{installation_id}/access_tokens", create_token, "app"),
    Route("GET", f"{REPO}/installation", repository_installation, "app"),
    Route("GET", "/installation/repositories", list_repositories, "installation"),
    Route("GET", "/app/hook/deliveries", list_deliveries, "app"),
    Route("GET", "/app/hook/deliveries/{delivery_id}", get_delivery, "app"),
    Route("POST", "/app/hook/deliveries/{delivery_id}/attempts", redeliver, "app"),
    Route("GET", TEAM_MEMBERSHIP, get_team_membership, "members"),
    Route("GET", "/users/{username}", get_user, "anybody"),
    Route("GET", "/rate_limit", rate_limit, "anybody"),
)
