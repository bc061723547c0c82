"""`squadron costs`: the same figures on SQLite and PostgreSQL, as a table and as JSON."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.cli.main import app
from app.core.agents.events import ModelCalled
from app.core.money import CostsBy, nanousd
from app.ports import Repository
from tests.contract.store_support import World, a_new_agent
from tests.support.moves import begin

NOW = datetime.now(UTC)


def call(model: str, usd: float | None, days_ago: float = 0) -> ModelCalled:
    return ModelCalled(
        at=NOW - timedelta(days=days_ago),
        model=model,
        input_tokens=1_000,
        output_tokens=70,
        cost_nanousd=None if usd is None else nanousd(usd),
    )


def work(world: World, repository: str, issue: int, role: str, by: str, *calls: ModelCalled) -> str:
    """An agent that made these calls; its id."""

    async def do() -> str:
        store = world.store
        new = replace(
            a_new_agent(issue, role), repository=Repository(repository, 77), started_by=by
        )
        created = await store.create(new, NOW)
        assert created is not None
        assert await begin(store, created.id, 0, "worker-1", NOW) is not None
        assert await store.append(created.id, 0, 3, calls)
        return str(created.id)

    return asyncio.run(do())


@pytest.fixture
def agents(world: World) -> Sequence[str]:
    """Four agents at work, with a dear model, a cheap one, and one that nobody has a price for."""
    return (
        work(
            world, "octo/demo", 12, "bug-fix", "Ada", call("openai:dear", 0.3), call("x:cheap", 0.1)
        ),
        work(world, "octo/demo", 12, "pm", "renovate[bot]", call("x:cheap", 0.01)),
        work(world, "octo/other", 3, "bug-fix", "ada", call("x:cheap", 0.2, days_ago=8)),
        work(world, "octo/other", 4, "odd", "bob", call("x:odd", None), call("x:cheap", 0.05)),
    )


def run(world: World, *options: str) -> Result:
    url = world.engine.url.render_as_string(hide_password=False)
    environment = {"SQUADRON_DATABASE_URL": url, "COLUMNS": "120"}
    return CliRunner().invoke(app, ["costs", *options], env=environment)


def rows(world: World, *options: str) -> dict[str, Any]:
    result = run(world, "--json", *options)
    assert result.exit_code == 0, result.output
    return {row["key"]: row["cost_usd"] for row in json.loads(result.stdout)["costs"]}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("role", {"bug-fix": 0.6, "pm": 0.01, "odd": None}),
        (
            "issue",
            {"octo/demo#12": 0.41, "octo/other#3": 0.2, "octo/other#4": None},
        ),
        ("user", {"ada": 0.6, "renovate[bot]": 0.01, "bob": None}),
        ("model", {"openai:dear": 0.3, "x:cheap": 0.36, "x:odd": None}),
        ("repository", {"octo/demo": 0.41, "octo/other": None}),
    ],
)
def test_every_call_is_put_down_to_somebody(
    world: World, agents: Sequence[str], by: str, expected: dict[str, float | None]
) -> None:
    assert rows(world, "--by", by) == expected


def test_by_agent_each_has_its_own(world: World, agents: Sequence[str]) -> None:
    assert rows(world, "--by", "agent") == dict(zip(agents, (0.4, 0.01, 0.2, None), strict=True))


def test_json_says_what_is_known_where_the_cost_is_not(world: World, agents: Sequence[str]) -> None:
    result = run(world, "--json")
    shown = json.loads(result.stdout)
    assert shown["by"] == "role"
    assert shown["total"] == {"cost_usd": None, "known_cost_usd": 0.66}
    assert shown["costs"][0] == {
        "key": "bug-fix",
        "cost_usd": 0.6,
        "known_cost_usd": 0.6,
        "unknown_calls": 0,
        "estimated_calls": 0,
        "input_tokens": 3_000,
        "output_tokens": 210,
        "agents": 2,
    }
    assert shown["costs"][1] == {
        "key": "odd",
        "cost_usd": None,
        "known_cost_usd": 0.05,
        "unknown_calls": 1,
        "estimated_calls": 0,
        "input_tokens": 2_000,
        "output_tokens": 140,
        "agents": 1,
    }


def test_the_last_days_are_counted_without_those_before(
    world: World, agents: Sequence[str]
) -> None:
    assert rows(world, "--days", "7") == {"bug-fix": 0.4, "odd": None, "pm": 0.01}
    assert rows(world, "--days", "9")["bug-fix"] == 0.6


def test_the_table_never_shows_an_unknown_cost_as_nothing(
    world: World, agents: Sequence[str]
) -> None:
    result = run(world, "--by", "model")
    lines = {line.split()[1]: line for line in result.stdout.splitlines() if ":" in line[:20]}
    assert "$0.30" in lines["openai:dear"] and "$0.36" in lines["x:cheap"]
    assert "unknown: 1 call without a price" in lines["x:odd"] and "$" not in lines["x:odd"]
    assert "total: unknown: $0.66 and more, 1 call without a price" in result.stdout


def test_names_of_bots_are_shown_whole(world: World, agents: Sequence[str]) -> None:
    assert "renovate[bot]" in run(world, "--by", "user").stdout


def test_nothing_has_cost_nothing(world: World) -> None:
    assert json.loads(run(world, "--json").stdout) == {
        "by": "role",
        "costs": [],
        "total": {"cost_usd": 0.0, "known_cost_usd": 0.0},
    }
    assert "total: $0.00" in run(world).stdout


def test_without_a_registry_it_says_where_it_looked(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'none.sqlite'}"
    result = CliRunner().invoke(app, ["costs"], env={"SQUADRON_DATABASE_URL": url})
    assert result.exit_code == 1
    assert "there is no registry at" in result.output and "none.sqlite" in result.output


def test_an_unknown_attribute_names_those_that_there_are() -> None:
    result = CliRunner().invoke(app, ["costs", "--by", "colour"])
    assert result.exit_code == 2
    for name in CostsBy:
        assert f"'{name}'" in result.output
