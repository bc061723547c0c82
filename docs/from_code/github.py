"""What the App may do on GitHub, and what it hears of."""

from collections.abc import Iterator

from app.adapters.github.registration import APP_EVENTS, APP_PERMISSIONS, PERMISSION_REASONS
from docs.from_code.markdown import table


def permissions() -> Iterator[str]:
    """Every permission that the App asks for."""
    rows = ((f"`{name}`", each, PERMISSION_REASONS[name]) for name, each in APP_PERMISSIONS.items())
    return table(("permission", "access", "what Squadron does with it"), rows)


def events() -> Iterator[str]:
    """Every event that the App subscribes to."""
    rows = ((f"`{event}`", what) for event, what in APP_EVENTS.items())
    return table(("event", "what follows"), rows)
