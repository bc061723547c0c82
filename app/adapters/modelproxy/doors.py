"""Opens the proxy of a session, from where models are asked and what the session is told."""

from collections.abc import Callable
from typing import Final

from app.adapters.modelproxy.bounds import Bounds
from app.adapters.modelproxy.proxy import ModelProxy
from app.adapters.modelproxy.upstream import Upstream
from app.adapters.modelproxy.wires import Provider
from app.ports import Gate, ModelUnusable, Providers, SessionOrder

SOCKET: Final = "door"
"""In the session's directory: for a CLI that reaches no address."""


def doors_of(
    providers: Providers, bounds: Bounds | None = None
) -> Callable[[SessionOrder, Gate], ModelProxy]:
    """Makes the proxy for a session's order and gate.

    What it returns raises `ModelUnusable`.
    """

    def open_door(order: SessionOrder, gate: Gate) -> ModelProxy:
        provider = _provider(order.model)
        if order.planning_model is not None and _provider(order.planning_model) != provider:
            raise ModelUnusable(
                f"models {order.planning_model!r} and {order.model!r}: a session of a CLI has one"
                " provider; name two models of the same"
            )
        access = providers[provider]
        return ModelProxy(
            Upstream(access.base_url, access.api_key, provider),
            gate,
            model=order.model,
            most_output_tokens=order.most_output_tokens,
            bounds=bounds,
            socket_path=order.session_directory / SOCKET,
        )

    return open_door


def _provider(model: str) -> Provider:
    provider, _, name = model.partition(":")
    if not name:
        raise ModelUnusable(f"model {model!r}: write it as provider:name")
    if provider == "openai":
        return "openai"
    if provider == "anthropic":
        return "anthropic"
    raise ModelUnusable(f"model {model!r}: the provider must be openai or anthropic")
