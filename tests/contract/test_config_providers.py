"""Each provider of models is asked with its own key, and never with another's."""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from app.adapters.modelproxy import doors_of
from app.adapters.runtimes.embedded import models_of, why_silent
from app.config.operator import OperatorConfig, load_operator
from app.config.providers import ProvidersReading, read_providers
from app.config.settings import load_settings
from app.ports import NoProvider
from app.scripted.script import Script, Scripts, text
from app.scripted.server import ScriptedServer
from tests.contract.embedded import RecordingGate
from tests.contract.model_proxy import request_body
from tests.contract.test_model_proxy_doors import order

OWN, OTHER = "key-of-openai-73", "key-of-anthropic-41"


@pytest.fixture
def servers() -> Iterator[Mapping[str, ScriptedServer]]:
    """One for each provider, each with a key of its own."""
    scripts = Scripts((Script("", (text("yes"),)),))
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(ScriptedServer(scripts, api_key=key))
            for name, key in (("openai", OWN), ("anthropic", OTHER))
        }


def read(
    directory: Path, operator: str = "", environment: Mapping[str, str] = {}
) -> ProvidersReading:
    """What the operator's file and these variables say together."""
    file = directory / "operator.yaml"
    file.write_text(operator)
    settings = load_settings({"SQUADRON_CONFIG": str(file), **environment})
    reading = load_operator(file)
    assert reading.problems == ()
    return read_providers(settings, reading.config or OperatorConfig())


def default(server: ScriptedServer, key: str = OWN) -> Mapping[str, str]:
    return {
        "SQUADRON_MODEL": "openai:any",
        "SQUADRON_MODEL_API_KEY": key,
        "SQUADRON_MODEL_BASE_URL": f"{server.url}/v1",
    }


async def test_each_is_asked_with_its_own(
    servers: Mapping[str, ScriptedServer], tmp_path: Path
) -> None:
    (tmp_path / "anthropic.key").write_text(f"{OTHER}\n")
    operator = (
        f"providers: {{anthropic: {{base_url: {servers['anthropic'].url}/,"
        " api_key_file: anthropic.key}}"
    )
    reading = read(tmp_path, operator, default(servers["openai"]))
    assert reading.problems == ()
    for model in ("openai:any", "anthropic:any"):
        assert await why_silent(model, reading.providers) == ""
    assert set(reading.secret_values()) == {OWN, OTHER}
    assert OTHER not in repr(reading)


@pytest.mark.parametrize("default_is_set", [True, False])
async def test_nobody_is_asked_with_the_key_of_another(
    servers: Mapping[str, ScriptedServer], tmp_path: Path, default_is_set: bool
) -> None:
    environment = default(servers["openai"]) if default_is_set else {}
    providers = read(tmp_path, environment=environment).providers
    with pytest.raises(NoProvider, match="there is no key for anthropic"):
        models_of(providers)("anthropic:any")
    opened = doors_of(providers)(order("anthropic:any"), RecordingGate())
    async with opened as door, httpx.AsyncClient(verify=False) as http:
        body, key = request_body("messages", "SCENARIO:story"), {"x-api-key": door.key}
        answer = await http.post(f"{door.url}/v1/messages", json=body, headers=key)
    assert "there is no key for anthropic" in answer.text
    assert not servers["anthropic"].requests


def test_an_endpoint_of_ones_own_may_want_no_key(tmp_path: Path) -> None:
    providers = read(tmp_path, "providers: {openai: {base_url: http://127.0.0.1:9/v1}}").providers
    assert providers["openai"].api_key.get_secret_value() == ""
    models_of(providers)("openai:any")


@pytest.mark.parametrize(
    ("operator", "environment", "words"),
    [
        (
            "providers: {openai: {api_key_file: /nowhere/key}}",
            {},
            "providers.openai.api_key_file names /nowhere/key, which cannot be read: No such file",
        ),
        (
            "providers: {openai: {api_key_file: operator.yaml}}",
            {"SQUADRON_MODEL": "openai:any", "SQUADRON_MODEL_API_KEY": OWN},
            "SQUADRON_MODEL_API_KEY and .*operator.yaml: providers.openai are both set: keep one",
        ),
        (
            "",
            {"SQUADRON_MODEL_API_KEY": OWN},
            "SQUADRON_MODEL_API_KEY is set, but SQUADRON_MODEL is not, which says whose it is",
        ),
    ],
)
def test_what_cannot_be_meant_is_said(
    tmp_path: Path, operator: str, environment: Mapping[str, str], words: str
) -> None:
    (problem,) = read(tmp_path, operator, environment).problems
    assert re.search(words, problem), problem
    assert OWN not in problem
