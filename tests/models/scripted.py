"""A server on loopback with OpenAI's API, whose answers a script fixes.

`python -m tests.models.scripted` serves the script in a file, or one answer for ever, and prints
its address.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import uvicorn

from tests.quick_server import QuickServer

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True)
class Reply:
    """One answer of the model: words, tool calls, or an error."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any] | str], ...] = ()
    thought: str = ""  # before the text, signed if a provider signs
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""  # of an error
    delay: float = 0.0  # before the first word
    pause: float = 0.0  # between two words
    breaks: bool = False  # the connection, in the middle of the text
    ends: bool = False  # in the middle of the text, as if all had been said
    fails: str = ""  # an error in the middle of the text, as JSON
    finish: str = ""  # why it ends, if that is unusual
    raw: str = ""  # instead of everything else

    def words(self) -> list[str]:
        """Return the text as it is streamed."""
        return [word if at == 0 else " " + word for at, word in enumerate(self.text.split(" "))]


class EndOfStream(Exception):
    """The stream ends here, in the middle of the reply."""


class Stream:
    """Server-sent events, one after the other."""

    def __init__(self, send: Send, reply: Reply) -> None:
        self._send, self.reply = send, reply

    async def open(self, kind: str = "text/event-stream") -> None:
        """Begin."""
        headers = [(b"content-type", kind.encode())]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def say(self, data: dict[str, Any] | str, event: str = "") -> None:
        """Send one event."""
        text = data if isinstance(data, str) else json.dumps(data)
        event_line = f"event: {event}\n" if event else ""
        await self.part(f"{event_line}data: {text}\n\n")

    async def words(self) -> AsyncIterator[str]:
        """Yield the words of the reply one by one; stop in the middle if the reply says so."""
        words = self.reply.words() if self.reply.text else []
        for at, word in enumerate(words):
            if at == len(words) // 2:
                await self._stop_in_the_middle()
            yield word
            if self.reply.pause:
                await asyncio.sleep(self.reply.pause)

    async def close(self) -> None:
        """End."""
        await self._send({"type": "http.response.body", "body": b""})

    async def _stop_in_the_middle(self) -> None:
        if self.reply.breaks:
            raise ConnectionError("the script breaks here")
        if self.reply.fails:
            await self.say(self.reply.fails, json.loads(self.reply.fails).get("type", ""))
            raise EndOfStream
        if self.reply.ends:
            raise EndOfStream

    async def part(self, text: str) -> None:
        """Send a bit of text as it is."""
        await self._send({"type": "http.response.body", "body": text.encode(), "more_body": True})


@dataclass
class Scripted:
    """The server's script and the requests that it got; the last reply is repeated.

    This class has OpenAI's API; subclasses have the APIs of other providers.
    """

    replies: list[Reply] = field(default_factory=lambda: [Reply("Hello.")])
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    disconnects: int = 0  # clients that went away before the end of their answer
    url: str = ""
    offered: list[str] = field(default_factory=list)  # names of models that it lists

    prefix: ClassVar[str] = "/v1"  # of the address that a client is given
    key_header: ClassVar[str] = ""  # beside the usual one

    def script(self, *replies: Reply) -> None:
        """Set the next replies."""
        self.replies[:] = replies

    def find_fault(self, _request: dict[str, Any]) -> str:
        """Describe why the provider would refuse a request, or "" if it would not."""
        return ""

    def error(self, status: int, message: str) -> str:
        """Return an error as the provider words it."""
        return json.dumps({"error": {"message": message, "type": "scripted", "code": status}})

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, unless its client goes away."""
        if scope["type"] != "http":
            return
        body, has_more = b"", True
        while has_more:
            part = await receive()
            body, has_more = body + part.get("body", b""), part.get("more_body", False)
        request = json.loads(body or b"{}")
        headers = {name.decode(): text.decode() for name, text in scope["headers"]}
        key = headers.get(self.key_header) or headers.get("authorization", "")
        self.keys.append(key.removeprefix("Bearer "))
        self.paths.append(f"{scope['path']}?{scope['query_string'].decode()}".removesuffix("?"))
        self.requests.append(request)
        answer, disconnect = map(asyncio.ensure_future, (self._reply(send, request), receive()))
        await asyncio.wait((answer, disconnect), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            self.disconnects += 1
            answer.cancel()
        disconnect.cancel()
        await asyncio.gather(answer, return_exceptions=not answer.done())

    async def _reply(self, send: Send, request: dict[str, Any]) -> None:
        if self.offered and self.paths[-1] == f"{self.prefix}/models":
            models = [{"id": name, "object": "model"} for name in self.offered]
            await _send_whole(send, 200, json.dumps({"object": "list", "data": models}))
            return
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if reply.delay:
            await asyncio.sleep(reply.delay)
        wrong = self.find_fault(request)
        if wrong:
            await _send_whole(send, 400, self.error(400, wrong))
        elif reply.status != 200:
            error = reply.body or self.error(reply.status, f"scripted {reply.status}")
            await _send_whole(send, reply.status, error, reply.headers)
        else:
            await self.answer(send, request, reply)

    async def answer(self, send: Send, request: dict[str, Any], reply: Reply) -> None:
        """Send a reply, as a stream if the request asks for one."""
        if request.get("stream"):
            await self._stream_reply(send, request, reply)
            return
        message = {
            "role": "assistant",
            "content": reply.text or None,
            "tool_calls": _build_calls(reply),
        }
        choice = {"index": 0, "finish_reason": _choose_finish(reply), "message": message}
        document = {**_build_envelope(request), "object": "chat.completion", "choices": [choice]}
        await _send_whole(send, 200, json.dumps({**document, "usage": _build_usage(reply)}))

    async def _stream_reply(self, send: Send, request: dict[str, Any], reply: Reply) -> None:
        stream = Stream(send, reply)
        await stream.open()
        with suppress(EndOfStream):
            await (stream.part(reply.raw) if reply.raw else self.send_events(stream, request))
        await stream.close()

    async def send_events(self, stream: Stream, request: dict[str, Any]) -> None:
        """Send a reply as the events of the provider."""

        async def say(delta: dict[str, Any], finish: str | None = None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            await stream.say({**envelope, "choices": [choice]})

        envelope = {**_build_envelope(request), "object": "chat.completion.chunk"}
        async for word in stream.words():
            await say({"role": "assistant", "content": word})
        for at, call in enumerate(_build_calls(stream.reply) or ()):
            await say({"role": "assistant", "tool_calls": [{"index": at, **call}]})
        await say({}, _choose_finish(stream.reply))
        await stream.say({**envelope, "choices": [], "usage": _build_usage(stream.reply)})
        await stream.say("[DONE]")


def _build_envelope(request: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "created": 1, "model": request.get("model", "scripted")}


def _build_calls(reply: Reply) -> list[dict[str, Any]] | None:
    calls = [
        {
            "id": f"call_{at}_{time.monotonic_ns()}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
            },
        }
        for at, (name, arguments) in enumerate(reply.calls)
    ]
    return calls or None


def _choose_finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _build_usage(reply: Reply) -> dict[str, int]:
    word_count = len(reply.text.split()) or 1
    return {"prompt_tokens": 100, "completion_tokens": word_count, "total_tokens": 100 + word_count}


async def _send_whole(
    send: Send, status: int, text: str, extra_headers: Iterable[tuple[str, str]] = ()
) -> None:
    headers = [(b"content-type", b"application/json")]
    headers += [(name.encode(), content.encode()) for name, content in extra_headers]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def _build_server(script: Scripted, listening: socket.socket) -> uvicorn.Server:
    listening.bind(("127.0.0.1", 0))
    script.url = f"http://127.0.0.1:{listening.getsockname()[1]}{script.prefix}"
    config = uvicorn.Config(
        script,
        log_level="critical",
        lifespan="off",
        interface="asgi3",
        timeout_keep_alive=60,  # longer than a client's, so that no request meets a closing one
    )
    return QuickServer(config)


Server = TypeVar("Server", bound=Scripted)


@contextmanager
def serve_script(script: Server) -> Iterator[Server]:
    """Serve a script from a thread of this process."""
    with socket.socket() as listening:
        server = _build_server(script, listening)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        try:
            yield script
        finally:
            server.should_exit = True
            thread.join()


def main(arguments: list[str]) -> None:
    """Serve the replies in a JSON file, or one greeting, until someone ends it."""
    script = Scripted()
    if arguments:
        document = json.loads(Path(arguments[0]).read_text())
        entries = [
            {**entry, "calls": tuple(map(tuple, entry.get("calls", ())))} for entry in document
        ]
        script.script(*(Reply(**entry) for entry in entries))
    with socket.socket() as listening:
        server = _build_server(script, listening)
        print(script.url, flush=True)  # noqa: T201 - whoever started it waits for it
        server.run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1:])
