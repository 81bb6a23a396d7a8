"""Talking through a server that answers strangely; the right way is tried with the commands."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from looseleaf.errors import LooseleafError, Unavailable
from looseleaf.errors.operations import ModelFailed
from looseleaf.features.chat.events import Event, TextDelta, TurnStarted
from looseleaf.features.chat.operations import converse
from looseleaf.features.chat.session import ChatInput
from looseleaf.memory.scope import Where
from looseleaf.remote.address import parse_address
from looseleaf.remote.connection import ServerConnection
from looseleaf.remote.context import Remote
from looseleaf.values import Secret

BEGAN = {"event": "began", "session": "s1", "turn": 1, "number": 1, "model": "echo"}
SAID = {"event": "said", "text": "One\u2028two \U0001f600"}
Asked = tuple[str, dict[str, Any]]
Tell = Callable[..., Iterator[Event]]


def event(document: dict[str, Any]) -> bytes:
    """Return an event as a server sends it."""
    text = json.dumps(document, ensure_ascii=False).encode()
    return b"event: %s\ndata: %s\n\n" % (document["event"].encode(), text)


@pytest.fixture
def asked() -> list[Asked]:
    """Record what a server is asked, by path."""
    return []


@pytest.fixture
def tell(asked: list[Asked]) -> Iterator[Tell]:
    """Talk through a server that answers with these bytes, whatever it is asked."""
    servers: list[http.server.HTTPServer] = []

    def told(*parts: bytes, kind: str = "text/event-stream", saying: ChatInput) -> Iterator[Event]:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                asked.append((self.path, json.loads(self.rfile.read(length))))
                self.send_response(200)
                self.send_header("content-type", kind)
                self.end_headers()
                for part in parts:
                    self.wfile.write(part)
                    self.wfile.flush()

            def log_message(self, *_: object) -> None:
                """Answer nothing."""

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = parse_address(f"http://127.0.0.1:{server.server_port}")
        return converse(Remote(ServerConnection(address, Secret("x"))), saying, Where("ada"))

    yield told
    for server in servers:
        server.shutdown()
        server.server_close()


def test_an_answer_that_breaks_off_is_told(tell: Tell, asked: list[Asked]) -> None:
    """After what came; what a later version says beside it is left out, and parts may be torn."""
    whole = b": still there\n\n" + event(BEGAN) + event({"event": "hummed"}) + event(SAID)
    parts = [whole[at : at + 7] for at in range(0, len(whole), 7)]
    events = tell(*parts, saying=ChatInput("Hi", mode="chat"))
    assert [next(events), next(events)] == [
        TurnStarted("s1", 1, 1, "echo"),
        TextDelta("One\u2028two \U0001f600"),
    ]
    with pytest.raises(Unavailable, match="look into the session"):
        next(events)
    assert asked == [
        ("/datamachine/v1/chat", {"message": "Hi", "mode": "chat", "agent": "ada"})
    ]  # nothing is stopped: the answer goes on there


def test_who_stops_listening_stops_the_answer(tell: Tell, asked: list[Asked]) -> None:
    """As it does where the workspace lies; what is only to be gone on with says no more."""
    events = tell(event(BEGAN), event(SAID), event(SAID), saying=ChatInput(None, "s1"))
    assert next(events) == TurnStarted("s1", 1, 1, "echo")
    events.close()  # type: ignore[attr-defined]
    assert asked == [
        ("/datamachine/v1/chat/continue", {"session": "s1"}),
        ("/looseleaf/v1/operations/looseleaf/cancel-chat", {"session": "s1"}),
    ]


ERRORS: list[tuple[dict[str, Any], type[LooseleafError], str]] = [
    ({"code": "model_failed", "message": "Busy.", "data": {"status": 502}}, ModelFailed, "Busy"),
    ({"code": "new_one", "message": "New.", "data": {"status": 503}}, Unavailable, "New"),
    ({"code": "internal_error", "message": "Look at the log."}, LooseleafError, "log"),
    ({"code": "odd", "message": "Odd.", "data": {"status": [1]}}, LooseleafError, "Odd"),
    ({"words": "?"}, Unavailable, "is not from a Looseleaf server"),
]


@pytest.mark.parametrize(("document", "kind", "words"), ERRORS)
def test_an_error_is_what_it_was_there(
    document: dict[str, Any], kind: type[LooseleafError], words: str, tell: Tell
) -> None:
    """Though the status of the answer said that all was well."""
    events = tell(event({"event": "error", **document}), saying=ChatInput("Hi"))
    with pytest.raises(kind, match=words):
        next(events)


def test_a_line_without_an_end_is_given_up(tell: Tell) -> None:
    """Before it fills the memory."""
    events = tell(b"data: ", *[b"x" * 1_000_000] * 12, saying=ChatInput("Hi"))
    with pytest.raises(Unavailable, match="a line of its answer"):
        next(events)


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (b'{"data": {}}', "application/json"),
        (b"<html>", "text/html"),
        (b"event: said\ndata: <html>\n\n", "text/event-stream"),
        (b"event: said\ndata: 5\n\n", "text/event-stream"),
        (b'event: said\ndata: {"event": "said"}\n\n', "text/event-stream"),
    ],
)
def test_nonsense_is_no_answer(told: bytes, kind: str, tell: Tell) -> None:
    """It is told which server it came from, or that its version is another."""
    events = tell(told, kind=kind, saying=ChatInput("Hi"))
    with pytest.raises(Unavailable, match=r"not from a Looseleaf server|another version"):
        next(events)
