"""What happens in a turn, told as it happens."""

from __future__ import annotations

from looseleaf.values import as_dict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.chat.session import Written
    from looseleaf.models.model import Usage


@value
class Began:
    """The message is saved, and the model will be asked."""

    session: str
    turn: int
    number: int
    model: str

    kind = "began"


@value
class Said:
    """A bit of the answer."""

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
class Called:
    """The model wants a tool to be used."""

    call: str
    tool: str
    arguments: str

    kind = "called"


@value
class Returned:
    """What the tool gave, and which pages it changed."""

    call: str
    tool: str
    text: str
    failed: bool
    written: tuple[Written, ...]

    kind = "returned"


@value
class Compacted:
    """The beginning of the conversation was summarized, or why not."""

    through: int
    error: str

    kind = "compacted"


@value
class Titled:
    """The session has a name."""

    title: str

    kind = "titled"


@value
class Ended:
    """The turn is over and saved; `text` is the whole answer."""

    session: str
    turn: int
    status: str
    text: str
    usage: Usage
    written: tuple[Written, ...]
    steps: int
    warning: str

    kind = "ended"


Event = Began | Said | Waiting | Called | Returned | Compacted | Titled | Ended


def told(event: Event) -> dict[str, Any]:
    """Give an event as JSON has it."""
    fields = {name: _plain(one) for name, one in as_dict(event).items()}
    return {"event": event.kind, **fields}


def _plain(one: object) -> object:
    if isinstance(one, tuple):
        return [_plain(part) for part in one]
    return as_dict(one) if hasattr(type(one), "__match_args__") else one
