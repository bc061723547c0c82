"""The HTTP interface, as the service describes it to those who have its token."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import SecretStr

from app.bootstrap import build
from app.config.settings import AdminToken, Settings
from app.web.application import rest
from docs.from_code.markdown import table

_WORDS: Final[Mapping[str, str]] = {
    "Successful Response": "Done; the answer is as described",
    "Validation Error": "What was sent cannot be read; `detail` says what, and where",
}
"""FastAPI's own words → ours."""


def operations() -> Iterator[str]:
    """Every operation, with what it takes and answers."""
    described = _description()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"### {method.upper()} {path}"
            yield ""
            yield from operation["description"].splitlines()
            yield ""
            if asked := [each for each in operation.get("parameters", ()) if each["in"] == "query"]:
                yield from _query(asked)
                yield ""
            if "requestBody" in operation:
                yield from _body(operation["requestBody"], described["components"]["schemas"])
                yield ""
            answers = operation["responses"].items()
            rows = ((f"`{status}`", _meaning(answer["description"])) for status, answer in answers)
            yield from table(("status", "meaning"), rows)
            yield ""


def _meaning(said: str) -> str:
    return _WORDS.get(said, said)


def _query(parameters: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    rows = (
        (f"`{each['name']}`", _kind(each["schema"]), each.get("description", ""))
        for each in parameters
    )
    yield from table(("in the query", "kind", "meaning"), rows)


def _body(body: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    schema = body["content"]["application/json"]["schema"]
    [reference] = [each["$ref"] for each in schema.get("anyOf", [schema]) if "$ref" in each]
    fields = schemas[reference.rpartition("/")[2]]["properties"]
    rows = (
        (f"`{name}`", _kind(each), each.get("description", "")) for name, each in fields.items()
    )
    yield from table(("field of the body", "kind", "meaning"), rows)


def _kind(field: Mapping[str, Any]) -> str:
    return " or ".join(each["type"] for each in field.get("anyOf", [field]))


def _description() -> Mapping[str, Any]:
    """OpenAPI of a service that is put together and never started."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "operator.yaml").write_text("sandbox: {mode: off}\n")  # no agent will run
        settings = Settings(
            github_app_id=1,
            github_private_keys=(SecretStr(pem),),
            webhook_secrets=(SecretStr("not-used"),),
            admin_tokens=(AdminToken("api", SecretStr("not-used")),),
            data_dir=place,
            config=place / "operator.yaml",
            database_url=SecretStr(f"sqlite:///{place / 'squadron.sqlite3'}"),
        )
        return rest(build(settings)).openapi()
