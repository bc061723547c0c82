"""`squadron setup`: registers the operator's GitHub App, and keeps its secrets."""

from app.cli.setup.command import setup

__all__ = ["setup"]
