"""`squadron pause` and `squadron resume`: the panic stop, and its end."""

import getpass
import json
from typing import NoReturn

from app.adapters.clock import SystemClock
from app.adapters.store.store import SqlStore
from app.cli.failing import fail
from app.cli.registry import answered, open_registry, opened
from app.cli.terminal import say
from app.config.wording import did_you_mean
from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.core.rules.brakes import MOST_WORDS, Brake, Place, Scope
from app.core.text.markdown import cut
from app.core.text.redact import redact
from app.core.words.refusals import (
    brake_words,
    braked_words,
    place_option,
    released_words,
    standing_words,
)
from app.services.views import brake_json


def put_on(place: Place, by: str | None, reason: str, *, as_json: bool) -> None:
    """Stop all agents of a place, and say how many that is."""
    brake = Brake.by_hand(place, _name(by), SystemClock().now(), reason)
    store = opened(open_registry)
    if place.scope is Scope.REPOSITORY:
        _check_known(place, answered(_repositories(store)))
    is_new, brakes, at_work, is_known = answered(_pause(store, brake))
    if not is_known:
        _tell_unknown(place)
    if as_json:
        _print(is_new, brakes)
        return
    present = next(each for each in brakes if each.place == place)
    if not is_new:
        say(f"Nothing was changed: {brake_words(present)}.")
        return
    say(braked_words(place))
    say(
        f"{at_work} at work now; they stop within 10 seconds, and their work is kept and pushed."
        f" Nothing starts until: squadron resume {place_option(place)}"
    )


def lift(place: Place, by: str | None, *, as_json: bool) -> None:
    """Let go on what a brake of just that place holds."""
    lifted, brakes, is_known = answered(_resume(opened(open_registry), place, _name(by)))
    if lifted is None:
        _not_paused(place, brakes)
    if not is_known:
        _tell_unknown(place)
    if as_json:
        _print(True, brakes)
        return
    say(released_words(place))
    for each in brakes:
        say(f"Still: {standing_words(each)}")


async def _pause(store: SqlStore, brake: Brake) -> tuple[bool, list[Brake], int, bool]:
    """Whether the brake is new; those that are on; how many agents it stops; whether anything of
    its place is known."""
    is_new = await store.put_brake_on(brake)
    held = await _agents_in(store, brake.place)
    at_work = sum(agent.state is State.ACTIVE and agent.parent is None for agent in held)
    return is_new, [*await store.brakes()], at_work, _is_known(brake.place, held)


async def _resume(store: SqlStore, place: Place, by: str) -> tuple[Brake | None, list[Brake], bool]:
    """The brake that was on; those that are on; whether any agent of the place is known."""
    lifted = await store.lift_brake(place, by, SystemClock().now())
    is_known = _is_known(place, await _agents_in(store, place))
    return lifted, [*await store.brakes()], is_known


async def _agents_in(store: SqlStore, place: Place) -> list[Agent]:
    return [a for a in await store.agents() if place.holds(a.repository, a.installation_id)]


async def _repositories(store: SqlStore) -> set[str]:
    """Those that Squadron has looked at, or had agents in."""
    return {*await store.looks(), *(agent.repository for agent in await store.agents())}


def _check_known(place: Place, known: set[str]) -> None:
    """A brake of a name that is written wrong would stop nobody."""
    if place.name not in {Place.repository(name).name for name in known}:
        near = did_you_mean(place.name, known)
        fail(f"Squadron was never let into {place.name}{near}: nothing was paused")


def _is_known(place: Place, held: list[Agent]) -> bool:
    return place.scope is not Scope.INSTALLATION or bool(held)


def _tell_unknown(place: Place) -> None:
    """It is done all the same: an installation may be paused before its first agent."""
    words = f"no agent of {place_option(place)} is known here: look at the spelling"
    say(f"note: {words}; `squadron agents` lists them", err=True)


def place_of(repo: str | None, installation: int | None, everything: bool) -> Place:
    """What is meant by the options. Ends the command where nothing can be."""
    if sum((repo is not None, installation is not None, everything)) > 1:
        fail("give one of --repo, --installation and --all", 2)
    if installation is not None:
        return Place.installation(installation)
    if repo is None:
        return Place.everything()
    owner, _, name = repo.partition("/")
    if not owner or not name or "/" in name or any(each.isspace() for each in repo):
        fail(f"{repo!r} is no repository; one reads octo/demo", 2)
    return Place.repository(repo)


def _name(by: str | None) -> str:
    try:
        name = getpass.getuser() if by is None else by.strip()
    except (KeyError, OSError):  # a container may run as a user without a name
        name = ""
    return cut(redact(name), MOST_WORDS) or "the operator"


def _not_paused(place: Place, brakes: list[Brake]) -> NoReturn:
    others = "".join(f"\nStill: {standing_words(each)}" for each in brakes)
    fail(f"nothing to resume: no `squadron pause {place_option(place)}` is in force.{others}")


def _print(is_changed: bool, brakes: list[Brake]) -> None:
    shown = {"changed": is_changed, "brakes": [brake_json(each) for each in brakes]}
    say(json.dumps(shown, indent=2))
