"""Buttons of agents: what people ask for is done, and the page that they come from says how it
went."""

import secrets
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.core.agents.agent import AgentId
from app.core.commands.buttons import CLOSE
from app.core.commands.grammar import PREFIX
from app.core.rules.trust import Sender
from app.core.words.pages import DONE, acted_words, sure_words
from app.ports import GitHubFailed
from app.services.commands.acting import Acting, Asked
from app.services.commands.obey import Said
from app.web.pages.addresses import NotUnderstood
from app.web.pages.forms import Form, answered, form_of, is_sure
from app.web.pages.html import Templates
from app.web.pages.visitors import LOGIN

MOST_AT_ONCE: Final = 50
NAME_BYTES: Final = 8


class ActForm:
    """Somebody wants something of one agent, or of several at once."""

    def __init__(self, acting: Acting, templates: Templates) -> None:
        self._acting = acting
        self._templates = templates

    async def hear(self, request: Request) -> Response:
        """Raises `NotUnderstood`, `NotOwnForm` and `StoreUnavailable`."""
        form = await form_of(request)
        verb, agents = form.one("do"), _agents(form)
        if verb not in DONE:
            raise NotUnderstood(f"{verb!r} is none of {', '.join(DONE)}.")
        if not LOGIN.fullmatch(form.by.login):
            return RedirectResponse(f"/you?back={quote(form.back)}", 303)
        if not agents:
            return answered(form, "Nobody was chosen. Nothing was changed.")
        if len(agents) > 1 and not is_sure(form):
            return self._templates.page(
                "sure.html",
                form=form,
                verb=verb,
                question=sure_words(verb, len(agents)),
                agents=agents,
                action="/act",
                kept={"agent": agents},
            )
        said = {agent: await self._act(form, verb, agent) for agent in agents}
        refused = {agent: each.refused for agent, each in said.items()}
        told = [words for each in said.values() for words in each.told]
        return answered(form, acted_words(verb, refused, told))

    async def _act(self, form: Form, verb: str, agent: AgentId) -> Said:
        by = Sender(form.by.login, is_bot=False)
        name = f"page:{secrets.token_hex(NAME_BYTES)}"
        try:
            return await self._acting.act(Asked(agent, _line(form, verb, agent), by, name))
        except GitHubFailed as error:
            return Said([f"GitHub does not answer, so it is not sure what was done: {error}."])


def _agents(form: Form) -> Sequence[AgentId]:
    """Those that were chosen, each once. Raises `NotUnderstood`."""
    given = [*dict.fromkeys(form.fields.get("agent", ()))]
    if len(given) > MOST_AT_ONCE:
        raise NotUnderstood(f"At most {MOST_AT_ONCE} agents at once.")
    try:
        return [AgentId.parse(each) for each in given]
    except ValueError as error:
        raise NotUnderstood(str(error)) from None


def _line(form: Form, verb: str, agent: AgentId) -> str:
    """What a comment would say."""
    if verb == CLOSE:
        return CLOSE
    if verb == "raise":
        limit, amount = form.one("limit"), form.one("amount").removeprefix("+")
        if len(limit.split()) != 1 or len(amount.split()) != 1:
            raise NotUnderstood("A limit is raised by an amount: both are needed.")
        return f"{PREFIX} raise {limit} +{amount} {agent}"
    return f"{PREFIX} {verb} {agent}"
