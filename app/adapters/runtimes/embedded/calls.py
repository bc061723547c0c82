"""One call of the model: when a failed request is repeated, and what is said when it is given up.

Reasons name the model, the host and the status. They never quote a provider's error text, which
may repeat the key or the conversation.
"""

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

from app.adapters.runtimes.embedded.bounds import Bounds, Sleep
from app.adapters.runtimes.embedded.models import host
from app.core.rules.outages import (
    PASSING_STATUSES,
    REFUSED_STATUSES,
    ProviderFailure,
    is_away,
    provider_of,
)

MISSHAPEN = (UserError, OSError, ValueError, LookupError, TypeError, AttributeError)
"""What the libraries raise for a body of the right type and the wrong shape."""
_HINTS = {
    400: "the endpoint refused the request; is it the right model for this endpoint, and can its"
    " answers be as long as max_output_tokens_per_call?",
    401: "check the model's API key",
    403: "check the model's API key and what it may use",
    404: "check the model's name and base URL",
    429: "the rate limit did not pass; use fewer workers or ask for more",
}


class ModelFailed(Exception):
    """The model cannot be asked this; the text is for people."""


class NoAnswer(Exception):
    """The model's provider gave no whole answer."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


async def ask(
    named: str,
    model: Model,
    messages: list[ModelMessage],
    offer: ModelRequestParameters,
    settings: ModelSettings,
    bounds: Bounds,
    sleep: Sleep,
) -> ModelResponse:
    """The model's answer, repeating the request as `wait_seconds` decides. `named`:
    `provider:name`.

    Raises `ModelFailed` and `NoAnswer`.
    """
    provider = provider_of(named)
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
                reason = failure_words(model, error, retries + 1)
                raise _given_up(provider, error, reason) from error
        except MISSHAPEN as error:
            reason = failure_words(model, error, retries + 1)
            raise NoAnswer(ProviderFailure(provider, reason)) from error
        await sleep(wait)
        retries += 1


def wait_seconds(error: AgentRunError, retries: int, bounds: Bounds) -> float | None:
    """How long to wait before the request is repeated; None: it is not. What takes longer is
    waited for in the queue, where no clock runs."""
    if retries >= bounds.most_retries or not _passes(error):
        return None
    asked = _asked_wait_seconds(error)
    wait = bounds.first_retry_seconds * 2**retries if asked is None else asked
    return None if wait > bounds.longest_retry_seconds else wait


def _passes(error: AgentRunError) -> bool:
    """Whether the same request may succeed in a moment."""
    if isinstance(error, ModelQuotaExceededError):
        return False
    if isinstance(error, ModelHTTPError):
        return error.status_code in PASSING_STATUSES or error.status_code >= 500
    return isinstance(error, ModelConnectionError)


def _given_up(provider: str, error: AgentRunError, reason: str) -> ModelFailed | NoAnswer:
    """Whether it is the provider that fails, or what it is asked."""
    status = error.status_code if isinstance(error, ModelHTTPError) else None
    if status is not None and not is_away(status):
        return ModelFailed(reason)
    is_refused = status in REFUSED_STATUSES
    return NoAnswer(ProviderFailure(provider, reason, is_refused, _asked_wait_seconds(error)))


def _asked_wait_seconds(error: AgentRunError) -> float | None:
    return error.retry_after if isinstance(error, ModelAPIError) else None


def failure_words(model: Model, error: Exception, tries: int) -> str:
    """What is said of a request that failed `tries` times."""
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
