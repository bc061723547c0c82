"""The models of a session: OpenAI- and Anthropic-compatible endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.adapters.runtimes.embedded.bounds import REQUEST_SECONDS
from app.core.rules.outages import no_key
from app.ports import ModelUnusable, NoProvider, Providers

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

MakeModel = Callable[[str], "Model"]
"""Makes the model for a `provider:name`. Raises `ModelUnusable`, and `NoProvider` without a
key for the provider's own endpoint."""

UNKNOWN_CONTEXT_TOKENS = 128_000
NO_KEY = "none"
"""For an endpoint of one's own that needs no key: the libraries want some."""


def models_of(providers: Providers, request_seconds: float = REQUEST_SECONDS) -> MakeModel:
    """Makes models for `openai:NAME` (chat completions) and `anthropic:NAME`.

    They try a request once: repeating it is this runtime's own decision.
    """

    def make(name: str) -> Model:
        provider, _, model = name.partition(":")
        settings: ModelSettings = {"max_retries": 0, "timeout": request_seconds}
        if not model:
            raise ModelUnusable(f"model {name!r}: write it as provider:name")
        if provider not in ("openai", "anthropic"):
            raise ModelUnusable(f"model {name!r}: the provider must be openai or anthropic")
        access = providers[provider]
        key = access.api_key.get_secret_value()
        if not key and access.base_url is None:
            raise NoProvider(no_key(provider))
        if provider == "openai":
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            openai = OpenAIProvider(base_url=access.base_url, api_key=key or NO_KEY)
            return OpenAIChatModel(model, provider=openai, settings=settings)
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        anthropic = AnthropicProvider(base_url=access.base_url, api_key=key or NO_KEY)
        return AnthropicModel(model, provider=anthropic, settings=settings)

    return make


def context_tokens(model: Model) -> int:
    """The model's context window, or a cautious figure for a model that nobody knows."""
    return model.profile.get("context_window") or UNKNOWN_CONTEXT_TOKENS


def host(model: Model) -> str:
    """The host that the model is asked at, for error messages; never a user or key in it."""
    address = urlsplit(model.base_url or "")
    if address.hostname is None:
        return "this process"
    return f"{address.hostname}:{address.port}" if address.port else address.hostname
