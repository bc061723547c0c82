"""Who somebody at this machine is on GitHub: what they do on pages is done in that name, and is
checked as if it stood in a comment of theirs."""

from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.web.pages.addresses import NotUnderstood
from app.web.pages.forms import BACK_FIELD, form_of, local_path
from app.web.pages.html import Templates
from app.web.pages.visitors import LOGIN, NAME_COOKIE, visitor_of

KEPT_SECONDS: Final = 365 * 24 * 3600


class YouForm:
    """Asks who somebody is, and remembers it."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    async def ask(self, request: Request) -> Response:
        """The form."""
        back = local_path(request.query_params.get(BACK_FIELD, "/"))
        return self._templates.page("you.html", visitor=visitor_of(request), back=back)

    async def hear(self, request: Request) -> Response:
        """Raises `NotUnderstood` and `NotOwnForm`."""
        form = await form_of(request)
        login = form.one("login").removeprefix("@")
        if login and not LOGIN.fullmatch(login):
            raise NotUnderstood(f"{login!r} is no login of GitHub's.")
        answer = RedirectResponse(form.back, 303)
        answer.set_cookie(
            NAME_COOKIE, login, max_age=KEPT_SECONDS, httponly=True, samesite="strict"
        )
        return answer
