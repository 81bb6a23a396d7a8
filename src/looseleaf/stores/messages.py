"""Messages of conversations as rows, and back."""

from __future__ import annotations

import json

import sqlalchemy as sa

from looseleaf.chat.session import Entry
from looseleaf.models.model import Attachment, Message, ToolCall
from looseleaf.stores.row_digests import digest_of
from looseleaf.stores.tables import chat_messages
from looseleaf.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MICRO = 1_000_000
_ADD = chat_messages.insert()
VERSION = 1  # of how a message's JSON is laid out; an older one stays readable


def message_row(message: Message) -> dict[str, Any]:
    """Lay out a message; what most have none of is left away."""
    more: dict[str, Any] = {}
    if message.calls:
        more["calls"] = [as_dict(call) for call in message.calls]
    if message.attachments:
        more["attachments"] = [as_dict(one) for one in message.attachments]
    if message.role == "tool":
        more |= {"call": message.call, "name": message.name, "failed": message.failed}
    text = storable(message.text)
    return {
        "version": VERSION,
        "role": message.role,
        "text": text,
        "folded": None if text.isascii() else text.casefold(),
        "more": json.dumps(more) if more else "",
        "native": message.native,
    }


def entry_of(row: Any) -> Entry:  # noqa: ANN401 - a row of the table
    """Read a message back: number, turn, time, role, text, more, native."""
    number, turn, time, role, text, more, native = row
    if not more:
        return Entry(number, time / MICRO, turn, Message(role, text, native=native))
    told = json.loads(more)
    message = Message(
        role,
        text,
        tuple(ToolCall(**call) for call in told.get("calls", ())),
        told.get("call", ""),
        told.get("name", ""),
        told.get("failed", False),
        tuple(Attachment(**one) for one in told.get("attachments", ())),
        native,
    )
    return Entry(number, time / MICRO, turn, message)


def storable(text: str) -> str:
    """Give a text that every database can keep: no zero, and no half of a character."""
    if "\0" in text:
        text = text.replace("\0", "\u2400")
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def add_messages(
    connection: sa.Connection, place: tuple[str, int, int], said: Sequence[Message], now: int
) -> None:
    """Save messages of a session and turn, numbered from the first."""
    session, turn, first = place
    rows = [
        {"session": session, "turn": turn, "number": first + at, "time": now, **message_row(one)}
        for at, one in enumerate(said)
    ]
    for row in rows:
        row["digest"] = digest_of(chat_messages, row)
    connection.execute(_ADD, rows)
