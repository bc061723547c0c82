"""The scripted model in process: no server, no network."""

import asyncio
import json
from collections.abc import Awaitable, Callable

from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.messages import (
    FinishReason,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from app.scripted.script import Conversation, Failure, Message, Served, Speaker
from app.scripted.usage import reported_tokens
from app.scripted.wires import Reply, plain_text


def scripted_model(
    next_step: Callable[[Conversation], Served],
    name: str = "scripted",
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> FunctionModel:
    """A pydantic-ai model that answers with the next step of a conversation; its failures look
    like those of a server. `sleep`: how it thinks."""

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        conversation = _conversation(messages, info)
        served = next_step(conversation)
        if isinstance(served.step, Failure):
            raise _failed(served.step, name)
        await sleep(served.step.think_seconds)
        if served.step.breaks_off:
            raise ModelConnectionError(name, "the connection ended in the middle of the answer")
        used = reported_tokens(conversation, served.step)
        reply = Reply(served.id, name, served.step, *used)
        parts: list[TextPart | ThinkingPart | ToolCallPart] = [
            ToolCallPart(
                call.tool,
                call.args if isinstance(call.args, str) else dict(call.args),
                reply.call_id(number),
            )
            for number, call in enumerate(served.step.calls)
        ]
        if served.step.text:
            parts.insert(0, TextPart(served.step.text))
        if served.step.thinking:
            parts.insert(0, ThinkingPart(served.step.thinking))
        usage = RequestUsage(
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cache_read_tokens=served.step.cache_read_tokens,
            cache_write_tokens=served.step.cache_write_tokens,
        )
        finish: FinishReason | None = "length" if served.step.is_cut_off else None
        return ModelResponse(parts=parts, usage=usage, finish_reason=finish)

    return FunctionModel(answer, model_name=name)


def _conversation(history: list[ModelMessage], info: AgentInfo) -> Conversation:
    messages = []
    if info.instructions:
        messages.append(Message(Speaker.SYSTEM, info.instructions))
    for each in history:
        match each:
            case ModelRequest():
                messages.extend(_said_to_the_model(each))
            case ModelResponse():
                messages.append(Message(Speaker.MODEL, each.text or ""))
    return Conversation(tuple(messages))


def _said_to_the_model(request: ModelRequest) -> list[Message]:
    messages = []
    for part in request.parts:
        match part:
            case SystemPromptPart():
                messages.append(Message(Speaker.SYSTEM, part.content))
            case UserPromptPart():
                content = part.content
                words = content if isinstance(content, str) else plain_text(list(content))
                messages.append(Message(Speaker.USER, words))
            case ToolReturnPart():
                messages.append(Message(Speaker.TOOL, part.model_response_str()))
            case _:
                pass  # other parts carry no words for the model
    return messages


def _failed(failure: Failure, name: str) -> Exception:
    if failure.status < 400:
        return UnexpectedModelBehavior("the answer is no answer of a model", failure.body)
    try:
        body = json.loads(failure.body)
    except ValueError:
        body = failure.body
    return ModelHTTPError(failure.status, name, body, headers=failure.headers)
