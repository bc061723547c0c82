"""What a repository's plan says of labels, layers and mistakes."""

import pytest

from app.core.limits import Limits
from app.core.rules.operator import HouseRules
from app.core.rules.plan import ConfigProblem, Layer, RepositoryPlan, RolePlan

PLAN = RepositoryPlan(labels={"Bug": "bug-fix", "squadron:pm": "planner"})


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("Bug", "bug-fix"),
        ("bUG", "bug-fix"),
        ("squadron:docs", "docs"),
        ("Squadron:Docs", "docs"),
        ("squadron:pm", "planner"),
        ("squadron", None),
        ("bugs", None),
        ("enhancement", None),
    ],
)
def test_a_label_starts_the_role_that_it_names_or_that_the_file_gives_it(
    label: str, role: str | None
) -> None:
    assert PLAN.role_of_label(label) == role


def test_a_broken_role_is_as_it_was_when_it_was_sound_and_the_others_as_they_are() -> None:
    def role(prompt: str) -> RolePlan:
        return RolePlan(
            role="any",
            description="",
            prompt=prompt,
            runtime="embedded",
            model=None,
            planning_model=None,
            tools=None,
            setup=(),
            preset=None,
            limits=Limits(),
            origins={},
        )

    mistake = (ConfigProblem("f", 1, 1, "wrong"),)
    now = RepositoryPlan(
        labels={"x": "pm"}, roles={"pm": role("new")}, broken={"docs": mistake, "qa": mistake}
    )
    earlier = RepositoryPlan(roles={"pm": role("old"), "docs": role("old")})
    mended = now.mended(earlier)
    assert {name: each.prompt for name, each in mended.roles.items()} == {
        "pm": "new",
        "docs": "old",
    }
    assert (mended.labels, mended.broken) == ({"x": "pm"}, {"qa": mistake})


def test_layers_are_called_what_config_check_prints() -> None:
    assert [layer.value for layer in Layer] == [
        "built-in",
        "operator defaults",
        "repository defaults",
        "preset",
        "repository role",
        "agent file",
    ]


def test_a_repository_without_a_file_is_enabled() -> None:
    assert RepositoryPlan().enabled


def test_an_operator_who_says_nothing_gets_the_issues_figures() -> None:
    rules = HouseRules()
    assert rules.starts_per_user_per_hour == 100
    assert (rules.alerts.cost_usd_per_hour, rules.alerts.trips_per_hour) == (10, 5)
    assert (rules.on_unmeasurable, rules.adaptive) == ("warn", "off")


def test_a_mistake_is_told_with_its_place() -> None:
    problem = ConfigProblem(".squadron/config.yaml", 12, 5, "unknown key")
    assert str(problem) == ".squadron/config.yaml:12:5: unknown key"
