"""The durable engine: DBOS Transact on the store's database. Nothing else imports dbos."""

from app.adapters.engine.durable import DurableEngine, Handler
from app.adapters.engine.membership import (
    AlreadyRunning,
    ClusterMembership,
    Membership,
    SingleProcess,
)

__all__ = [
    "AlreadyRunning",
    "ClusterMembership",
    "DurableEngine",
    "Handler",
    "Membership",
    "SingleProcess",
]
