"""Fixtures of the contract tests."""

from tests.contract.store_support import migrated, world

__all__ = ["migrated", "world"]
