"""Who has to mend what failed: each exception of the ports says so by its type."""

from enum import StrEnum
from typing import ClassVar


class Blame(StrEnum):
    """Whose it is to mend a failure."""

    PEOPLE = "people"
    """They have not let the App in."""
    CONFIGURATION = "configuration"
    """What is asked for in `.squadron/`, in the operator's file or by a setting cannot be had."""
    GITHUB = "github"
    PROVIDER = "provider"
    """Of models: away, or refuses the key."""
    MACHINE = "machine"
    """Its disk, its processes, its database, or what is not installed on it."""
    SQUADRON = "squadron"
    """A defect of Squadron's own."""


class PortFailed(Exception):
    """Base of what the world answers instead of what was asked for. The text says what, where and
    what to do; it holds no secret."""

    blame: ClassVar[Blame]
