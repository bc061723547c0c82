"""Where alerts go."""

from typing import Protocol

from app.core.words.alerts import Alert


class Alarms(Protocol):
    """Log, metrics, and the operator's webhook."""

    async def tell(self, alert: Alert) -> None:
        """Tell one alert. Never raises: a webhook that does not answer is logged."""
        ...
