"""No secret is left in a text, in any form in which it may travel."""

import base64
import json
import string
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.agents.lifecycle import State
from app.core.text.redact import MASK, Redactor, redact, redact_tail
from app.core.text.secrets import LEAST_LETTERS, found_in

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


# --- known secrets, whatever was done to them ---------------------------------------------------

KNOWN = "canary-webhook-secret/7+x="
KEY_LINES = "\n".join(("MIIEowIBAAKCAQEAyJ5TT9Tf0WhPYTQb", "VYUyPPCzkK4Q7Qk2rVbIRxpMZr4Jq9Lw"))

DISGUISES: dict[str, Form] = {
    "base64 of more than it": lambda secret: base64.b64encode(f"a:{secret}:b".encode()).decode(),
    "base64 in lines": lambda secret: "\n".join(base64.b64encode(secret.encode()).decode()),
    "hex": lambda secret: secret.encode().hex(),
    "capital hex": lambda secret: secret.encode().hex(" ").upper(),
    "hex of a program": lambda secret: "".join(f"\\x{each:02x}" for each in secret.encode()),
    "hex in a list": lambda secret: ", ".join(f"0x{each:02X}" for each in secret.encode()),
    "a URL": lambda secret: quote(secret, safe=""),
    "a URL of nothing else": lambda secret: "".join(f"%{each:02x}" for each in secret.encode()),
    "JSON": lambda secret: json.dumps(secret),
    "JSON in JSON": lambda secret: json.dumps(json.dumps({"key": secret})),
    "backwards": lambda secret: "\n".join(line[::-1] for line in secret.splitlines()),
    "last line first": lambda secret: "\n".join(reversed(secret.splitlines())),
    "in lines": lambda secret: "\n".join(secret),
    "in a quote": lambda secret: "\n> ".join((secret[:9], secret[9:20], secret[20:])),
    "in backticks": lambda secret: "`".join(secret),
    "with spaces nobody sees": lambda secret: "\u200b".join(secret),
}


def letters(text: str) -> str:
    return "".join(each for each in text if each.isascii() and each.isalnum())


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("secret", [KNOWN, KEY_LINES])
def test_a_known_secret_is_hidden_in_every_disguise(secret: str, disguise: str) -> None:
    shown = DISGUISES[disguise](secret)
    hidden = redact(f"before {shown} after", [secret])
    assert hidden.startswith("before ") and hidden.endswith(" after")
    assert MASK in hidden
    left = letters(hidden.replace(MASK, "").removeprefix("before ").removesuffix(" after"))
    assert len(left) < LEAST_LETTERS, f"{left} is left"
    assert found_in(shown, [secret])


@pytest.mark.parametrize("first", ["n", "f", "a0", "u00e9"])
@pytest.mark.parametrize("before", ["\\", "%", "C:\\"])
def test_what_looks_like_an_escape_may_be_the_beginning_of_a_secret(
    before: str, first: str
) -> None:
    secret = f"{first}0123456789ghijklmnop"
    assert redact(f"{before}{secret}!", [secret]) == f"{before}[redacted]!"
    assert secret in found_in(f"{before}{secret}!", [secret])
    between = redact("\\".join("tronfbrtn0123456789"), ["tronfbrtn0123456789"])
    assert between == "[redacted]"


@given(
    st.text(string.ascii_letters + string.digits + "-_/+=", min_size=20, max_size=60).filter(
        lambda secret: len(letters(secret)) >= LEAST_LETTERS
    ),
    st.text("` \n>*|", max_size=3),
    st.text(max_size=20),
)
@settings(deadline=None)
def test_nothing_between_its_letters_saves_a_secret(secret: str, between: str, more: str) -> None:
    assert MASK in redact(more + between.join(secret) + more, [secret])
    assert letters(secret) not in letters(redact(between.join(secret), [secret]))


@pytest.mark.parametrize("most", range(60))
def test_a_secret_is_taken_out_before_a_text_is_cut(most: int) -> None:
    text = f"it is {KNOWN} and {KNOWN}, twice"
    for cut, whole in (
        (redact(text, [KNOWN], most), text),
        (redact_tail(text, most, [KNOWN]), text),
    ):
        assert len(cut) <= most
        shown = cut.replace(MASK, "")
        assert not any(KNOWN[at : at + 4] in shown for at in range(len(KNOWN) - 4)), cut
        assert most < len(whole) or cut == f"it is {MASK} and {MASK}, twice"


def test_many_secrets_before_a_bound_save_none_behind_it() -> None:
    text = f"{KNOWN} " * 2_000
    for most in (100, 1_000, 20_000):
        shown = redact(text, [KNOWN], most)
        assert len(shown) <= most and not letters(shown.replace(MASK, ""))


def test_short_secrets_are_hidden_as_they_are_and_do_not_hide_words() -> None:
    assert redact("pass: tiny!1", ["tiny!1"]) == f"pass: {MASK}"
    assert redact("t.i.n.y 1", ["tiny!1"]) == "t.i.n.y 1"


@dataclass(frozen=True)
class Said:
    who: str
    words: tuple[str, ...]
    more: dict[str, object]
    state: State


def test_all_texts_within_a_value_are_redacted_and_nothing_else() -> None:
    clean = Redactor([KNOWN]).within
    said = Said("mona", (KNOWN, "hello"), {KNOWN: [KNOWN, 7, None]}, State.ACTIVE)
    assert clean(said) == Said("mona", (MASK, "hello"), {KNOWN: [MASK, 7, None]}, State.ACTIVE)
    same = Said("mona", ("hello",), {}, State.ACTIVE)
    assert clean(same) == same


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "at /srv/sq/agents/octo_2Fdemo_2312/refused.patch.",
            "at {}/agents/octo_2Fdemo_2312/refused.patch.",
        ),
        ("/srv/sq/agents/octo_2Fdemo_2312/workspace/src/a.py:3: wrong", "src/a.py:3: wrong"),
        ("cd /srv/sq/agents/x~1/workspace && make", "cd . && make"),
        ("cd '/srv/sq/agents/x~1/workspace/' && make", "cd '.' && make"),
        ("file:///srv/sq/agents/x/workspace/.venv", "file://.venv"),
        ("in /srv/sq/agents/x/workspaces/a", "in {}/agents/x/workspaces/a"),
        ("the disk of /srv/sq is full", "the disk of {} is full"),
        (
            "/srv/sq-old and /home/srv/sq/a and /srv/sqx",
            "/srv/sq-old and /home/srv/sq/a and /srv/sqx",
        ),
        ("/srv/sq/agents/a/workspace/x /srv/sq/b", "x {}/b"),
    ],
)
def test_no_place_on_the_disk_of_this_installation_is_shown(text: str, shown: str) -> None:
    redact = Redactor().hiding("/srv/sq")
    assert redact(text) == shown.replace("{}", "$SQUADRON_DATA_DIR")
    assert redact.tail(text, 1_000) == redact.within([text])[0] == redact(text)


def test_who_hides_places_knows_the_same_secrets_also_those_that_come_later() -> None:
    redact = Redactor(["hunter2-hunter2"])
    hiding = redact.hiding("/srv/sq")
    hiding.learn(lambda: ["swordfish-swordfish"])
    said = "/srv/sq/a: hunter2-hunter2 swordfish-swordfish"
    assert hiding(said) == "$SQUADRON_DATA_DIR/a: [redacted] [redacted]"
    assert redact(said) == "/srv/sq/a: [redacted] [redacted]"


def test_secrets_that_come_and_go_are_asked_for_each_time() -> None:
    living = ["first-token-of-all"]
    hidden = Redactor()
    hidden.learn(lambda: living)
    assert hidden("a first-token-of-all") == f"a {MASK}"
    living[:] = ["second-token-of-all"]
    assert hidden("a first-token-of-all") == "a first-token-of-all"
    assert hidden("a second-token-of-all") == f"a {MASK}"
