"""How many agents may be at work at once, in one repository and of one role."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Full:
    """A cap that is reached."""

    most: int
    role: str | None
    """Whose cap it is; None: each repository's."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Of the operator's file, `workers`. They hold in all workers together."""

    per_repository: int | None = None
    """None: no more than there are workers."""
    per_role: Mapping[str, int] = field(default_factory=dict)
    """In all repositories together."""

    def concern(self, role: str) -> bool:
        """Whether any of them can hold an agent of the role back."""
        return self.per_repository is not None or role in self.per_role

    def full(self, role: str, of_repository: int, of_role: int) -> Full | None:
        """What keeps one more agent of a role from beginning, with so many at work."""
        if self.per_repository is not None and of_repository >= self.per_repository:
            return Full(self.per_repository, None)
        if role in self.per_role and of_role >= self.per_role[role]:
            return Full(self.per_role[role], role)
        return None
