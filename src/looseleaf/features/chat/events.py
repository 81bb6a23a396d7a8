"""The events of a turn, given as they happen."""

from __future__ import annotations

from looseleaf.features.chat.session import WrittenPage
from looseleaf.models.model import Usage
from looseleaf.values import as_dict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@value
class TurnStarted:
    """The message was saved, and the model is asked next."""

    session: str
    turn: int
    number: int
    model: str

    kind = "began"


@value
class TextDelta:
    """A part of the answer."""

    text: str

    kind = "said"


@value
class Waiting:
    """The provider is busy and will be asked again."""

    attempt: int
    seconds: float
    why: str

    kind = "waiting"


@value
class ToolCalled:
    """The model calls a tool."""

    call: str
    tool: str
    arguments: str

    kind = "called"


@value
class ToolReturned:
    """The result of the tool, and the pages it changed."""

    call: str
    tool: str
    text: str
    failed: bool
    written: tuple[WrittenPage, ...]

    kind = "returned"


@value
class Compacted:
    """The beginning of the conversation was summarized, or the summary failed with an error."""

    through: int
    error: str

    kind = "compacted"


@value
class TitleChanged:
    """The session has a name."""

    title: str

    kind = "titled"


@value(kw_only=True)
class TurnEnded:
    """The turn is over and saved; `text` is the whole answer."""

    session: str
    turn: int
    status: str
    text: str
    usage: Usage
    written: tuple[WrittenPage, ...]
    steps: int
    warning: str

    kind = "ended"


Event = (
    TurnStarted
    | TextDelta
    | Waiting
    | ToolCalled
    | ToolReturned
    | Compacted
    | TitleChanged
    | TurnEnded
)


def build_event_document(event: Event) -> dict[str, Any]:
    """Return an event as JSON data."""
    fields = {name: _to_json(field) for name, field in as_dict(event).items()}
    return {"event": event.kind, **fields}


def _to_json(field: object) -> object:
    if isinstance(field, tuple):
        return [_to_json(part) for part in field]
    return as_dict(field) if hasattr(type(field), "__match_args__") else field
