"""The environment: what it may say, what is refused, and that no secret is ever shown."""

from base64 import b64encode, encodebytes
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.config.secretfiles import MAX_SECRET_FILE_BYTES
from app.config.settings import (
    SECRETS,
    Pages,
    SettingsError,
    git_url_of,
    load_local_settings,
    load_settings,
)

CANARY = "canary-3f9a"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----"
APP = {
    "SQUADRON_GITHUB_APP_ID": "12",
    "SQUADRON_GITHUB_PRIVATE_KEY": PEM,
    "SQUADRON_WEBHOOK_SECRET": f"{CANARY}-webhook",
}


def shown(secrets: Iterable[SecretStr]) -> list[str]:
    return [secret.get_secret_value() for secret in secrets]


def refused(environ: dict[str, str]) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ)
    assert str(caught.value) == "\n".join(caught.value.problems)
    assert CANARY not in str(caught.value)
    return caught.value.problems


def test_an_empty_environment_has_its_defaults_and_says_what_serving_needs() -> None:
    settings = load_settings({})
    data = Path.cwd() / ".squadron-data"
    assert settings.data_dir == data
    assert settings.database_url.get_secret_value() == f"sqlite:///{data}/squadron.sqlite3"
    assert settings.github_api_url == "https://api.github.com"
    assert settings.github_git_url == "https://github.com"
    assert (settings.model, settings.config, settings.admin_tokens) == (None, None, ())
    assert settings.problems_for_serving() == (
        "SQUADRON_GITHUB_APP_ID is not set or empty: set it to the App id of your GitHub App",
        "SQUADRON_GITHUB_PRIVATE_KEY is not set or empty: set it "
        "(or SQUADRON_GITHUB_PRIVATE_KEY_FILE) to a private key of your GitHub App,"
        " as PEM or as the base64 of that in one line",
        "SQUADRON_WEBHOOK_SECRET is not set or empty: set it (or SQUADRON_WEBHOOK_SECRET_FILE) "
        "to the webhook secret of your GitHub App; without it anybody could send orders",
    )


@pytest.mark.parametrize("secret", ["", "  "])
def test_an_empty_webhook_secret_is_as_good_as_none(secret: str) -> None:
    (problem,) = load_settings({**APP, "SQUADRON_WEBHOOK_SECRET": secret}).problems_for_serving()
    assert problem.startswith("SQUADRON_WEBHOOK_SECRET is not set or empty")


def test_a_complete_environment_is_enough_to_serve() -> None:
    settings = load_settings(
        {**APP, "SQUADRON_MODEL": "openai:gpt-5", "SQUADRON_MODEL_BASE_URL": "http://[::1]:9/v1/"}
    )
    assert settings.problems_for_serving() == ()
    assert settings.github_app_id == 12
    assert settings.model_base_url == "http://[::1]:9/v1"
    assert shown(settings.webhook_secrets) == [f"{CANARY}-webhook"]
    assert shown(settings.github_private_keys) == [PEM]


@pytest.mark.parametrize(("said", "pool"), [("", 10), ("3", 3), (" 12 ", 12), ("200", 200)])
def test_a_process_is_told_how_many_connections_it_may_have(said: str, pool: int) -> None:
    assert load_settings({"SQUADRON_DATABASE_POOL": said}).database_pool == pool


@pytest.mark.parametrize(
    "said", ["2", "201", "0" * 9 + "201", "-5", "many", "1e2", "9" * 5_000, "٣"]
)
def test_a_number_of_connections_that_cannot_be_is_refused(said: str) -> None:
    assert refused({"SQUADRON_DATABASE_POOL": said}) == (
        "SQUADRON_DATABASE_POOL must be a number of connections from 3 to 200",
    )


def test_pages_are_for_whoever_is_at_the_machine_unless_something_else_is_said() -> None:
    silent, said = load_settings({}), {"SQUADRON_PAGES": "off", "SQUADRON_PAGES_PORT": "0"}
    assert (silent.pages, silent.pages_port) == (Pages.LOOPBACK, 8001)
    assert (load_settings(said).pages, load_settings(said).pages_port) == (Pages.OFF, 0)
    assert load_settings({"SQUADRON_PAGES_PORT": "65535"}).pages_port == 65_535


@pytest.mark.parametrize("port", ["65536", "-1", "http", "8001/", "9" * 5_000, "0" * 9 + "65536"])
def test_pages_that_cannot_be_are_refused(port: str) -> None:
    assert refused({"SQUADRON_PAGES": "yes", "SQUADRON_PAGES_PORT": port}) == (
        "SQUADRON_PAGES must be off or loopback",
        "SQUADRON_PAGES_PORT must be a port from 0 to 65535",
    )


@pytest.mark.parametrize("name", SECRETS)
def test_every_secret_can_come_from_a_file_and_is_never_shown(name: str, tmp_path: Path) -> None:
    value = {"GITHUB_PRIVATE_KEY": PEM, "DATABASE_URL": f"postgresql://u:{CANARY}@h/d"}.get(
        name, f"{CANARY}-of-{name}"
    )
    file = tmp_path / "secret"
    file.write_text(f"{value}\n")
    settings = load_settings({f"SQUADRON_{name}_FILE": str(file)})
    several = {"GITHUB_PRIVATE_KEY": "github_private_keys", "WEBHOOK_SECRET": "webhook_secrets"}
    tokens = [each.token for each in settings.admin_tokens]
    is_token = name == "ADMIN_TOKEN"
    read = tuple(tokens) if is_token else getattr(settings, several.get(name, name.lower()))
    [one] = shown(read if isinstance(read, tuple) else [read])
    assert one == value.replace("postgresql://", "postgresql+psycopg://")
    assert CANARY not in f"{settings!r} {settings}"


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_set_twice_or_in_an_unusable_file_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    variable = f"SQUADRON_{name}_FILE"
    assert refused({variable: str(file)}) == (
        f"{variable} names {file}, which cannot be read: No such file or directory",
    )
    file.write_text("\n")
    assert refused({variable: str(file)}) == (f"{variable} names {file}, which is empty",)
    file.write_bytes(b"\xff" + CANARY.encode())
    assert refused({variable: str(file)}) == (f"{variable} names {file}, which is not UTF-8 text",)
    file.write_bytes(CANARY.encode() * MAX_SECRET_FILE_BYTES)
    assert refused({variable: str(file)}) == (
        f"{variable} names {file}, which is larger than 64 kB",
    )
    file.write_text({"GITHUB_PRIVATE_KEY": PEM, "DATABASE_URL": "sqlite:///x"}.get(name, CANARY))
    assert f"SQUADRON_{name} and {variable} are both set: set only one" in refused(
        {variable: str(file), f"SQUADRON_{name}": CANARY}
    )


def test_tokens_of_the_api_have_names(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# who may\n\nci  {CANARY}-ofci\r\n Ada.L\t{CANARY}-of-ada-l\n")
    one = {"SQUADRON_ADMIN_TOKEN": CANARY, "SQUADRON_ADMIN_TOKENS_FILE": str(file)}
    settings = load_settings(one)
    assert [(each.name, each.token.get_secret_value()) for each in settings.admin_tokens] == [
        ("api", CANARY),
        ("api:ci", f"{CANARY}-ofci"),
        ("api:Ada.L", f"{CANARY}-of-ada-l"),
    ]
    assert CANARY not in f"{settings!r}"
    assert {f"{CANARY}-ofci", f"{CANARY}-of-ada-l"} <= set(settings.secret_values())
    assert load_local_settings(one).admin_tokens == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{CANARY}-without-a-name", "line 1 of its file: expected a name, a blank and a token"),
        ("\nci", "line 2 of its file: expected a name, a blank and a token"),
        (f"ci {CANARY}-of-the-ci more", "line 1 of its file: expected a name, a blank and a token"),
        (f"c:i {CANARY}-of-the-ci", "line 1 of its file: expected a name, a blank and a token"),
        (f"{'c' * 40} {CANARY}-of-the-ci", "line 1 of its file: expected a name, a blank"),
        ("ci fifteen-letters", "line 1 of its file: the token has fewer than 16 characters"),
        (f"ci {CANARY}-of-one-of\nCI {CANARY}-of-another", "has a name twice"),
        (f"ci {CANARY}-of-both-of\nda {CANARY}-of-both-of", "has a token twice"),
        ("", "which is empty"),
    ],
)
def test_a_line_that_names_nobody_is_refused_and_not_shown(
    text: str, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)
    [said] = refused({"SQUADRON_ADMIN_TOKENS_FILE": str(file)})
    assert said.startswith("SQUADRON_ADMIN_TOKENS_FILE ") and problem in said
    assert CANARY not in said


@pytest.mark.parametrize("text", ["new\nold", "  new \r\n\told\n\n", "\nnew\nold"])
def test_two_webhook_secrets_are_two_lines(text: str, tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text(text)
    variable = "SQUADRON_WEBHOOK_SECRET"
    for environ in ({variable: text}, {f"{variable}_FILE": str(tmp_path / "secrets")}):
        assert shown(load_settings(environ).webhook_secrets) == ["new", "old"]


@pytest.mark.parametrize("between", ["\n", "\n\n\n", "\r\n", " \n "])
def test_two_private_keys_are_two_pem_blocks(between: str) -> None:
    other = PEM.replace(CANARY, "other")
    environ = {"SQUADRON_GITHUB_PRIVATE_KEY": f"{PEM}{between}{other}\n"}
    assert shown(load_settings(environ).github_private_keys) == [PEM, other]


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("between", [",", ", ", ",\n"])
@pytest.mark.parametrize("encode", [b64encode, encodebytes], ids=["one line", "wrapped"])
def test_private_keys_may_be_base64(
    encode: Callable[[bytes], bytes], between: str, end: str
) -> None:
    pems = [PEM, PEM.replace(CANARY, "other")]
    encoded = [encode(f"{each}{end}".encode()).decode() for each in pems]
    one = load_settings({"SQUADRON_GITHUB_PRIVATE_KEY": encoded[0]})
    assert shown(one.github_private_keys) == [PEM]
    both = load_settings({"SQUADRON_GITHUB_PRIVATE_KEY": between.join(encoded)})
    assert shown(both.github_private_keys) == pems
    for secret in ("".join(each.split()) for each in encoded):
        assert any(value in secret and len(value) > 20 for value in both.secret_values()), "masked"


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        (
            "WEBHOOK_SECRET",
            f"{CANARY}\n\n{CANARY}-2",
            "has an empty line between secrets: one secret a line",
        ),
        (
            "WEBHOOK_SECRET",
            f"{CANARY}\n{CANARY}-2\n{CANARY}-3",
            "holds 3 lines, so as many secrets: keep the new one and the one before it, no more",
        ),
        (
            "GITHUB_PRIVATE_KEY",
            "\n".join([PEM] * 3),
            "holds 3 keys: keep the new one and the one before it, no more",
        ),
        *(
            (
                "GITHUB_PRIVATE_KEY",
                value,
                "is neither a PEM file's text nor the base64 of one (did its line breaks get lost? "
                "SQUADRON_GITHUB_PRIVATE_KEY_FILE takes the file as it is)",
            )
            for value in (
                f"{PEM}\n{CANARY}",
                f"{CANARY}\n{PEM}",
                f"{PEM}\n{PEM[:40]}",
                f"{PEM}\n{PEM.replace(chr(10), ' ')}",
                b64encode(CANARY.encode()).decode(),
                b64encode(f"{PEM}\n{CANARY}".encode()).decode(),
            )
        ),
    ],
)
def test_what_cannot_be_told_apart_is_refused(name: str, value: str, problem: str) -> None:
    assert refused({f"SQUADRON_{name}": value}) == (f"SQUADRON_{name} {problem}",)


def test_all_mistakes_are_said_at_once_without_any_value() -> None:
    assert refused(
        {
            "SQUADRON_GITHUB_APP_ID": f"x{CANARY}",
            "SQUADRON_GITHUB_PRIVATE_KEY": f"-----BEGIN KEY-----\\n{CANARY}\\n-----END KEY-----",
            "SQUADRON_GITHUB_API_URL": f"https://u:{CANARY}@api.github.com",
            "SQUADRON_DATABASE_URL": f"mysql://u:{CANARY}@h/d",
            "SQUADRON_MODEL": "gpt-5",
            "SQUADRON_MODEL_BASE_URL": "https://h:notaport",
        }
    ) == (
        "SQUADRON_GITHUB_API_URL must be an address like https://host/path, without credentials",
        "SQUADRON_GITHUB_APP_ID must be the App's numeric id",
        "SQUADRON_GITHUB_PRIVATE_KEY is neither a PEM file's text nor the base64 of one"
        " (did its line breaks get lost? SQUADRON_GITHUB_PRIVATE_KEY_FILE takes the file as it is)",
        "SQUADRON_DATABASE_URL must start with postgresql:// or sqlite:///",
        'SQUADRON_MODEL must be provider:name (like openai:gpt-5), not "gpt-5"',
        "SQUADRON_MODEL_BASE_URL must be an address like https://host/path, without credentials",
    )


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "x.db", "postgresql+asyncpg://h/d"])
def test_a_database_that_cannot_keep_anything_is_refused(url: str) -> None:
    assert refused({"SQUADRON_DATABASE_URL": url}) == (
        "SQUADRON_DATABASE_URL must start with postgresql:// or sqlite:///",
    )


def test_local_commands_do_not_need_to_be_able_to_read_github_s_secrets() -> None:
    unreadable = {"SQUADRON_GITHUB_PRIVATE_KEY_FILE": "/nonexistent", "SQUADRON_CONFIG": "op.yaml"}
    settings = load_local_settings({**unreadable, "SQUADRON_DATABASE_URL": "sqlite:////x.db"})
    assert settings.database_url.get_secret_value() == "sqlite:////x.db"
    assert settings.config == Path.cwd() / "op.yaml"
    assert settings.github_private_keys == ()


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("postgresql://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgres://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgresql+psycopg://u@h/d", "postgresql+psycopg://u@h/d"),
        ("sqlite:///x.db", "sqlite:///x.db"),
    ],
)
def test_database_addresses_are_normalised_once(given: str, used: str) -> None:
    settings = load_settings({"SQUADRON_DATABASE_URL": given})
    assert settings.database_url.get_secret_value() == used


@pytest.mark.parametrize(
    ("given", "used"),
    [
        (None, None),
        ("", None),
        ("/srv/kept", "/srv/kept"),
        ("kept", str(Path.cwd() / "kept")),
        ("s3://bucket", "s3://bucket"),
        ("s3://bucket.of-octo/squadron/", "s3://bucket.of-octo/squadron"),
    ],
)
def test_artifacts_are_in_a_directory_or_a_bucket(given: str | None, used: str | None) -> None:
    environment = {} if given is None else {"SQUADRON_ARTIFACTS": given}
    assert load_settings(environment).artifacts == used


@pytest.mark.parametrize(
    "address",
    ["gs://bucket", "s3://", "s3://ab", f"s3://{CANARY}@bucket", f"s3://bucket?key={CANARY}"],
)
def test_another_address_of_artifacts_is_refused(address: str) -> None:
    assert refused({"SQUADRON_ARTIFACTS": address}) == (
        "SQUADRON_ARTIFACTS must be a directory, or s3://BUCKET or s3://BUCKET/PATH",
    )


def test_what_opens_a_bucket_is_never_shown() -> None:
    opens = {"AWS_SECRET_ACCESS_KEY": f"{CANARY}-key", "AWS_SESSION_TOKEN": f"{CANARY}-token"}
    settings = load_settings(opens)
    assert set(settings.secret_values()) == set(opens.values())
    assert CANARY not in repr(settings)


@pytest.mark.parametrize(
    ("api", "git"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://api.octo.ghe.com", "https://octo.ghe.com"),
        ("https://git.example.org/api/v3", "https://git.example.org"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_the_git_address_follows_the_rest_address(api: str, git: str) -> None:
    assert git_url_of(api) == git
    assert load_settings({"SQUADRON_GITHUB_API_URL": f"{api}/"}).github_git_url == git
