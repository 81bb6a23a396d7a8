"""Messages of conversations as rows, and back."""

from __future__ import annotations

import json

import sqlalchemy as sa

from looseleaf.chat.session import SessionEntry
from looseleaf.chat.tables import chat_messages
from looseleaf.models.model import Attachment, Message, ToolCall
from looseleaf.stores.database.row_digests import digest_of
from looseleaf.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MICRO = 1_000_000
_ADD = chat_messages.insert()
VERSION = 1  # of the JSON format of a message; older versions stay readable


def build_message_row(message: Message) -> dict[str, Any]:
    """Build the row of a message; fields that most messages lack are left out."""
    details: dict[str, Any] = {}
    if message.calls:
        details["calls"] = [as_dict(call) for call in message.calls]
    if message.attachments:
        details["attachments"] = [as_dict(attachment) for attachment in message.attachments]
    if message.role == "tool":
        details |= {"call": message.call, "name": message.name, "failed": message.failed}
    text = clean_text(message.text)
    return {
        "version": VERSION,
        "role": message.role,
        "text": text,
        "folded": None if text.isascii() else text.casefold(),
        "more": json.dumps(details) if details else "",
        "native": message.native,
    }


def entry_of(row: Any) -> SessionEntry:  # noqa: ANN401 - a row of the table
    """Build an entry from a row: number, turn, time, role, text, more, native."""
    number, turn, time, role, text, details_json, native = row
    if not details_json:
        return SessionEntry(
            number, time / MICRO, turn, Message(role=role, text=text, native=native)
        )
    details = json.loads(details_json)
    message = Message(
        role=role,
        text=text,
        calls=tuple(ToolCall(**call) for call in details.get("calls", ())),
        call=details.get("call", ""),
        name=details.get("name", ""),
        failed=details.get("failed", False),
        attachments=tuple(
            Attachment(**attachment) for attachment in details.get("attachments", ())
        ),
        native=native,
    )
    return SessionEntry(number, time / MICRO, turn, message)


def clean_text(text: str) -> str:
    """Replace what not every database can store: NUL, and lone surrogates."""
    if "\0" in text:
        text = text.replace("\0", "\u2400")
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def add_messages(
    connection: sa.Connection, position: tuple[str, int, int], messages: Sequence[Message], now: int
) -> None:
    """Save messages of a session and turn, numbered from the first."""
    session, turn, first_number = position
    rows = [
        {
            "session": session,
            "turn": turn,
            "number": first_number + index,
            "time": now,
            **build_message_row(message),
        }
        for index, message in enumerate(messages)
    ]
    for row in rows:
        row["digest"] = digest_of(chat_messages, row)
    connection.execute(_ADD, rows)
