"""The keys of `.squadron/config.yaml`, of an agent file's frontmatter and of the operator's file.

Keys that a later version brings to life are documented already; a file may spell out their
default, and anything else is refused, because a key that is silently ignored is a trap.
"""

from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from app.config.names import (
    AgentPath,
    BotLogin,
    BranchNaming,
    Command,
    EventName,
    Label,
    Login,
    Mention,
    ModelName,
    PermissionName,
    RoleName,
    Runtime,
    SuiteCommand,
    Tool,
    TriggerLabel,
)
from app.config.strict import Named, Several, Strict, only
from app.core.limits import CATALOGUE, IterationMode, Limits
from app.core.plan import EscalationRules, RepositoryPlan

_ESCALATION = EscalationRules()


def _in_range(name: str, value: object) -> object:
    """The core's own judgement of one limit's value, without the name that the place says."""
    try:
        Limits(**{name: value})  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(str(error).removeprefix(f"{name} ")) from error
    return value


class LimitKeys(Strict):
    """What may be said about limits in every layer; `null` switches a limit off."""

    max_iterations: int | None = None
    max_tool_calls: int | None = None
    max_turns: int | None = None
    max_active_duration: int | None = None
    max_sleep_duration: int | None = None
    warning_threshold: float = 0.80
    summary_wait: int = 60
    max_review_wait: int = 604_800
    iteration_mode: IterationMode = "fix_cycles"
    max_cost_usd: Annotated[object, only(None)] = None
    on_limit: Annotated[object, only("escalate")] = "escalate"
    shadow: Annotated[object, only([])] = ()

    @field_validator(*CATALOGUE, "warning_threshold", "summary_wait", "max_review_wait")
    @classmethod
    def _limit_in_range(cls, value: object, info: ValidationInfo) -> object:
        return _in_range(str(info.field_name), value)


class RoleLimitKeys(LimitKeys):
    """`circuit_breakers.roles.<role>`."""

    preset: Annotated[object, only(None)] = None


class RoleKeys(Strict):
    """What may be said about a role besides its limits; `null` leaves it to the layer below."""

    runtime: Runtime = "embedded"
    model: ModelName | None = None
    planning_model: Annotated[object, only(None)] = None
    tools: Several[Tool] | None = None
    setup: Several[Command] = ()


class RoleBlock(RoleKeys):
    """`roles.<role>`."""

    agent: AgentPath | None = None


class Frontmatter(RoleLimitKeys, RoleKeys):
    """The head of an agent file."""

    description: str = Field(default="", max_length=500)


class Triggers(Strict):
    labels: Named[TriggerLabel, RoleName] = Field(default_factory=dict)
    events: Named[EventName, RoleName] = Field(default_factory=dict)


class Trust(Strict):
    start: PermissionName = "write"
    logins: Several[Login] = ()
    bots: Several[BotLogin] = ()


class CircuitBreakers(Strict):
    defaults: LimitKeys = LimitKeys()
    roles: Named[RoleName, RoleLimitKeys] = Field(default_factory=dict)


class Escalation(Strict):
    labels: Several[Label] = _ESCALATION.labels
    assignees: Several[Login] = ()
    mention: Several[Mention] = ()
    max_issue_depth: Annotated[object, only(3)] = 3
    max_issues_per_day: Annotated[object, only(10)] = 10


class SuiteCommands(Strict):
    add: Several[SuiteCommand] = ()
    exclude: Several[SuiteCommand] = ()


class ConfigFile(Strict):
    """`.squadron/config.yaml`."""

    triggers: Triggers = Triggers()
    trust: Trust = Trust()
    circuit_breakers: CircuitBreakers = CircuitBreakers()
    roles: Named[RoleName, RoleBlock] = Field(default_factory=dict)
    budgets: Annotated[object, only([])] = ()
    branch_naming: BranchNaming = RepositoryPlan().branch_naming
    escalation: Escalation = Escalation()
    test_commands: SuiteCommands = SuiteCommands()
    enabled: bool = True


class Ceilings(Strict):
    """The operator's bounds; `null` is no bound."""

    max_iterations: int | None = None
    max_tool_calls: int | None = None
    max_turns: int | None = None
    max_active_duration: int | None = None
    max_sleep_duration: int | None = None
    max_cost_usd: Annotated[object, only(None)] = None

    @field_validator(*CATALOGUE)
    @classmethod
    def _ceiling_in_range(cls, value: object, info: ValidationInfo) -> object:
        return value if value is None else _in_range(str(info.field_name), value)


class ModelPrice(Strict):
    """USD per million tokens."""

    input: float = Field(ge=0, le=1_000_000)
    output: float = Field(ge=0, le=1_000_000)
    cache_read: float | None = Field(default=None, ge=0, le=1_000_000)


class Workers(Strict):
    agents: int = Field(default=4, ge=1, le=64)


class OperatorFile(Strict):
    """The file that `SQUADRON_CONFIG` names."""

    defaults: LimitKeys = LimitKeys()
    ceilings: Ceilings = Ceilings()
    models: Several[str] | None = None
    pricing: Named[str, ModelPrice] = Field(default_factory=dict)
    on_unmeasurable: Annotated[object, only("warn")] = "warn"
    budgets: Annotated[object, only([])] = ()
    rate: Annotated[object, only({"starts_per_user_per_hour": 100})] = None
    alerts: Annotated[
        object, only({"cost_usd_per_hour": 10, "trips_per_hour": 5, "webhook": None})
    ] = None
    reconciliation_interval: int = Field(default=300, ge=1, le=86_400)
    workers: Workers = Workers()
    sandbox: Annotated[object, only({"mode": "off"})] = None
