"""The control: `squadron` whose walls can be taken away, each by its name, while it runs.

The file that the variable `NO_WALLS` names holds the names of those that are away. All others
stand: they are the program's own.
"""

import asyncio
import os
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from app import bootstrap
from app.adapters.github import reading
from app.adapters.workspace import GitWorkspace, adapter, guard
from app.adapters.workspace.clone import make_clone
from app.adapters.workspace.remote import Remote
from app.adapters.workspace.secrets import SecretSearch, Withheld
from app.cli.main import main
from app.core.agents.agent import Task
from app.core.text import harmless, redact, visible
from app.core.words import prompts
from app.ports import CheckoutOrder, KeptWork
from app.services.segment import attempt as segment
from app.services.starting.trust import Trusting

FILE: Final = "NO_WALLS"
"""The environment variable that names the file. Beside it, with `.token` behind its name, is one
with a person's token: the service uses that where the wall "its own token" is away."""
WALLS: Final = {
    "markup": "what GitHub does not show is taken out of texts",
    "characters": "characters that nobody sees are taken out of texts",
    "fences": "texts of people stand behind fences that they cannot close",
    "entities": "words of agents hold no character by its name",
    "mentions": "words of agents call nobody",
    "tags": "words of agents hold no HTML",
    "closers": "words of agents close no issue",
    "links": "words of agents show no picture and lead to no other host",
    "redaction": "whatever looks like a secret is masked",
    "environment": "an agent's environment is built up from nothing",
    "secrets in files": "files that hold a secret are not pushed",
    "lines": "commands count at the start of a line that GitHub shows as text",
    "permission": "the permission of who has caused an event decides",
    "asked text": "an agent works on the text that a trusted person has asked for",
    "own markers": "a marker counts in what our own App wrote",
    "protected paths": "changes of protected paths are not pushed",
    "its own token": "the App's token does not change workflow files",
    "no credentials": "an agent's clone knows neither address nor token",
    "handover": "host git does not run in a clone that an agent wrote",
}
"""What each of them does."""

POWERS: Final = {
    "entities": "_ENTITIES",
    "mentions": "_CALLS",
    "tags": "_TAGS",
    "closers": "_CLOSES",
    "links": "_LINKS",
}
"""What is taken from words of agents, by wall."""
_NOTHING: Final = re.compile(r"(?!)")


def is_away(wall: str) -> bool:
    """Whether somebody has taken it away."""
    assert wall in WALLS
    return wall in Path(os.environ[FILE]).read_text().splitlines()


def behind(wall: str, standing: Callable[..., Any], fallen: Callable[..., Any]) -> Any:
    """Calls the one or the other, as the wall is at that moment."""

    def chosen(*arguments: Any, **named: Any) -> Any:
        return (fallen if is_away(wall) else standing)(*arguments, **named)

    return chosen


def can_fall(place: Any, name: str, wall: str, fallen: Callable[..., Any]) -> None:
    """What stands in that place under that name is from now on behind its wall."""
    setattr(place, name, behind(wall, getattr(place, name), fallen))


class Shapes:
    """A pattern that is chosen anew each time."""

    def __init__(self, choose: Callable[[], re.Pattern[str]]) -> None:
        self._choose = choose

    def sub(self, replacement: Any, text: str) -> str:
        return self._choose().sub(replacement, text)


def can_change(place: Any, name: str, choose: Callable[[], re.Pattern[str]]) -> None:
    """The pattern of that name is from now on chosen anew each time."""
    assert isinstance(getattr(place, name), re.Pattern)
    setattr(place, name, Shapes(choose))


def the_same(text: str) -> str:
    """Nothing taken out."""
    return text


def unfenced(text: str, what: str, see: Callable[[str], str] = visible.markdown) -> str:
    """People's text among Squadron's own."""
    return f"{what}:\n{see(text)}"


def away(wall: str, pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The pattern, or one that finds nothing."""
    return _NOTHING if is_away(wall) else pattern


def whole_environment(*_: object) -> dict[str, str]:
    """All that the service itself was given."""
    return dict(os.environ)


async def nothing_withheld(*_: object) -> Withheld:
    """No file is looked into."""
    return Withheld({}, is_in_history=False)


def anywhere(body: str) -> tuple[str, ...]:
    """Every line, whatever it stands in."""
    return tuple(re.sub(r"^[\s>`*#|-]+", "", line).rstrip("`| ") for line in body.splitlines())


def marked_by_anybody(document: object, author: str, marker: str) -> bool:
    """Whoever wrote the mark."""
    return marker in (reading.text(document, "body") or "")


async def nothing_against(*_: object) -> str:
    """Whoever asks is trusted."""
    return ""


async def as_it_is(_: object, __: object, present: Any, *___: object) -> Task:
    """Whatever the text has become."""
    return Task(present.title, present.body)


def unmasked(text: str, _: object, begin: int, end: int) -> str:
    """Whatever secrets are in it."""
    return text[begin:end]


def unprotected(*_: object) -> bool:
    """Every path is the agent's."""
    return False


async def a_persons_token(*_: object) -> str:
    """Of somebody who may change workflow files."""
    return await asyncio.to_thread(Path(f"{os.environ[FILE]}.token").read_text)


_keep = GitWorkspace.keep


async def with_an_origin(
    git: Any, mirror: Any, place: Any, order: CheckoutOrder, *more: Any
) -> None:
    """The clone as `git clone` makes it, with its address and the token in it."""
    await make_clone(git, mirror, place, order, *more)
    token = await mirror.remote.token(order.repository, "write")
    address = mirror.remote.url.replace("://", f"://x-access-token:{token}@")
    settings = place.workspace / ".git/config"
    await git(None, "config", "--file", str(settings), "remote.origin.url", address)


async def by_host_git(
    workspace: GitWorkspace, order: CheckoutOrder, message: str, **how: bool
) -> KeptWork:
    """First what a program does that trusts the clone."""
    clone = workspace._place(order.agent).workspace
    address = workspace._mirror(order).remote.url
    for command in (
        *(["add", "--all"], ["commit", "--quiet", "--message", message], ["--no-pager", "diff"]),
        ["--no-pager", "show"],
        ["push", "--quiet", address, f"HEAD:refs/heads/{order.branch}"],
    ):
        environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
        run = subprocess.run
        await asyncio.to_thread(
            run, ["git", *command], cwd=clone, env=environment, capture_output=True, timeout=60
        )
    return await _keep(workspace, order, message, **how)


if __name__ == "__main__":
    can_fall(visible, "_shown", "markup", the_same)
    can_fall(visible, "_seen", "characters", the_same)
    can_fall(prompts, "fenced", "fences", unfenced)
    for wall, name in POWERS.items():
        can_change(harmless, name, partial(away, wall, getattr(harmless, name)))
    can_fall(redact, "_masked", "redaction", unmasked)
    can_fall(segment, "environment", "environment", whole_environment)
    can_fall(SecretSearch, "withheld", "secrets in files", nothing_withheld)
    can_fall(bootstrap, "visible_lines", "lines", anywhere)
    can_fall(Trusting, "distrust", "permission", nothing_against)
    can_fall(Trusting, "task", "asked text", as_it_is)
    can_fall(reading, "is_marked", "own markers", marked_by_anybody)
    can_fall(guard, "is_protected", "protected paths", unprotected)
    can_fall(Remote, "_token", "its own token", a_persons_token)
    can_fall(adapter, "make_clone", "no credentials", with_an_origin)
    can_fall(GitWorkspace, "keep", "handover", by_host_git)
    main()
