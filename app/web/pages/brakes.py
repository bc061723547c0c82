"""Buttons of brakes: everything, or all agents of a repository, is paused and resumed."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from app.core.rules.brakes import MOST_WORDS, Place, Scope
from app.core.text.markdown import cut
from app.core.words.pages import sure_of_brake_words
from app.services.commands.handbrakes import Hand, Handbrakes
from app.web.pages.addresses import NotUnderstood
from app.web.pages.forms import Form, answered, form_of, is_sure
from app.web.pages.html import Templates

ON: Final = "pause"
OFF: Final = "resume"


class BrakeForm:
    """Somebody wants a brake on or off."""

    def __init__(self, handbrakes: Handbrakes, templates: Templates) -> None:
        self._handbrakes = handbrakes
        self._templates = templates

    async def hear(self, request: Request) -> Response:
        """Raises `NotUnderstood`, `NotOwnForm` and `StoreUnavailable`."""
        form = await form_of(request)
        what, place = form.one("do"), _place(form)
        if what not in (ON, OFF):
            raise NotUnderstood(f"{what!r} is none of {ON}, {OFF}.")
        reason = cut(form.one("reason"), MOST_WORDS)
        if not is_sure(form):
            kept = {"scope": [place.scope.value], "name": [place.name], "reason": [reason]}
            return self._templates.page(
                "sure.html",
                form=form,
                question=sure_of_brake_words(place, puts_on=what == ON),
                agents=(),
                action="/brake",
                kept=kept,
                verb=what,
            )
        by = Hand(form.by.login, form.by.is_operator)
        if what == ON:
            return answered(form, await self._handbrakes.put_on(place, by, reason))
        return answered(form, await self._handbrakes.lift(place, by))


def _place(form: Form) -> Place:
    try:
        return Place(Scope(form.one("scope")), form.one("name").casefold())
    except ValueError as error:
        raise NotUnderstood(str(error)) from None
