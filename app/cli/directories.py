"""A directory that a command was given, as the service would read it from GitHub."""

import os
from pathlib import Path
from typing import Final

from app.adapters.clock import SystemClock
from app.adapters.pricing import role_prices
from app.cli.failing import fail
from app.cli.terminal import say
from app.config.directory import UnreadableDirectory, read_directory, unread
from app.config.operator import OperatorConfig, OperatorReading, load_operator
from app.config.repository import RepositoryReading, read_repository
from app.config.settings import Settings, SettingsError, load_local_settings

USAGE_ERROR: Final = 2
NAME: Final = ".squadron"


def reading_of(directory: Path) -> RepositoryReading:
    """What the directory (`.squadron`, or the repository that holds it) and the operator's file
    come to together. A repository without `.squadron` has the built-in roles, and that is said
    on stderr; so are files that are called almost as those that are read."""
    operator = _operator()
    here = _squadron_in(directory)
    try:
        files = read_directory(here) if here.exists() else {}
    except UnreadableDirectory as unreadable:
        return RepositoryReading(None, (*operator.problems, *unreadable.problems))
    for note in unread(here) if here.exists() else ():
        say(f"note: {note}", err=True)
    config = operator.config or OperatorConfig()
    prices = role_prices(settings_of().model, SystemClock().now(), config.pricing)
    reading = read_repository(files, config, root=str(here), price_of=prices)
    if operator.config is None:
        return RepositoryReading(None, (*operator.problems, *reading.problems))
    return reading


def _squadron_in(directory: Path) -> Path:
    """Where the configuration is: in the directory, above it, or it itself. A repository that has
    none is never read itself in its place; what is said of it goes to stderr. Ends the command
    where there is no such directory."""
    if not directory.is_dir():
        message = f"{directory} is not a directory: name .squadron or the repository that holds it"
        fail(message, USAGE_ERROR)
    inner = directory / NAME
    if inner.exists():
        return inner
    is_repository = (directory / ".git").exists()
    above = next((each for each in directory.resolve().parents if each.name == NAME), None)
    if above is not None and not is_repository:
        return above
    holds_it = any((directory / name).exists() for name in ("config.yaml", "config.yml", "agents"))
    if directory.resolve().name == NAME or (holds_it and not is_repository):
        return directory
    say(f"note: there is no {NAME} in {directory}: the built-in roles hold", err=True)
    return inner


def operator_of() -> OperatorConfig:
    """The operator's file, if SQUADRON_CONFIG names one. Ends the command if it is wrong."""
    operator = _operator()
    if operator.config is None:
        fail("\n".join(map(str, operator.problems)))
    return operator.config


def settings_of() -> Settings:
    """What the environment says, without its secrets. Ends the command if it is wrong."""
    try:
        return load_local_settings(os.environ)
    except SettingsError as error:
        fail(str(error), USAGE_ERROR)


def _operator() -> OperatorReading:
    return load_operator(settings_of().config)
