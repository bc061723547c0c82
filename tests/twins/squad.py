"""`squad`, as `tests.support.squad` has it, but in this process and without waiting in earnest.

A story that needs no processes is told here: what it does and sees is the same.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import httpx
from starlette.types import ASGIApp

from app.adapters.logs import JsonLines
from app.adapters.store.store import SqlStore
from app.core.text.redact import Redactor
from app.web.application import Application
from tests.support import waiting
from tests.support.github import GitHub
from tests.support.people import PEOPLE
from tests.support.registry import Registry
from tests.support.service import Service
from tests.support.squad import Squad
from tests.twins.story import HAND_SECONDS, SQUADRON, Story, story

ACTS: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class _Asks(httpx.BaseTransport):
    """Asks an application on the loop of a story; time passes while somebody acts."""

    def __init__(self, story: Story, application: Callable[[], ASGIApp]) -> None:
        self._story = story
        self._application = application

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        is_order = request.url.path.startswith("/_box/")
        if request.method in ACTS and not is_order:
            self._story.clock.turn(timedelta(seconds=HAND_SECONDS))
        return self._story.run(self._answer(request))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        asked = httpx.Request(
            request.method, request.url, headers=request.headers, content=request.read()
        )
        answer = await httpx.ASGITransport(self._application()).handle_async_request(asked)
        content = await answer.aread()
        return httpx.Response(answer.status_code, headers=answer.headers, content=content)


class _GitHubHere(GitHub):
    """The box of the story."""

    def __init__(self, story: Story, directory: Path) -> None:
        key = directory / "key.pem"
        key.write_bytes(story.box.identity.private_key_pem)
        about = {
            "url": story.box.url,
            "app_id": story.box.identity.app_id,
            "users": story.tokens,
            "private_key_file": str(key),
        }
        transport = _Asks(story, lambda: story.box.asgi)
        super().__init__(about, directory / "record", directory, transport)
        self._story = story

    def is_idle(self) -> bool:
        return not self._story.box.webhooks.is_sending


class _ServiceHere(Service):
    """The service of the story."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._format = JsonLines(Redactor()).format
        self._known: list[dict[str, Any]] = []
        self._answering: tuple[object, ASGIApp] | None = None
        self.url = SQUADRON
        self.environment = story.environment()
        self.http = httpx.Client(base_url=self.url, transport=_Asks(story, self._application))

    def start(self) -> None:
        self._story.start()

    def stop(self) -> None:
        self._story.stop()

    def kill(self) -> None:
        self._story.kill()

    def check_alive(self) -> None:
        self._story.check()

    def lines(self) -> list[dict[str, Any]]:
        new = self._story.timeline.records[len(self._known) :]
        self._known += [json.loads(self._format(record)) for record in new]
        return [*self._known]

    def _application(self) -> ASGIApp:
        service = self._story.service
        if self._answering is None or self._answering[0] is not service:
            self._answering = service, Application(service)
        return self._answering[1]


class _RegistryHere(Registry):
    """What the registry of the story says."""

    def __init__(self, story: Story) -> None:
        engine = story.database.engine
        super().__init__(SqlStore(engine, story.service.writer, _refuse), engine, story.run)
        self._story = story

    def is_drained(self) -> bool:
        return self._story.is_settled()


class _SquadHere(Squad):
    """The service of a story, and the people around it."""

    def __init__(self, story: Story, github: GitHub, service: Service) -> None:
        super().__init__(github, story.model, service, story.directory)
        self._story = story
        self.registry = _RegistryHere(story)

    def _push(self, files: Mapping[str, str], branch: str, by: str, repository: str) -> str:
        return self._story.pushes(files, branch, by, repository)

    def tolerates(self, words: str) -> None:
        super().tolerates(words)
        self._story.tolerates(words)


def _refuse(*_: object) -> None:
    raise AssertionError("a test only reads the registry")


@contextmanager
def squad(
    repositories: Mapping[str, Mapping[str, str]],
    *,
    reconciliation_seconds: int = 1,
    workers: int = 6,
    operator: Mapping[str, Any] | None = None,
    people: Mapping[str, str] = PEOPLE,
) -> Iterator[Squad]:
    """As `tests.support.squad.squad`."""
    rules = {
        "reconciliation_interval": reconciliation_seconds,
        "workers": {"agents": workers},
        **(operator or {}),
    }
    with story(repositories, operator=rules, people=people, is_recorded=True) as here:
        github, service = _GitHubHere(here, here.directory), _ServiceHere(here)
        team = _SquadHere(here, github, service)
        with waiting.by(waiting.Time(here.clock.monotonic, here.go_on)):
            yield team
            team.check_order()
        github.check_contract()
        github.close()
        service.close()
