"""With which key each provider of models is asked: none is told the key of another."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from app.config.names import MODEL_PROVIDERS
from app.config.operator import Endpoint, OperatorConfig
from app.config.secretfiles import SecretFileError, secret_text
from app.config.settings import LEAST_SECRET_CHARACTERS, Settings
from app.config.variables import PREFIX
from app.ports import ModelAccess, Providers


@dataclass(frozen=True, slots=True)
class ProvidersReading:
    """How providers are asked, and what is wrong with what was said about that."""

    providers: Providers
    problems: tuple[str, ...]

    def secret_values(self) -> tuple[str, ...]:
        """The keys."""
        keys = (access.api_key.get_secret_value() for access in self.providers.values())
        return tuple(key for key in keys if len(key) >= LEAST_SECRET_CHARACTERS)


def read_providers(settings: Settings, operator: OperatorConfig) -> ProvidersReading:
    """`SQUADRON_MODEL_API_KEY` and `SQUADRON_MODEL_BASE_URL` are those of the provider of
    `SQUADRON_MODEL`. The operator's file names the others', whose keys are read here."""
    problems = list(_contradictions(settings, operator.providers))
    providers = dict.fromkeys(MODEL_PROVIDERS, ModelAccess(SecretStr("")))
    own = _provider_of_default(settings)
    if own is not None:
        key = settings.model_api_key or SecretStr("")
        providers[own] = ModelAccess(key, settings.model_base_url)
    for name, endpoint in operator.providers.items():
        try:
            providers[name] = _access(endpoint)
        except SecretFileError as error:
            entry = f"{settings.config}: providers.{name}.api_key_file"
            problems.append(f"{entry} names {endpoint.api_key_file}, which {error}")
    return ProvidersReading(providers, tuple(problems))


def _access(endpoint: Endpoint) -> ModelAccess:
    key = "" if endpoint.api_key_file is None else secret_text(endpoint.api_key_file).strip()
    return ModelAccess(SecretStr(key), endpoint.base_url)


def _contradictions(settings: Settings, endpoints: Mapping[str, Endpoint]) -> Iterator[str]:
    said = {"MODEL_API_KEY": settings.model_api_key, "MODEL_BASE_URL": settings.model_base_url}
    own = _provider_of_default(settings)
    for name, value in said.items():
        if value is None:
            continue
        if own is None:
            yield (
                f"{PREFIX}{name} is set, but {PREFIX}MODEL is not, which says whose it is: set it,"
                " or name the provider under `providers` in the operator's file"
            )
        elif own in endpoints:
            yield f"{PREFIX}{name} and {settings.config}: providers.{own} are both set: keep one"


def _provider_of_default(settings: Settings) -> str | None:
    return None if settings.model is None else settings.model.partition(":")[0]
