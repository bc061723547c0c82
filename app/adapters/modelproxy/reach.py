"""What would make the provider itself reach out: searches, fetched addresses, foreign servers.

An agent in a sandbox without a network could otherwise send what it has read to anybody, by way
of its model's provider; and what runs there is billed beside the tokens that are counted.
"""

from collections.abc import Mapping
from typing import Final

_OPENAI_TOOLS: Final = frozenset({"function", "custom", "local_shell", "apply_patch"})
"""Run by whoever asks; all others run at the provider's."""
_ANTHROPIC_TOOLS: Final = (
    "custom", "bash_", "text_editor_", "memory_", "computer_", "tool_search_tool_",
)  # fmt: skip
"""How the types of tools begin that reach nothing; all others run at the provider's."""
_KEYS: Final = ("mcp_servers", "container", "web_search_options", "prompt")
"""Of a request, each of which names something that the provider keeps or asks."""
_ARGUMENTS: Final = ("tool_use", "function_call", "custom_tool_call")
"""What the model called a tool with is not read by the provider."""


def reaches_out(body: Mapping[str, object], *, is_anthropic: bool) -> str | None:
    """What in a request would make the provider reach out; None if nothing does."""
    for key in _KEYS:
        if body.get(key):
            return key
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        kind = tool.get("type", "custom") if isinstance(tool, Mapping) else None
        if not isinstance(kind, str) or not _runs_here(kind, is_anthropic=is_anthropic):
            return f"the tool {kind!r}"[:100]
    return _address_in([body.get("messages"), body.get("input"), body.get("system")])


def _runs_here(kind: str, *, is_anthropic: bool) -> bool:
    return kind.startswith(_ANTHROPIC_TOOLS) if is_anthropic else kind in _OPENAI_TOOLS


def _address_in(said: list[object]) -> str | None:
    """A picture or file that is named by its address in place of being there."""
    left = list(said)
    while left:
        part = left.pop()
        if isinstance(part, list):
            left.extend(part)
        elif isinstance(part, Mapping) and part.get("type") not in _ARGUMENTS:
            image = part.get("image_url")
            address = image.get("url") if isinstance(image, Mapping) else image
            if isinstance(address, str) and not address.startswith("data:"):
                return "a picture by its address"
            if part.get("file_url") or (part.get("type") == "url" and part.get("url")):
                return "a file by its address"
            left.extend(part.values())
    return None
