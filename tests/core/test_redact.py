"""No secret is left in a text, in any form in which it may travel."""

import base64
import json
import string
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.text.redact import MASK, redact

BASE64URL = string.ascii_letters + string.digits + "-_"
SHORT_TOKEN = "ghs_" + "16C7e42F292c6912E7710c838347Ae178B4a"
LONG_TOKEN = "ghs_123456_eyJhbGciOiJSUzI1NiJ9." + "aB3-_" * 60 + "." + "Zz9-_" * 35
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"

Form = Callable[[str], str]

FORMS: list[Form] = [
    lambda secret: secret,
    lambda secret: quote(secret, safe=""),
    lambda secret: json.dumps({"token": secret}),
    lambda secret: base64.b64encode(secret.encode()).decode(),
    lambda secret: base64.b64encode(f"x-access-token:{secret}".encode()).decode(),
    lambda secret: base64.urlsafe_b64encode(secret.encode()).decode().rstrip("="),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", ['hook secret "ä"\n/?>~', "correct-horse-battery", PEM])
def test_a_known_secret_is_hidden_in_every_form(secret: str, form: Form) -> None:
    hidden = redact(f"before {form(secret)} after", [secret])
    assert MASK in hidden
    assert form(secret) not in hidden
    assert hidden.startswith("before ")
    assert hidden.endswith(" after")


@pytest.mark.parametrize(
    "secret",
    [
        SHORT_TOKEN,
        LONG_TOKEN,
        SHORT_TOKEN.replace("ghs_", "ghp_"),
        "github_pat_" + "11ABCDEFG0" * 8,
        "sk-ant-api03-" + "aB3-_" * 18,
        "sk-proj-" + "aB3_" * 10,
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjM0NTYifQ.c2lnbmF0dXJlLXNpZ25hdHVyZQ",
        base64.b64encode(f"x-access-token:{'secret of no known shape'}".encode()).decode(),
        PEM,
        PEM.replace("RSA ", ""),
        json.dumps(PEM)[1:-1],
    ],
)
@pytest.mark.parametrize(("left", "right"), [("", ""), ("(", ")"), ("=", "\nnext"), ('"', '"')])
def test_what_has_the_shape_of_a_secret_is_hidden_whole(secret: str, left: str, right: str) -> None:
    assert redact(left + secret + right) == left + MASK + right


def test_a_key_that_was_cut_off_is_hidden_to_the_end() -> None:
    assert redact(f"key: {PEM[:-20]}") == f"key: {MASK}"


def test_nothing_of_a_secret_stays_in_json() -> None:
    secret = 'a"b\\c"z'
    assert redact(json.dumps({"key": secret}), [secret]) == json.dumps({"key": MASK})


def test_a_secret_that_begins_with_another_is_hidden_whole() -> None:
    assert redact("a=abcdefgh12345678", ["abcdefgh", "abcdefgh12345678"]) == f"a={MASK}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the task-runner-for-all-of-our-large-projects ran",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "ghs_ and gho_ are prefixes; -----BEGIN CERTIFICATE----- is public",
        "eyJ is how a token begins",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert redact(text, ["", "not in there"]) == text


TOKENS = st.builds(
    lambda prefix, rest: prefix + rest,
    st.sampled_from(["ghs_", "ghp_", "gho_", "ghu_", "ghr_", "ghs_42_"]),
    st.text(BASE64URL + ".", min_size=20, max_size=600),
)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.text(max_size=40), TOKENS, st.text(max_size=40))
def test_no_token_of_any_length_survives(left: str, token: str, right: str) -> None:
    hidden = redact(left + token + right)
    assert token not in hidden
    assert token[:24] not in hidden
    assert redact(hidden) == hidden


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    st.lists(st.text('abc123/+"\\é', min_size=6, max_size=12), min_size=1, max_size=4),
    st.lists(st.text('abc123/+"\\é', max_size=20), min_size=5, max_size=5),
    st.sampled_from(FORMS),
)
def test_no_known_value_survives(secrets: list[str], texts: list[str], form: Form) -> None:
    text = " ".join(part + form(secret) for part, secret in zip(texts, secrets, strict=False))
    hidden = redact(text, secrets)
    assert not [secret for secret in secrets if secret in hidden or form(secret) in hidden]
