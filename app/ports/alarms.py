"""Where alerts go."""

from typing import Protocol

from app.core.words.alerts import Alert


class Alarms(Protocol):
    """Log, metrics, and the operator's webhook."""

    def observe(self, spent_usd: float, trips: int) -> None:
        """What was spent, and how many agents were stopped, in the last hour."""
        ...

    async def tell(self, alert: Alert) -> None:
        """Tell one alert. Never raises: a webhook that does not answer is logged."""
        ...
