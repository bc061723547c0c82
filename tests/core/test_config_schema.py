"""The JSON Schema says the same as the loader, about everything that a schema can say."""

from pathlib import Path

import jsonschema_rs
import pytest
from jsonschema_rs import Draft202012Validator

from app.config.agentfile import read_agent_file
from app.config.builtin import BUILT_IN_ROLES
from app.config.jsonschema import FileKind, json_schema
from app.config.operator import OperatorConfig, read_operator
from app.config.repository import read_repository
from app.config.yamltree import parse, read_document
from app.core.limits import CATALOGUE, LimitName
from tests.core.test_config_hostile import MONEY
from tests.core.test_config_operator import EVERYTHING, MISTAKES
from tests.core.test_config_repository import ALL_DEFAULTS, SEED_002

PROJECT = Path(__file__).parents[2]
SCHEMAS = {
    kind: Draft202012Validator(dict(json_schema(kind))) for kind in ("config", "agent", "operator")
}

EXAMPLES = PROJECT / "tests/data/examples"
DOCUMENTED = (EXAMPLES / "config.yaml").read_text()
DOCUMENTED_OPERATOR = (EXAMPLES / "operator.yaml").read_text()


def by_schema(kind: FileKind, content: str) -> bool:
    return SCHEMAS[kind].is_valid(parse(content).plain())


def by_loader(kind: FileKind, content: str) -> bool:
    """Whether the file is right by itself; a role's missing agent file is another matter."""
    match kind:
        case "config":
            agents = dict.fromkeys(("agents/custom.md", "agents/researcher.md"), "Work.")
            files = {"agents/bug-fix.md": "Work.", **agents, "config.yaml": content}
            return not read_repository(files, OperatorConfig()).problems
        case "agent":
            return not isinstance(read_agent_file(f"---\n{content}\n---\nWork."), tuple)
        case "operator":
            return not read_operator(content, "op").problems


@pytest.mark.parametrize("kind", SCHEMAS)
def test_it_is_a_valid_schema_of_2020_12(kind: FileKind) -> None:
    jsonschema_rs.meta.validate(dict(json_schema(kind)))


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("config", DOCUMENTED),
        ("config", SEED_002),
        ("config", ALL_DEFAULTS),
        ("config", MONEY),
        ("config", (PROJECT / ".squadron/config.yaml").read_text()),
        ("operator", DOCUMENTED_OPERATOR),
        ("operator", EVERYTHING),
    ],
)
def test_the_documented_files_are_valid(kind: FileKind, content: str) -> None:
    assert list(SCHEMAS[kind].iter_errors(read_document(content).plain())) == []
    assert by_loader(kind, content)


@pytest.mark.parametrize("role", BUILT_IN_ROLES)
@pytest.mark.parametrize("place", ["app/config/roles", ".squadron/agents"])
def test_the_agent_files_of_this_project_are_valid(place: str, role: str) -> None:
    head = (PROJECT / place / f"{role}.md").read_text().split("---\n")[1]
    assert list(SCHEMAS["agent"].iter_errors(parse(head).plain())) == []


def borders(name: LimitName) -> list[str]:
    info = CATALOGUE[name]
    step = 0.001 if info.is_money else 1
    values = [info.least - step, info.least, info.most, info.most + step, -1, 0]
    return [f"{value:.3f}" if info.is_money else f"{value:.0f}" for value in values]


LIMIT_VALUES = [
    *((name, value) for name in LimitName for value in (*borders(name), "null", "true", "'5'")),
    *(("warning_threshold", value) for value in ("0", "0.001", "1", "1.001", "-1", "null")),
    *(("summary_wait", value) for value in ("-1", "0", "600", "601", "0.5")),
    *(("running_tool_wait", value) for value in ("-1", "0", "600", "601", "0.5")),
    *(("max_review_wait", value) for value in ("0", "1", "31536000", "31536001", "null")),
    *(("iteration_mode", value) for value in ("fix_cycles", "test_runs", "runs")),
    *(("shadow", value) for value in ("[]", "[max_turns]", "[max_turn]", "max_turns", "[1]")),
    *(("on_limit", value) for value in ("pause", "warn", "stop", "{}", "{default: pause}", "3")),
    *(("on_limit", f"{{max_sleep_duration: {value}}}") for value in ("escalate", "pause", "null")),
    *(("on_limit", f"{{{key}: warn}}") for key in ("max_turns", "max_turn", "all")),
    *(("preset", value) for value in ("qa", "null", "tester", "1")),
    *(("max_tool_cals", value) for value in ("1",)),
    *(("max_duration_ms", value) for value in ("600000",)),
]


@pytest.mark.parametrize(("key", "value"), LIMIT_VALUES)
def test_both_say_the_same_about_a_limit_wherever_it_stands(key: str, value: str) -> None:
    said = f"{key}: {value}"
    files: list[tuple[FileKind, str]] = [
        ("config", f"circuit_breakers: {{defaults: {{{said}}}}}"),
        ("config", f"circuit_breakers: {{roles: {{bug-fix: {{{said}}}}}}}"),
        ("agent", said),
        ("operator", f"defaults: {{{said}}}"),
        ("operator", f"ceilings: {{{said}}}"),
    ]
    for kind, content in files:
        assert by_schema(kind, content) == by_loader(kind, content), content


OTHER_CONFIG = [
    "",
    "enabled: 1",
    "budgets: []",
    "budgets: null",
    "roles: null",
    "roles: {custom: {planning_model: gpt-5}}",
    "roles: {custom: {planning_model: 'openai:gpt-5', model: 'anthropic:x'}}",
    "roles: {custom: {tools: [view, veiw]}}",
    "roles: {Custom: {}}",
    "trust: {start: reed}",
    "trust: {logins: [octocat], bots: ['dependabot[bot]']}",
    "trust: {bots: ['*']}",
    "trust: {teams: [octo/core, octo/docs.team]}",
    "trust: {teams: [core]}",
    "trust: {teams: [a/b, a/b, a/b, a/b, a/b, a/b, a/b, a/b, a/b, a/b, a/b]}",
    "triggers: {events: {push: pm}}",
    "triggers: {labels: {x: Y}}",
    "escalation: {max_issue_depth: 4}",
    "escalation: {mention: ['@octo/team']}",
    "escalation: {mention: [octo]}",
    "budgets: [{scope: user, window: day, max_cost_usd: 0.01}]",
    "budgets: [{scope: user, window: day, max_cost_usd: 0.009}]",
    "budgets: [{scope: user, window: day, max_cost_usd: 1000000}]",
    "budgets: [{scope: user, window: day, max_cost_usd: 1000001}]",
    "budgets: [{scope: user, window: day}]",
    "budgets: [{scope: installation, window: day, max_cost_usd: 1}]",
    "budgets: [{scope: issue, name: 12, window: total, max_cost_usd: 1}]",
    "budgets: [{scope: issue, name: [12], window: total, max_cost_usd: 1}]",
    "budgets: [{scope: issue, name: null, window: hour, max_cost_usd: 1}]",
    "budgets: [{scope: team, window: day, max_cost_usd: 1}]",
    "budgets: [{scope: team, name: null, window: day, max_cost_usd: 1}]",
    "budgets: [{scope: team, name: leads, window: day, max_cost_usd: 1}]",
    "budgets: [{scope: role, window: day, max_cost_usd: 1}]",
]


@pytest.mark.parametrize("content", OTHER_CONFIG)
def test_both_say_the_same_about_a_repositorys_file(content: str) -> None:
    assert by_schema("config", content) == by_loader("config", content)


OTHER_OPERATOR = [
    "",
    "adaptive: off",
    "adaptive: apply",
    "on_unmeasurable: stop",
    "rate:",
    "alerts: {webhook: 'https://chat.example/hook?key=1'}",
    "alerts: {cost_usd_per_hour: 0.009}",
    "alerts: {trips_per_hour: 0}",
    "rate: {starts_per_user_per_hour: 100000}",
    "pricing: {m: {input: 1000000, output: 0, cache_write: null}}",
    "pricing: {m: {input: 1000001, output: 0}}",
    "pricing: {m: null}",
    "budgets: [{scope: installation, window: month, max_cost_usd: 1}]",
    "budgets: [{scope: team, window: day, max_cost_usd: 1}]",
    "budgets: [{scope: team, name: octo/leads, window: day, max_cost_usd: 1}]",
    "alerts: {webhook: 'http://localhost:8025/hook?key=1'}",
    "alerts: {webhook: 'http://127.0.0.1/hook'}",
    "alerts: {webhook: 'http://127.255.255.255:80'}",
    "alerts: {webhook: 'http://[::1]:8025'}",
    "alerts: {webhook: 'http://127.0.0.256/'}",
    "alerts: {webhook: 'http://localhost.example/'}",
    "models: []",
    "models: ['*', 'openai:gpt-?']",
    "sandbox:",
    "sandbox: {}",
    "sandbox: {mode: off}",
    "sandbox: {mode: best_effort, egress: [], mounts: [/opt/tools, /tmpx, /agents, /opt/tmp]}",
    "sandbox: {mode: required, egress: [pypi.org, '*.example.org', a1.b2, x-1.org]}",
    "workers: {agents: 99999999999999999999}",
]
OUT_OF_REACH = ("budgets: [{", "pricing: {m: {input: .nan")
"""What a schema does not see: names that depend on the scope, and what JSON cannot say."""


@pytest.mark.parametrize(
    "content", [*OTHER_OPERATOR, *(each for each in MISTAKES if not each.startswith(OUT_OF_REACH))]
)
def test_both_say_the_same_about_the_operators_file(content: str) -> None:
    if ".inf" not in content:
        assert by_schema("operator", content) == by_loader("operator", content)


def test_every_key_of_a_limit_says_what_is_counted() -> None:
    definitions = json_schema("config")["$defs"]
    assert isinstance(definitions, dict)
    for name, info in CATALOGUE.items():
        described = definitions["LimitKeys"]["properties"][name]
        assert info.counted in described["description"]
        assert (described["minimum"], described["maximum"]) == (info.least, info.most)
