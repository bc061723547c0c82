"""What a repository's configuration comes to: the values that the services work with.

`app/config` makes these from `.squadron/` and the operator's file; nothing else does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from app.core.limits import Limits
from app.core.testruns import SuiteRules
from app.core.trust import TrustRules

TRIGGER_PREFIX = "squadron:"
"""The label `squadron:<role>` always starts that role."""

RuntimeName = Literal["embedded"]


class Layer(StrEnum):
    """Where an effective value came from; a later one wins (EXAMPLES, `config check`)."""

    BUILT_IN = "built-in"
    OPERATOR = "operator defaults"
    REPOSITORY = "repository defaults"
    REPOSITORY_ROLE = "repository role"
    AGENT_FILE = "agent file"


@dataclass(frozen=True, slots=True)
class Origin:
    """The layer a limit's value came from, and the ceiling that capped it, if one did."""

    layer: Layer
    capped_by: Literal["ceiling"] | None = None


@dataclass(frozen=True, slots=True)
class RolePlan:
    """One role, ready to work: its instruction, what it may use, and its effective limits."""

    role: str
    description: str
    prompt: str
    """The role's instruction, from the default branch or built in; goes into the system prompt."""
    runtime: RuntimeName
    model: str | None
    """`provider:name`; None: the operator's default."""
    tools: tuple[str, ...] | None
    """Names of the tools the role may use; None: all of the runtime's."""
    setup: tuple[str, ...]
    """Commands that prepare the workspace before the first turn."""
    limits: Limits
    origins: Mapping[str, Origin]
    """Per limit (and setting) of `limits`: where its value came from."""


@dataclass(frozen=True, slots=True)
class EscalationRules:
    """How a human is told (EXAMPLES, `escalation`)."""

    labels: tuple[str, ...] = ("needs-human", "escalation")
    assignees: tuple[str, ...] = ()
    mention: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One mistake in a configuration, with its place. Lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


@dataclass(frozen=True, slots=True)
class RepositoryPlan:
    """All that Squadron takes from a repository's `.squadron/`, read from its default branch."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """Label → role, besides `squadron:<role>`."""
    events: Mapping[str, str] = field(default_factory=dict)
    """`event.action` → role."""
    trust: TrustRules = field(default_factory=TrustRules)
    roles: Mapping[str, RolePlan] = field(default_factory=dict)
    broken: Mapping[str, tuple[ConfigProblem, ...]] = field(default_factory=dict)
    """Roles that cannot work, and why; the rest of the configuration stands."""
    branch_naming: str = "squadron/{role}/issue-{issue}"
    escalation: EscalationRules = field(default_factory=EscalationRules)
    suites: SuiteRules = field(default_factory=SuiteRules)
    enabled: bool = True

    def role_of_label(self, label: str) -> str | None:
        """The role that `label` starts, or None. GitHub's labels ignore case, so do we."""
        wanted = label.casefold()
        for name, role in self.labels.items():
            if name.casefold() == wanted:
                return role
        return wanted.removeprefix(TRIGGER_PREFIX) if wanted.startswith(TRIGGER_PREFIX) else None
