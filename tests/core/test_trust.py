"""Who may set agents in motion: every permission, rule and kind of sender."""

from itertools import product

import pytest

from app.core.rules.trust import Permission, Sender, TrustRules, may_ask, teams_to_ask, trusted

RULES = [Permission.TRIAGE, Permission.WRITE, Permission.MAINTAIN, Permission.ADMIN]

ENOUGH = {
    Permission.TRIAGE: {"TRIAGE", "WRITE", "MAINTAIN", "ADMIN"},
    Permission.WRITE: {"WRITE", "MAINTAIN", "ADMIN"},
    Permission.MAINTAIN: {"MAINTAIN", "ADMIN"},
    Permission.ADMIN: {"ADMIN"},
}
"""Which permissions are enough under each rule, written down by hand."""


@pytest.mark.parametrize(("rule", "permission"), list(product(RULES, Permission)))
def test_a_persons_permission_decides(rule: Permission, permission: Permission) -> None:
    sender = Sender("mona", is_bot=False)
    assert trusted(TrustRules(start=rule), sender, permission) is (permission.name in ENOUGH[rule])


@pytest.mark.parametrize(("rule", "permission"), list(product(RULES, Permission)))
def test_a_listed_person_needs_no_permission(rule: Permission, permission: Permission) -> None:
    rules = TrustRules(start=rule, logins=("mona",))
    assert trusted(rules, Sender("mona", is_bot=False), permission)
    assert trusted(rules, Sender("mon", is_bot=False), permission) is (
        permission.name in ENOUGH[rule]
    )


@pytest.mark.parametrize(("rule", "permission"), list(product(RULES, Permission)))
def test_a_bot_that_is_not_listed_starts_nothing(rule: Permission, permission: Permission) -> None:
    bot = Sender("helper[bot]", is_bot=True)
    for rules in (TrustRules(start=rule), TrustRules(start=rule, bots=("helper", "*"))):
        assert trusted(rules, bot, permission) is False
        assert not may_ask(rules, bot)


@pytest.mark.parametrize(("rule", "permission"), list(product(RULES, Permission)))
def test_a_listed_bot_still_needs_the_permission(rule: Permission, permission: Permission) -> None:
    rules = TrustRules(start=rule, bots=("helper[bot]",))
    bot = Sender("helper[bot]", is_bot=True)
    assert may_ask(rules, bot)
    assert trusted(rules, bot, permission) is (permission.name in ENOUGH[rule])


@pytest.mark.parametrize("permission", [Permission.NONE, Permission.READ])
def test_the_list_of_people_lets_no_bot_in(permission: Permission) -> None:
    bot = Sender("helper[bot]", is_bot=True)
    assert not trusted(TrustRules(logins=("helper[bot]",)), bot, permission)
    both = TrustRules(logins=("helper[bot]",), bots=("helper[bot]",))
    assert not trusted(both, bot, permission)


@pytest.mark.parametrize("listed", ["Mona", "mona", "MONA"])
def test_case_tells_no_two_logins_apart(listed: str) -> None:
    person, bot = Sender("mONA", is_bot=False), Sender("mona[bot]", is_bot=True)
    assert trusted(TrustRules(logins=(listed,)), person, Permission.NONE)
    rules = TrustRules(bots=(f"{listed}[bot]",))
    assert trusted(rules, bot, Permission.WRITE)
    assert not may_ask(TrustRules(bots=(listed,)), bot), "an App's login is the whole of it"


def test_teams_are_asked_about_people_only() -> None:
    rules = TrustRules(teams=("octo/core", "octo/docs"), bots=("helper[bot]",))
    assert teams_to_ask(rules, Sender("mona", is_bot=False)) == ("octo/core", "octo/docs")
    assert teams_to_ask(rules, Sender("helper[bot]", is_bot=True)) == ()


def test_everybody_else_is_worth_asking_about() -> None:
    assert may_ask(TrustRules(), Sender("anybody", is_bot=False))


def test_without_rules_write_is_what_it_takes() -> None:
    assert TrustRules() == TrustRules(start=Permission.WRITE, logins=(), bots=(), teams=())


@pytest.mark.parametrize(
    ("role_name", "legacy", "permission"),
    [
        ("admin", "admin", Permission.ADMIN),
        ("maintain", "write", Permission.MAINTAIN),
        ("write", "write", Permission.WRITE),
        ("triage", "read", Permission.TRIAGE),
        ("read", "read", Permission.READ),
        ("none", "none", Permission.NONE),
        ("release manager", "write", Permission.WRITE),
        ("moderator", "read", Permission.READ),
        (None, "admin", Permission.ADMIN),
        ("write", None, Permission.WRITE),
        ("superuser", None, Permission.NONE),
        (None, None, Permission.NONE),
        ("", "", Permission.NONE),
    ],
)
def test_githubs_two_fields_are_read_as_one_permission(
    role_name: str | None, legacy: str | None, permission: Permission
) -> None:
    assert Permission.parse(role_name, legacy) is permission
