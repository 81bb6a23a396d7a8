"""A prompt as others take it: plain text, OpenAI and Anthropic messages, coding agents' hooks."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.prompt.directives.outputs import File
from looseleaf.prompt.documents import (
    AnthropicBlock,
    AnthropicPrompt,
    HookDocument,
    OpenAIMessage,
    OpenAIPrompt,
    PromptDocument,
    PromptFile,
    PromptMessage,
    PromptText,
)
from looseleaf.prompt.host_limit import build_hook_document, concerns_person

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from looseleaf.prompt.assembly import Assembly, Piece

    Prompt: TypeAlias = (
        "PromptDocument | OpenAIPrompt | AnthropicPrompt | PromptText | HookDocument"
    )

HOOKS = ("session-start",)
FORMATS = ("text", "json", "openai", "anthropic", "hook")


def build_document(assembly: Assembly, format: str) -> Prompt:  # noqa: A002
    """Return a prompt in one of the formats, as JSON."""
    if format == "openai":
        return build_openai(assembly)
    if format == "anthropic":
        return build_anthropic(assembly)
    if format == "text":
        return PromptText(text=assembly.text)
    if format == "hook":
        return build_hook(assembly)
    if format != "json":
        raise Invalid(f"There is no format {format!r}. Available formats: {', '.join(FORMATS)}.")
    return PromptDocument(
        agent=assembly.request.agent.slug,
        mode=assembly.request.mode,
        user=assembly.request.user,
        hash=assembly.hash,
        messages=[_build_message(piece) for piece in assembly.pieces if piece.text],
    )


def _build_message(piece: Piece) -> PromptMessage:
    message = PromptMessage(
        role="system", directive=piece.directive.name, name=piece.name, content=piece.text
    )
    if isinstance(piece.item, File):
        file = piece.item
        message["file"] = PromptFile(path=file.path, media_type=file.media_type, bytes=file.bytes)
    return message


def build_openai(assembly: Assembly) -> OpenAIPrompt:
    """Return the messages that an OpenAI-compatible endpoint takes."""
    return {"messages": [OpenAIMessage(role="system", content=text) for text in assembly.messages]}


def build_anthropic(assembly: Assembly) -> AnthropicPrompt:
    """Return the system blocks for Anthropic; the stable beginning is marked for its cache."""
    blocks = [AnthropicBlock(type="text", text=text) for text in assembly.messages]
    stable = sum(1 for piece in assembly.stable if piece.text)
    if stable:
        blocks[stable - 1]["cache_control"] = {"type": "ephemeral"}
    return {"system": blocks}


def build_hook(assembly: Assembly) -> HookDocument:
    """Return the document that Claude Code and Codex read from the hook that starts a session."""
    return build_hook_document(assembly.text, incomplete=concerns_person(assembly))
