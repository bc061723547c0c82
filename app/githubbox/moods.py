"""`/_box/…`: what owners do to repositories and installations, most of it in the browser only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from app.githubbox.events import Events
from app.githubbox.identity import Identity
from app.githubbox.render import Render
from app.githubbox.state import Json, Repository, Role, World

Order = Callable[[Json], Awaitable[object]]


class Moods:
    """Each order may say `"silently": true`; then no webhook tells of it. What is done to an
    installation is done to the first one, or to that of the account under `owner`."""

    def __init__(self, world: World, identity: Identity, render: Render, events: Events) -> None:
        self._world, self._identity = world, identity
        self._render, self._events = render, events

    @property
    def orders(self) -> dict[tuple[str, str], Order]:
        return {
            ("POST", "installation"): self._installation,
            ("POST", "permissions"): self._permissions,
            ("POST", "repository"): self._settings,
            ("POST", "installed"): self._installed,
            ("POST", "install_further"): self._install_further,
            ("POST", "move"): self._move,
            ("POST", "lock"): self._lock,
        }

    async def _installation(self, body: Json) -> Json:
        """Its owner suspends it, lets it go on, deletes it, or installs the App once more."""
        action, further = str(body["action"]), self._further(body)
        condition = self._identity.condition(further)
        match action:
            case "suspend":
                condition.suspended_at = self._world.now()
            case "unsuspend":
                condition.suspended_at = None
            case "deleted":
                condition.is_installed = False
            case "created":
                condition.is_installed = True
            case _:
                pass  # a webhook and nothing else
        every = self._world.repositories.values()
        own = [one for one in every if one.installation_id == further]
        owner = self._render.owner() if further is None else self._identity.further[further]
        self._events_for(body).installation(action, own, owner, further)
        return {}

    async def _permissions(self, body: Json) -> Json:
        """Which of the App's permissions its installation has not: tokens lose them at once."""
        withheld = body["withheld"]
        if not isinstance(withheld, list):
            raise ValueError("withheld is a list of names of permissions")
        further = self._further(body)
        self._identity.condition(further).withheld = frozenset(map(str, withheld))
        return {"permissions": dict(self._identity.granted(further))}

    async def _settings(self, body: Json) -> Json:
        """`archived` and `issues` of a repository, as they are from now on."""
        repository = self._repository(body)
        repository.archived = bool(body.get("archived", repository.archived))
        repository.has_issues = bool(body.get("issues", repository.has_issues))
        return {"archived": repository.archived, "issues": repository.has_issues}

    async def _installed(self, body: Json) -> Json:
        """A repository is taken out of the installation, or put into it."""
        repository = self._repository(body)
        repository.installed = bool(body["installed"])
        action = "added" if repository.installed else "removed"
        events = self._events_for(body)
        events.installation_repositories(action, [repository], self._render.owner())
        return {"installed": repository.installed}

    async def _install_further(self, body: Json) -> Json:
        """The App is installed at one more account; its repositories belong there from now on."""
        owner = self._world.user(str(body["owner"]))
        if owner is None:
            raise ValueError(f"no account {body['owner']!r}")
        return {"installation_id": self._identity.install_further(owner)}

    async def _move(self, body: Json) -> Json:
        """Rename or transfer a repository; `installed`: false if the new owner has no App."""
        repository, (login, slash, name) = self._repository(body), str(body["to"]).partition("/")
        if not slash or not name or self._world.repository(f"{login}/{name}"):
            raise ValueError(f"{body['to']!r} is no new OWNER/NAME")
        owner = self._world.user(login) or self._world.add_user(login, Role.ADMIN)
        before, giver, called = repository.full_name.lower(), repository.owner, repository.name
        del self._world.repositories[before]
        self._world.former[before] = repository
        repository.owner, repository.name = owner, name
        repository.installed = bool(body.get("installed", True))
        self._world.repositories[repository.full_name.lower()] = repository
        further = (number for number, each in self._identity.further.items() if each is owner)
        if owner is not giver:
            repository.installation_id = next(further, None)
        if repository.installed:  # who has the App there is told, nobody else
            renamed: Json = {"repository": {"name": {"from": called}}}
            given: Json = {"owner": {"from": {"user": self._render.user(giver)}}}
            action, changes = ("renamed", renamed) if owner is giver else ("transferred", given)
            self._events_for(body).repository(action, repository, owner, changes)
        return {"id": repository.id, "full_name": repository.full_name}

    async def _lock(self, body: Json) -> Json:
        """Lock a conversation, or unlock it."""
        issue = self._repository(body).issues[body["number"]]
        issue.locked = bool(body["locked"])
        return {"locked": issue.locked}

    def _further(self, body: Json) -> int | None:
        """The installation of the account that is named (`owner`); None: the first one."""
        if body.get("owner") is None:
            return None
        found = (
            number
            for number, owner in self._identity.further.items()
            if owner.login.lower() == str(body["owner"]).lower()
        )
        number = next(found, None)
        if number is None:
            raise ValueError(f"{body['owner']!r} has no installation of its own")
        return number

    def _events_for(self, body: Json) -> Events:
        return self._events.silenced() if body.get("silently") else self._events

    def _repository(self, body: Json) -> Repository:
        found = self._world.repository(str(body["repository"]))
        if found is None:
            raise ValueError(f"no repository {body['repository']!r}")
        return found
