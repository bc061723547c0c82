"""Alerts as log lines, as a metric, and as a POST to the operator's webhook."""

import asyncio
import logging
from typing import Final

import httpx
from prometheus_client import Counter

from app.core.words.alerts import Alert

WEBHOOK_SECONDS: Final = 10.0
"""The whole of one POST; an agent's end may have to wait so long."""

ALERTS: Final = Counter("squadron_alerts", "Alerts that were told; label: kind", ["kind"])

log = logging.getLogger("squadron.alerts")


class OperatorAlarms:
    """`ports.Alarms`."""

    def __init__(self, webhook: str | None) -> None:
        """`webhook`: an address that takes a JSON object; None: log and metrics only."""
        self._webhook = webhook

    async def tell(self, alert: Alert) -> None:
        """Tell one alert. A webhook that fails is logged, not tried again: the log has it all."""
        fields = {"kind": alert.kind, "figure": alert.figure, "bound": alert.bound, **_about(alert)}
        log.warning("ALERT: %s", alert.text, extra={"event": "ALERT", **fields})
        ALERTS.labels(alert.kind).inc()
        if self._webhook is None:
            return
        body = {"text": alert.text, "at": alert.at.isoformat(), **fields}
        try:
            async with asyncio.timeout(WEBHOOK_SECONDS), httpx.AsyncClient() as client:
                answer = await client.post(self._webhook, json=body)
            if answer.is_error:
                log.warning("the alerts' webhook answered %d", answer.status_code)
        except (httpx.HTTPError, TimeoutError) as error:
            log.warning("the alerts' webhook cannot be reached: %s", type(error).__name__)


def _about(alert: Alert) -> dict[str, str]:
    """Whom it is about: not for a metric's labels, of which there would be ever more."""
    if alert.about is None:
        return {}
    agent = alert.about.agent
    return {"agent": str(agent), "role": agent.role, "limit": alert.about.limit.value}
