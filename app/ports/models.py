"""Where models are asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import SecretStr


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """Where the models of one provider are asked, and with which key."""

    api_key: SecretStr
    """Empty: there is none."""
    base_url: str | None = None
    """None: the provider's own. OpenAI-compatible ones end in `/v1`, Anthropic's do not."""


Providers: TypeAlias = Mapping[str, ModelAccess]
"""By provider, as models name it. No provider is asked with the key of another."""
