"""What a repository's configuration comes to: the values that the services work with.

`app/config` makes these from `.squadron/` and the operator's file; nothing else does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from app.core.budgets.budgets import Budget, counts_every_start, within_budget
from app.core.limits import LimitName, Limits
from app.core.rules.trust import TrustRules
from app.testruns import SuiteRules

TRIGGER_PREFIX = "squadron:"
"""The label `squadron:<role>` always starts that role."""

RuntimeName = Literal["embedded", "copilot", "claude"]
OnUnmeasurable = Literal["warn", "stop"]
"""What happens when a model has no price: its cost is unknown, never 0."""
Adaptive = Literal["off", "propose", "apply"]
"""What becomes of suggested limits: nothing, a pull request, or a small step by itself."""

SandboxMode = Literal["required", "best_effort", "off"]
"""Whether agents work in a sandbox: never without, where there is one, or not at all."""


class RoleKind(StrEnum):
    """What the agents of a role work on, and how they end."""

    WORK = "work"
    """On an issue, in a branch of its own; hands over a pull request."""
    REVIEW = "review"
    """On a pull request, reading only; ends by posting a review."""
    TRIAGE = "triage"
    """On new issues, several at once; proposes roles and labels, and never calls a human."""


class Layer(StrEnum):
    """Where an effective value came from; a later one wins (EXAMPLES, `config check`)."""

    BUILT_IN = "built-in"
    OPERATOR = "operator defaults"
    REPOSITORY = "repository defaults"
    PRESET = "preset"
    REPOSITORY_ROLE = "repository role"
    AGENT_FILE = "agent file"


class Tests(StrEnum):
    """What of its work's tests a role's check needs to be green."""

    __test__ = False

    EXPECTED = "expected"
    """They ran since the last edit, and passed."""
    NONE = "none"
    """Nothing: it changes no code."""


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
    planning_model: str | None
    """`provider:name` of the first turn; None: `model` plans too."""
    tools: tuple[str, ...] | None
    """Names of the tools the role may use; None: all of the runtime's."""
    setup: tuple[str, ...]
    """Commands that prepare the workspace before the first turn."""
    preset: str | None
    limits: Limits
    origins: Mapping[str, Origin]
    """Per limit (and setting) of `limits`: where its value came from."""
    kind: RoleKind = RoleKind.WORK
    may_label: tuple[str, ...] = ()
    """Labels that agents of a TRIAGE role may set themselves; all others they only propose."""
    tests: Tests = Tests.EXPECTED
    verify: tuple[str, ...] = ()
    """Commands that say whether work is sound, its own or the repository's."""

    @property
    def is_unbounded(self) -> bool:
        """Whether nobody has set `max_cost_usd`; at most the operator's ceiling stands there."""
        origin = self.origins.get(LimitName.MAX_COST_USD)
        return origin == Origin(Layer.BUILT_IN, capped_by="ceiling")

    def budgeted(self) -> "RolePlan":
        """The role as its agents start where a money budget counts them."""
        limits, name = within_budget(self.limits, is_unbounded=self.is_unbounded), "max_cost_usd"
        if limits.max_cost_usd == self.limits.max_cost_usd:
            return replace(self, limits=limits)
        return replace(self, limits=limits, origins={**self.origins, name: Origin(Layer.BUILT_IN)})


@dataclass(frozen=True, slots=True)
class EscalationRules:
    """How a human is told (EXAMPLES, `escalation`)."""

    labels: tuple[str, ...] = ("needs-human", "escalation")
    assignees: tuple[str, ...] = ()
    mention: tuple[str, ...] = ()
    waiting_label: str | None = "needs-answer"
    """On an issue while one of its agents waits for a person; None: no label."""
    max_issue_depth: int = 3
    """How many agents may stand behind an issue that an agent opens."""
    max_issues_per_day: int = 10
    """How many issues the agents of the repository may open within a day."""


@dataclass(frozen=True, slots=True)
class Alerts:
    """What an operator hears of by an alert (seed 000's figures)."""

    cost_usd_per_hour: float = 10.0
    """Spending more than this in an hour."""
    trips_per_hour: int = 5
    """More trips than this in an hour."""
    webhook: str | None = None
    """An address that alerts are posted to; None: log and metrics only."""


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
    default_limits: Limits = field(default_factory=Limits)
    """What a role comes to that nobody says anything about."""
    roles: Mapping[str, RolePlan] = field(default_factory=dict)
    broken: Mapping[str, tuple[ConfigProblem, ...]] = field(default_factory=dict)
    """Roles that cannot work, and why; the rest of the configuration stands."""
    branch_naming: str = "squadron/{role}/issue-{issue}"
    escalation: EscalationRules = field(default_factory=EscalationRules)
    suites: SuiteRules = field(default_factory=SuiteRules)
    budgets: tuple[Budget, ...] = ()
    """As its file has them, which does not say where it lies: count with `budgets_of`."""
    co_author: bool = False
    """Whether who started an agent is a co-author of its commits."""
    protected_paths: tuple[str, ...] = ()
    """What agents may not change besides what they never may, as patterns of `.gitignore`."""
    enabled: bool = True
    setup_script: str = ""
    """`setup.sh`: what prepares the workspace of every role that changes things."""
    verify_script: str = ""
    """`verify.sh`: what says whether the work of such a role is sound, after its commands."""

    def budgets_of(self, repository: str) -> tuple[Budget, ...]:
        """The budgets, as those of `repository` (`owner/name`), whose plan this is."""
        return tuple(replace(budget, repository=repository) for budget in self.budgets)

    def budgeted(self, operators: Sequence[Budget]) -> "RepositoryPlan":
        """The plan with each role as its agents start, where its own budgets or the operator's
        count them all; for people to look at."""
        roles = dict(self.roles)
        for name, role in self.roles.items():
            if any(counts_every_start(budget, name) for budget in (*operators, *self.budgets)):
                roles[name] = role.budgeted()
        return replace(self, roles=roles)

    def mended(self, earlier: "RepositoryPlan") -> "RepositoryPlan":
        """The plan with its broken roles as they were in an earlier one, if they were sound."""
        sound = {name: earlier.roles[name] for name in self.broken if name in earlier.roles}
        broken = {name: why for name, why in self.broken.items() if name not in sound}
        return replace(self, roles={**self.roles, **sound}, broken=broken)

    def reviews(self, role: str) -> bool:
        """Whether agents of the role work on pull requests; on issues, if it cannot work at all."""
        planned = self.roles.get(role)
        return planned is not None and planned.kind is RoleKind.REVIEW

    def starting_labels(self) -> Mapping[str, str]:
        """Label → role, of all roles that are there. GitHub's labels ignore case: these are in
        lower case."""
        own = {f"{TRIGGER_PREFIX}{role}": role for role in (*self.roles, *self.broken)}
        return {label.casefold(): role for label, role in {**own, **self.labels}.items()}

    def role_of_label(self, label: str) -> str | None:
        """The role that `label` starts, or None. GitHub's labels ignore case, so do we."""
        wanted = label.casefold()
        for name, role in self.labels.items():
            if name.casefold() == wanted:
                return role
        return wanted.removeprefix(TRIGGER_PREFIX) if wanted.startswith(TRIGGER_PREFIX) else None
