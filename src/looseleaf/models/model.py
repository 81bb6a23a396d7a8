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
    """A call of a tool by a model; `arguments` is JSON as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"


@value
class Attachment:
    """A file that belongs to a message; the message names it and does not contain it.

    Fields:
        name: The name of the file, for people and the model.
        media_type: The kind of file, such as image/png.
        reference: The place where the file lies: a page, a path or an address.
        bytes: The size of the file, or 0 if it is not known.
    """

    name: str
    media_type: str
    reference: str  # a page, a path or an address
    bytes: int = 0

    @property
    def line(self) -> str:
        """The line that names the attachment for a model."""
        size = f", {self.bytes} bytes" if self.bytes else ""
        return f"Attached: {self.name} ({self.media_type}{size}): {self.reference}"


@value(kw_only=True)
class Message:
    """One message: of a person, of the model, or of a tool that was called."""

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()  # of an assistant
    call: str = ""  # of a tool: the id of the call that it answers
    name: str = ""  # of a tool: its name
    failed: bool = False  # of a tool
    attachments: tuple[Attachment, ...] = ()  # of a user
    native: str = ""  # of an assistant: further data of the provider, as JSON

    @property
    def with_attachments(self) -> str:
        """The text, and the names of the attachments."""
        return "\n\n".join((self.text, *(attachment.line for attachment in self.attachments)))


@value
class Offer:
    """A tool that is offered to a model; `parameters` is the text of a JSON schema."""

    name: str
    description: str
    parameters: str

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        schema: dict[str, Any] = json.loads(self.parameters)
        return schema


@value
class ModelOffer:
    """The models that a provider offers.

    Fields:
        provider: The provider, as the settings name it.
        models: The names of its models, each as it is set: provider:model.
        problem: Why there is no list; "" if there is one.
    """

    provider: str
    models: tuple[str, ...] = ()
    problem: str = ""


@value
class Question:
    """The input of a model for one answer."""

    system: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[Offer, ...] = ()


@value
class Usage:
    """The cost of answers, in tokens as the provider counts them."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def plus(self, usage: Usage) -> Usage:
        """Return the sum of both."""
        return Usage(
            self.requests + usage.requests,
            self.input_tokens + usage.input_tokens,
            self.output_tokens + usage.output_tokens,
            self.cached_tokens + usage.cached_tokens,
        )


@value
class Delta:
    """A part of an answer's text."""

    text: str


@value
class Retry:
    """The provider could not answer, and is asked again after some seconds."""

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
        """Yield parts of the answer, then the whole answer; raise `ModelFailed` on failure.

        `should_stop` is called from time to time, also while no part comes. If it returns True, the
        iteration ends without an answer. Closing the iterator ends the request, too.
        """


def describe_cut(finish: str | None) -> str:
    """Return why an answer is not complete, by the provider's finish reason, or "" if complete."""
    if finish == "length":
        return "The answer was cut at the provider's limit of length."
    if finish == "content_filter":
        return "The answer was cut or withheld by a filter of the provider."
    return ""


def never() -> bool:
    """Never stop: the condition of a caller that waits for the whole answer."""
    return False


def answer(model: Model, question: Question) -> Answer:
    """Query a model and wait for the whole answer."""
    for part in model.ask(question, never):
        if isinstance(part, Answer):
            return part
    raise ValueError(f"{model.name} ended without an answer")
