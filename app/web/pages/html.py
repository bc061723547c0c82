"""HTML from templates: what comes in is text, and stays text."""

from datetime import UTC, datetime
from typing import Any, Final

import jinja2
from starlette.responses import HTMLResponse

from app.core.words.ages import age_words


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
        self._templates.filters |= {"stamp": stamp, "machine": machine}

    def page(self, name: str, *, status_code: int = 200, **shown: Any) -> HTMLResponse:
        """One page."""
        return HTMLResponse(self._templates.get_template(name).render(shown), status_code)


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
