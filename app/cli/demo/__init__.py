"""`squadron demo`: the whole system on this machine, no account, no key."""

from app.cli.demo.command import demo

__all__ = ["demo"]
