"""A whole GitHub in one object: repositories with real git, people, one App, its webhook."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
from cryptography.hazmat.primitives.asymmetric import rsa

from app.githubbox.app import Application, Parts
from app.githubbox.control import wait_until_idle
from app.githubbox.events import Events
from app.githubbox.faults import Faults
from app.githubbox.git import BareRepository, GitFailed, GitRepository, output
from app.githubbox.http import Reply
from app.githubbox.identity import DEFAULT_PERMISSIONS, AsUser, Caller, Identity
from app.githubbox.moves import moved
from app.githubbox.recorder import Recorder
from app.githubbox.render import Render
from app.githubbox.smarthttp import PRE_RECEIVE
from app.githubbox.state import Clock, Json, Label, MachineClock, Repository, Role, User, World
from app.githubbox.webhooks import Webhooks

_LABELS = (
    ("bug", "d73a4a", "Something isn't working"),
    ("documentation", "0075ca", "Improvements or additions to documentation"),
    ("enhancement", "a2eeef", "New feature or request"),
    ("question", "d876e3", "Further information is requested"),
)
_CONFIGURATION = """
[http]
	receivepack = true
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
[receive]
	hideRefs = refs/pull
[gc]
	auto = 0
"""


class Box:
    """GitHub in a box. `root` is a directory that the box fills and somebody else removes.

    `asgi` is the application, for a server or for an in-process transport. `url` is how clients
    reach it, and may be set once the port is known. Use it as an asynchronous context manager:
    leaving it gives up the deliveries that were not sent.
    """

    def __init__(
        self,
        root: Path,
        *,
        webhook_secret: str,
        webhook_url: str | None = None,
        url: str = "http://box.localhost",
        record: Path | None = None,
        webhook_transport: httpx.AsyncBaseTransport | None = None,
        permissions: Mapping[str, str] = DEFAULT_PERMISSIONS,
        clock: Clock | None = None,
        key: rsa.RSAPrivateKey | None = None,
    ) -> None:
        """`clock`: what all of it goes by, but for App tokens, which are signed by real time;
        `key`: the App's."""
        self.root = root.absolute()
        machine = MachineClock()
        self.world = World(clock or machine, machine.now)
        self.identity = Identity(self.world, permissions, key)
        self.faults = Faults()
        self._recorder = Recorder(record)
        self._render = Render(self.identity, url)
        self.webhooks = Webhooks(
            self.world,
            self.faults,
            secret=webhook_secret,
            url=webhook_url,
            installation_id=self.identity.installation_id,
            transport=webhook_transport,
            seen=self._recorder.webhook,
        )
        self._events = Events(self._render, self.webhooks.send)
        self.asgi = Application(
            Parts(
                self.world,
                self.identity,
                self._render,
                self._events,
                self.webhooks,
                self.faults,
                self._recorder,
            )
        )

    @property
    def url(self) -> str:
        return self._render.url

    @url.setter
    def url(self, url: str) -> None:
        self._render.url = url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.webhooks.close()
        self._recorder.close()

    def add_user(self, login: str, permission: str) -> str:
        """A person with that permission in every repository; returns a token of theirs."""
        return self.identity.user_token(self.world.add_user(login, Role.named(permission)))

    async def add_repository(
        self, full_name: str, source: Path, *, private: bool = False
    ) -> Repository:
        """Copy a directory into a new bare repository: a git repository with its history, any
        other as one commit on `main`. ValueError for a name that is not OWNER/NAME."""
        owner, name = self._new_place(full_name)
        path = self.root / owner.login / f"{name}.git"
        await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
        if await asyncio.to_thread((source / ".git").exists):
            await output(
                "clone",
                "--quiet",
                "--bare",
                "--no-local",
                "--",
                str(source),
                str(path),
                cwd=Path.cwd(),
            )
        else:
            await self._import(source, path)
        await asyncio.to_thread(_configure, path)
        head = await output("symbolic-ref", "--short", "HEAD", cwd=path)
        return self.host(full_name, BareRepository(path), head.strip(), private=private)

    def host(
        self, full_name: str, git: GitRepository, default_branch: str, *, private: bool = False
    ) -> Repository:
        """From now on a repository of that name is there, over that git. ValueError for a name
        that is not a new OWNER/NAME."""
        owner, name = self._new_place(full_name)
        now = self.world.now()
        repository = Repository(
            self.world.next_id(),
            owner,
            name,
            git,
            now,
            now,
            private,
            default_branch=default_branch,
            labels=[Label(self.world.next_id(), *one) for one in _LABELS],
        )
        self.world.repositories[full_name.lower()] = repository
        return repository

    async def push(self, full_name: str, ref: str, new: str, old: str, by: str | None) -> None:
        """Set a reference as git's push does, in that user's name or else the App's; what follows
        is told. `NOTHING`: there is none. GitFailed if it is elsewhere, or protected."""
        repository = self.world.repositories[full_name.lower()]
        if ref.removeprefix("refs/heads/") in repository.protected:
            raise GitFailed(f"GH006: Protected branch update failed for {ref}.")
        who = self.identity.bot if by is None else self.world.users[by.lower()]
        async with repository.git.lock:
            before = await repository.git.refs()
            await repository.git.move(ref, new, old)
            await moved(repository, before, self._events, who, self.world.now())

    def _new_place(self, full_name: str) -> tuple[User, str]:
        owner_login, slash, name = full_name.partition("/")
        if not (owner_login and slash and name) or "/" in name or self.world.repository(full_name):
            raise ValueError(f"{full_name!r} is no new OWNER/NAME")
        return self.world.user(owner_login) or self.world.add_user(owner_login, Role.ADMIN), name

    async def _import(self, source: Path, path: Path) -> None:
        """One commit on `main` of a plain directory, but for what its `.gitignore` names."""
        await output("init", "--quiet", "--bare", "--initial-branch=main", str(path), cwd=self.root)
        bare = BareRepository(path)
        nobodys_ignores = ("-c", f"core.excludesFile={os.devnull}")
        place = ("--git-dir", str(path), "--work-tree", ".")
        await output(*nobodys_ignores, *place, "add", "--all", ".", cwd=source)
        tree = (await output("write-tree", cwd=path)).strip()
        commit = await bare.commit_tree(
            tree, [], "Initial commit", "Box", "box@users.noreply.github.com"
        )
        await bare.move("refs/heads/main", commit, "0" * 40)
        await asyncio.to_thread((path / "index").unlink, missing_ok=True)

    async def silently(
        self, method: str, path: str, body: Json | None = None, user: str | None = None
    ) -> Reply:
        """Do a REST call of which no webhook tells, as that user or else as the App."""
        caller: Caller = self.identity.whole_installation()
        if user is not None:
            caller = AsUser(self.world.users[user.lower()])
        return await self.asgi.perform(caller, method, path, {}, {}, body or {}, silent=True)

    async def does(
        self, user: str, method: str, path: str, body: Json | None = None, query: Json | None = None
    ) -> Reply:
        """Do a REST call as that user. Refused when GitHub would refuse it."""
        caller = AsUser(self.world.users[user.lower()])
        return await self.asgi.perform(caller, method, path, query or {}, {}, body or {})

    async def order(self, name: str, body: Json) -> None:
        """Do what `/_box/NAME` does."""
        await self.asgi.control.order(name, body)

    async def idle(self, seconds: float = 10) -> bool:
        """Wait until no webhook is on its way; False when that takes longer."""
        return await wait_until_idle(self.webhooks, seconds)


def _configure(path: Path) -> None:
    """Let git serve the repository, with the one hook that refuses what GitHub refuses."""
    with (path / "config").open("a") as file:
        file.write(_CONFIGURATION)
    hooks = path / "hooks"
    shutil.rmtree(hooks, ignore_errors=True)
    hooks.mkdir()
    hook = hooks / "pre-receive"
    hook.write_text(PRE_RECEIVE)
    hook.chmod(0o755)
