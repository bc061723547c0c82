"""HTML from templates: what comes in is text, and stays text."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import jinja2
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from app.core.agents.agent import Agent, AgentId
from app.core.breaker.verdict import money
from app.core.commands.buttons import offers
from app.core.money import usd
from app.core.words.ages import age_words
from app.core.words.pages import ASKED
from app.core.words.timeline import outcome_words

_CODE: Final = re.compile(r"`([^`]+)`")


class Templates:
    """Those beside this file. A name that a page does not give is an error, never empty."""

    def __init__(self) -> None:
        self._templates: Final = jinja2.Environment(
            loader=jinja2.PackageLoader("app.web.pages"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        self._templates.filters |= _FILTERS

    def page(self, name: str, *, status_code: int = 200, **shown: Any) -> HTMLResponse:
        """One page, as an answer."""
        return HTMLResponse(self.text(name, **shown), status_code)

    def text(self, name: str, **shown: Any) -> str:
        """One page."""
        return self._templates.get_template(name).render(shown)


def path_of(agent: AgentId) -> str:
    """Where an agent's page is."""
    return f"/agents/{agent.repository}/{agent.issue}/{agent.role}/{agent.attempt}"


def ages(now: datetime) -> dict[str, Any]:
    """What templates need to say how long ago, or off, something is."""
    return {
        "ago": lambda at: age_words(now - at),
        "until": lambda at: age_words(at - now),
        "is_over": lambda at: at <= now,
    }


def stamp(at: datetime) -> str:
    """As people read an instant."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def machine(at: datetime) -> str:
    """As `<time datetime=…>` has it."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def clock(at: datetime) -> str:
    """The time of a day, in UTC."""
    return f"{at.astimezone(UTC):%H:%M:%S}"


def day(at: datetime) -> str:
    """Which day it was, in UTC."""
    return f"{at.astimezone(UTC):%A, %Y-%m-%d}"


def took(time: timedelta) -> str:
    """How long something took: `0.4 s`, `12 s`, `3m`."""
    seconds = time.total_seconds()
    if seconds < 1:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 60 else age_words(time)


def code(words: str) -> Markup:
    """Words of ours: what stands between two backticks is code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(words))))


def offered(agent: Agent) -> Mapping[str, str]:
    """What can be asked of an agent now, with the words of its button."""
    return {verb: ASKED[verb] for verb in offers(agent)}


_FILTERS: Final[Mapping[str, Callable[[Any], object]]] = {
    "stamp": stamp,
    "machine": machine,
    "clock": clock,
    "day": day,
    "took": took,
    "path": path_of,
    "agent_id": AgentId.parse,
    "money": money,
    "usd": usd,
    "outcome": outcome_words,
    "code": code,
    "offers": offered,
}
