"""Forms that people send from pages, and the note with which a page answers one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.core.text.markdown import cut
from app.web.pages.addresses import NotUnderstood
from app.web.pages.visitors import Visitor, visitor_of

TOKEN_FIELD: Final = "form"
BACK_FIELD: Final = "back"
SURE_FIELD: Final = "sure"
NOTE_COOKIE: Final = "squadron_note"
MOST_FIELDS: Final = 200
MOST_NOTE_CHARACTERS: Final = 1_200
NOTE_KEPT_SECONDS: Final = 60
"""How long a browser may take to ask for the page that shows the note."""
_KIND: Final = "application/x-www-form-urlencoded"


class NotOwnForm(Exception):
    """A form that no page of this session has made."""

    def __init__(self) -> None:
        super().__init__(
            "This form is of another session, or of a page that is not Squadron's. Load the page"
            " again, and send it from there."
        )


@dataclass(frozen=True, slots=True)
class Form:
    """What somebody has sent."""

    by: Visitor
    fields: Mapping[str, Sequence[str]]
    back: str
    """Path of the page from which it was sent."""

    def one(self, name: str) -> str:
        """The value of a field that stands once; empty: it is missing."""
        return next(iter(self.fields.get(name, ())), "").strip()


async def form_of(request: Request) -> Form:
    """Raises `NotUnderstood` and `NotOwnForm`."""
    visitor = visitor_of(request)
    if request.headers.get("content-type", "").partition(";")[0].strip() != _KIND:
        raise NotUnderstood(f"A form is sent as {_KIND}.")
    try:
        fields = parse_qs((await request.body()).decode(), max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise NotUnderstood(f"The form cannot be read: {error}.") from None
    form = Form(visitor, fields, local_path(next(iter(fields.get(BACK_FIELD, ())), "")))
    # Who says whence a request comes is the browser; the token tells, too, in one that does not.
    is_from_elsewhere = request.headers.get("sec-fetch-site", "same-origin") != "same-origin"
    if is_from_elsewhere or not visitor.is_own_form(form.one(TOKEN_FIELD)):
        raise NotOwnForm
    return form


def is_sure(form: Form) -> bool:
    """Whether it comes from the page that asks whether somebody is sure."""
    return form.one(SURE_FIELD) == "yes"


def answered(form: Form, note: str) -> Response:
    """Back to the page, which shows the note once."""
    answer = RedirectResponse(form.back, 303)
    answer.set_cookie(
        NOTE_COOKIE,
        form.by.sealed(cut(note, MOST_NOTE_CHARACTERS)),
        max_age=NOTE_KEPT_SECONDS,
        httponly=True,
        samesite="strict",
    )
    return answer


def note_of(request: Request) -> str:
    """What the page is to show once; empty: nothing."""
    return visitor_of(request).opened(request.cookies.get(NOTE_COOKIE, ""))


def local_path(path: str) -> str:
    """A path of this site, whatever a form or an address says."""
    is_local = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if is_local and path.isprintable() else "/"
