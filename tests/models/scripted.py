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
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True)
class Reply:
    """One answer of the model: words, tool calls, or an error."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any] | str], ...] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""  # of an error
    delay: float = 0.0  # before the first word
    pause: float = 0.0  # between two words
    breaks: bool = False  # in the middle of the text

    def words(self) -> list[str]:
        """Give the text as it is streamed."""
        return [word if at == 0 else " " + word for at, word in enumerate(self.text.split(" "))]


@dataclass
class Scripted:
    """The server's script and what it was asked; the last reply is given again and again."""

    replies: list[Reply] = field(default_factory=lambda: [Reply("Hello.")])
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    url: str = ""

    def script(self, *replies: Reply) -> None:
        """Say what comes next."""
        self.replies[:] = replies

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        asked = json.loads(body or b"{}")
        headers = {name.decode(): text.decode() for name, text in scope["headers"]}
        self.keys.append(headers.get("authorization", "").removeprefix("Bearer "))
        self.requests.append(asked)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.status != 200:
            await _whole(send, reply.status, reply.body or _error(reply.status), reply.headers)
        elif asked.get("stream"):
            await self._stream(send, asked, reply)
        else:
            message = {
                "role": "assistant",
                "content": reply.text or None,
                "tool_calls": _calls(reply),
            }
            choice = {"index": 0, "finish_reason": _finish(reply), "message": message}
            document = {**_about(asked), "object": "chat.completion", "choices": [choice]}
            await _whole(send, 200, json.dumps({**document, "usage": _usage(reply)}))

    async def _stream(self, send: Send, asked: dict[str, Any], reply: Reply) -> None:
        kind = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})

        async def say(delta: dict[str, Any], finish: str | None = None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {**_about(asked), "object": "chat.completion.chunk", "choices": [choice]}
            await _part(send, f"data: {json.dumps(chunk)}\n\n")

        words = reply.words() if reply.text else []
        for at, word in enumerate(words):
            if reply.breaks and at == len(words) // 2:
                raise ConnectionError("the script breaks here")
            await say({"role": "assistant", "content": word})
            if reply.pause:
                await asyncio.sleep(reply.pause)
        for at, call in enumerate(_calls(reply) or ()):
            await say({"role": "assistant", "tool_calls": [{"index": at, **call}]})
        await say({}, _finish(reply))
        last = {**_about(asked), "object": "chat.completion.chunk", "choices": []}
        await _part(send, f"data: {json.dumps({**last, 'usage': _usage(reply)})}\n\n")
        await _part(send, "data: [DONE]\n\n")
        await send({"type": "http.response.body", "body": b""})


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


def _error(status: int) -> str:
    return json.dumps({"error": {"message": f"scripted {status}", "type": "scripted"}})


async def _whole(send: Send, status: int, text: str, more: Iterable[tuple[str, str]] = ()) -> None:
    headers = [(b"content-type", b"application/json")]
    headers += [(name.encode(), told.encode()) for name, told in more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


async def _part(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


def _server(script: Scripted, listening: socket.socket) -> uvicorn.Server:
    listening.bind(("127.0.0.1", 0))
    script.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    config = uvicorn.Config(script, log_level="critical", lifespan="off", interface="asgi3")
    return uvicorn.Server(config)


@contextmanager
def serving() -> Iterator[Scripted]:
    """Serve a script from a thread of this process."""
    script = Scripted()
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
