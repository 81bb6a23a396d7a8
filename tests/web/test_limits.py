"""Limits: bodies too large or too slow, heads too large, slow clients, many at once."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from looseleaf.operations.memory import MOST_SECTIONS
from looseleaf.web.http import connection, responses
from tests.web.fixtures import API, PAGE, Opens, Site

MEMORY = f"{PAGE}/MEMORY.md"
OPERATION = "/looseleaf/v1/operations/looseleaf/install-bundle"
ABILITY = "/wp-abilities/v1/abilities/looseleaf/install-bundle"


def raw(site: Site, sent: bytes, *, wait: float = 10.0) -> bytes:
    """Send bytes as they are; return all that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=wait) as connection:
        connection.sendall(sent)
        found = b""
        while part := connection.recv(65_536):
            found += part
        return found


def head(method: str, path: str, *lines: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "host: localhost", *lines, "", ""]).encode()


def test_a_body_that_says_it_is_too_large_is_not_read(opens: Opens) -> None:
    """It is 413 at once, and the connection is closed."""
    site = opens(max_request_bytes=1000)
    lines = (f"authorization: Bearer {site.token()}", "content-length: 1000000000000")
    answer = raw(site, head("PUT", MEMORY, *lines))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer


def test_a_body_without_a_length_is_stopped_at_the_limit(opens: Opens) -> None:
    """Counted while it comes, before anything is parsed."""
    site = opens(max_request_bytes=1000)
    lines = (f"authorization: Bearer {site.token()}", "transfer-encoding: chunked")
    chunk = b"400\r\n" + b"x" * 0x400 + b"\r\n"
    answer = raw(site, head("PUT", MEMORY, *lines) + chunk)
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_page_too_large_is_413(opens: Opens) -> None:
    """The limit of a page is another one than that of a request; nothing is written."""
    site = opens(max_page_bytes=100)
    answer = site.ask("PUT", MEMORY, site.token(), content=b"x" * 101)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert answer.json()["data"]["limit"] == 100


def test_signing_in_takes_a_few_kilobytes(site: Site) -> None:
    """Nobody is known yet, so nobody may send more; the connection is closed."""
    answer = raw(site, head("POST", "/login", "content-length: 20000000") + b"{" * 10_000)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer


@pytest.mark.parametrize("path", ["/mcp", MEMORY, f"{API}/files/append"])
def test_a_body_of_nobody_is_not_read(site: Site, path: str) -> None:
    """It is 401 at once, whatever is still to come, and the connection is closed."""
    method = "PUT" if path == MEMORY else "POST"
    lines = ("authorization: Bearer wrong", "content-length: 19000000")
    answer = raw(site, head(method, path, *lines) + b"x" * 1000)
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"connection: close" in answer


def test_permission_is_asked_before_a_body_is_read(site: Site) -> None:
    """Whoever may not run an operation on anything sends it nothing, by any of its addresses."""
    credential = f"authorization: Bearer {site.token(user=site.user('nobody'))}"
    for path in (f"{API}/agent-bundles/install", f"{ABILITY}/run", f"{OPERATION}"):
        answer = raw(site, head("POST", path, credential, "content-length: 19000000") + b"[" * 9)
        assert answer.startswith(b"HTTP/1.1 403 "), path
        assert b"connection: close" in answer
    entries = site.run("looseleaf/list-audit", action="install-bundle")
    assert [entry["event"]["outcome"] for entry in entries] == ["refused"] * 3


def test_the_limit_of_a_body_follows_from_its_operation(opens: Opens) -> None:
    """A page is as long as a page may be in JSON, and a definition has its own limit."""
    site = opens(max_page_bytes=100_000)
    credential = f"authorization: Bearer {site.token(user=1)}"
    for method, path, limit in (
        ("PUT", MEMORY, 265_536),
        ("POST", f"{API}/files/append", 265_536),
        ("POST", f"{API}/pipelines", 4_259_840),
        ("POST", f"{API}/agent-bundles/install", 20_000_000),
    ):
        answer = raw(site, head(method, path, credential, "content-length: 50000000"))
        assert f'"limit":{limit}'.encode() in answer, path


def test_wide_json_is_refused(site: Site, token: str) -> None:
    """A list of a million lists is no page; over MCP the same."""
    wide = b'{"content":[' + b"[]," * 1_000_000 + b"[]]}"
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    for method, path in (("PUT", MEMORY), ("POST", "/mcp")):
        answer = site.ask(method, path, token, content=wide, headers=headers)
        assert (answer.status_code, answer.json()["data"]["limit"]) == (413, 100_000)


def test_an_operation_that_needs_little_takes_little(site: Site, token: str) -> None:
    """A name is no page; the limit of pages is not for it."""
    given = {"file": "x.md", "pad": "x" * 70_000}
    answer = site.ask("POST", f"{API}/files/clear", token, json=given)
    assert (answer.status_code, answer.json()["data"]["limit"]) == (413, 65_536)


def test_large_bodies_wait_for_room_and_small_ones_do_not(opens: Opens) -> None:
    """However many are on their way; tests/web/http/test_body_budget.py says who waits for whom."""
    site = opens(request_seconds=1.0)
    token = site.token()
    lines = (f"authorization: Bearer {token}", "content-length: 19000000")
    slow = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(4)]
    try:
        for item in slow:
            item.settimeout(20)
            item.sendall(head("PUT", MEMORY, *lines) + b"x" * 100_000)
        assert site.ask("PUT", MEMORY, token, content=b"small").status_code == 200
        codes = {item.recv(100)[9:12] for item in slow}
        assert b"408" in codes
        assert codes <= {b"408", b"503"}  # one that found room in the last moment has no time left
    finally:
        for item in slow:
            item.close()
    assert site.ask("PUT", MEMORY, token, content=b"y" * 500_000).status_code == 200, "room again"


@pytest.mark.parametrize("path", ["/mcp", "/login"])
def test_no_address_waits_for_a_body_for_ever(opens: Opens, path: str) -> None:
    """MCP and sign-in are held to the same time."""
    site = opens(request_seconds=0.2)
    lines = (f"authorization: Bearer {site.token()}", "content-length: 100")
    assert raw(site, head("POST", path, *lines) + b"{").startswith(b"HTTP/1.1 408 ")


def test_more_connections_than_can_be_kept_close_the_oldest_that_waits(
    site: Site, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many slow clients, and others still come in."""
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 20)
    slow = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(60)]
    try:
        for item in slow:
            item.settimeout(10)
            with contextlib.suppress(OSError):
                item.sendall(head("PUT", MEMORY, "content-length: 10") + b"x")
        fresh = site.browser()
        answer = fresh.get(MEMORY, headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 200
    finally:
        for item in slow:
            item.close()


def test_a_body_that_does_not_come_is_given_up(opens: Opens) -> None:
    """408, so that nobody holds a request open for ever."""
    site = opens(request_seconds=0.2)
    lines = (f"authorization: Bearer {site.token()}", "content-length: 100")
    answer = raw(site, head("PUT", MEMORY, *lines) + b"some")
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_head_that_does_not_come_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that says nothing, or drips, is closed."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)
    assert raw(site, b"") == b""
    assert raw(site, b"GET /health HT") == b""


def test_a_head_that_is_too_large_is_refused(site: Site) -> None:
    """In the words and with the headers of every answer."""
    answer = raw(site, b"GET /health HTTP/1.1\r\nx: " + b"y" * 70_000)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"x-content-type-options: nosniff" in answer


def test_what_is_not_http_is_refused(site: Site) -> None:
    """With the same headers, and without a trace of the server's insides."""
    answer = raw(site, b"\x16\x03\x01 hello\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"content-security-policy" in answer
    assert b'"code":"invalid_request"' in answer


def test_two_hosts_are_refused(site: Site) -> None:
    """Whichever a proxy looked at."""
    sent = b"GET /health HTTP/1.1\r\nhost: localhost\r\nhost: evil\r\nconnection: close\r\n\r\n"
    assert raw(site, sent).startswith(b"HTTP/1.1 400 ")


def test_slow_clients_do_not_stop_the_others(site: Site, token: str) -> None:
    """While 200 requests never end, others are answered."""
    slow = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(200)]
    try:
        lines = (f"authorization: Bearer {token}", "content-length: 1000")
        for place, item in enumerate(slow):
            item.sendall(head("PUT", MEMORY, *lines) if place % 2 else b"GET /health HTTP/1.1\r\n")
        assert site.client.get("/health").status_code == 200
        assert site.ask("GET", MEMORY, token).status_code == 200
    finally:
        for item in slow:
            item.close()


def test_slow_writes_do_not_stop_reading(site: Site, token: str) -> None:
    """A page that another program holds is waited for in a thread."""
    held, done = threading.Event(), threading.Event()

    def hold(_page: bytes | None) -> bytes:
        held.set()
        done.wait(60)
        return b"held"

    store = site.workspace.store
    scope = site.workspace.agents.resolve("ada").shelf.page("notes.md")
    change = site.workspace.context.change("test")
    with ThreadPoolExecutor() as pool:
        holding = pool.submit(store.edit, scope, hold, change=change)
        held.wait(10)
        writing = pool.submit(
            site.client.put,
            f"{PAGE}/notes.md",
            content=b"x",
            headers={"authorization": f"Bearer {token}"},
        )
        time.sleep(0.2)
        assert site.ask("GET", MEMORY, token).status_code == 200
        assert not done.is_set()
        assert not holding.done()
        assert not writing.done()
        done.set()
        holding.result(timeout=20)
        assert writing.result(timeout=20).status_code == 200


def test_writers_that_wait_for_one_page_do_not_hold_up_another(site: Site, token: str) -> None:
    """However many they are: they wait without a thread, and all are written in the end."""
    held, done = threading.Event(), threading.Event()

    def hold(_page: bytes | None) -> bytes:
        held.set()
        done.wait(60)
        return b"held\n"

    scope = site.workspace.agents.resolve("ada").shelf.page("notes.md")
    change = site.workspace.context.change("test")

    def add(number: int) -> int:
        given = {"file": "notes.md", "content": f"- {number}"}
        return site.ask("POST", f"{API}/files/append", token, json=given).status_code

    with ThreadPoolExecutor(70) as pool:
        holding = pool.submit(site.workspace.store.edit, scope, hold, change=change)
        held.wait(60)
        waiting = [pool.submit(add, number) for number in range(60)]
        other = site.browser()
        headers = {"authorization": f"Bearer {token}"}
        assert other.put(MEMORY, content=b"other", headers=headers).status_code == 200
        assert not any(item.done() for item in waiting), "the other page was written before them"
        done.set()
        holding.result(timeout=60)
        assert {item.result(timeout=60) for item in waiting} == {200}


def test_concurrent_writers_of_one_version_have_one_winner(site: Site, token: str) -> None:
    """And appends of all of them are kept."""
    current = site.ask("GET", MEMORY, token).headers["etag"]

    def put(number: int) -> int:
        headers = {"authorization": f"Bearer {token}", "if-match": current}
        return site.client.put(MEMORY, content=b"%d" % number, headers=headers).status_code

    def add(number: int) -> int:
        given = {"file": "log.md", "content": f"- {number}"}
        return site.ask("POST", f"{API}/files/append", token, json=given).status_code

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(put, range(8))) == [200] + [412] * 7
        assert set(pool.map(add, range(20))) == {200}
    text = site.ask("GET", f"{PAGE}/log.md", token).json()["data"]["content"]
    assert sorted(text.splitlines()) == sorted(f"- {number}" for number in range(20))


def test_what_would_be_too_long_an_answer_is_refused(
    site: Site, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sections are not listed without end, and no answer is longer than its bound."""
    headers = "".join(f"\n## s{number}\n" for number in range(MOST_SECTIONS + 2))
    site.ask("PUT", f"{PAGE}/many.md", token, content=headers)
    listed = site.ask("GET", f"{API}/sections?file=many.md", token)
    assert (listed.status_code, listed.json()["code"]) == (400, "invalid")
    monkeypatch.setattr(responses, "MOST_BYTES", 1_000)
    refused = site.ask("GET", f"{API}/section?file=many.md", token)
    assert (refused.status_code, refused.json()["code"]) == (413, "answer_too_large")


def test_a_degraded_server_says_so(site: Site, token: str) -> None:
    """Health is 503 while the folder of pages is gone, and a request says no more than it must."""
    root = site.workspace.root
    os.rename(root, f"{root}-gone")
    try:
        health = site.client.get("/health")
        assert health.status_code == 503
        assert health.json()["status"] == "degraded"
        answer = site.ask("GET", f"{PAGE}/other.md", token)
        assert answer.status_code >= 400
        assert str(root) not in answer.text
    finally:
        os.rename(f"{root}-gone", root)
    assert site.ask("GET", MEMORY, token).status_code == 200
