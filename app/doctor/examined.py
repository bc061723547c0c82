"""All checks, and what they look at on this machine."""

import asyncio
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from app.adapters.artifacts import SharedFiles
from app.adapters.clock import new_name
from app.adapters.disk import free_mib
from app.adapters.processes import ProcessGroups
from app.adapters.sandbox import (
    ALLOW_SANDBOX,
    ATTACKS,
    OUT,
    Bounds,
    agents_are,
    in_force,
    second_wall,
)
from app.adapters.store.database import make_engine
from app.adapters.store.schema import Standing, WrongSchema, schema_of
from app.bootstrap import key_problems, sandbox_trial
from app.config.operator import OperatorConfig, SandboxRules, load_operator
from app.config.providers import read_providers
from app.config.settings import Settings, SettingsError, load_settings
from app.config.variables import PREFIX
from app.doctor.check import Check
from app.doctor.github import github
from app.doctor.model import model, price
from app.doctor.programs import programs, runtimes
from app.ports import StoreUnavailable

REPLACED: Final = Path("/tmp")
"""What agents find there is theirs."""


def examined(environ: Mapping[str, str], *, is_offline: bool, pings: bool) -> Iterator[Check]:
    """Every check, in the order in which one mends things. `is_offline`: nobody else is asked;
    `pings`: GitHub delivers something."""
    yield from programs()
    yield from _secret_files(environ)
    try:
        settings = load_settings(environ)
    except SettingsError as error:
        for problem in error.problems:
            yield Check("settings", False, problem, "docs/reference/environment.md")
        return
    yield from _settings(settings)
    if not is_offline:
        yield from github(settings, pings=pings)
    yield from _data_directory(settings.data_dir)
    yield _database(settings)
    if settings.artifacts is not None:
        yield from _artifacts(settings.artifacts)
    reading = load_operator(settings.config)
    for found in reading.problems:
        yield Check("operator's file", False, str(found), f"mend {settings.config}")
    if reading.config is not None:
        yield Check("operator's file", True, str(settings.config or "none: the defaults hold"))
        yield _room(settings.data_dir, reading.config.min_free_mib)
        yield from _key_files(reading.config)
        asked = read_providers(settings, reading.config)
        for problem in asked.problems:
            yield Check("providers", False, problem, "docs/reference/configuration.md")
        yield from model(settings, asked.providers, is_offline=is_offline)
        if settings.model is not None:
            yield price(settings.model, reading.config)
        yield from runtimes(settings)
        yield from _sandbox(reading.config.sandbox)


def _secret_files(environ: Mapping[str, str]) -> Iterator[Check]:
    for name in sorted(environ):
        if not (name.startswith(PREFIX) and name.endswith("_FILE")):
            continue
        path = Path(environ[name])
        if path.is_file():
            yield _private(name, path, "600")


def _key_files(operator: OperatorConfig) -> Iterator[Check]:
    for name, endpoint in operator.providers.items():
        if endpoint.api_key_file is not None and endpoint.api_key_file.is_file():
            yield _private(f"providers.{name}", endpoint.api_key_file, "600")


def _private(name: str, path: Path, wanted: str) -> Check:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return Check(name, False, f"{path} is open to others", f"chmod {wanted} {path}")
    return Check(name, True, f"{path} is for this user only")


def _settings(settings: Settings) -> Iterator[Check]:
    problems = [*settings.problems_for_serving(), *key_problems(settings.github_private_keys)]
    for problem in problems:
        yield Check("settings", False, problem, "`squadron setup` makes the App and what is needed")
    if not problems:
        yield Check("settings", True, "what is needed to serve is set")


def _data_directory(path: Path) -> Iterator[Check]:
    name = "data directory"
    if path.resolve().is_relative_to(REPLACED):
        words = f"{path} is below {REPLACED}, in whose place each sandbox has its agent's own files"
        yield Check(f"{name}: place", False, words, f"let {PREFIX}DATA_DIR name one elsewhere")
    if path.exists() and not path.is_dir():
        yield Check(name, False, f"{path} is not a directory", f"let {PREFIX}DATA_DIR name one")
    elif not path.is_dir():
        yield Check(name, True, f"{path} is made at the first start")
    elif not os.access(path, os.W_OK | os.X_OK):
        yield Check(name, False, f"{path} cannot be written", f"chown it to user {os.getuid()}")
    else:
        yield _private(name, path, "700")


def _room(path: Path, least_mib: int) -> Check:
    """Whether agents could begin to work."""
    there = next(one for one in (path.absolute(), *path.absolute().parents) if one.exists())
    free = free_mib(there)
    said = f"{free:,} MiB free, {least_mib:,} are needed for a start (min_free_mib)"
    is_enough = free >= least_mib
    return Check("room", is_enough, said, "" if is_enough else f"make room on the disk of {path}")


def _database(settings: Settings) -> Check:
    name, setting = "database", f"{PREFIX}DATABASE_URL"
    engine = make_engine(settings.database_url.get_secret_value())
    where = engine.url.render_as_string(hide_password=True)
    path = engine.url.database
    try:
        if engine.dialect.name == "sqlite" and path and not Path(path).exists():
            return Check(name, True, f"{where} is made at the first start")
        schema = schema_of(engine)
    except StoreUnavailable as error:
        return Check(name, False, f"{where} cannot be used: {error}", f"look at {setting}")
    finally:
        engine.dispose()
    match schema.standing:
        case Standing.CURRENT:
            return Check(name, True, f"{where} is at revision {schema.revision}")
        case Standing.ABSENT:
            return Check(name, True, f"{where} is filled at the first start")
        case Standing.OLDER | Standing.NEWER:
            wrong = WrongSchema(schema)
            return Check(name, False, f"{where}: {wrong.what}", wrong.fix)


def _artifacts(address: str) -> Iterator[Check]:
    name = "artifacts"
    try:
        asyncio.run(SharedFiles(address).trial(f"trial-{new_name()}"))
    except (StoreUnavailable, ValueError) as error:
        yield Check(name, False, str(error), f"look at {PREFIX}ARTIFACTS")
        return
    yield Check(name, True, f"{address} can be written and read")
    if Path(address).is_dir():
        yield _private(f"{name}: place", Path(address), "700")


def _sandbox(rules: SandboxRules) -> Iterator[Check]:
    if rules.mode == "off":
        words = "agents run as this user, without a sandbox: what it can read, they can read"
        fix = "take `mode: off` out of `sandbox` in the operator's file (SQUADRON_CONFIG)"
        yield Check("sandbox", False, words, fix)
        return
    with TemporaryDirectory(prefix="squadron-doctor-") as place:
        found = sandbox_trial(ProcessGroups(), rules, Path(place))
    broken = {each.attack: each.why for each in found}
    names = [*(attack.name for attack in ATTACKS), *([OUT] if rules.egress else [])]
    for name in names if broken.keys() <= set(names) else broken:
        why = broken.get(name)
        yield Check(f"sandbox: {name}", why is None, why or "held", ALLOW_SANDBOX if why else "")
    if not broken:
        yield Check("sandbox: user", True, agents_are())
        yield Check("sandbox: bounds", True, in_force(Bounds()))
        yield Check("sandbox: second wall", True, second_wall())
