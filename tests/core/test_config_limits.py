"""What a repository says about limits, actions, presets and budgets, and what it comes to."""

import pytest

from app.config.limitkeys import DEFAULT_ACTION, LimitKeys, OnLimit
from app.config.operator import OperatorConfig, read_operator
from app.config.repository import read_repository
from app.core.budgets.budgets import Budget, Scope, Started, Window, keys
from app.core.limits import CATALOGUE, Action, LimitName, Limits
from app.core.limits.presets import PRESETS
from app.core.rules.plan import Layer, Origin, RepositoryPlan, RolePlan

DEFAULTS = "circuit_breakers.defaults"


def problems(config: str) -> list[str]:
    reading = read_repository({"config.yaml": config}, OperatorConfig())
    return [str(each).removeprefix(".squadron/config.yaml:") for each in reading.problems]


def planned(config: str, operator: str = "", **agents: str) -> RepositoryPlan:
    files = {f"agents/{name.replace('_', '-')}.md": text for name, text in agents.items()}
    operated = read_operator(operator, "op").config
    assert operated is not None
    reading = read_repository({"config.yaml": config, **files}, operated)
    assert reading.problems == ()
    assert reading.plan is not None
    return reading.plan


def bug_fix(config: str, operator: str = "", **agents: str) -> RolePlan:
    return planned(config, operator, **agents).roles["bug-fix"]


def defaults(said: str) -> str:
    return f"circuit_breakers: {{defaults: {said}}}"


def test_every_limit_of_the_catalogue_can_be_said() -> None:
    assert set(LimitName) <= set(LimitKeys.model_fields)
    assert set(OnLimit.model_fields) == {DEFAULT_ACTION, *LimitName}


@pytest.mark.parametrize("name", LimitName)
def test_each_limits_range_is_the_catalogues(name: LimitName) -> None:
    info = CATALOGUE[name]
    step = 0.001 if info.is_money else 1
    for value in (info.least, info.most):
        written = f"{value:.3f}" if info.is_money else f"{value:.0f}"
        assert bug_fix(defaults(f"{{{name}: {written}}}")).limits.maximum(name) == value
    for value in (info.least - step, info.most + step, -1):
        written = f"{value:.3f}" if info.is_money else f"{value:.0f}"
        [problem] = problems(defaults(f"{{{name}: {written}}}"))
        assert problem.startswith(f"1:{33 + len(name)}: {DEFAULTS}.{name}: must be "), problem
        assert f"{info.least:.9g} to {info.most:.15g}, not" in problem


@pytest.mark.parametrize("name", LimitName)
@pytest.mark.parametrize("value", ["true", "'5'", "five", ".nan", ".inf", "-.inf", "[5]", "{a: 5}"])
def test_no_limit_is_guessed_from_what_is_no_number(name: LimitName, value: str) -> None:
    [problem] = problems(defaults(f"{{{name}: {value}}}"))
    expected = ("a number", "a finite number") if CATALOGUE[name].is_money else ("a whole number",)
    place = f"1:{33 + len(name)}: {DEFAULTS}.{name}"
    assert problem.startswith(tuple(f"{place}: must be {each}, not " for each in expected)), problem


@pytest.mark.parametrize("name", LimitName)
def test_null_switches_off_what_can_be_switched_off(name: LimitName) -> None:
    config = defaults(f"{{{name}: null}}")
    if CATALOGUE[name].optional:
        assert bug_fix(config).limits.maximum(name) is None
    else:
        [problem] = problems(config)
        assert problem.endswith(f"{DEFAULTS}.{name}: cannot be switched off")


def test_money_is_whole_or_broken_and_everything_else_is_whole() -> None:
    limits = bug_fix(defaults("{max_cost_usd: 3, max_planning_cost_usd: 0.5}")).limits
    assert (limits.max_cost_usd, limits.max_planning_cost_usd) == (3, 0.5)
    assert problems(defaults("{max_tokens: 1e6}")) == [
        f"1:43: {DEFAULTS}.max_tokens: must be a whole number, not 1000000.0"
    ]


OTHER_WORDS = {
    "max_duration_ms: 600000": "write max_active_duration, in seconds",
    "timeout: 10": "write max_active_duration, in seconds",
    "duration_seconds: 600": "write max_active_duration, in seconds",
    "timeout_action: warn": "write on_limit (escalate | pause | warn | request_increase)",
    "max_cost: 1": "write max_cost_usd, in USD",
    "max_total_cost_usd: 1": "write max_cost_usd, in USD",
    "spend: 0.5": "write max_cost_usd, in USD",
    "tokens: 4096": "write max_tokens",
    "max_execution_tokens: 4096": "write max_tokens",
    "turns: 15": "write max_model_calls (requests to the model), or max_turns (prompts)",
    "spawns: 10": "write max_spawns",
    "depth: 5": "write max_depth, one less: it counts the levels below the agent",
    "loop_detection: true": "write max_repeated_calls and max_repeated_errors",
    "team_budget_usd: 100": "write an entry of budgets with scope: team",
}


@pytest.mark.parametrize(("said", "hint"), OTHER_WORDS.items())
def test_the_words_of_the_seeds_are_translated_in_the_message(said: str, hint: str) -> None:
    key = said.partition(":")[0]
    assert problems(defaults(f"{{{said}}}")) == [f"1:31: {DEFAULTS}.{key}: unknown key: {hint}"]


ACTION_MISTAKES = {
    "terminate": '1:41: {at}: unknown action "terminate": write escalate',
    "pasue": '1:41: {at}: unknown action "pasue" (did you mean pause?)',
    "3": "1:41: {at}: must be an action or a mapping (limit: action), not 3",
    "[pause]": "1:41: {at}: must be an action or a mapping (limit: action), not a list",
    "{default: }": "1:50: {at}.default: must be an action "
    "(escalate, pause, warn, request_increase), not nothing (null)",
    "{max_turn: pause}": "1:42: {at}.max_turn: unknown key (did you mean max_turns?)",
    "{max_turns: stop}": '1:53: {at}.max_turns: unknown action "stop": write escalate',
    "{max_sleep_duration: pause}": "1:62: {at}.max_sleep_duration: cannot pause: "
    "it always escalates",
    "{max_output_tokens_per_call: warn}": "1:70: {at}.max_output_tokens_per_call: cannot warn: "
    "it always escalates",
}


@pytest.mark.parametrize(("said", "problem"), ACTION_MISTAKES.items())
def test_a_mistake_in_on_limit_is_said_with_its_place(said: str, problem: str) -> None:
    expected = problem.replace("{at}", f"{DEFAULTS}.on_limit")
    assert problems(defaults(f"{{on_limit: {said}}}")) == [expected]


def test_an_action_alone_is_for_every_limit_that_can() -> None:
    limits = bug_fix(defaults("{on_limit: pause}")).limits
    assert limits == Limits(default_action=Action.PAUSE)
    assert limits.action(LimitName.MAX_TURNS) is Action.PAUSE
    assert limits.action(LimitName.MAX_SLEEP_DURATION) is Action.ESCALATE


def test_a_map_changes_what_it_names_and_an_action_alone_changes_all() -> None:
    config = """
circuit_breakers:
  defaults: {on_limit: {default: warn, max_cost_usd: request_increase, max_turns: warn}}
  roles:
    bug-fix: {on_limit: {max_tool_calls: pause}}
    feat-dev: {on_limit: pause}
    pm: {on_limit: {default: escalate}}
"""
    roles = planned(config).roles
    limits = roles["bug-fix"].limits
    assert limits.default_action is Action.WARN
    assert limits.actions == {
        LimitName.MAX_COST_USD: Action.REQUEST_INCREASE,
        LimitName.MAX_TOOL_CALLS: Action.PAUSE,
    }
    assert roles["feat-dev"].limits == Limits(default_action=Action.PAUSE)
    assert roles["pm"].limits.default_action is Action.ESCALATE
    assert roles["pm"].limits.actions == {
        LimitName.MAX_COST_USD: Action.REQUEST_INCREASE,
        LimitName.MAX_TURNS: Action.WARN,
    }


def test_a_later_shadow_list_takes_the_place_of_an_earlier_one() -> None:
    config = """
circuit_breakers:
  defaults: {shadow: [max_turns, max_cost_usd]}
  roles: {feat-dev: {shadow: []}, pm: {shadow: [max_tokens]}}
"""
    roles = planned(config).roles
    assert roles["bug-fix"].limits.shadow == {LimitName.MAX_TURNS, LimitName.MAX_COST_USD}
    assert roles["feat-dev"].limits.shadow == frozenset()
    assert roles["pm"].limits.shadow == {LimitName.MAX_TOKENS}
    assert roles["pm"].origins["shadow"] == Origin(Layer.REPOSITORY_ROLE)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("[max_turn]", '1:40: {at}[0]: unknown limit "max_turn" (did you mean max_turns?)'),
        ("max_turns", '1:39: {at}: must be a list, not text "max_turns"'),
        ("[[max_turns]]", "1:40: {at}[0]: must be text, not a list"),
    ],
)
def test_a_mistake_in_shadow_is_said_with_its_place(said: str, problem: str) -> None:
    expected = problem.replace("{at}", f"{DEFAULTS}.shadow")
    assert problems(defaults(f"{{shadow: {said}}}")) == [expected]


def test_a_preset_stands_above_all_defaults_and_below_all_that_is_said_of_the_role() -> None:
    config = """
circuit_breakers:
  defaults: {max_tool_calls: 1, max_active_duration: 1, max_cost_usd: 1, max_turns: 1}
  roles: {bug-fix: {preset: researcher, max_active_duration: 2}}
"""
    agent = "---\nmax_cost_usd: 3\n---\nWork."
    plan = bug_fix(config, "defaults: {on_limit: pause}", bug_fix=agent)
    limits = plan.limits
    assert plan.preset == "researcher"
    assert (limits.max_turns, limits.max_tool_calls) == (1, 50)
    assert (limits.max_active_duration, limits.max_cost_usd) == (2, 3)
    assert [plan.origins[key].layer for key in LimitName] == [
        {
            "max_turns": Layer.REPOSITORY,
            "max_tool_calls": Layer.PRESET,
            "max_active_duration": Layer.REPOSITORY_ROLE,
            "max_cost_usd": Layer.AGENT_FILE,
        }.get(key, Layer.BUILT_IN)
        for key in LimitName
    ]
    assert limits.default_action is Action.PAUSE
    assert set(limits.actions.items()) == {
        (LimitName.MAX_TOOL_CALLS, Action.WARN),
        (LimitName.MAX_ACTIVE_DURATION, Action.WARN),
        (LimitName.MAX_COST_USD, Action.WARN),
    }


def test_the_frontmatters_preset_is_the_only_one_and_stays_below_the_repositorys_role() -> None:
    config = "circuit_breakers: {roles: {bug-fix: {preset: researcher, max_cost_usd: 9}}}"
    plan = bug_fix(config, bug_fix="---\npreset: qa\n---\nWork.")
    assert plan.preset == "qa"
    assert (plan.limits.max_tool_calls, plan.limits.max_active_duration) == (10, 120)
    assert plan.limits.max_cost_usd == 9
    assert plan.origins["max_cost_usd"] == Origin(Layer.REPOSITORY_ROLE)
    unnamed = bug_fix(config, bug_fix="---\npreset: null\n---\nWork.")
    assert (unnamed.preset, unnamed.limits.max_tool_calls) == ("researcher", 50)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_named(name: str) -> None:
    limits = bug_fix(f"circuit_breakers: {{roles: {{bug-fix: {{preset: {name}}}}}}}").limits
    preset = PRESETS[name]
    assert {limit: limits.maximum(limit) for limit in preset.limits} == preset.limits
    assert {limit: limits.action(limit) for limit in preset.actions} == preset.actions
    others = set(LimitName) - set(preset.limits)
    assert all(limits.maximum(limit) == CATALOGUE[limit].default for limit in others)


def test_a_preset_that_does_not_exist_breaks_its_role_with_its_place() -> None:
    config = "circuit_breakers: {roles: {pm: {preset: develper}}}"
    reading = read_repository({"config.yaml": config}, OperatorConfig())
    assert [str(problem) for problem in reading.problems] == [
        ".squadron/config.yaml:1:41: circuit_breakers.roles.pm.preset: "
        'there is no preset "develper" (did you mean developer?)'
    ]
    assert reading.plan is not None
    assert set(reading.plan.broken) == {"pm"}


def test_ceilings_cap_everything_and_are_known_to_the_breaker() -> None:
    config = """
circuit_breakers:
  defaults:
    {max_turns: null, max_cost_usd: 30, max_tool_calls: 90, on_limit: warn, shadow: [max_turns]}
"""
    operator = "ceilings: {max_turns: 40, max_cost_usd: 25, max_tool_calls: 100, max_tokens: 1000}"
    plan = bug_fix(config, operator)
    limits = plan.limits
    assert (limits.max_turns, limits.max_cost_usd, limits.max_tool_calls) == (40, 25, 90)
    assert limits.max_tokens == 1000
    assert limits.ceilings == {
        LimitName.MAX_TURNS: 40,
        LimitName.MAX_COST_USD: 25,
        LimitName.MAX_TOOL_CALLS: 100,
        LimitName.MAX_TOKENS: 1000,
    }
    assert plan.origins["max_turns"] == Origin(Layer.REPOSITORY, "ceiling")
    assert plan.origins["max_tokens"] == Origin(Layer.BUILT_IN, "ceiling")
    assert plan.origins["max_tool_calls"] == Origin(Layer.REPOSITORY)


def test_a_ceiling_caps_a_preset_too() -> None:
    config = "circuit_breakers: {roles: {bug-fix: {preset: architect}}}"
    plan = bug_fix(config, "ceilings: {max_cost_usd: 0.5}")
    assert plan.limits.max_cost_usd == 0.5
    assert plan.origins["max_cost_usd"] == Origin(Layer.PRESET, "ceiling")


def test_budgets_of_a_repository_count_inside_it_alone() -> None:
    config = """
budgets:
- {scope: repository, window: month, max_cost_usd: 100}
- {scope: role, name: feat-dev, window: day, max_cost_usd: 20}
- {scope: team, name: leads, window: week, max_cost_usd: 0.1}
- {scope: issue, name: 12, window: total, max_cost_usd: 5}
- {scope: user, window: day, max_cost_usd: 10}
"""
    plan = planned(config)
    assert plan.budgets == (
        Budget(Scope.REPOSITORY, Window.MONTH, 100_000_000_000),
        Budget(Scope.ROLE, Window.DAY, 20_000_000_000, "feat-dev"),
        Budget(Scope.TEAM, Window.WEEK, 100_000_000, "leads"),
        Budget(Scope.ISSUE, Window.TOTAL, 5_000_000_000, "12"),
        Budget(Scope.USER, Window.DAY, 10_000_000_000),
    )
    started = Started("Octo/Demo", 12, "feat-dev", "ada", ("octo/leads",))
    assert all(keys(budget, started) for budget in plan.budgets_of("octo/demo"))
    assert not any(keys(budget, started) for budget in plan.budgets_of("octo/other"))


BUDGET_MISTAKES = {
    "{scope: installation, window: day, max_cost_usd: 1}": "1:19: budgets[0].scope: must be "
    "'repository', 'team', 'role', 'issue' or 'user', not text \"installation\"",
    "{scope: repository, name: octo/demo, window: day, max_cost_usd: 1}": "1:37: budgets[0].name: "
    "leave it out: the repository of this file is meant",
    "{scope: issue, name: octo/demo#1, window: day, max_cost_usd: 1}": "1:32: budgets[0].name: "
    'must be the number of an issue (12), not "octo/demo#1"',
    "{scope: issue, name: 0, window: day, max_cost_usd: 1}": "1:32: budgets[0].name: "
    'must be the number of an issue (12), not "0"',
    "{scope: issue, name: true, window: day, max_cost_usd: 1}": "1:32: budgets[0].name: "
    "must be text, not true",
    "{scope: role, name: Feat Dev, window: day, max_cost_usd: 1}": "1:31: budgets[0].name: "
    'must be the name of a role (bug-fix), not "Feat Dev"',
    "{scope: team, name: null, window: day, max_cost_usd: 1}": "1:31: budgets[0].name: "
    "must be a team (leads, or octo/leads): one entry for each team",
    "{scope: role, window: hour, max_cost_usd: 1}": "1:33: budgets[0].window: must be "
    "'day', 'week', 'month' or 'total', not text \"hour\"",
    "{scope: role, window: day, max_cost_usd: 0}": "1:52: budgets[0].max_cost_usd: "
    "must be at least 0.01, not 0",
    "{scope: role, window: day, max_cost_usd: 1000001}": "1:52: budgets[0].max_cost_usd: "
    "must be at most 1000000, not 1000001",
    "{scope: role, window: day}": "1:11: budgets[0].max_cost_usd: must be given",
}


@pytest.mark.parametrize(("budget", "problem"), BUDGET_MISTAKES.items())
def test_a_mistake_in_a_budget_is_said_with_its_place(budget: str, problem: str) -> None:
    assert problems(f"budgets: [{budget}]") == [problem]
