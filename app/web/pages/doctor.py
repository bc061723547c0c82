"""The doctor behind a button: every check of the installation, made now."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from app.doctor.check import Check
from app.web.pages.forms import NotOwnForm, answered, form_of
from app.web.pages.html import Templates

_AT_IT: Final = "The doctor is at it already. Wait for what it finds."


class DoctorForm:
    """Somebody at the machine wants to know whether the installation is safe and complete."""

    def __init__(self, examine: Callable[[], Sequence[Check]], templates: Templates) -> None:
        self._examine = examine
        self._templates = templates
        self._is_at_it = False

    async def hear(self, request: Request) -> Response:
        """Raises `NotUnderstood` and `NotOwnForm`."""
        form = await form_of(request)
        if not form.by.is_operator:
            raise NotOwnForm
        if self._is_at_it:
            return answered(form, _AT_IT)
        self._is_at_it = True
        try:
            # Its checks start programs and ask others, one after another: each has its bound.
            found = await asyncio.to_thread(self._examine)
        finally:
            self._is_at_it = False
        checks = sorted(found, key=lambda check: check.ok)
        return self._templates.page("doctor.html", checks=checks, back=form.back)
