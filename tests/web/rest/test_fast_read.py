"""The fast path of reading a page gives the answers of the application, to the letter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from looseleaf.web.rest.pages import FastPageReads
from tests.web.fixtures import PAGE, Site

Headers = list[tuple[bytes, bytes]]

ACCEPTS: list[Headers] = [[], [(b"accept", b"text/markdown")], [(b"accept", b"application/json")]]
CONDITIONS: dict[str, Callable[[bytes], Headers]] = {
    "none": lambda _: [],
    "any": lambda _: [(b"if-none-match", b"*")],
    "this version": lambda tag: [(b"if-none-match", tag)],
    "this version, weak": lambda tag: [(b"if-none-match", b"W/" + tag)],
    "another version": lambda _: [(b"if-none-match", b'"0123"')],
    "this and another": lambda tag: [(b"if-none-match", b'"0123", ' + tag)],
    "two lines": lambda tag: [(b"if-none-match", tag), (b"if-none-match", b'"0123"')],
    "no tag": lambda _: [(b"if-none-match", b"0123")],
    "bytes that are no text": lambda _: [(b"if-none-match", b"\xff")],
    "must be another": lambda _: [(b"if-match", b'"0123"')],
    "both": lambda tag: [(b"if-match", tag), (b"if-none-match", tag)],
}


async def ask(app: Any, path: str, headers: Headers) -> tuple[int, dict[bytes, bytes], bytes]:  # noqa: ANN401 - an application
    """Ask an application without a server; return status, headers and body."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "headers": [(b"host", b"localhost"), *headers],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip
    messages: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:  # noqa: ANN401 - a message of ASGI
        messages.append(message)

    await app(scope, receive, send)
    start, *parts = messages
    answer_headers = dict(start["headers"])
    del answer_headers[b"x-request-id"]
    return start["status"], answer_headers, b"".join(part["body"] for part in parts)


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
@pytest.mark.parametrize("accept", ACCEPTS, ids=["no type", "Markdown", "JSON"])
def test_both_ways_give_the_same_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch, accept: Headers, condition: Callable[..., Headers]
) -> None:
    """Status, headers and body are those of the usual way, whatever version a client has."""
    guard: Any = site.server.config.app
    token = site.token()
    path = f"{PAGE}/MEMORY.md"
    tag = site.ask("GET", path, token).headers["etag"].encode()
    bearer = (b"authorization", f"Bearer {token}".encode())
    headers = [bearer, *accept, *condition(tag)]
    fast = asyncio.run(ask(guard, path, headers))
    monkeypatch.setattr(FastPageReads, "_read_plain_page", lambda *_: None)
    assert fast == asyncio.run(ask(guard, path, headers))


def test_a_version_that_a_client_has_is_not_sent_again(site: Site) -> None:
    """Over the wire, too: 304 without a body, and the page once it has changed."""
    token, path = site.token(), f"{PAGE}/MEMORY.md"
    tag = site.ask("GET", path, token).headers["etag"]
    same = site.ask("GET", path, token, headers={"if-none-match": tag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    site.run("datamachine/update-agent-memory", section="Facts", content="New.", mode="append")
    changed = site.ask("GET", path, token, headers={"if-none-match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


def test_a_version_tells_nothing_without_the_right_to_read(site: Site) -> None:
    """Whoever may not read a page learns from no condition whether it has a version."""
    path = f"{PAGE}/MEMORY.md"
    tag = site.ask("GET", path, site.token()).headers["etag"]
    for condition in (tag, "*", '"0123"'):
        assert site.ask("GET", path, headers={"if-none-match": condition}).status_code == 401
        answer = site.ask("GET", path, "wrong", headers={"if-none-match": condition})
        assert answer.status_code == 401
