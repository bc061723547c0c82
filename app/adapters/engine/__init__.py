"""The durable engine: DBOS Transact on the store's database. Nothing else imports dbos."""

from app.adapters.engine.cut_off import CutOffNotes
from app.adapters.engine.durable import DurableEngine, migrate_queues
from app.adapters.engine.heartbeats import application_name
from app.adapters.engine.membership import (
    AlreadyRunning,
    ClusterMembership,
    Membership,
    SingleProcess,
    worker_name,
)
from app.adapters.engine.running import RunningEngine

__all__ = [
    "AlreadyRunning",
    "ClusterMembership",
    "CutOffNotes",
    "DurableEngine",
    "Membership",
    "RunningEngine",
    "SingleProcess",
    "application_name",
    "migrate_queues",
    "worker_name",
]
