"""A prompt as JSON has it, in each of its formats."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NotRequired, TypedDict
else:
    TypedDict = dict


class PromptFile(TypedDict):
    """A file that a message names."""

    path: str
    media_type: str
    bytes: int


class PromptMessage(TypedDict):
    """One message of a prompt, and where it comes from."""

    role: str
    directive: str
    name: str
    file: NotRequired[PromptFile]
    content: str


class PromptDocument(TypedDict):
    """A prompt with everything that is known of it."""

    agent: str
    mode: str
    user: int
    hash: str
    messages: list[PromptMessage]


class OpenAIMessage(TypedDict):
    """A message as OpenAI-compatible endpoints take it."""

    role: str
    content: str


class OpenAIPrompt(TypedDict):
    """A prompt as OpenAI-compatible endpoints take it."""

    messages: list[OpenAIMessage]


class CacheControl(TypedDict):
    """The mark of the last block that Anthropic keeps in its cache."""

    type: str


class AnthropicBlock(TypedDict):
    """A block of text as Anthropic takes it."""

    type: str
    text: str
    cache_control: NotRequired[CacheControl]


class AnthropicPrompt(TypedDict):
    """A prompt as Anthropic takes it."""

    system: list[AnthropicBlock]


class PromptText(TypedDict):
    """A prompt as one text."""

    text: str


class HookOutput(TypedDict):
    """The context for the model of a coding agent."""

    hookEventName: str  # noqa: N815 - as hosts name it
    additionalContext: str  # noqa: N815 - as hosts name it


class HookDocument(TypedDict):
    """The document that a coding agent reads from the hook that starts a session."""

    hookSpecificOutput: HookOutput  # noqa: N815 - as hosts name it
    systemMessage: NotRequired[str]  # noqa: N815 - as hosts name it
