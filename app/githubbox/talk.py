"""What a person says on the page of an issue or a pull request: a comment, as by REST.

Nobody has to sign in: whoever sits at the machine speaks as anybody.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.githubbox.control import Perform
from app.githubbox.forms import is_from_elsewhere, read_form
from app.githubbox.http import Refused
from app.githubbox.identity import AsUser
from app.githubbox.pages import Pages
from app.githubbox.state import World

_COMMENTS = re.compile(r"/(?P<name>[^/]+/[^/]+)/(?:issues|pull)/(?P<number>[0-9]{1,9})/comments")


class Talk:
    def __init__(self, world: World, pages: Pages, perform: Perform) -> None:
        self._world, self._pages, self._perform = world, pages, perform

    async def answer(self, request: Request, raw_path: str) -> Response | None:
        """Where the comment stands, or why there is none; None for other paths."""
        place = _COMMENTS.fullmatch(unquote(raw_path))
        if place is None or request.method != "POST":
            return None
        if is_from_elsewhere(request):
            return self._refused(403, "This comment was written on a page of somebody else's.")
        form = await read_form(request) or {}
        who = self._world.user(form.get("as", ""))
        if who is None or who.kind != "User":
            return self._refused(422, "There is nobody of that name to speak as.")
        path = f"/repos/{place['name']}/issues/{place['number']}/comments"
        said = {"body": form.get("body", "")}
        try:
            reply = await self._perform(AsUser(who), "POST", path, {}, {}, said)
        except Refused as refused:
            return self._refused(refused.status, str(refused))
        assert isinstance(reply.body, dict)
        there = urlsplit(str(reply.body["html_url"]))
        return RedirectResponse(f"{there.path}#{there.fragment}", 303)

    def _refused(self, status: int, text: str) -> Response:
        return self._pages.page("refused.html", status, text=text)
