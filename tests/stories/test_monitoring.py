"""What `/metrics` shows of an installation, and that `deploy/` asks for nothing else."""

import json
import math
import re
from pathlib import Path
from typing import Any

import httpx
import promql_parser as promql
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.web.application import Application
from tests.support.people import repository
from tests.support.steps import completes, is_blocked, runs
from tests.twins.story import Story, story

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus-rules.yml").read_text())["groups"]
    for rule in group["rules"]
]
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
EXPRESSIONS = [
    *(str(target["expr"]) for panel in PANELS for target in panel["targets"]),
    *(str(rule["expr"]) for rule in RULES),
]

ROLES: dict[str, Any] = {
    "docs": {"tests": "none"},
    "limited": {"max_tool_calls": 1, "tests": "none"},
    "pauser": {"max_tool_calls": 1, "on_limit": "pause", "tests": "none"},
}
BUDGETS = {
    "budgets": [
        {"scope": "role", "name": "docs", "window": "day", "max_cost_usd": 5},
        {"scope": "issue", "window": "total", "max_cost_usd": 9},
    ]
}
PRICES = {"pricing": {"scripted": {"input": 100, "output": 0}}}

Labels = frozenset[tuple[str, str]]


def page(squad: Story) -> str:
    """What a scraper gets."""

    async def ask() -> str:
        transport = httpx.ASGITransport(Application(squad.service))
        async with httpx.AsyncClient(transport=transport, base_url="http://squadron") as client:
            answer = await client.get("/metrics")
        assert answer.status_code == 200
        return answer.text

    return squad.run(ask())


def figures(text: str) -> dict[str, dict[Labels, float]]:
    """What a page says, by name and labels."""
    found: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def labelled(**labels: str) -> Labels:
    return frozenset(labels.items())


@pytest.fixture(scope="module")
def pages() -> tuple[str, str]:
    """What was shown before anything happened, and when there was something to be told by each
    figure."""
    with story({"octo/demo": repository(ROLES, BUDGETS)}, operator=PRICES) as squad:
        squad.settle()
        before = page(squad)
        calls = [runs("echo 1"), runs("echo 2"), runs("echo 3"), completes("Done.")]
        assert squad.state(squad.give("limited", "Stop", *calls)) == (State.ESCALATED, None)
        assert squad.state(squad.give("pauser", "Pause", *calls))[0] is State.PAUSED
        asks = [is_blocked("Which colour?"), completes("None.")]
        assert squad.state(squad.give("docs", "Ask", *asks)) == (State.SLEEPING, Waits.ANSWER)
        squad.passes(minutes=10)
        squad.tolerates("effect")
        path = "/repos/octo/demo/issues/.*/comments"
        with squad.trouble(kind="error", status=500, path=path), squad.without("provider"):
            task = squad.give("docs", "Wait", completes("Late."))
            for _ in range(20):  # it tries again, less and less often
                if squad.state(task) != (State.QUEUED, Waits.PROVIDER):
                    squad.passes(seconds=5)
            assert squad.state(task) == (State.QUEUED, Waits.PROVIDER)
            shown = page(squad)
        for _ in range(15):  # whoever asks waits between two tries: no jump may pass for a hang
            squad.passes(minutes=1)
    return before, shown


def test_agents_and_what_became_of_limits_are_shown(pages: tuple[str, str]) -> None:
    before, shown = map(figures, pages)
    agents = shown["squadron_agents"]
    assert agents[labelled(state="ESCALATED", role="limited")] == 1
    assert agents[labelled(state="PAUSED", role="pauser")] == 1
    assert agents[labelled(state="SLEEPING", role="docs")] == 1
    assert shown["squadron_trips_last_hour"][labelled()] == 1
    judged = shown["squadron_limit_stops_judged"]
    limit = {"limit": "max_tool_calls"}
    assert judged[labelled(**limit, role="limited", judged="right")] == 1
    assert judged[labelled(**limit, role="pauser", judged="open")] == 1

    ended = labelled(role="limited", state="ESCALATED")
    for name, used in (("turns", 1), ("tool_calls", 1), ("model_calls", None)):
        counted, added = (
            shown[f"squadron_agent_{name}_{what}"][ended]
            - before.get(f"squadron_agent_{name}_{what}", {}).get(ended, 0)
            for what in ("count", "sum")
        )
        assert counted == 1, name
        assert used is None or added == used, name
    events = shown["squadron_limit_events_total"]
    why = {"limit": "max_tool_calls", "role": "pauser"}
    assert events[labelled(**why, event="AGENT_PAUSED", how="pause")] >= 1


def test_what_waits_is_shown(pages: tuple[str, str]) -> None:
    before, shown = map(figures, pages)
    assert shown["squadron_agents_waiting_for_provider"] == {labelled(provider="openai"): 1}
    assert shown["squadron_effects"][labelled(effect="comment", state="wanted")] >= 1
    nothing = ("squadron_agents", "squadron_agents_waiting_for_provider", "squadron_effects")
    assert not [name for name in nothing if name in before], "nothing is left of earlier stories"


def test_what_is_left_of_a_budget_is_shown(pages: tuple[str, str]) -> None:
    budget = labelled(budget="role:octo/demo:docs", window="day")
    shown = figures(pages[1])
    assert shown["squadron_budget_usd"][budget] == 5
    assert 0 < shown["squadron_budget_left_usd"][budget] < 5
    assert {*shown["squadron_budget_usd"]} == {budget}, "and no budget of a single issue"
    assert shown["squadron_cost_usd_last_hour"][labelled()] > 0


def test_no_label_names_an_agent_or_an_issue(pages: tuple[str, str]) -> None:
    """Of these there are ever more, and a time series for each."""
    ours = [line for line in pages[1].splitlines() if line.startswith("squadron_")]
    assert len(ours) > 50
    assert not [line for line in ours if re.search(r"#\d|/\d+\"|issue:", line)]


# --- what is made for Prometheus and Grafana ----------------------------------------------------


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_dashboard_and_rules_ask_for_what_is_there(pages: tuple[str, str], expression: str) -> None:
    """Each is PromQL, and each figure and label in it exists."""
    promql.parse(expression.replace("$__range", "24h"))
    known: dict[str, set[str]] = {"up": {"job", "instance"}}
    for family in text_string_to_metric_families(pages[1]):
        for sample in family.samples:
            known.setdefault(sample.name, set()).update(sample.labels)
    asked = set(re.findall(r"\b(squadron_\w+|up)\b", expression))
    assert asked and asked <= known.keys(), asked - known.keys()
    selected = {
        label
        for body in re.findall(r"\{([^}]*)\}", expression)
        for label in re.findall(r"(\w+)\s*[=!]", body)
    }
    grouped = {
        label.strip()
        for names in re.findall(r"by \(([^)]*)\)", expression)
        for label in names.split(",")
    }
    labels = set[str]().union(*(known[name] for name in asked))
    assert selected | grouped <= labels, (selected | grouped) - labels


def test_every_figure_is_on_the_dashboard_or_in_a_rule(pages: tuple[str, str]) -> None:
    ours = {
        family.name
        for family in text_string_to_metric_families(pages[1])
        if family.name.startswith("squadron_") and not family.name.endswith("_created")
    }
    together = " ".join(EXPRESSIONS)
    assert not {name for name in ours if name not in together}


def test_the_dashboard_has_no_two_panels_in_one_place() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken and at["x"] + at["w"] <= 24, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)


def test_every_rule_says_what_happened_and_what_to_do() -> None:
    for rule in RULES:
        assert rule["annotations"].keys() == {"summary", "description"}, rule["alert"]
        assert rule["labels"]["severity"] in ("info", "warning", "critical")


def alone(text: str) -> dict[str, float]:
    """Figures without labels."""
    return {name: found[labelled()] for name, found in figures(text).items() if labelled() in found}


def test_the_last_hours_trips_are_known_right_after_a_start() -> None:
    """Whoever looks does not have to wait for a look at GitHub."""
    with story({"octo/demo": repository(ROLES)}) as squad:
        task = squad.give("limited", "Stop", runs("echo 1"), runs("echo 2"), runs("echo 3"))
        squad.settle()
        assert squad.agent(task).state is State.ESCALATED
        squad.restart()
        assert alone(page(squad))["squadron_trips_last_hour"] == 1
        squad.passes(hours=2)
        assert alone(page(squad))["squadron_trips_last_hour"] == 0


def test_without_a_database_nothing_is_said_that_nobody_knows() -> None:
    with story({"octo/demo": repository(ROLES)}) as squad:
        squad.give("limited", "Stop", runs("echo 1"), runs("echo 2"), runs("echo 3"))
        assert "squadron_agents" in figures(page(squad))
        with squad.without("database"):
            shown = page(squad)
            assert math.isnan(alone(shown)["squadron_trips_last_hour"])
            assert math.isnan(alone(shown)["squadron_queue_age_seconds"])
            assert "squadron_agents" not in figures(shown)
