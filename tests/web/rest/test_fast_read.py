"""The fast path of reading a page gives the answers of the application, to the letter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from looseleaf.web.rest import pages
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


# Queries that select a page, for a user with the agents ada (1) and bob (2).
SELECTORS = [
    b"agent=ada", b"agent=bob", b"agent=1", b"agent_id=2", b"agent_slug=ada", b"agent=%61da",
    b"agent=ada&agent_id=1", b"user_id=1&agent=bob", b"user_id=0&agent=bob",
    b"layer=agent&agent=bob", b"layer=shared&agent=ada",
    b"filename=MEMORY.md&agent=ada", b"agent=ada&", b"agent[]=ada",
]  # fmt: skip
# Queries that ask for something else, or are wrong.
OTHER_QUERIES = [
    b"user=1", b"agent_id=0&agent=ada", b"agent=nobody", b"agent=", b"agent", b"&",
    b"agent_id=3", b"agent=ada&agent_id=2", b"agent=ada&agent=ada", b"user=99",
    b"user=1.5", b"user_id=one", b"layer=nowhere",
    b"filename=SOUL.md&agent=ada", b"section=Facts&agent=ada", b"section=&agent=ada",
    b"position=1&agent=ada", b"as_of=1&agent=ada", b"as_of=&agent=ada", b"color=red&agent=ada",
    b"agent=%ff", b"agent=\xff", b"agent=ada" + 300 * b"&",
]  # fmt: skip


async def ask(
    app: Any,  # noqa: ANN401 - an application
    path: str,
    headers: Headers,
    query: bytes = b"",
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Ask an application without a server; return status, headers and body."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": query,
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


class Ways:
    """The two ways to read a page, and how often the fast one has answered."""

    def __init__(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        self.guard: Any = site.server.config.app
        self.answers_fast = 0
        self.is_usual = False
        find_page = FastPageReads._read_plain_page

        def read(reads: FastPageReads, scope: Any) -> Any:  # noqa: ANN401 - as the method
            answer = None if self.is_usual else find_page(reads, scope)
            self.answers_fast += answer is not None
            return answer

        monkeypatch.setattr(FastPageReads, "_read_plain_page", read)

    async def compare(self, path: str, headers: Headers, query: bytes) -> bool:
        """Require the same answer from both ways, twice; return whether the fast one gave it."""
        self.answers_fast = 0
        for _ in range(2):  # the second time, what was decided the first time is still known
            self.is_usual = False
            fast = await ask(self.guard, path, headers, query)
            self.is_usual = True
            assert fast == await ask(self.guard, path, headers, query), query
        return self.answers_fast == 2


def test_both_ways_give_the_same_answer_to_every_selector(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever agent, user or layer is named, with whatever rights and headers."""
    site.run("looseleaf/create-agent", slug="bob")
    site.user("reader")
    site.run("looseleaf/grant-role", user="reader", agent="ada", role="viewer")
    users = [site.token(user="admin"), site.token(user="reader")]
    bearers = [
        (b"authorization", f"Bearer {token}".encode())
        for token in (*users, site.token(agent="ada"), site.token(agent="bob"))
    ]
    tag = site.ask("GET", f"{PAGE}/MEMORY.md?agent=ada", users[0]).headers["etag"].encode()
    extras: list[Headers] = [[(b"if-none-match", tag)], [(b"x-looseleaf-reason", b"why")]]
    ways = Ways(site, monkeypatch)

    async def compare_all() -> None:
        for query in (*SELECTORS, *OTHER_QUERIES):
            for bearer in bearers:
                await ways.compare(f"{PAGE}/MEMORY.md", [bearer], query)
            for headers in (*ACCEPTS[1:], *extras):
                await ways.compare(f"{PAGE}/MEMORY.md", [bearers[0], *headers], query)
            await ways.compare(f"{PAGE}/RULES.md", [bearers[0]], query)

    asyncio.run(compare_all())


def test_the_fast_way_answers_every_selector(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that names its agent is answered as fast as one that need not."""
    site.run("looseleaf/create-agent", slug="bob")
    bearer = (b"authorization", f"Bearer {site.token(user='admin')}".encode())
    ways = Ways(site, monkeypatch)

    async def list_fast(queries: list[bytes]) -> set[bytes]:
        path = f"{PAGE}/MEMORY.md"
        return {query for query in queries if await ways.compare(path, [bearer], query)}

    missing = {b"layer=shared&agent=ada"}  # there is no shared page of this name
    assert asyncio.run(list_fast(SELECTORS)) == set(SELECTORS) - missing
    assert asyncio.run(list_fast(OTHER_QUERIES)) == set()


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


def test_a_revoked_token_reads_nothing_more(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even the page that it has just read, however long a decision holds."""
    monkeypatch.setattr(pages, "DECISION_SECONDS", 3600.0)
    site.user("reader")
    site.run("looseleaf/grant-role", user="reader", agent="ada", role="viewer")
    token, other = site.token(), site.token(user="reader")
    path = f"{PAGE}/MEMORY.md?agent=ada"
    assert [site.ask("GET", path, item).status_code for item in (token, other)] == [200, 200]
    site.run("looseleaf/revoke-token", id=token.split("_")[1])
    assert site.ask("GET", path, token).status_code == 401
    site.run("looseleaf/revoke-role", user="reader", agent="ada")
    assert site.ask("GET", path, other).status_code == 404
