"""Our messages in the format of the provider library, and its answers in ours."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from looseleaf.models.model import Answer, Message, ToolCall, Usage, describe_cut

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart
    from pydantic_ai.usage import RequestUsage

    from looseleaf.models.model import Question

# Parts of an answer that our own fields do not hold, as they look in the library's JSON.
_MORE = ('"part_kind":"thinking"', 'signature":', '"phase":')


def messages_of(question: Question) -> list[ModelMessage]:
    """Return a question in the library's format; messages between two answers are one request."""
    parts: list[ModelRequestPart] = [SystemPromptPart(text) for text in question.system]
    messages: list[ModelMessage] = []
    for message in question.messages:
        if message.role == "assistant":
            if parts:
                messages.append(ModelRequest(parts=parts))
            messages.append(_build_response(message))
            parts = []
        elif message.role == "tool":
            parts.append(
                ToolReturnPart(
                    tool_name=message.name,
                    content=message.text,
                    tool_call_id=message.call,
                    outcome="failed" if message.failed else "success",
                )
            )
        else:
            parts.append(UserPromptPart(message.with_attachments))
    if parts:
        messages.append(ModelRequest(parts=parts))
    return messages


def _build_response(message: Message) -> ModelResponse:
    """Build an answer for the library, from its own JSON if that holds more and can be parsed."""
    if any(sign in message.native for sign in _MORE):
        try:
            (response,) = ModelMessagesTypeAdapter.validate_json(message.native)
        except (ValidationError, ValueError):
            response = None  # JSON of another version; our own fields hold the answer
        if isinstance(response, ModelResponse):
            return response
    parts: list[TextPart | ToolCallPart] = [TextPart(message.text)] if message.text else []
    parts += [ToolCallPart(call.name, call.arguments, call.id) for call in message.calls]
    return ModelResponse(parts=parts)


def answer_of(response: ModelResponse, usage: RequestUsage, name: str) -> Answer:
    """Return an answer of the library in our format, with the library's own JSON beside it."""
    calls = tuple(
        ToolCall(part.tool_call_id, part.tool_name, part.args_as_json_str())
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    if "@" in (response.provider_url or ""):
        response = replace(response, provider_url=None)  # it holds a password
    native = ModelMessagesTypeAdapter.dump_json([response], exclude_none=True).decode()
    total_usage = Usage(1, usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
    message = Message(role="assistant", text=text, calls=calls, native=native)
    return Answer(message, total_usage, name, warning=describe_cut(response.finish_reason))
