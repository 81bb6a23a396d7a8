"""The contract of a model: questions, answers, and the parts in which an answer arrives."""

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
    """Something that came with a message, named but not contained.

    Fields:
        name: The name of the file, for people and the model.
        media_type: The kind of file, such as image/png.
        reference: The place where the file lies: a page, a path or an address.
        bytes: The size of the file; 0 where it is not known.
    """

    name: str
    media_type: str
    reference: str  # a page, a path or an address
    bytes: int = 0

    @property
    def line(self) -> str:
        """The line by which a model is told of it."""
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
    native: str = ""  # of an assistant: JSON of further data from its provider

    @property
    def with_attachments(self) -> str:
        """Its text, and what is attached to it, named."""
        return "\n\n".join((self.text, *(attachment.line for attachment in self.attachments)))


@value
class Offer:
    """A tool as a model is told of it; `parameters` is the text of a JSON schema."""

    name: str
    description: str
    parameters: str

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        schema: dict[str, Any] = json.loads(self.parameters)
        return schema


@value
class Question:
    """The input of a model for one answer."""

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

    def plus(self, usage: Usage) -> Usage:
        """Add two together."""
        return Usage(
            self.requests + usage.requests,
            self.input_tokens + usage.input_tokens,
            self.output_tokens + usage.output_tokens,
            self.cached_tokens + usage.cached_tokens,
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
    reason: str


@value
class Answer:
    """The whole answer, once it is complete."""

    message: Message
    usage: Usage
    model: str
    warning: str = ""  # why the answer is not complete


class Model(Protocol):
    """A model that answers."""

    name: str

    def ask(
        self, question: Question, should_stop: Callable[[], bool]
    ) -> Iterator[Delta | Retry | Answer]:
        """Answer bit by bit, the whole last; raise `ModelFailed` where that cannot be.

        `should_stop` is asked now and then, also while nothing comes; once it says yes, the
        iteration ends without an answer, and so does the request when the iterator is closed.
        """


def describe_cut(finish: str | None) -> str:
    """Say why an answer is not complete, by the provider's finish reason; "" where it is."""
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
    for part in model.ask(question, never):
        if isinstance(part, Answer):
            return part
    raise ValueError(f"{model.name} ended without an answer")
