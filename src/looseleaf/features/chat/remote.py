"""A conversation with an agent through a server: every event of its answer, as it comes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, get_args

from looseleaf.catalog.json_values import to_json_value
from looseleaf.errors import LooseleafError
from looseleaf.features.chat import events
from looseleaf.remote.context import build_value
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.catalog.declaration import RemoteContext
    from looseleaf.features.chat.events import Event
    from looseleaf.features.chat.session import ChatInput
    from looseleaf.memory.scope import Where

CHAT, CONTINUE = "/datamachine/v1/chat", "/datamachine/v1/chat/continue"
CANCEL = "looseleaf/cancel-chat"
_KINDS: dict[str, type[Event]] = {kind.kind: kind for kind in get_args(events.Event)}


def converse(context: RemoteContext, chat_input: ChatInput, where: Where) -> Iterator[Event]:
    """Send a message to an agent on the server, and yield the events; closing the iterator cancels.

    A broken connection does not cancel: the answer is completed and stored in the session.
    """
    session = chat_input.session
    try:
        for document in context.listen(*_build_request(chat_input, where)):
            kind = _KINDS.get(document.get("event", ""))
            if kind is None:
                continue  # an event of a later version
            event = build_value(kind, document)
            if isinstance(event, events.TurnStarted):
                session = event.session
            yield event
    except (GeneratorExit, KeyboardInterrupt):
        if session:
            with suppress(LooseleafError):
                context.run(CANCEL, {"session": session})
        raise


def _build_request(chat_input: ChatInput, where: Where) -> tuple[str, dict[str, Any]]:
    body = {name: to_json_value(field) for name, field in as_dict(chat_input).items() if field}
    if chat_input.message is None:
        return CONTINUE, {name: body[name] for name in ("session", "model") if name in body}
    body["message"] = chat_input.message
    return CHAT, body | {name: field for name, field in as_dict(where).items() if field is not None}
