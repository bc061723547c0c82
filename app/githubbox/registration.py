"""How a person registers an App from a manifest, and installs it: GitHub's pages for both.

Rules: https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
Nobody has to sign in: whoever sits at the machine is the owner of every account.
"""

from __future__ import annotations

import re
import secrets
from urllib.parse import unquote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.githubbox.apps import (
    MAX_NAME_CHARACTERS,
    MAX_STATE_CHARACTERS,
    App,
    BadManifest,
    Manifest,
    read_manifest,
    slug_of,
)
from app.githubbox.events import Events
from app.githubbox.forms import read_form
from app.githubbox.identity import Identity
from app.githubbox.pages import Pages
from app.githubbox.render import Render
from app.githubbox.state import User
from app.githubbox.webhooks import Webhooks

_SETTINGS = re.compile(r"(?:/organizations/(?P<account>[^/]+))?/settings/apps(?P<new>/new)?")
_APP = re.compile(r"/apps/(?P<slug>[a-z0-9-]+)(?P<install>/installations(?:/new)?)?")


class Registration:
    def __init__(
        self,
        identity: Identity,
        render: Render,
        events: Events,
        webhooks: Webhooks,
        pages: Pages,
    ) -> None:
        self._identity, self._render, self._events = identity, render, events
        self._webhooks, self._pages = webhooks, pages

    async def answer(self, request: Request, raw_path: str) -> Response | None:
        """The page at that path, or what follows from a button on it; None for other paths."""
        path = unquote(raw_path)
        if request.method == "POST" and (settings := _SETTINGS.fullmatch(path)):
            return await self._register(request, settings["account"], bool(settings["new"]))
        place = _APP.fullmatch(path)
        app = place and self._identity.apps.with_slug(place["slug"])
        if not place or not app:
            return None
        if request.method == "POST" and place["install"] == "/installations":
            return self._install(app)
        if request.method == "GET" and place["install"] != "/installations":
            return self._pages.page(
                "app.html",
                app=app,
                is_installed=app is self._identity.app,
                repositories=self._identity.world.repositories.values(),
            )
        return None

    async def _register(self, request: Request, account: str | None, asks: bool) -> Response:
        """First the page that shows what the manifest asks for; its button registers the App."""
        owner = self._owner(account)
        form = await read_form(request)
        if owner is None or form is None:
            return self._refused(404, "There is no such account.")
        try:
            manifest = read_manifest(form.get("manifest", ""))
        except BadManifest as bad:
            return self._refused(422, f"Invalid GitHub App configuration: {bad}.")
        state = form.get("state", request.query_params.get("state", ""))[:MAX_STATE_CHARACTERS]
        name = manifest.name if asks else form.get("name", "").strip()
        problem = None if asks else self._name_problem(name)
        if not asks and problem is None:
            return self._created(manifest, name, owner, state)
        return self._pages.page(
            "register.html",
            200 if asks else 422,
            manifest=manifest,
            text=form["manifest"],
            name=name,
            most=MAX_NAME_CHARACTERS,
            owner=owner,
            state=state,
            problem=problem,
            action=request.url.path.removesuffix("/new"),
        )

    def _created(self, manifest: Manifest, name: str, owner: User, state: str) -> Response:
        world, slug = self._identity.world, slug_of(name)
        app = self._identity.apps.add(
            App(
                world.next_id(),
                name,
                slug,
                manifest.url,
                world.add_user(f"{slug}[bot]", kind="Bot"),
                owner,
                manifest.permissions,
                manifest.events,
                manifest.hook_url,
                secrets.token_hex(20),
            )
        )
        code = self._identity.apps.code_for(app, world.now())
        mark = "&" if "?" in manifest.redirect_url else "?"
        query = urlencode({"code": code} | ({"state": state} if state else {}))
        return RedirectResponse(f"{manifest.redirect_url}{mark}{query}", 302)

    def _install(self, app: App) -> Response:
        self._identity.install(app)
        self._webhooks.serve(app, self._identity.installation_id)
        repositories = list(self._identity.world.repositories.values())
        self._events.installation("created", repositories, self._render.owner())
        return RedirectResponse(self._render.app_url(app), 302)

    def _owner(self, account: str | None) -> User | None:
        if account is None:
            return self._render.owner()
        return self._identity.world.user(account)

    def _name_problem(self, name: str) -> str | None:
        if not slug_of(name) or len(name) > MAX_NAME_CHARACTERS:
            return f"A name has at most {MAX_NAME_CHARACTERS} characters, and some letters."
        if self._identity.apps.with_slug(slug_of(name)):
            return "Name is already taken."
        return None

    def _refused(self, status: int, text: str) -> Response:
        return self._pages.page("refused.html", status, text=text)
