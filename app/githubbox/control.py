"""`/_box/…`: what GitHub has no interface for, and a test or a demonstration needs."""

from __future__ import annotations

import asyncio
import html
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Protocol
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.githubbox.events import Events
from app.githubbox.faults import Faults
from app.githubbox.http import Refused, Reply
from app.githubbox.identity import AsUser, Caller, Identity
from app.githubbox.moods import Moods
from app.githubbox.render import Render
from app.githubbox.state import CheckRun, Issue, Json, Repository, Role, User, World
from app.githubbox.suites import add_check
from app.githubbox.webhooks import Webhooks

MAX_IDLE_SECONDS = 60.0
POLL_SECONDS = 0.01


class Perform(Protocol):
    def __call__(
        self,
        caller: Caller,
        method: str,
        raw_path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: Json,
        rate: Json | None = None,
        *,
        silent: bool = False,
    ) -> Awaitable[Reply]: ...


class Control:
    def __init__(
        self,
        world: World,
        identity: Identity,
        render: Render,
        events: Events,
        webhooks: Webhooks,
        faults: Faults,
        perform: Perform,
    ) -> None:
        self._world, self._identity, self._render = world, identity, render
        self._events, self._webhooks, self._faults = events, webhooks, faults
        self._perform = perform
        self._orders: dict[tuple[str, str], Callable[[Json], Awaitable[object]]] = {
            ("POST", "faults"): self._add_fault,
            ("POST", "webhook"): self._set_webhook,
            ("POST", "webhook_secret"): self._set_webhook_secret,
            ("POST", "keys"): self._add_key,
            ("POST", "forget_key"): self._forget_key,
            ("POST", "app"): self._change_app,
            ("POST", "clock"): self._move_clock,
            ("POST", "ping"): self._ping,
            ("POST", "age_deliveries"): self._age_deliveries,
            ("POST", "protect"): self._protect,
            ("POST", "require"): self._require,
            ("POST", "visibility"): self._visibility,
            ("POST", "drafts"): self._drafts,
            ("POST", "fork"): self._fork,
            ("POST", "users"): self._add_user,
            ("POST", "give_up_login"): self._give_up_login,
            ("POST", "teams"): self._set_team,
            ("POST", "silently"): self._silently,
            ("POST", "check_action"): self._check_action,
            ("POST", "foreign_check"): self._foreign_check,
            ("POST", "delete_issue"): self._delete_issue,
            ("POST", "transfer_issue"): self._transfer_issue,
            ("POST", "sub_issue"): self._add_sub_issue,
            **Moods(world, identity, render, events).orders,
        }

    async def answer(self, request: Request, raw_path: str, unknown: list[str]) -> Response:
        """Carry out an order; 400 with a sentence that says what is wrong with it."""
        method, name = request.method, raw_path.removeprefix("/_box/").rstrip("/")
        match method, name:
            case "GET", "faults":
                return JSONResponse(self._faults.describe())
            case "DELETE", "faults":
                self._faults.clear()
                return JSONResponse({})
            case "GET", "unknown":
                return JSONResponse(unknown)
            case "GET", "idle":
                return await self._idle(request.query_params.get("seconds", "10"))
            case "GET", _ if name.startswith("avatar/"):
                return self._avatar(name.removeprefix("avatar/"))
            case _:
                return await self._obey(request, method, name)

    async def _obey(self, request: Request, method: str, name: str) -> Response:
        order = self._orders.get((method, name))
        if order is None:
            known = ", ".join(f"{one} {path}" for one, path in self._orders)
            return JSONResponse({"message": f"no such order; there are {known}"}, 404)
        try:
            body = json.loads(await request.body() or b"{}")
            if not isinstance(body, dict):
                raise ValueError("the body is no JSON object")
            return JSONResponse(await order(body))
        except (ValueError, KeyError) as error:
            return JSONResponse({"message": f"{name}: {error}"}, 400)

    async def order(self, name: str, body: Json) -> None:
        """Carry out what somebody would have POSTed to `/_box/…` at this instant."""
        await self._orders["POST", name](body)

    async def _add_fault(self, body: Json) -> Json:
        if body.get("kind") == "order" and ("POST", str(body.get("order"))) not in self._orders:
            raise ValueError(f"order is {body.get('order')!r}, which is none of `/_box/…`")
        return self._faults.add(body).describe()

    async def _set_webhook(self, body: Json) -> Json:
        url = body.get("url")
        if url is not None and not str(url).startswith(("http://", "https://")):
            raise ValueError(f"url is {url!r}; it starts with http:// or https://, or is null")
        self._webhooks.url = url
        return {"url": url}

    async def _set_webhook_secret(self, body: Json) -> Json:
        secret = str(body["secret"])
        if not secret:
            raise ValueError("secret is empty")
        self._webhooks.secret = secret
        return {}

    async def _add_key(self, body: Json) -> Json:
        """The App's owner makes a further private key."""
        fingerprint, pem = await asyncio.to_thread(self._identity.app.new_key)
        return {"fingerprint": fingerprint, "private_key": pem.decode()}

    async def _forget_key(self, body: Json) -> Json:
        """The App's owner deletes a private key: what it signed is worthless at once."""
        keys = self._identity.app.keys
        fingerprint = body.get("fingerprint", next(iter(keys)))
        del keys[fingerprint]
        return {"keys": list(keys)}

    async def _change_app(self, body: Json) -> Json:
        """The App's owner changes what it asks for: `permissions`, `events`."""
        app = self._identity.app
        app.permissions = dict(body.get("permissions", app.permissions))
        app.events = tuple(body.get("events", app.events))
        return {"permissions": app.permissions, "events": app.events}

    async def _move_clock(self, body: Json) -> Json:
        """GitHub's clock goes ahead of where it is by `seconds`, or back."""
        self._world.ahead += timedelta(seconds=float(body["seconds"]))
        return {"now": self._world.now().isoformat()}

    async def _ping(self, body: Json) -> Json:
        url = self._webhooks.url or ""
        self._events.ping(self._webhooks.hook_id, url, self._render.owner())
        return {}

    async def _age_deliveries(self, body: Json) -> Json:
        """Everything that was delivered or failed so far did so `days` earlier."""
        return {"deliveries": self._webhooks.grow_old(timedelta(days=float(body["days"])))}

    async def _protect(self, body: Json) -> Json:
        repository = self._repository(body)
        repository.protected.add(str(body["branch"]))
        return {"protected": sorted(repository.protected)}

    async def _require(self, body: Json) -> Json:
        required = self._repository(body).required
        required[str(body["branch"])] = [str(name) for name in body["checks"]]
        return {"required": required}

    async def _visibility(self, body: Json) -> Json:
        repository = self._repository(body)
        repository.private = bool(body["private"])
        return {"private": repository.private}

    async def _drafts(self, body: Json) -> Json:
        repository = self._repository(body)
        repository.has_drafts = bool(body["allowed"])
        return {"allowed": repository.has_drafts}

    async def _fork(self, body: Json) -> Json:
        """Somebody forks a repository to their own account, where the App is not installed."""
        parent, owner = self._repository(body), self._user(body)
        name = f"{owner.login}/{parent.name}"
        if self._world.repository(name) is not None:
            raise ValueError(f"{name} exists")
        async with parent.git.lock:
            git = await parent.git.copied(parent.git.path.parents[1] / f"{name}.git")
        now = self._world.now()
        self._world.repositories[name.lower()] = Repository(
            self._world.next_id(),
            owner,
            parent.name,
            git,
            now,
            now,
            parent.private,
            installed=False,
            default_branch=parent.default_branch,
            parent=parent,
        )
        return {"full_name": name}

    async def _add_user(self, body: Json) -> Json:
        """A person with a permission from now on; known ones keep their earlier tokens too."""
        user = self._world.add_user(str(body["login"]), Role.named(str(body["permission"])))
        return {"login": user.login, "token": self._identity.user_token(user)}

    async def _give_up_login(self, body: Json) -> Json:
        """A person takes another login; theirs is free for whoever registers it next."""
        user = self._world.give_up_login(self._user(body))
        return {"login": user.login, "id": user.id}

    async def _set_team(self, body: Json) -> Json:
        """Who is in a team from now on; with nobody in it there is no such team."""
        org, slug, logins = str(body["org"]), str(body["team"]), body["members"]
        if not isinstance(logins, list):
            raise ValueError("members is a list of logins")
        members = [self._user({"user": login}) for login in logins]
        self._world.teams[f"{org}/{slug}".lower()] = members
        return {"org": org, "team": slug, "members": [one.login for one in members]}

    async def _silently(self, body: Json) -> Json:
        """Do a REST call of which no webhook tells."""
        path, _, query = str(body["path"]).partition("?")
        try:
            reply = await self._perform(
                self._caller(body),
                str(body["method"]),
                path,
                dict(parse_qsl(query)),
                {},
                body.get("body") or {},
                silent=True,
            )
        except Refused as refused:
            return {"status": refused.status, "body": refused.body}
        return {"status": reply.status, "body": reply.body}

    async def _check_action(self, body: Json) -> Json:
        """Somebody presses a button of a check run (`identifier`), or re-run (without one)."""
        repository = self._repository(body)
        check = repository.checks.get(body["check_run_id"])
        if check is None:
            raise ValueError(f"{repository.full_name} has no check run {body['check_run_id']}")
        sender, identifier = self._user(body), body.get("identifier")
        if identifier is None:
            await self._events.check_run("rerequested", repository, check, sender)
            return {}
        if identifier not in [one["identifier"] for one in check.actions]:
            raise ValueError(f"check run {check.id} has no action {identifier!r}")
        await self._events.check_run(
            "requested_action",
            repository,
            check,
            sender,
            requested_action={"identifier": identifier},
        )
        return {}

    async def _foreign_check(self, body: Json) -> Json:
        """Another App that is installed in the repository completes a check run on `ref`."""
        repository, app = self._repository(body), str(body.get("app", "ci-box"))
        sha = await repository.git.resolve(str(body["ref"]))
        if sha is None:
            raise ValueError(f"{repository.full_name} has no commit {body['ref']!r}")
        sender = self._identity.other_app(app).bot
        now = self._world.now()
        check = CheckRun(
            self._world.next_id(),
            str(body["name"]),
            sha,
            "completed",
            now,
            conclusion=str(body["conclusion"]),
            completed_at=now,
            title=str(body.get("title", body["name"])),
            summary=str(body.get("summary", "")),
            app_slug=app,
        )
        add_check(self._world, repository, check)
        events = self._events.silenced() if body.get("silent") else self._events
        await events.check_run("completed", repository, check, sender)
        return {"id": check.id, "head_sha": sha}

    async def _delete_issue(self, body: Json) -> Json:
        """Only people can delete an issue, and not by REST; afterwards REST answers 410."""
        repository = self._repository(body)
        issue = self._issue(repository, body["number"])
        del repository.issues[issue.number]
        repository.deleted.add(issue.number)
        self._events.issues("deleted", repository, issue, self._user(body))
        return {}

    async def _transfer_issue(self, body: Json) -> Json:
        """Only people can do this too; afterwards REST redirects to the other repository."""
        repository, target = self._repository(body), self._repository({"repository": body["to"]})
        issue = self._issue(repository, body["number"])
        moved = replace(issue, number=target.next_number(), labels=[])
        del repository.issues[issue.number]
        target.issues[moved.number] = moved
        repository.transferred[issue.number] = target, moved.number
        self._events.issues(
            "transferred",
            repository,
            issue,
            self._user(body),
            changes={
                "new_issue": self._render.issue(target, moved),
                "new_repository": self._render.repository(target),
            },
        )
        return {"number": moved.number}

    async def _add_sub_issue(self, body: Json) -> Json:
        repository = self._repository(body)
        parent = self._issue(repository, body["number"])
        parent.sub_issues.append(self._issue(repository, body["sub_issue"]))
        return {}

    async def _idle(self, seconds: str) -> Response:
        """200 as soon as no webhook is on its way, 408 when that takes longer than `seconds`."""
        try:
            bound = float(seconds)
        except ValueError:
            return JSONResponse({"message": f"seconds is {seconds!r}, not a number"}, 400)
        idle = await wait_until_idle(self._webhooks, min(bound, MAX_IDLE_SECONDS))
        return JSONResponse({"idle": idle}, 200 if idle else 408)

    def _avatar(self, number: str) -> Response:
        user = next((one for one in self._world.users.values() if str(one.id) == number), None)
        if user is None:
            return Response(status_code=404)
        hue, letter = user.id * 47 % 360, html.escape(user.login[0].upper())
        picture = (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">'
            f'<rect width="40" height="40" rx="20" fill="hsl({hue} 45% 45%)"/>'
            '<text x="20" y="27" font-family="sans-serif" font-size="20" fill="#fff" '
            f'text-anchor="middle">{letter}</text></svg>'
        )
        return Response(picture, media_type="image/svg+xml")

    def _repository(self, body: Json) -> Repository:
        found = self._world.repository(str(body["repository"]))
        if found is None:
            raise ValueError(f"no repository {body['repository']!r}")
        return found

    @staticmethod
    def _issue(repository: Repository, number: object) -> Issue:
        found = repository.issues.get(number) if isinstance(number, int) else None
        if found is None:
            raise ValueError(f"{repository.full_name} has no issue {number!r}")
        return found

    def _user(self, body: Json) -> User:
        found = self._world.user(str(body["user"]))
        if found is None:
            raise ValueError(f"no user {body['user']!r}")
        return found

    def _caller(self, body: Json) -> Caller:
        """The user that is named, else the App in its installation."""
        if body.get("user") is not None:
            return AsUser(self._user(body))
        return self._identity.whole_installation()


async def wait_until_idle(webhooks: Webhooks, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not webhooks.idle:
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True
