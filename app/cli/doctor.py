"""`squadron doctor`: is this installation safe and complete?"""

import asyncio
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import sqlalchemy as sa
import typer
from rich.console import Console
from rich.markup import escape

from app.adapters.clock import SystemClock
from app.adapters.disk import free_mib
from app.adapters.github.standing import Installation, KnownApp, standing
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
from app.bootstrap import key_problems, sandbox_trial
from app.cli.registry import AsJson
from app.cli.runtimes import lacks
from app.cli.terminal import clean, say
from app.config.operator import SandboxRules, load_operator
from app.config.settings import Settings, SettingsError, load_settings
from app.config.variables import PREFIX
from app.ports import GitHubFailed

GIT_SECONDS: Final = 10
OLDEST_GIT: Final = (2, 39)
PROGRAMS: Final = {"git": "git", "setpriv": "util-linux", "prlimit": "util-linux", "bash": "bash"}
"""What Squadron starts, and the package that brings it."""
REPLACED: Final = Path("/tmp")
"""What agents find there is theirs."""
MOST_APART: Final = timedelta(seconds=60)
"""Of this machine's clock and GitHub's, which refuses what is signed in its future."""
MOST_NAMED: Final = 10
"""Installations that one check names."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer. EXAMPLES, `squadron doctor --json`."""

    name: str
    ok: bool
    message: str
    fix: str = ""
    """What to do about it; empty when nothing has to be done."""


def _plain(text: str) -> str:
    """Without markup, and without what a terminal obeys."""
    return escape(clean(text))


def doctor(as_json: AsJson = False) -> None:
    """Is this installation safe and complete? Ends with 1 if it is not."""
    checks = list(examined(os.environ))
    ok = all(check.ok for check in checks)
    if as_json:
        found = {"ok": ok, "checks": [asdict(check) for check in checks]}
        say(json.dumps(found, indent=2))
    else:
        console = Console(soft_wrap=True, highlight=False)
        for check in checks:
            sign = "[green]ok[/green]" if check.ok else "[red]NO[/red]"
            console.print(f"{sign}  {_plain(check.name)}: {_plain(check.message)}")
            if check.fix:
                console.print(f"    [bold]{_plain(check.fix)}[/bold]")
    raise typer.Exit(0 if ok else 1)


def examined(environ: Mapping[str, str]) -> Iterator[Check]:
    """Every check, in the order in which one mends things."""
    yield from _programs()
    yield from _secret_files(environ)
    try:
        settings = load_settings(environ)
    except SettingsError as error:
        for problem in error.problems:
            yield Check("settings", False, problem, "docs/reference/environment.md")
        return
    yield from _settings(settings)
    yield from _github(settings)
    yield from _data_directory(settings.data_dir)
    yield _database(settings)
    reading = load_operator(settings.config)
    for found in reading.problems:
        yield Check("operator's file", False, str(found), f"mend {settings.config}")
    if reading.config is not None:
        yield Check("operator's file", True, str(settings.config or "none: the defaults hold"))
        yield _room(settings.data_dir, reading.config.min_free_mib)
        yield from _runtimes(settings)
        yield from _sandbox(reading.config.sandbox)


def _runtimes(settings: Settings) -> Iterator[Check]:
    """What the roles may name besides `embedded`, which is always there."""
    for runtime, problem in lacks(settings.copilot_cli).items():
        name = f"runtime {runtime}"
        if problem and runtime == "copilot" and settings.copilot_cli is not None:
            yield Check(name, False, f"no role can use it: {problem}", problem)
        elif problem:
            yield Check(name, True, f"no role can use it: {problem}")
        else:
            yield Check(name, True, "is installed")


def _programs() -> Iterator[Check]:
    for program, package in PROGRAMS.items():
        found = shutil.which(program)
        if found is None:
            yield Check(program, False, "is not there", f"install {package}")
        elif program == "git":
            yield _git(found)
        else:
            yield Check(program, True, found)


def _git(program: str) -> Check:
    done = subprocess.run(
        [program, "--version"], capture_output=True, text=True, timeout=GIT_SECONDS, check=False
    )
    said = done.stdout.strip() or done.stderr.strip()
    numbers = [int(part) for part in said.split(" ")[-1].split(".")[:2] if part.isdigit()]
    wanted = ".".join(map(str, OLDEST_GIT))
    is_new = tuple(numbers) >= OLDEST_GIT
    return Check("git", is_new, said, "" if is_new else f"install git {wanted} or newer")


def _secret_files(environ: Mapping[str, str]) -> Iterator[Check]:
    for name in sorted(environ):
        if not (name.startswith(PREFIX) and name.endswith("_FILE")):
            continue
        path = Path(environ[name])
        if path.is_file():
            yield _private(name, path, "600")


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
    unset = f"{PREFIX}MODEL is not set: an agent whose role names no model cannot start"
    yield Check("model", True, settings.model or unset)


def _github(settings: Settings) -> Iterator[Check]:
    """What GitHub says of the App, where there is a key to ask with."""
    keys = settings.github_private_keys
    if settings.github_app_id is None or not keys or key_problems(keys):
        return
    url = settings.github_api_url
    try:
        found = asyncio.run(standing(settings.github_app_id, keys, url, SystemClock()))
    except GitHubFailed as failed:
        yield Check("GitHub", False, str(failed), f"see that this machine reaches {url}")
        return
    yield _clock(found.ahead)
    for position, refusal in enumerate(found.refusals):
        name = "GitHub: second key" if position else "GitHub: key"
        fix = f"put a key of App {settings.github_app_id} into {PREFIX}GITHUB_PRIVATE_KEY"
        yield Check(name, not refusal, refusal or "GitHub takes it", fix if refusal else "")
    if found.app is not None:
        yield from _app(found.app)


def _clock(ahead: timedelta) -> Check:
    seconds = f"{abs(ahead.total_seconds()):.0f} s"
    if abs(ahead) <= MOST_APART:
        return Check("clock", True, f"{seconds} from GitHub's")
    which = "ahead of" if ahead > timedelta(0) else "behind"
    said = f"{seconds} {which} GitHub's, which may refuse what is signed here"
    return Check("clock", False, said, "set it, and let NTP keep it: timedatectl set-ntp true")


def _app(app: KnownApp) -> Iterator[Check]:
    """Whether it has what `squadron setup` asks for."""
    ask = f"add it in the App's settings: {app.settings}"
    for name, missing in (
        ("permissions", app.lacking),
        ("events", ", ".join(app.unheard)),
    ):
        said = f"the App lacks {missing}" if missing else "all that are needed"
        yield Check(f"GitHub: {name}", not missing, said, ask if missing else "")
    yield _installations(app)


def _installations(app: KnownApp) -> Check:
    name, all_of_them = "GitHub: installations", len(app.installations)
    behind = [one for one in app.installations if one.lacking and not one.is_suspended]
    if behind:
        told = "; ".join(map(_lack, behind[:MOST_NAMED]))
        more = " and others" * (len(behind) > MOST_NAMED)
        said = f"not all is granted by {len(behind)} of {all_of_them}: {told}"
        fix = "let the owner of each accept the App's new permissions on that page"
        return Check(name, False, f"{said}{more}", fix)
    if not app.installations:
        return Check(name, True, f"none yet: {app.page}/installations/new")
    suspended = sum(one.is_suspended for one in app.installations)
    return Check(name, True, f"{all_of_them}, {suspended} of them suspended")


def _lack(installation: Installation) -> str:
    return f"{installation.account} ({installation.lacking}; {installation.page})"


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
        with engine.connect() as connection:
            connection.execute(sa.text("SELECT 1"))
    except sa.exc.SQLAlchemyError as error:
        said = str(error.__cause__ or error).strip().split("\n")[0]
        return Check(name, False, f"{where} cannot be used: {said}", f"look at {setting}")
    finally:
        engine.dispose()
    return Check(name, True, where)


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
