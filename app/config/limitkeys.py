"""What configuration files say about limits: keys, ranges and words are those of the catalogue."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Generic, TypeVar

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, ValidationInfo, field_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from app.config.names import ActionName, Limit, PresetName, action
from app.config.strict import Several, Strict
from app.config.wording import shown
from app.core.limits import (
    CATALOGUE,
    MAX_RUNNING_TOOL_WAIT_SECONDS,
    MAX_SUMMARY_WAIT_SECONDS,
    Action,
    IterationMode,
    LimitInfo,
    LimitName,
    Limits,
    in_range,
)

DEFAULT_ACTION: Final = "default"
"""The key of `on_limit` for all limits that it does not name."""

SETTINGS: Final = (
    "warning_threshold",
    "summary_wait",
    "running_tool_wait",
    "max_review_wait",
    "iteration_mode",
)
"""The keys beside the limits."""

_SECONDS: Final = "in seconds"
_USD: Final = "in USD"

OTHER_NAMES: Final[Mapping[str, str]] = {
    "max_duration_ms": f"max_active_duration, {_SECONDS}",
    "max_duration": f"max_active_duration, {_SECONDS}",
    "max_execution_time": f"max_active_duration, {_SECONDS}",
    "duration_seconds": f"max_active_duration, {_SECONDS}",
    "duration": f"max_active_duration, {_SECONDS}",
    "timeout": f"max_active_duration, {_SECONDS}",
    "timeout_ms": f"max_active_duration, {_SECONDS}",
    "timeout_action": f"on_limit ({' | '.join(Action)})",
    "action": f"on_limit ({' | '.join(Action)})",
    "max_cost": f"max_cost_usd, {_USD}",
    "max_spend": f"max_cost_usd, {_USD}",
    "max_total_cost_usd": f"max_cost_usd, {_USD}",
    "spend": f"max_cost_usd, {_USD}",
    "cost": f"max_cost_usd, {_USD}",
    "team_budget_usd": "an entry of budgets with scope: team",
    "user_budget_usd": "an entry of budgets with scope: user",
    "budget": f"max_cost_usd, {_USD}, or an entry of budgets",
    "tokens": "max_tokens",
    "max_execution_tokens": "max_tokens",
    "max_total_tokens": "max_tokens",
    "max_output_tokens": "max_output_tokens_per_call",
    "turns": "max_model_calls (requests to the model), or max_turns (prompts)",
    "max_iter": "max_tool_calls",
    "max_steps": "max_model_calls (requests to the model), or max_tool_calls",
    "spawns": "max_spawns",
    "depth": "max_depth, one less: it counts the levels below the agent",
    "preset": "it under circuit_breakers.roles.<role>: a preset belongs to a role",
    "loop_detection": "max_repeated_calls and max_repeated_errors",
    "idle_timeout": f"max_idle_duration, {_SECONDS}",
    "rate_limit": "rate.starts_per_user_per_hour, in the operator's file",
}
"""What the seeds and other tools call our keys."""


Whole = TypeVar("Whole")
Money = TypeVar("Money")


class PerLimit(Strict, Generic[Whole, Money]):
    """Something for each limit of the catalogue."""

    max_iterations: Whole | None = None
    max_tool_calls: Whole | None = None
    max_turns: Whole | None = None
    max_active_duration: Whole | None = None
    max_sleep_duration: Whole | None = None
    max_model_calls: Whole | None = None
    max_tokens: Whole | None = None
    max_output_tokens_per_call: Whole | None = None
    max_cost_usd: Money | None = None
    max_planning_cost_usd: Money | None = None
    max_execution_cost_usd: Money | None = None
    max_consecutive_tools: Whole | None = None
    max_tool_calls_per_turn: Whole | None = None
    max_repeated_errors: Whole | None = None
    max_repeated_calls: Whole | None = None
    max_unrunnable_tests: Whole | None = None
    max_spawns: Whole | None = None
    max_depth: Whole | None = None
    max_idle_duration: Whole | None = None
    max_review_rounds: Whole | None = None


class LimitTable(PerLimit[int, float]):
    """A value for each limit."""

    other_names: ClassVar = OTHER_NAMES
    null_means_no_bound: ClassVar = False
    """Whether every limit takes `null`, those too that cannot be switched off."""

    @field_validator(*LimitName)
    @classmethod
    def _limit_in_range(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is None and cls.null_means_no_bound:
            return None
        name = LimitName(str(info.field_name))
        try:
            in_range(name, value)
        except ValueError as error:  # the place says the name already
            raise ValueError(str(error).removeprefix(f"{name} ")) from error
        return value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        properties = handler.resolve_ref_schema(schema)["properties"]
        for name, info in CATALOGUE.items():
            properties[name] = _described(info, or_null=cls.null_means_no_bound or info.optional)
        return schema


def _described(info: LimitInfo, *, or_null: bool) -> JsonSchemaValue:
    """One limit for the JSON Schema."""
    kind = "number" if info.is_money else "integer"
    default = "off" if info.default is None else info.default
    return {
        "type": [kind, "null"] if or_null else kind,
        "minimum": info.least,
        "maximum": info.most,
        "description": f"{info.unit}, built-in: {default}. Counted: {info.counted}. "
        f"Not counted: {info.not_counted}. {info.why}",
    }


class OnLimit(PerLimit[ActionName, ActionName]):
    """What happens at each limit; `default` is for those that no layer names."""

    default: ActionName | None = None

    other_names: ClassVar = OTHER_NAMES

    @field_validator("default", *LimitName)
    @classmethod
    def _can(cls, value: Action | None, info: ValidationInfo) -> Action:
        name = str(info.field_name)
        if value is None:
            raise ValueError(f"must be an action ({', '.join(Action)}), not nothing (null)")
        if name != DEFAULT_ACTION and value not in CATALOGUE[LimitName(name)].actions:
            raise ValueError(f"cannot {value}: it always escalates")
        return value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        section = handler.resolve_ref_schema(schema)
        able = {str(name): sorted(info.actions) for name, info in CATALOGUE.items()}
        able[DEFAULT_ACTION] = sorted(Action)
        section["properties"] = {name: {"enum": actions} for name, actions in able.items()}
        return schema


class _OrAction:
    """An action alone is said of every limit that can do so and has no action of its own, whatever
    the layers below say."""

    @staticmethod
    def expanded(value: object) -> object:
        if value is None or isinstance(value, dict):
            return value
        if not isinstance(value, str):
            raise ValueError(f"must be an action or a mapping (limit: action), not {shown(value)}")
        chosen = action(value)
        able = (
            info.name
            for info in CATALOGUE.values()
            if chosen in info.actions and info.own_action is None
        )
        return dict.fromkeys((DEFAULT_ACTION, *able), value)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [{"enum": sorted(Action)}, handler(core_schema)]}


class LimitKeys(LimitTable):
    """What may be said about limits in every layer; `null` switches a limit off."""

    warning_threshold: float = Field(
        default=Limits.warning_threshold,
        json_schema_extra={"exclusiveMinimum": 0, "maximum": 1},
    )
    """Part of a limit, above 0 and at most 1, at which the agent is warned."""
    summary_wait: int = Field(
        default=Limits.summary_wait,
        json_schema_extra={"minimum": 0, "maximum": MAX_SUMMARY_WAIT_SECONDS},
    )
    """Seconds that a stopped agent has to summarise."""
    running_tool_wait: int = Field(
        default=Limits.running_tool_wait,
        json_schema_extra={"minimum": 0, "maximum": MAX_RUNNING_TOOL_WAIT_SECONDS},
    )
    """Seconds that a tool which runs when its agent is stopped may still take before that."""
    max_review_wait: int = Field(
        default=Limits.max_review_wait,
        json_schema_extra={
            "minimum": 1,
            "maximum": CATALOGUE[LimitName.MAX_SLEEP_DURATION].most,
        },
    )
    """Seconds that a pull request waits for its review before the agent is done."""
    iteration_mode: IterationMode = Limits.iteration_mode
    """What an iteration is: a fix cycle, or every test run."""
    on_limit: Annotated[OnLimit, BeforeValidator(_OrAction.expanded), _OrAction] = OnLimit()
    """What happens at a limit: one action for all, or a mapping of limits (and `default`)."""
    shadow: Several[Limit] = ()
    """Limits that are judged and shown, never acted on."""

    @field_validator("warning_threshold", "summary_wait", "running_tool_wait", "max_review_wait")
    @classmethod
    def _setting_in_range(cls, value: float, info: ValidationInfo) -> float:
        name = str(info.field_name)
        settings: dict[str, Any] = {name: value}
        try:
            Limits(**settings)
        except ValueError as error:
            raise ValueError(str(error).removeprefix(f"{name} ")) from error
        return value


class RoleLimitKeys(LimitKeys):
    """Limits of one role."""

    preset: PresetName | None = None
    """A named set of limits, below everything else that is said about the role."""


class Ceilings(LimitTable):
    """The operator's bounds; `null` is no bound. No repository and no raise goes above."""

    null_means_no_bound: ClassVar = True
