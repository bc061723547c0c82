"""Each failure of a port says whose it is to mend, and what follows for the agent that met it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import pytest

from app.core.agents.stops import Cause
from app.core.rules.outages import ProviderFailure
from app.core.steering.github_away import GitHubAway
from app.ports import (
    Blame,
    GitAway,
    KeptSetupFailed,
    ModelUnusable,
    NoAccess,
    NoProvider,
    Paced,
    PortFailed,
    RateLimited,
    Refused,
    RuntimeMissing,
    SessionDamaged,
    StoreUnavailable,
    Unreachable,
    Unreadable,
    WorkspaceFailed,
)
from app.services.segment.supervision import CannotGoOn, Died, ModelAway, Result, follows_from

NOON: Final = datetime(2026, 5, 4, 12, tzinfo=UTC)
AWAY: Final = ProviderFailure("openai", "It does not answer.")
FAILURES: Final[tuple[tuple[PortFailed, Blame, Result], ...]] = (
    (ModelUnusable("m"), Blame.CONFIGURATION, CannotGoOn(Cause.MODEL_FAILED, "m")),
    (RuntimeMissing("r"), Blame.MACHINE, CannotGoOn(Cause.RUNTIME_MISSING, "r")),
    (SessionDamaged("s"), Blame.MACHINE, CannotGoOn(Cause.SESSION_DAMAGED, "s")),
    (NoProvider(AWAY), Blame.PROVIDER, ModelAway(AWAY)),
    (NoAccess("n"), Blame.PEOPLE, CannotGoOn(Cause.NO_ACCESS, "n")),
    (
        WorkspaceFailed("w"),
        Blame.MACHINE,
        CannotGoOn(Cause.WORKSPACE_FAILED, "The default branch could not be read: w"),
    ),
    (GitAway("g"), Blame.GITHUB, GitHubAway("g")),
    (Unreachable("u"), Blame.GITHUB, GitHubAway("u")),
    (RateLimited("l", NOON), Blame.GITHUB, GitHubAway("l", NOON)),
    (Paced("p", NOON), Blame.GITHUB, GitHubAway("p", NOON)),
    (Refused("f", 422), Blame.GITHUB, Died("f")),
    (
        Unreadable("config.yaml", "is too large"),
        Blame.CONFIGURATION,
        Died("config.yaml is too large"),
    ),
    (KeptSetupFailed("k"), Blame.MACHINE, Died("k")),
    (StoreUnavailable("d"), Blame.MACHINE, Died("d")),
)


@pytest.mark.parametrize(
    ("error", "blame", "result"), FAILURES, ids=[type(each).__name__ for each, *_ in FAILURES]
)
def test_whose_it_is_and_what_follows(error: PortFailed, blame: Blame, result: Result) -> None:
    assert (error.blame, follows_from(error)) == (blame, result)


def test_a_workspace_that_could_not_be_pushed_for_want_of_access_waits_for_it() -> None:
    error = WorkspaceFailed("The push failed.")
    error.__cause__ = NoAccess("The App was taken out.")
    assert follows_from(error) == CannotGoOn(Cause.NO_ACCESS, "The App was taken out.")


def test_git_that_has_no_token_waits_for_as_long_as_github_says() -> None:
    error = GitAway("There is no token.")
    error.__cause__ = RateLimited("Slowly.", NOON)
    assert follows_from(error) == GitHubAway("There is no token.", NOON)


def test_only_a_model_that_cannot_be_had_is_the_models_failure() -> None:
    blamed = [each for each, _, result in FAILURES if _cause(result) is Cause.MODEL_FAILED]
    assert [type(each) for each in blamed] == [ModelUnusable]


def test_every_failure_of_the_ports_is_in_the_table() -> None:
    ports = {each for each in _all_of(PortFailed) if each.__module__.startswith("app.ports")}
    abstract = {each for each in ports if each.__subclasses__() and each.__name__ == "GitHubFailed"}
    assert ports - abstract == {type(each) for each, *_ in FAILURES}


def _cause(result: Result) -> Cause | None:
    return result.cause if isinstance(result, CannotGoOn) else None


def _all_of(kind: type[PortFailed]) -> Iterator[type[PortFailed]]:
    for each in kind.__subclasses__():
        yield each
        yield from _all_of(each)
