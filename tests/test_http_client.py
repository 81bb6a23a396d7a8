"""Requests to real servers on loopback: what is sent, what is refused, and what has an end."""

from __future__ import annotations

import gzip
import socket
import threading
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from looseleaf.allow_list import AllowList, HostRule, OutgoingRequest
from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import RequestFailed, RequestRefused
from looseleaf.http_client import HttpClient, parse_url
from looseleaf.values import FrozenDict, Secret
from tests.servers import Handler, Server, build_handler, make_certificate, run_server

if TYPE_CHECKING:
    from looseleaf.http_client import Resolver

PATIENCE = 0.6


def client_for(
    *servers: Server, resolve: Resolver | None = None, seconds: float = 10.0
) -> HttpClient:
    """Make a client that may ask servers on loopback."""
    rules = tuple(HostRule(server.host, server.port) for server in servers)
    allow_list = AllowList((), rules)
    if resolve is None:
        return HttpClient(allow_list, seconds=seconds)
    return HttpClient(allow_list, resolve=resolve, seconds=seconds)


def named(addresses: dict[str, tuple[str, ...]]) -> Resolver:
    """Resolve names as a table says."""
    return lambda host, _port: addresses[host]


def test_a_server_is_asked() -> None:
    """The answer comes back whole, and the server sees who asks and no proxy."""
    with run_server(build_handler(b"hello", headers=("Content-Type: text/plain",))) as server:
        request = OutgoingRequest(
            f"{server.url}/feed?x=1#part", headers=FrozenDict({"accept": "a/b"})
        )
        response = client_for(server).send(request)
    assert (response.status, response.body) == (200, b"hello")
    assert response.headers["content-type"] == "text/plain"
    head = server.heads[0].decode()
    assert head.startswith("GET /feed?x=1 HTTP/1.1\r\n")
    assert f"Host: {server.host}:{server.port}\r\n" in head
    assert "Accept: a/b\r\n" in head
    assert "User-Agent: looseleaf/" in head
    assert "Accept-Encoding: identity\r\n" in head


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that the environment names sees nothing."""
    with (
        run_server(build_handler(b"proxy")) as proxy,
        run_server(build_handler(b"server")) as server,
    ):
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert client_for(server).send(OutgoingRequest(server.url)).body == b"server"
    assert not proxy.heads


def test_nothing_is_allowed_by_default() -> None:
    """Without an allow-list no server is asked, and the error says how to add one."""
    with (
        run_server(build_handler()) as server,
        pytest.raises(RequestRefused, match="outgoing_hosts") as told,
    ):
        HttpClient(AllowList()).send(OutgoingRequest(server.url))
    assert told.value.code == "request_refused"
    assert not server.heads


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001"])
def test_a_private_address_needs_an_allowance_of_its_own(host: str) -> None:
    """A host on the allow-list is refused if its name leads to this machine."""
    with run_server(build_handler()) as server:
        client = HttpClient(AllowList((HostRule(host, server.port),)))
        with pytest.raises(RequestRefused, match=r"loopback|no address"):
            client.send(OutgoingRequest(f"http://{host}:{server.port}/"))
    assert not server.heads


def test_the_name_is_resolved_once() -> None:
    """The address that was judged is the one that is connected to: no second answer of the DNS."""
    answers = iter([("127.0.0.1",), ("127.0.0.9",)])
    with run_server(build_handler(b"first")) as server:
        allow_list = AllowList((), (HostRule("news.test", server.port),))
        client = HttpClient(allow_list, resolve=lambda _host, _port: next(answers))
        assert client.send(OutgoingRequest(f"http://news.test:{server.port}/")).body == b"first"
    assert next(answers) == ("127.0.0.9",)
    assert f"Host: news.test:{server.port}".encode() in server.heads[0]


def test_a_second_address_is_tried_where_the_first_is_dead() -> None:
    """A name with two addresses works as long as one of them answers."""
    with run_server(build_handler(b"second"), host="127.0.0.2") as server:
        allow_list = AllowList((), (HostRule("news.test", server.port),))
        resolve = named({"news.test": ("127.0.0.1", "127.0.0.2")})
        client = HttpClient(allow_list, resolve=resolve)
        assert client.send(OutgoingRequest(f"http://news.test:{server.port}/")).body == b"second"


def test_one_forbidden_address_among_two_refuses_the_name() -> None:
    """A name that leads to a public and a private address is not asked at all."""
    with run_server(build_handler()) as server:
        allow_list = AllowList((HostRule("news.test", server.port),))
        resolve = named({"news.test": ("93.184.215.14", "127.0.0.1")})
        with pytest.raises(RequestRefused, match=r"127\.0\.0\.1, and it is a loopback address"):
            HttpClient(allow_list, resolve=resolve).send(
                OutgoingRequest(f"http://news.test:{server.port}/")
            )
    assert not server.heads


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:127.0.0.1]/",
        "http://10.0.0.1/",
        "http://localhost/",
    ],
)
def test_a_redirect_to_a_forbidden_address_is_refused(target: str) -> None:
    """Each redirect is judged like the first request, though every public host is allowed."""
    with run_server(build_handler(status="302 Found", headers=(f"Location: {target}",))) as server:
        allow_list = AllowList((HostRule("*"),), (HostRule(server.host, server.port),))
        with pytest.raises(RequestRefused):
            HttpClient(allow_list).send(OutgoingRequest(server.url))


@pytest.mark.parametrize("target", ["file:///etc/passwd", "gopher://x/", "http://me:pw@127.0.0.1/"])
def test_a_redirect_to_another_protocol_or_with_a_password_is_refused(target: str) -> None:
    """Only http and https are followed, and no name or password of the server's choice."""
    with (
        run_server(build_handler(status="301 Moved", headers=(f"Location: {target}",))) as server,
        pytest.raises(RequestRefused),
    ):
        client_for(server).send(OutgoingRequest(server.url))


def test_redirects_have_an_end() -> None:
    """A server that redirects to itself is asked six times."""
    with run_server(build_handler(status="302 Found", headers=("Location: /again",))) as server:
        with pytest.raises(RequestFailed, match="more than 5 times"):
            client_for(server).send(OutgoingRequest(server.url))
        assert len(server.heads) == 6


def test_credentials_are_dropped_where_the_origin_changes() -> None:
    """A redirect to another server takes the request along, but not the password."""
    with run_server(build_handler(b"end")) as second:
        location = f"Location: {second.url}/"
        with run_server(build_handler(status="302 Found", headers=(location,))) as first:
            request = OutgoingRequest(first.url, authorization=Secret("Basic c2VjcmV0"))
            assert client_for(first, second).send(request).body == b"end"
    assert b"Authorization: Basic c2VjcmV0" in first.heads[0]
    assert b"uthorization" not in second.heads[0]
    assert b"c2VjcmV0" not in second.heads[0]


def test_credentials_stay_where_the_origin_is_the_same() -> None:
    """A redirect on the same server keeps the password."""

    def handle(connection: socket.socket, head: bytes) -> None:
        first = head.startswith(b"GET / ")
        status, headers = ("302 Found", ("Location: /next",)) if first else ("200 OK", ())
        build_handler(b"x", status=status, headers=headers)(connection, head)

    with run_server(handle) as server:
        request = OutgoingRequest(server.url, authorization=Secret("Bearer abc"))
        client_for(server).send(request)
    assert all(b"Authorization: Bearer abc" in head for head in server.heads)
    assert len(server.heads) == 2


def test_a_change_is_not_redirected() -> None:
    """A POST goes to the address that was meant and to no other."""
    with run_server(build_handler(status="307 Elsewhere", headers=("Location: /other",))) as server:
        with pytest.raises(RequestRefused, match="only to the address that was meant"):
            client_for(server).send(OutgoingRequest(server.url, "POST", body=b"{}"))
        assert len(server.heads) == 1
    assert server.heads[0].endswith(b"\r\n\r\n{}")


def test_a_password_is_not_sent_over_plain_http() -> None:
    """Without an allowance for a private host, a password needs https."""
    client = HttpClient(
        AllowList((HostRule("news.test"),)), resolve=named({"news.test": ("93.184.215.14",)})
    )
    with pytest.raises(RequestRefused, match="use https"):
        client.send(OutgoingRequest("http://news.test/", authorization=Secret("Basic x")))


def endless(connection: socket.socket, _head: bytes) -> None:
    """Answer without an end."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")


def stalled(connection: socket.socket, _head: bytes) -> None:
    """Begin an answer and go silent."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
    connection.recv(1)


def silent(connection: socket.socket, _head: bytes) -> None:
    """Take the request and say nothing."""
    connection.recv(1)


def trickling(connection: socket.socket, _head: bytes) -> None:
    """Send a head that never ends, a byte at a time; each byte comes soon enough."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        connection.sendall(b"x")
        time.sleep(0.01)


@pytest.mark.parametrize("handle", [stalled, silent, trickling], ids=lambda item: item.__name__)
def test_a_server_cannot_hold_the_request(handle: Handler) -> None:
    """The time of the whole request has an end, however the server spreads its answer."""
    with run_server(handle) as server, pytest.raises(RequestFailed, match="did not answer within"):
        client_for(server, seconds=PATIENCE).send(OutgoingRequest(server.url))


def test_an_endless_answer_is_cut() -> None:
    """No more is read than the request takes."""
    with (
        run_server(endless) as server,
        pytest.raises(RequestFailed, match="more than 200000 bytes"),
    ):
        client_for(server).send(OutgoingRequest(server.url, max_bytes=200_000))


def test_a_slow_resolver_cannot_hold_the_request() -> None:
    """A name that is never resolved ends like a server that never answers."""
    never = threading.Event()

    def resolve(_host: str, _port: int) -> tuple[str, ...]:
        never.wait(60)
        return ("127.0.0.1",)

    client = HttpClient(AllowList((HostRule("*"),)), resolve=resolve, seconds=PATIENCE)
    with pytest.raises(RequestFailed, match="not resolved in time"):
        client.send(OutgoingRequest("http://news.test/"))
    never.set()


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_packed_answer_is_unpacked(coding: str) -> None:
    """A server that packs its answer unasked is understood."""
    pack = gzip.compress if coding == "gzip" else zlib.compress
    with run_server(
        build_handler(pack(b"text" * 50), headers=(f"Content-Encoding: {coding}",))
    ) as server:
        assert client_for(server).send(OutgoingRequest(server.url)).body == b"text" * 50


def test_a_bomb_is_not_unpacked() -> None:
    """Ten megabytes in ten kilobytes are refused at the limit."""
    bomb = gzip.compress(bytes(10_000_000))
    with (
        run_server(build_handler(bomb, headers=("Content-Encoding: gzip",))) as server,
        pytest.raises(RequestFailed, match="more than 1000000 bytes"),
    ):
        client_for(server).send(OutgoingRequest(server.url, max_bytes=1_000_000))


def test_a_certificate_must_be_that_of_the_name(tmp_path: Path) -> None:
    """Over https the connection goes to the judged address, and the name is verified."""
    tls, trusting = make_certificate(tmp_path, "news.test")
    resolve = named({"news.test": ("127.0.0.1",), "evil.test": ("127.0.0.1",)})
    with run_server(build_handler(b"safe"), tls=tls) as server:
        rules = (HostRule("news.test", server.port), HostRule("evil.test", server.port))
        client = HttpClient(AllowList((), rules), resolve=resolve, ssl_context=trusting)
        url = f"https://news.test:{server.port}/"
        assert client.send(OutgoingRequest(url, authorization=Secret("Basic x"))).body == b"safe"
        with pytest.raises(RequestFailed, match="certificate"):
            client.send(OutgoingRequest(f"https://evil.test:{server.port}/"))
        strict = HttpClient(AllowList((), rules), resolve=resolve)
        with pytest.raises(RequestFailed, match="certificate"):
            strict.send(OutgoingRequest(url))


def test_a_server_that_is_not_there_fails() -> None:
    """A refused connection and an answer that is no HTTP are failures that may pass."""
    with run_server(build_handler()) as server:
        pass
    with pytest.raises(RequestFailed, match="no connection"):
        client_for(server).send(OutgoingRequest(server.url))
    with (
        run_server(lambda connection, _head: connection.sendall(b"SSH-2.0-x\r\n")) as odd,
        pytest.raises(RequestFailed, match="no HTTP"),
    ):
        client_for(odd).send(OutgoingRequest(odd.url))


@pytest.mark.parametrize(
    "url", ["", "news.test", "ftp://news.test/", "http://", "http://a b/", "x" * 3000, "http://[x/"]
)
def test_an_address_must_be_one(url: str) -> None:
    """What is no address of a web server is refused before anything is looked up."""
    with pytest.raises(InvalidArgument):
        parse_url(url)


def test_an_address_has_no_password() -> None:
    """A password in an address would end up in logs; the error does not repeat it."""
    with pytest.raises(InvalidArgument) as told:
        parse_url("https://me:hunter2@news.test/")
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize(
    "headers", [{"x": "a\r\nb: c"}, {"Host": "other"}, {"authorization": "x"}, {"a b": "x"}]
)
def test_headers_cannot_smuggle(headers: dict[str, str]) -> None:
    """A header is one line, and those that name someone are set by the request."""
    with pytest.raises(InvalidArgument):
        HttpClient(AllowList()).send(
            OutgoingRequest("http://news.test/", headers=FrozenDict(headers))
        )
