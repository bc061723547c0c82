"""Fixtures of the attacks."""

from tests.contract.copilot import copilot_cache

__all__ = ["copilot_cache"]
