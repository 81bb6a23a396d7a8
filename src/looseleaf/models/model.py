"""The contract of a model: what it is asked, what it says, and how it says it bit by bit."""

from __future__ import annotations

import json

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Literal, Protocol

    Role = Literal["user", "assistant", "tool"]
else:
    Protocol = object


@value
class ToolCall:
    """A model's wish to use a tool; `arguments` is JSON as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"


@value
class Attachment:
    """Something that came with a message, named but not contained."""

    name: str
    media_type: str
    reference: str  # a page, a path or an address
    bytes: int = 0

    @property
    def line(self) -> str:
        """What a model is told of it."""
        size = f", {self.bytes} bytes" if self.bytes else ""
        return f"Attached: {self.name} ({self.media_type}{size}): {self.reference}"


@value
class Message:
    """One thing that was said: by a person, by the model, or by a tool that was called."""

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()  # of an assistant
    call: str = ""  # of a tool: the id of the call it answers
    name: str = ""  # of a tool: which it was
    failed: bool = False  # of a tool
    attachments: tuple[Attachment, ...] = ()  # of a user
    native: str = ""  # of an assistant: what else its provider said, JSON of who asked it

    @property
    def with_attachments(self) -> str:
        """Its text, and what is attached to it, named."""
        return "\n\n".join((self.text, *(one.line for one in self.attachments)))


@value
class Offer:
    """A tool as a model is told of it; `parameters` is the text of a JSON schema."""

    name: str
    description: str
    parameters: str

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        found: dict[str, Any] = json.loads(self.parameters)
        return found


@value
class Question:
    """All that a model is given for one answer."""

    system: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[Offer, ...] = ()


@value
class Usage:
    """What answers cost, in tokens as the provider counts them."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        """Add two together."""
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@value
class Delta:
    """A bit of an answer's text."""

    text: str


@value
class Retry:
    """The provider could not answer yet, and is asked again after a while."""

    attempt: int
    seconds: float
    why: str


@value
class Answer:
    """The whole answer, once it is complete."""

    message: Message
    usage: Usage
    model: str
    cut: str = ""  # why there is less of it than the model had to say


class Model(Protocol):
    """Someone who answers."""

    name: str

    def ask(
        self, question: Question, stopped: Callable[[], bool]
    ) -> Iterator[Delta | Retry | Answer]:
        """Answer bit by bit, the whole last; raise `ModelFailed` where that cannot be.

        `stopped` is asked now and then, while nothing comes too; once it says yes, the iteration
        ends without an answer, and so does the request when the iterator is closed.
        """


def why_cut(finish: str | None) -> str:
    """Say why an answer is not whole, by what its provider calls its end; "" where it is."""
    if finish == "length":
        return "The answer ends where the provider's limit of length is."
    if finish == "content_filter":
        return "The answer was ended, or withheld, by a filter of the provider's."
    return ""


def never() -> bool:
    """Stop nothing."""
    return False


def answer(model: Model, question: Question) -> Answer:
    """Ask a model and wait for the whole answer."""
    for said in model.ask(question, never):
        if isinstance(said, Answer):
            return said
    raise ValueError(f"{model.name} ended without an answer")
