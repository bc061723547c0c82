"""What a change of `.squadron/` comes to, in the words of the check `squadron/config`."""

from dataclasses import replace

import pytest

from app.config.operator import OperatorConfig, read_operator
from app.config.repository import read_repository
from app.core.rules.plan import ConfigProblem
from app.core.text.markdown import MOST_TEXT
from app.core.words.config_review import (
    MOST_PROBLEMS_TOLD,
    as_in_branch,
    reviewed,
    touches_configuration,
    trouble_body,
    trouble_title,
)
from app.core.words.config_review import ConfigReview as Review

ROLE = "agents/docs.md"


def review(before: dict[str, str], after: dict[str, str]) -> Review:
    operator = OperatorConfig()
    old, new = read_repository(before, operator), read_repository(after, operator)
    return reviewed(old.plan, new.plan, new.problems)


def frontmatter(*lines: str) -> dict[str, str]:
    return {ROLE: "\n".join(["---", *lines, "---", "You write docs."])}


@pytest.mark.parametrize(
    ("paths", "touches"),
    [
        ((), False),
        (("README.md", "docs/.squadron/config.yaml", ".squadron"), False),
        (("README.md", ".squadron/config.yaml"), True),
        ((".squadron/agents/pm.md",), True),
    ],
)
def test_only_what_lies_in_the_directory_is_configuration(
    paths: tuple[str, ...], touches: bool
) -> None:
    assert touches_configuration(paths) is touches


def test_a_change_without_effect_says_so() -> None:
    found = review(frontmatter("max_turns: 9"), frontmatter("max_turns: 9  # enough"))
    assert (found.is_valid, found.title, found.problems) == (True, "Valid", ())
    assert "No role's effective limits change." in found.summary
    assert "\n\n\n" not in found.summary
    assert "running agents keep the limits that they started with" in found.summary


def test_each_limit_that_changes_is_a_row() -> None:
    found = review(frontmatter("max_turns: 9"), frontmatter("max_turns: 8", "max_cost_usd: 0.5"))
    assert found.title == "Valid: 2 limits would change"
    assert "| `docs` | `max_turns` | 9 turns | **8 turns** |" in found.summary
    assert "| `docs` | `max_cost_usd` | off | **$0.50 USD** |" in found.summary
    assert "| `max_turns` | 9 turns | 8 turns | agent file |" in found.summary


def test_what_happens_at_a_limit_is_a_change_too() -> None:
    after = frontmatter("on_limit: {max_turns: pause}", "shadow: [max_tool_calls]")
    found = review(frontmatter(), after)
    assert found.title == "Valid: 2 limits would change"
    assert "| `docs` | `max_turns` | 50 turns | **50 turns (pause)** |" in found.summary
    assert "**200 tool calls (shadow)** |" in found.summary


def test_a_role_that_comes_or_goes_is_told_limit_by_limit() -> None:
    came = review({}, frontmatter("max_turns: 9"))
    assert "| `docs` | `max_turns` | – | **9 turns** |" in came.summary
    gone = review(frontmatter("max_turns: 9"), {})
    assert "| `docs` | `max_turns` | 9 turns | **–** |" in gone.summary
    assert "<code>docs</code>" not in gone.summary


def test_mistakes_have_their_place_and_one_is_one_mistake() -> None:
    found = review(frontmatter(), frontmatter("max_tunrs: 9"))
    assert (found.is_valid, found.title) == (False, "1 mistake in the configuration")
    [problem] = found.problems
    assert (problem.file, problem.line) == (".squadron/agents/docs.md", 2)
    assert f"- `{str(problem).replace('`', chr(39))}`" in found.summary
    assert "No role's effective limits change." in found.summary, "it stays as it was"


def test_mistakes_of_a_merge_are_shown_where_the_branch_has_them() -> None:
    here, there, moved = (ConfigProblem(f, 7, 1, "wrong") for f in ("same", "theirs", "both"))
    in_branch = [here, replace(moved, line=5), replace(moved, message="mended by the merge")]
    shown = as_in_branch([here, there, moved], in_branch, {"theirs", "both"})
    assert shown == (here, replace(moved, line=5))
    found = reviewed(None, None, [here, there, moved], shown=shown, clashes=["config.yaml"])
    assert (found.title, found.problems) == ("3 mistakes in the configuration", shown)
    assert "The default branch has changed `.squadron/config.yaml` meanwhile" in found.summary


def test_mistakes_on_the_default_branch_are_an_issue_that_says_what_works_meanwhile() -> None:
    problems = [ConfigProblem("f", 7, 1, "wrong")]
    assert trouble_title(problems) == "Squadron: 1 mistake in the configuration"
    sound, broken = (trouble_body(problems, is_sound_before=each) for each in (True, False))
    for body in (sound, broken):
        assert "\n\n- `f:7:1: wrong`\n\n" in body
        assert "this issue then closes itself" in body
    assert "No agent starts here" in broken and "No agent starts here" not in sound
    assert "last sound one stays in force" in sound


@pytest.mark.parametrize("is_sound_before", [True, False])
def test_an_issue_about_mistakes_says_that_the_stop_beside_them_counts(
    is_sound_before: bool,
) -> None:
    problems = [ConfigProblem("f", 7, 1, "wrong")]
    body = trouble_body(problems, is_sound_before=is_sound_before, is_switched_off=True)
    assert "`enabled: false` is in force all the same: no agent starts or works here" in body
    assert "stays in force." not in body


def test_a_configuration_that_nothing_is_left_of_shows_no_tables() -> None:
    found = review(frontmatter(), {"config.yaml": "triggers: ["})
    assert found.title == "1 mistake in the configuration"
    assert "| role | limit |" not in found.summary


def test_what_was_broken_before_is_compared_with_nothing() -> None:
    found = review({"config.yaml": "triggers: ["}, frontmatter("max_turns: 9"))
    assert found.is_valid
    assert "| `docs` | `max_turns` | – | **9 turns** |" in found.summary


@pytest.mark.parametrize("number", [MOST_PROBLEMS_TOLD, MOST_PROBLEMS_TOLD + 1])
def test_only_so_many_mistakes_are_told(number: int) -> None:
    problems = [ConfigProblem("f", line, 1, "wrong") for line in range(1, number + 1)]
    found = reviewed(None, None, problems)
    assert found.title == f"{number} mistakes in the configuration"
    assert len(found.problems) == MOST_PROBLEMS_TOLD
    told = found.summary.splitlines()
    assert told[0].startswith("These mistakes would keep agents from starting.")
    assert sum(line.startswith("- `f:") for line in told) == MOST_PROBLEMS_TOLD
    assert ("… and" in found.summary) is (number > MOST_PROBLEMS_TOLD)
    assert ("- … and 1 more" in told) is (number > MOST_PROBLEMS_TOLD)


def test_a_mistake_can_quote_no_code_span_and_no_name_and_the_text_is_bounded() -> None:
    found = reviewed(None, None, [ConfigProblem("f", 1, 1, "`a` @mona " + "x" * 70_000)])
    assert "'a' @\u200bmona" in found.summary
    assert len(found.summary) < MOST_TEXT
    [line] = [line for line in found.summary.splitlines() if line.startswith("- `f:")]
    assert len(line) == len("- ``") + 400


def test_at_a_ceiling_nothing_is_said_of_what_does_not_count_there() -> None:
    operator = read_operator("ceilings: {max_turns: 9}", "op").config
    assert operator is not None
    lax = frontmatter("on_limit: warn", "shadow: [max_turns]", "max_turns: 8")
    strict = frontmatter("on_limit: warn", "shadow: [max_turns]", "max_turns: 9")
    old, new = read_repository(lax, operator), read_repository(strict, operator)
    summary = reviewed(old.plan, new.plan, ()).summary
    assert "| `docs` | `max_turns` | 8 turns (warn) (shadow) | **9 turns** |" in summary


def test_a_budget_of_every_agent_bounds_each_role_where_its_money_was_open() -> None:
    budgets = {"config.yaml": "budgets: [{scope: user, window: day, max_cost_usd: 5}]"}
    operator = OperatorConfig()
    old, new = read_repository({}, operator).plan, read_repository(budgets, operator).plan
    assert old is not None and new is not None
    summary = reviewed(old.budgeted(()), new.budgeted(()), ()).summary
    assert "| `bug-fix` | `max_cost_usd` | off | **$1.00 USD** |" in summary
