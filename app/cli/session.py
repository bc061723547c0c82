"""`squadron session export`: what an agent said and did, for whoever picks its work up."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tarfile import TarError
from tempfile import TemporaryDirectory
from typing import Final

import typer

from app.adapters.artifacts import artifacts_at
from app.adapters.clock import new_name
from app.adapters.store.codec import encode_event
from app.adapters.store.store import SqlStore
from app.adapters.workspace import Place, TooMuch, agent_directory, holds, unpack
from app.cli.failing import fail
from app.cli.registry import agent_called, answered, open_registry, opened
from app.cli.terminal import say
from app.config.settings import Settings, SettingsError, load_settings
from app.core.agents.agent import AgentId
from app.core.agents.counters import fold
from app.core.agents.events import AgentEvent
from app.core.text.redact import Redactor
from app.core.words.story import quoted
from app.ports import Artifact, ArtifactKind, SessionDamaged, StoreUnavailable, Whereabouts
from app.services.views import Json, instant

session = typer.Typer(no_args_is_help=True, help="Conversations of agents.")

_STDOUT: Final = Path("-")


@dataclass(frozen=True, slots=True)
class _Found:
    agent: AgentId
    log: Sequence[AgentEvent]
    whereabouts: Whereabouts | None


def export_session(agent: str, output: Path | None) -> None:
    """The conversation and the event log as JSON lines, into a new file or to stdout."""
    settings, store = opened(lambda settings: (settings, open_registry(settings)))
    try:
        found = answered(_found(store, agent))
    except ValueError as error:
        fail(str(error), 2)
    if found is None:
        fail(f"there is no agent {quoted(agent)} in this registry; `squadron agents` lists them")
    redact = Redactor(_secrets())
    lines = [
        json.dumps(redact.within(line))
        for line in (*_conversation(settings, store, found), *_events(found.log))
    ]
    if output is None:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(output, flags, 0o600), "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        why = "it is there already" if isinstance(error, FileExistsError) else error.strerror
        fail(f"{output} could not be written: {why}")
    say(f"{len(lines)} lines written to {output}", err=True)


async def _found(store: SqlStore, wanted: str) -> _Found | None:
    agent = await agent_called(store, wanted)
    if agent is None:
        return None
    return _Found(agent.id, await store.log(agent.id), await store.whereabouts(agent.id))


def _conversation(settings: Settings, store: SqlStore, found: _Found) -> list[Json]:
    """Empty, and said so, if there is none."""
    place = Place(agent_directory(settings.data_dir, str(found.agent)))
    try:
        if found.whereabouts is None or holds(settings.data_dir, place, found.whereabouts):
            return _lines(place.session)
        return _kept_conversation(found.whereabouts, found, _kept(settings, store, found.agent))
    except (OSError, SessionDamaged, TarError, TooMuch) as error:
        fail(f"the conversation of {found.agent} cannot be read: {error}")


def _lines(directory: Path) -> list[Json]:
    from app.adapters.runtimes.embedded.export import conversation_lines  # takes a second or two

    try:
        return list(conversation_lines(directory))
    except FileNotFoundError:
        say(
            f"no conversation is kept in {directory}: there was none, it is another runtime's, or"
            " it ended more than 30 days ago. The event log follows.",
            err=True,
        )
        return []


def _kept(settings: Settings, store: SqlStore, agent: AgentId) -> Artifact | None:
    """Where other machines find it."""
    try:
        artifacts = artifacts_at(settings.artifacts, store, new_name)
        return asyncio.run(artifacts.artifact(agent, ArtifactKind.CONVERSATION))
    except (StoreUnavailable, ValueError) as error:
        fail(f"what was kept of {agent} cannot be read: {error}")


def _kept_conversation(there: Whereabouts, found: _Found, kept: Artifact | None) -> list[Json]:
    """Of an agent that began last in another data directory."""
    if kept is None:
        say(
            f"the conversation of {found.agent} is on another machine, and nothing of it was kept"
            f" for others. Look there, in the data directory whose `directory-id` is"
            f" {there.directory}."
            " The event log follows.",
            err=True,
        )
        return []
    calls = fold(found.log).model_calls
    if kept.model_calls < calls:
        say(
            f"the conversation is partial: {found.agent} began last on another machine, and of its"
            f" {calls} calls of the model {kept.model_calls} were kept for others",
            err=True,
        )
    with TemporaryDirectory(prefix="squadron-session-") as name:
        directory = Path(name) / "session"
        unpack(kept.content, directory)
        return _lines(directory)


def _events(log: Sequence[AgentEvent]) -> Iterator[Json]:
    for seq, event in enumerate(log, 1):
        at, fields = instant(event.at), json.loads(encode_event(event))
        yield {"type": "event", "seq": seq, "at": at, "event": fields}


def _secrets() -> tuple[str, ...]:
    """What this installation knows to be secret, if whoever runs this may read it."""
    try:
        settings = load_settings(os.environ)
    except SettingsError:
        say(
            "the secrets of this installation cannot be read here: only what looks like a secret is"
            " taken out",
            err=True,
        )
        return ()
    return settings.secret_values()
