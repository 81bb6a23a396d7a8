"""A server on loopback that speaks OpenAI's language and says what a script tells it.

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

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True)
class Reply:
    """One answer of the model: words, tool calls, or an error."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any] | str], ...] = ()
    thought: str = ""  # before the text, signed where a provider signs
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""  # of an error
    delay: float = 0.0  # before the first word
    pause: float = 0.0  # between two words
    breaks: bool = False  # the connection, in the middle of the text
    ends: bool = False  # in the middle of the text, as if all had been said
    fails: str = ""  # an error in the middle of the text, as JSON
    finish: str = ""  # why it ends, where that is unusual
    raw: str = ""  # instead of everything else

    def words(self) -> list[str]:
        """Give the text as it is streamed."""
        return [word if at == 0 else " " + word for at, word in enumerate(self.text.split(" "))]


class Over(Exception):
    """Nothing more is said, though there would be more to say."""


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
        named = f"event: {event}\n" if event else ""
        await self.part(f"{named}data: {text}\n\n")

    async def words(self) -> AsyncIterator[str]:
        """Give one word of the reply after the other, and stop in the middle where it says so."""
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
            raise Over
        if self.reply.ends:
            raise Over

    async def part(self, text: str) -> None:
        """Send a bit of text as it is."""
        await self._send({"type": "http.response.body", "body": text.encode(), "more_body": True})


@dataclass
class Scripted:
    """The server's script and what it was asked; the last reply is given again and again.

    This one speaks OpenAI's language; for another, its way is another class of these.
    """

    replies: list[Reply] = field(default_factory=lambda: [Reply("Hello.")])
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    left: int = 0  # how often someone who had asked went away before the end
    url: str = ""

    prefix: ClassVar[str] = "/v1"  # of the address that a client is given
    key_header: ClassVar[str] = ""  # beside the usual one

    def script(self, *replies: Reply) -> None:
        """Say what comes next."""
        self.replies[:] = replies

    def wrong(self, _asked: dict[str, Any]) -> str:
        """Say what the provider would refuse a request for, if anything."""
        return ""

    def error(self, status: int, message: str) -> str:
        """Give an error as the provider words it."""
        return json.dumps({"error": {"message": message, "type": "scripted", "code": status}})

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, unless whoever asked goes away."""
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        asked = json.loads(body or b"{}")
        headers = {name.decode(): text.decode() for name, text in scope["headers"]}
        key = headers.get(self.key_header) or headers.get("authorization", "")
        self.keys.append(key.removeprefix("Bearer "))
        self.paths.append(f"{scope['path']}?{scope['query_string'].decode()}".removesuffix("?"))
        self.requests.append(asked)
        told, gone = map(asyncio.ensure_future, (self._reply(send, asked), receive()))
        await asyncio.wait((told, gone), return_when=asyncio.FIRST_COMPLETED)
        if not told.done():
            self.left += 1
            told.cancel()
        gone.cancel()
        await asyncio.gather(told, return_exceptions=not told.done())

    async def _reply(self, send: Send, asked: dict[str, Any]) -> None:
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if reply.delay:
            await asyncio.sleep(reply.delay)
        wrong = self.wrong(asked)
        if wrong:
            await _whole(send, 400, self.error(400, wrong))
        elif reply.status != 200:
            error = reply.body or self.error(reply.status, f"scripted {reply.status}")
            await _whole(send, reply.status, error, reply.headers)
        else:
            await self.answer(send, asked, reply)

    async def answer(self, send: Send, asked: dict[str, Any], reply: Reply) -> None:
        """Say a reply, bit by bit where that is asked for."""
        if asked.get("stream"):
            await self._told(send, asked, reply)
            return
        message = {
            "role": "assistant",
            "content": reply.text or None,
            "tool_calls": _calls(reply),
        }
        choice = {"index": 0, "finish_reason": _finish(reply), "message": message}
        document = {**_about(asked), "object": "chat.completion", "choices": [choice]}
        await _whole(send, 200, json.dumps({**document, "usage": _usage(reply)}))

    async def _told(self, send: Send, asked: dict[str, Any], reply: Reply) -> None:
        stream = Stream(send, reply)
        await stream.open()
        with suppress(Over):
            await (stream.part(reply.raw) if reply.raw else self.tell(stream, asked))
        await stream.close()

    async def tell(self, stream: Stream, asked: dict[str, Any]) -> None:
        """Say a reply as the provider streams it."""

        async def say(delta: dict[str, Any], finish: str | None = None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            await stream.say({**about, "choices": [choice]})

        about = {**_about(asked), "object": "chat.completion.chunk"}
        async for word in stream.words():
            await say({"role": "assistant", "content": word})
        for at, call in enumerate(_calls(stream.reply) or ()):
            await say({"role": "assistant", "tool_calls": [{"index": at, **call}]})
        await say({}, _finish(stream.reply))
        await stream.say({**about, "choices": [], "usage": _usage(stream.reply)})
        await stream.say("[DONE]")


def _about(asked: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "created": 1, "model": asked.get("model", "scripted")}


def _calls(reply: Reply) -> list[dict[str, Any]] | None:
    made = [
        {
            "id": f"call_{at}_{time.monotonic_ns()}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for at, (name, given) in enumerate(reply.calls)
    ]
    return made or None


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _usage(reply: Reply) -> dict[str, int]:
    spoken = len(reply.text.split()) or 1
    return {"prompt_tokens": 100, "completion_tokens": spoken, "total_tokens": 100 + spoken}


async def _whole(send: Send, status: int, text: str, more: Iterable[tuple[str, str]] = ()) -> None:
    headers = [(b"content-type", b"application/json")]
    headers += [(name.encode(), told.encode()) for name, told in more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def _server(script: Scripted, listening: socket.socket) -> uvicorn.Server:
    listening.bind(("127.0.0.1", 0))
    script.url = f"http://127.0.0.1:{listening.getsockname()[1]}{script.prefix}"
    config = uvicorn.Config(
        script,
        log_level="critical",
        lifespan="off",
        interface="asgi3",
        timeout_keep_alive=60,  # longer than a client's, so that no request meets a closing one
    )
    return uvicorn.Server(config)


Server = TypeVar("Server", bound=Scripted)


@contextmanager
def serving(script: Server) -> Iterator[Server]:
    """Serve a script from a thread of this process."""
    with socket.socket() as listening:
        server = _server(script, listening)
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
        told = json.loads(Path(arguments[0]).read_text())
        made = [{**one, "calls": tuple(map(tuple, one.get("calls", ())))} for one in told]
        script.script(*(Reply(**one) for one in made))
    with socket.socket() as listening:
        server = _server(script, listening)
        print(script.url, flush=True)  # noqa: T201 - whoever started it waits for it
        server.run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1:])
