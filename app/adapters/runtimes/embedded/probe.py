"""Whether a model answers at all: one token, asked for as a session asks."""

from typing import Final

from app.adapters.runtimes.embedded.models import models_of
from app.ports import ModelUnusable, NoProvider, Providers

PROBE_SECONDS: Final = 30.0
QUESTION: Final = "Say yes."


async def why_silent(name: str, providers: Providers) -> str:
    """Why the model `provider:name` does not answer, for people; empty: it does."""
    # Imported at the call: a second that no other command waits for.
    from pydantic_ai.direct import model_request
    from pydantic_ai.exceptions import AgentRunError
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.settings import ModelSettings

    from app.adapters.runtimes.embedded.calls import MISSHAPEN, failure_words

    try:
        model = models_of(providers, PROBE_SECONDS)(name)
    except (ModelUnusable, NoProvider) as error:
        return str(error)
    question = [ModelRequest.user_text_prompt(QUESTION)]
    settings = ModelSettings(max_tokens=1, timeout=PROBE_SECONDS)
    try:
        async with model:
            await model_request(model, question, model_settings=settings)
    except (AgentRunError, *MISSHAPEN) as error:
        return failure_words(model, error, 1)
    return ""
