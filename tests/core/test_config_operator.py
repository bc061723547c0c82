"""The operator's file: what it says, and every mistake in it with its place."""

from decimal import Decimal
from pathlib import Path

import pytest

from app.config.operator import Endpoint, OperatorConfig, SandboxRules, read_operator
from app.core.budgets.budgets import Budget, Scope, Window
from app.core.money import Price
from app.core.rules.caps import Caps
from app.core.rules.plan import Alerts

EVERYTHING = """\
defaults: {max_turns: 9, on_limit: pause}
ceilings: {max_cost_usd: 25, max_active_duration: 14400, max_turns: 9, max_depth: 0, max_tokens: }
models: ["a:*"]
pricing: {m: {input: 1.1, output: 5, cache_read: 0.1, cache_write: 1.375}, local: {input: 0,
  output: 0}}
on_unmeasurable: stop
budgets:
- {scope: installation, window: month, max_cost_usd: 1000}
- {scope: team, name: octo/leads, window: week, max_cost_usd: 100.5}
- {scope: user, window: day, max_cost_usd: 10}
- {scope: issue, name: "octo/demo#12", window: total, max_cost_usd: 0.01}
- {scope: repository, name: octo/demo.js, window: day, max_cost_usd: 3}
rate: {starts_per_user_per_hour: 20}
alerts: {cost_usd_per_hour: 2.5, trips_per_hour: 3, webhook: "https://chat.example/hook?key=1"}
adaptive: propose
reconciliation_interval: 7
workers: {agents: 2, per_repository: 3, per_role: {docs: 1}}
sandbox: {mode: off}
providers: {openai: {base_url: "http://h:9/v1/"}, anthropic: {api_key_file: keys/anthropic}}
"""


def messages(content: str) -> list[str]:
    return [str(problem) for problem in read_operator(content, "op").problems]


def test_it_says_everything() -> None:
    reading = read_operator(EVERYTHING, "/etc/squadron/op")
    assert reading.problems == ()
    config = reading.config
    assert config is not None
    assert config.defaults.keys["max_turns"] == 9
    assert config.ceilings == {
        "max_cost_usd": 25, "max_active_duration": 14_400, "max_turns": 9, "max_depth": 0,
    }  # fmt: skip
    assert (config.models, config.on_unmeasurable, config.adaptive) == (("a:*",), "stop", "propose")
    assert config.budgets == (
        Budget(Scope.INSTALLATION, Window.MONTH, 1_000_000_000_000),
        Budget(Scope.TEAM, Window.WEEK, 100_500_000_000, "octo/leads"),
        Budget(Scope.USER, Window.DAY, 10_000_000_000),
        Budget(Scope.ISSUE, Window.TOTAL, 10_000_000, "octo/demo#12"),
        Budget(Scope.REPOSITORY, Window.DAY, 3_000_000_000, "octo/demo.js"),
    )
    assert config.starts_per_user_per_hour == 20
    assert config.alerts == Alerts(2.5, 3, "https://chat.example/hook?key=1")
    assert (config.reconciliation_interval_seconds, config.worker_agents) == (7, 2)
    assert config.caps == Caps(per_repository=3, per_role={"docs": 1})
    assert config.providers == {
        "openai": Endpoint("http://h:9/v1"),
        "anthropic": Endpoint(api_key_file=Path("/etc/squadron/keys/anthropic")),
    }


def test_prices_are_the_decimals_that_were_written() -> None:
    config = read_operator(EVERYTHING, "op").config
    assert config is not None
    written = Price(Decimal("1.1"), Decimal(5), Decimal("0.1"), Decimal("1.375"))
    assert config.pricing == {"m": written, "local": Price(Decimal(0), Decimal(0))}
    assert (
        config.pricing["m"].cost_nanousd(input_tokens=1_000_000, output_tokens=0) == 1_100_000_000
    )


def test_an_empty_file_and_a_file_that_spells_out_the_defaults_are_the_same() -> None:
    spelled = (
        "defaults: {}\nceilings: {}\npricing:\nbudgets: []\non_unmeasurable: warn\nadaptive: off\n"
        "rate: {starts_per_user_per_hour: 100}\nreconciliation_interval: 300\n"
        "workers: {agents: 4}\n"
        "alerts: {cost_usd_per_hour: 10, trips_per_hour: 5, webhook: null}\n"
    )
    empty, full = read_operator("", "op").config, read_operator(spelled, "op").config
    assert empty is not None
    assert full is not None
    names = set(OperatorConfig.__dataclass_fields__) - {"defaults"}
    assert {name: getattr(empty, name) for name in names} == {
        name: getattr(full, name) for name in names
    }
    assert full.alerts == Alerts(cost_usd_per_hour=10, trips_per_hour=5, webhook=None)


@pytest.mark.parametrize("word", ["off", "propose", "apply"])
def test_off_is_a_word_and_not_false(word: str) -> None:
    config = read_operator(f"adaptive: {word}", "op").config
    assert config is not None
    assert config.adaptive == word


MISTAKES = {
    "defaults: {max_turns: 0}": "1:23: defaults.max_turns: must be 1 to 100000, not 0",
    "defaults: {preset: qa}": "1:12: defaults.preset: unknown key: write it under "
    "circuit_breakers.roles.<role>: a preset belongs to a role",
    "ceilings: {max_turn: 3}": "1:12: ceilings.max_turn: unknown key (did you mean max_turns?)",
    "ceilings: {max_cost_usd: 0}": "1:26: ceilings.max_cost_usd: must be 0.01 to 1000000, not 0.0",
    "ceilings: {max_tokens: -1}": "1:24: ceilings.max_tokens: must be 1 to 10000000000, not -1",
    "ceilings: {max_turns: .inf}": "1:23: ceilings.max_turns: must be a whole number, not inf",
    "ceilings: {spend: 3}": "1:12: ceilings.spend: unknown key: write max_cost_usd, in USD",
    "ceilings: {on_limit: warn}": "1:12: ceilings.on_limit: unknown key",
    "sandbox: {mode: strict}": "1:17: sandbox.mode: must be 'required', 'best_effort' or 'off', "
    'not text "strict"',
    "sandbox: off": '1:10: sandbox: must be a mapping (key: value), not text "off"',
    "sandbox: {mode: off, egres: []}": "1:22: sandbox.egres: unknown key (did you mean egress?)",
    "sandbox: {mode: off, egress: [https://pypi.org]}": "1:31: sandbox.egress[0]: must be the name "
    'of a host (like pypi.org or *.pypi.org), not "https://pypi.org"',
    "sandbox: {mode: off, egress: ['*']}": "1:31: sandbox.egress[0]: must be the name "
    'of a host (like pypi.org or *.pypi.org), not "*"',
    "sandbox: {mode: off, egress: ['*.org']}": "1:31: sandbox.egress[0]: must be the name "
    'of a host (like pypi.org or *.pypi.org), not "*.org"',
    "sandbox: {mode: off, egress: [10.0.0.1]}": "1:31: sandbox.egress[0]: must be the name "
    'of a host (like pypi.org or *.pypi.org), not "10.0.0.1"',
    "sandbox: {mode: off, mounts: [tools]}": "1:31: sandbox.mounts[0]: must be an absolute path "
    '(like /opt/tools), not "tools"',
    "sandbox: {mode: off, mounts: [/opt/../etc]}": "1:31: sandbox.mounts[0]: must be an absolute "
    'path (like /opt/tools), not "/opt/../etc"',
    "sandbox: {mode: off, mounts: [/opt/tools, /tmp]}": '1:43: sandbox.mounts[1]: "/tmp" would be '
    "hidden by the /tmp that each sandbox has of its own: move it elsewhere (like /opt/tools)",
    "sandbox: {mode: off, mounts: [/agent/home]}": '1:31: sandbox.mounts[0]: "/agent/home" would be'
    " hidden by the /agent that each sandbox has of its own: move it elsewhere (like /opt/tools)",
    "sandbox: {mode: off, mounts: [/tmp/tools]}": '1:31: sandbox.mounts[0]: "/tmp/tools" would be '
    "hidden by the /tmp that each sandbox has of its own: move it elsewhere (like /opt/tools)",
    "providers: {opena: {api_key_file: k}}": '1:13: providers.opena: unknown provider "opena" '
    "(did you mean openai?)",
    "providers: {openai: {}}": "1:21: providers.openai: says neither `base_url` nor `api_key_file`",
    "providers: {openai: {base_url: 'https://me:hush@h/v1'}}": "1:32: providers.openai.base_url: "
    "must be an address like https://host/path, without credentials",
    "providers: {openai: {base_url: 'ftp://h'}}": "1:32: providers.openai.base_url: must be an"
    " address like https://host/path, without credentials",
    "providers: {openai: {api_key: hush}}": "1:22: providers.openai.api_key: unknown key "
    "(did you mean api_key_file?)",
    "models: ['']": "1:10: models[0]: a model has a name of 1 to 200 characters without spaces "
    '(like openai:gpt-5), not ""',
    "models: [a b]": "1:10: models[0]: a model has a name of 1 to 200 characters without spaces "
    '(like openai:gpt-5), not "a b"',
    "pricing: {'': {input: 1, output: 1}}": '1:11: pricing."": a model has a name of 1 to 200 '
    'characters without spaces (like openai:gpt-5), not ""',
    "workers: {agents: 99999999999999999999}": "1:19: workers.agents: must be at most 64, "
    "not 99999999999999999999",
    "workers: {agents: 65}": "1:19: workers.agents: must be at most 64, not 65",
    "workers: {per_repository: 0}": "1:27: workers.per_repository: must be at least 1, not 0",
    "workers: {per_role: {docs: 0}}": "1:28: workers.per_role.docs: must be at least 1, not 0",
    "reconciliation_interval: 0": "1:26: reconciliation_interval: must be at least 1, not 0",
    "pricing: {m: {output: 1}}": "1:14: pricing.m.input: must be given",
    "pricing: {m: {input: -1, output: 1}}": "1:22: pricing.m.input: must be at least 0, not -1",
    "pricing: {m: {input: .nan, output: 1}}": "1:22: pricing.m.input: must be a finite number, "
    "not nan",
    "on_unmeasurable: ask": "1:18: on_unmeasurable: must be 'warn' or 'stop', not text \"ask\"",
    "adaptive: false": "1:11: adaptive: must be 'off', 'propose' or 'apply', not false",
    "rate: {starts_per_user_per_hour: 0}": "1:34: rate.starts_per_user_per_hour: "
    "must be at least 1, not 0",
    "rate: {starts_per_user_per_hour: 100001}": "1:34: rate.starts_per_user_per_hour: "
    "must be at most 100000, not 100001",
    "alerts: {webhook: 'http://127.0.0.1.example/hook'}": "1:19: alerts.webhook: "
    "must be an address like https://host/path, without user and fragment (http only for "
    "localhost)",
    "alerts: {webhook: 'http://localhost@chat.example/hook'}": "1:19: alerts.webhook: "
    "must be an address like https://host/path, without user and fragment",
    "alerts: {webhook: 'http://chat.example/hook'}": "1:19: alerts.webhook: "
    "must be an address like https://host/path, without user and fragment",
    "alerts: {webhook: 'https://u:secret@chat.example'}": "1:19: alerts.webhook: "
    "must be an address like https://host/path, without user and fragment",
    "alerts: {cost_usd_per_hour: null}": "1:29: alerts.cost_usd_per_hour: must be a number, "
    "not nothing (null)",
    "budgets: [{scope: role, window: day}]": "1:11: budgets[0].max_cost_usd: must be given",
    "budgets: [{scope: issue, name: 12, window: day, max_cost_usd: 1}]": "1:32: budgets[0].name: "
    'must be an issue (octo/demo#12), not "12"',
    "budgets: [{scope: team, name: leads, window: day, max_cost_usd: 1}]": "1:31: budgets[0].name: "
    'must be a team (octo/leads), not "leads"',
    "budgets: [{scope: team, window: day, max_cost_usd: 1}]": "1:11: budgets[0].name: "
    "must be a team (octo/leads): one entry for each team",
    "budgets: [{scope: installation, name: a/b, window: day, max_cost_usd: 1}]": "1:39: "
    'budgets[0].name: must be the login of an account (octo), not "a/b"',
    "budgets: [{scope: user, name: a b, window: day, max_cost_usd: 1}]": "1:31: budgets[0].name: "
    'must be a login, not "a b"',
    "budgets: [{scope: user, windo: day, window: day, max_cost_usd: 1}]": "1:25: "
    "budgets[0].windo: unknown key (did you mean window?)",
}


@pytest.mark.parametrize(("content", "problem"), MISTAKES.items())
def test_a_mistake_is_said_with_its_place_and_leaves_no_configuration(
    content: str, problem: str
) -> None:
    reading = read_operator(content, "op")
    assert reading.config is None
    assert len(reading.problems) == 1
    assert str(reading.problems[0]).startswith(f"op:{problem}")


def test_a_default_above_a_ceiling_of_the_same_file_is_a_contradiction() -> None:
    content = (
        "defaults:\n  max_turns: 41\n  max_cost_usd: 2\n  max_iterations: 5\n"
        "  max_tool_calls: null\n"
        "ceilings: {max_turns: 40, max_cost_usd: 1.5, max_iterations: 5, max_tool_calls: 100}\n"
    )
    assert messages(content) == [
        "op:2:14: defaults.max_turns: 41 is above this file's own ceilings.max_turns of 40",
        "op:3:17: defaults.max_cost_usd: 2.0 is above this file's own ceilings.max_cost_usd of 1.5",
    ]
    assert messages(content.replace("41", "40").replace("max_cost_usd: 2", "max_cost_usd: 1")) == []


@pytest.mark.parametrize(
    "address",
    [
        "https://chat.example/hook",
        "http://localhost:8025/hook",
        "http://LocalHost",
        "http://127.0.0.1:8025/hook?key=1",
        "http://127.8.9.10",
        "http://[::1]:8025/hook",
    ],
)
def test_alerts_go_by_https_or_to_this_very_machine(address: str) -> None:
    config = read_operator(f"alerts: {{webhook: '{address}'}}", "op").config
    assert config is not None
    assert config.alerts.webhook == address


@pytest.mark.parametrize("mode", ["required", "best_effort", "off"])
def test_a_sandbox_that_is_asked_for_is_known_as_it_was_written(mode: str) -> None:
    config = read_operator(f"sandbox: {{mode: {mode}, mounts: [/opt/tools]}}", "op").config
    assert config is not None
    assert (config.sandbox.mode, config.sandbox.mounts) == (mode, (Path("/opt/tools"),))


@pytest.mark.parametrize("content", ["", "sandbox:", "sandbox: {}", "sandbox: {mounts: []}"])
def test_who_says_nothing_of_the_mode_wants_the_sandbox(content: str) -> None:
    config = read_operator(content, "op").config
    assert config is not None
    assert config.sandbox == OperatorConfig().sandbox == SandboxRules("required")


def test_a_way_out_of_the_sandbox_is_known_as_it_was_written() -> None:
    config = read_operator(
        "sandbox: {mode: required, egress: [pypi.org, '*.pythonhosted.org', 3d.example.org]}", "op"
    ).config
    assert config is not None
    assert config.sandbox.egress == ("pypi.org", "*.pythonhosted.org", "3d.example.org")
