"""Brakes that people put on and lift on pages: what `squadron pause` and `squadron resume` do."""

from dataclasses import dataclass
from typing import Final

from app.core.rules.brakes import Brake, Place, Scope
from app.core.rules.trust import Sender
from app.core.words.pages import (
    braked_already_words,
    not_braked_words,
    not_by_hand_words,
    not_let_in_words,
    not_trusted_words,
    only_operators_words,
    stops_words,
)
from app.core.words.refusals import released_words
from app.ports import GitHubFailed, Repository
from app.services.starting.trust import Trusting
from app.services.world import World

THE_OPERATOR: Final = "the operator"
"""Whoever is at the machine and has not said who they are."""


@dataclass(frozen=True, slots=True)
class Hand:
    """Whoever is at a brake."""

    login: str
    """On GitHub; empty: they have not said."""
    is_operator: bool
    """At the machine itself. An operator needs no permission of GitHub's, which may not answer when
    everything has to stop."""

    @property
    def name(self) -> str:
        """For people."""
        return self.login or THE_OPERATOR


class Handbrakes:
    """Puts brakes on and lifts them, for whoever may. Answers in words for people."""

    def __init__(self, world: World, trusting: Trusting) -> None:
        self._world = world
        self._trusting = trusting

    async def put_on(self, place: Place, by: Hand, reason: str) -> str:
        """Raises `StoreUnavailable`."""
        if why := await self._why_not(place, by):
            return why
        now = self._world.clock.now()
        if not await self._world.store.put_brake_on(Brake.by_hand(place, by.name, now, reason)):
            return braked_already_words(place)
        return stops_words(place)

    async def lift(self, place: Place, by: Hand) -> str:
        """Raises `StoreUnavailable`."""
        if why := await self._why_not(place, by):
            return why
        if await self._world.store.lift_brake(place, by.name, self._world.clock.now()) is None:
            return not_braked_words(place)
        return released_words(place)

    async def _why_not(self, place: Place, by: Hand) -> str:
        """In words; empty: they may."""
        match place.scope:
            case Scope.CONFIGURATION:
                return not_by_hand_words(place)
            case Scope.REPOSITORY:
                return await self._why_not_there(place, by)
            case Scope.ALL | Scope.INSTALLATION:
                return "" if by.is_operator else only_operators_words(place)

    async def _why_not_there(self, place: Place, by: Hand) -> str:
        repository = await self._known(place)
        if repository is None:
            return not_let_in_words(place)
        if by.is_operator:
            return ""
        try:
            sender = Sender(by.login, is_bot=False)
            why = await self._trusting.distrust(repository, sender)
        except GitHubFailed as error:
            why = f"GitHub does not answer: {error}"
        return not_trusted_words(repository.full_name, why) if why else ""

    async def _known(self, place: Place) -> Repository | None:
        places = (await self._world.store.places()).values()
        named = (each for each in places if Place.repository(each.full_name) == place)
        return next(named, None)
