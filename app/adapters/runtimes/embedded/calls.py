"""One call of the model: when a failed request is repeated, and what is said when it is given up.

Reasons name the model, the host and the status. They never quote a provider's error text, which
may repeat the key or the conversation.
"""

import asyncio

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestTimeout,
    UserError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from app.adapters.runtimes.embedded.bounds import Bounds
from app.adapters.runtimes.embedded.models import host

_PASSING_STATUSES = frozenset({408, 409, 425, 429})

_HINTS = {
    400: "the endpoint refused the request; is it the right model for this endpoint, and can its"
    " answers be as long as max_output_tokens_per_call?",
    401: "check the model's API key",
    403: "check the model's API key and what it may use",
    404: "check the model's name and base URL",
    429: "the rate limit did not pass; use fewer workers or ask for more",
}


class ModelFailed(Exception):
    """The model could not be asked, or what came back is no answer; the text is for people."""


async def ask(
    model: Model,
    messages: list[ModelMessage],
    offer: ModelRequestParameters,
    settings: ModelSettings,
    bounds: Bounds,
) -> ModelResponse:
    """The model's answer, repeating the request as `wait_seconds` decides.

    Raises `ModelFailed`.
    """
    settings = {**settings, "request_timeout": bounds.request_seconds}
    retries = 0
    while True:
        try:
            return await model_request(
                model, messages, model_settings=settings, model_request_parameters=offer
            )
        except AgentRunError as error:
            wait = wait_seconds(error, retries, bounds)
            if wait is None:
                raise ModelFailed(_reason(model, error, retries + 1)) from error
        # What the libraries raise for a body of the right type and the wrong shape.
        except (UserError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ModelFailed(_reason(model, error, retries + 1)) from error
        await asyncio.sleep(wait)
        retries += 1


def wait_seconds(error: AgentRunError, retries: int, bounds: Bounds) -> float | None:
    """How long to wait before the request is repeated; None: it is not."""
    if retries >= bounds.most_retries or not _passes(error):
        return None
    asked = error.retry_after if isinstance(error, ModelAPIError) else None
    back_off = bounds.first_retry_seconds * 2**retries
    return min(back_off if asked is None else asked, bounds.longest_retry_seconds)


def _passes(error: AgentRunError) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, ModelQuotaExceededError):
        return False
    if isinstance(error, ModelHTTPError):
        return error.status_code in _PASSING_STATUSES or error.status_code >= 500
    return isinstance(error, ModelConnectionError | ModelRequestTimeout)


def _reason(model: Model, error: Exception, tries: int) -> str:
    what = f"{model.model_name} at {host(model)}"
    times = "1 try" if tries == 1 else f"{tries} tries"
    if isinstance(error, ModelHTTPError):
        status = error.status_code
        hint = _HINTS.get(status, "the endpoint failed; see its status page or log")
        return f"the model {what} answered with HTTP status {status} ({times}): {hint}"
    if isinstance(error, ModelRequestTimeout):
        return f"the model {what} did not answer within {error.timeout:g} seconds ({times})"
    kind = type(_root(error)).__name__
    if isinstance(error, ModelConnectionError):
        return f"the model {what} cannot be reached or broke off ({times}, {kind})"
    return f"the model {what} gave no answer that can be understood ({times}, {kind})"


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error
