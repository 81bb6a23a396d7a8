"""A prompt that was put together: its messages, its bytes, and every piece that was considered."""

from __future__ import annotations

from looseleaf.memory.store import hash_content
from looseleaf.prompt.outputs import Data, File, LeftOut, Text
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    from looseleaf.prompt.directive import Directive
    from looseleaf.prompt.request import Request
else:
    TypedDict = dict


BETWEEN = "\n\n"
# The rules by which a page is not in a prompt that should have it.
MISSED = ("over_budget", "not_text", "unreadable")


@value
class Cut:
    """What became of a page of which a part is given: how much fits, which lines went and why."""

    extent: str
    detail: str
    whole: str  # the text of the page, for another cut


@value
class Piece:
    """One thing a directive gave or left out, and the text that stands in the prompt for it."""

    directive: Directive
    item: Text | Data | File | LeftOut
    text: str = ""
    cut: Cut | None = None  # of a page of which a part is given

    @property
    def injected(self) -> bool:
        """Whether the model is given it."""
        return not isinstance(self.item, LeftOut)

    @property
    def name(self) -> str:
        """The name of the page, file or label; else of the directive."""
        item = self.item
        if isinstance(item, LeftOut | File):
            return item.name
        if isinstance(item, Data):
            return item.label
        return item.source.file if item.source is not None else self.directive.name

    @property
    def layer(self) -> str:
        """The layer of the page, or "" if it is no page."""
        item = self.item
        if isinstance(item, Data | File):
            return ""
        if item.source is not None:
            return item.source.layer
        return item.layer if isinstance(item, LeftOut) else ""


class Assembly:
    """The system messages of a prompt in order, and the pieces they came from."""

    __slots__ = ("_text", "moment", "pieces", "request")

    def __init__(self, request: Request, pieces: tuple[Piece, ...], moment: float) -> None:
        self.request = request
        self.pieces = pieces
        self.moment = moment
        self._text: str | None = None

    @property
    def messages(self) -> tuple[str, ...]:
        """The content of each system message."""
        return tuple(piece.text for piece in self.pieces if piece.text)

    @property
    def text(self) -> str:
        """The whole prompt as one text, its messages apart by an empty line."""
        if self._text is None:
            self._text = BETWEEN.join(self.messages)
        return self._text

    @property
    def truncated(self) -> tuple[str, ...]:
        """The pages of which only a part is given."""
        return tuple(piece.name for piece in self.pieces if piece.cut is not None)

    @property
    def omitted(self) -> tuple[str, ...]:
        """The pages that should be in the prompt and are not: no room, or not readable."""
        return tuple(
            piece.item.name
            for piece in self.pieces
            if isinstance(piece.item, LeftOut) and piece.layer and piece.item.rule in MISSED
        )

    @property
    def hash(self) -> str:
        """The sha256 of the whole text."""
        return hash_content(self.text.encode())

    @property
    def stable(self) -> tuple[Piece, ...]:
        """The pieces before the first that may change while no page changes."""
        stable_pieces: list[Piece] = []
        for piece in self.pieces:
            if piece.text and piece.directive.varies != "content":
                break
            stable_pieces.append(piece)
        return tuple(stable_pieces)

    @property
    def stable_text(self) -> str:
        """The beginning of the text that stays the same while pages and request do."""
        return BETWEEN.join(piece.text for piece in self.stable if piece.text)


# A prompt as JSON has it, in each of its formats.


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
