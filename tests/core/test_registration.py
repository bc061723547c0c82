"""Registering the App: what GitHub is asked for, and which answer counts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.core.github.registration import LIFE, Begun, Order, organization_login, webhook_address

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BEGUN = Begun("ab12", NOON + LIFE)
CODE = "a180b1a3d263c81bc6441d7b990bae27d4c10679"
ORDER = Order("https://github.com", "https://squadron.example:8443/hooks/webhook", None)


def test_the_manifest_is_the_owners_alone() -> None:
    asked = ORDER.manifest("http://127.0.0.1:8001/created", {"issues": "write"}, ("issues",))
    assert asked == {
        "name": "Squadron",
        "url": "https://squadron.example:8443",
        "hook_attributes": {"url": "https://squadron.example:8443/hooks/webhook"},
        "redirect_url": "http://127.0.0.1:8001/created",
        "public": False,
        "default_permissions": {"issues": "write"},
        "default_events": ["issues"],
    }


@pytest.mark.parametrize(
    ("organization", "name"),
    [
        (None, "Squadron"),
        ("octo", "Squadron octo"),
        ("a" * 25, "Squadron " + "a" * 25),
        ("a" * 26, "Squadron " + "a" * 25),
    ],
)
def test_the_proposed_name_fits(organization: str | None, name: str) -> None:
    assert replace(ORDER, organization=organization).name == name
    assert len(name) <= 34, "GitHub takes no longer names"


@pytest.mark.parametrize(
    ("web", "organization", "page"),
    [
        ("https://github.com", None, "https://github.com/settings/apps/new?state=ab12"),
        (
            "https://git.example.org",
            "octo",
            "https://git.example.org/organizations/octo/settings/apps/new?state=ab12",
        ),
    ],
)
def test_the_manifest_goes_to_the_page_of_its_account(
    web: str, organization: str | None, page: str
) -> None:
    assert replace(ORDER, web_url=web, organization=organization).page("ab12") == page


def test_an_answer_with_our_state_counts_until_the_hour_is_over() -> None:
    last = NOON + timedelta(hours=1) - timedelta(microseconds=1)
    assert BEGUN.problem(CODE, "ab12", NOON) is None
    assert BEGUN.problem(CODE, "ab12", last) is None
    late = BEGUN.problem(CODE, "ab12", NOON + timedelta(hours=1))
    assert late is not None and late.startswith("An hour has passed")


@pytest.mark.parametrize("state", ["", "ab1", "ab123", "AB12", "é", "\ud800"])
def test_no_other_state_counts_and_that_is_all_it_is_told(state: str) -> None:
    """Whoever does not know the state learns nothing about the rest."""
    for code, now in ((CODE, NOON), ("", NOON + timedelta(days=1))):
        problem = BEGUN.problem(code, state, now)
        assert problem is not None and "its state differs" in problem


@pytest.mark.parametrize(
    ("code", "good"),
    [
        ("a", True),
        ("a_B-9", True),
        ("a" * 200, True),
        ("a" * 201, False),
        ("", False),
        ("a/b", False),
        ("..", False),
        ("a%20", False),
        ("é", False),
        ("a\n", False),
    ],
)
def test_a_code_is_a_word_that_fits_into_an_address(code: str, good: bool) -> None:
    problem = BEGUN.problem(code, "ab12", NOON)
    assert problem == (None if good else "GitHub's code is missing or malformed")


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("https://squadron.example", "https://squadron.example/webhook"),
        ("https://squadron.example/", "https://squadron.example/webhook"),
        (" https://squadron.example/webhook ", "https://squadron.example/webhook"),
        ("https://squadron.example/webhook/", "https://squadron.example/webhook"),
        ("http://10.0.0.7:8000/a/webhook", "http://10.0.0.7:8000/a/webhook"),
        ("https://[::1]:8000", "https://[::1]:8000/webhook"),
    ],
)
def test_a_bare_host_gets_the_webhooks_path(given: str, used: str) -> None:
    assert webhook_address(given) == used


@pytest.mark.parametrize(
    "given",
    [
        "",
        "squadron.example",
        "ftp://squadron.example",
        "https://",
        "https:///webhook",
        "https://user:password@squadron.example/webhook",
        "https://squadron.example/webhook?key=1",
        "https://squadron.example/webhook#top",
        "https://squadron.example/web hook",
        "https://squadron.example:x/",
    ],
)
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="must be an address like https://HOST/webhook"):
        webhook_address(given)


@pytest.mark.parametrize("path", ["/hook", "/webhook/github", "/webhooks", "/mywebhook?", "/a/b/"])
def test_a_path_that_is_not_served_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="must "):
        webhook_address(f"https://squadron.example{path}")


def test_an_organization_is_named_by_its_login() -> None:
    for login in ("octo", "octo-org", "Octo_1", "a" * 100):
        assert organization_login(login) == login
    for odd in ("", "octo/demo", "octo demo", "../settings", "a" * 101):
        with pytest.raises(ValueError, match="must be the organization's login"):
            organization_login(odd)
