"""Talking to an agent through a server: every event of its answer, as it comes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, get_args

from looseleaf.chat import events
from looseleaf.errors import LooseleafError
from looseleaf.operations.schema import plain
from looseleaf.remote.answers import made
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.chat.events import Event
    from looseleaf.operations.chat import Saying
    from looseleaf.operations.context import Where
    from looseleaf.remote.connection import Connection

CHAT, CONTINUE = "/datamachine/v1/chat", "/datamachine/v1/chat/continue"
CANCEL = "looseleaf/cancel-chat"
_KINDS: dict[str, type[Event]] = {kind.kind: kind for kind in get_args(events.Event)}


def converse(connection: Connection, saying: Saying, where: Where) -> Iterator[Event]:
    """Say something to an agent there, and give the events; to close it cancels, as it does here.

    A connection that breaks does not: the answer is still given, and found in the session.
    """
    session = saying.session
    try:
        for document in connection.listen(*_asked(saying, where)):
            kind = _KINDS.get(document.get("event", ""))
            if kind is None:
                continue  # of a later version, which tells more
            event = made(kind, document)
            if isinstance(event, events.Began):
                session = event.session
            yield event
    except (GeneratorExit, KeyboardInterrupt):
        if session:
            with suppress(LooseleafError):
                connection.run(CANCEL, {"session": session})
        raise


def _asked(saying: Saying, where: Where) -> tuple[str, dict[str, Any]]:
    told = {name: plain(one) for name, one in as_dict(saying).items() if one}
    if saying.message is None:
        return CONTINUE, {name: told[name] for name in ("session", "model") if name in told}
    told["message"] = saying.message
    return CHAT, told | {name: one for name, one in as_dict(where).items() if one is not None}
