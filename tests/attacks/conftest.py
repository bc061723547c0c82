"""Fixtures of the attacks."""

from tests.attacks.handover import scene
from tests.contract.copilot import copilot_cache

__all__ = ["copilot_cache", "scene"]
