"""What is turned away before anything else, and the headers that every answer has."""

from __future__ import annotations

import socket

import pytest

from looseleaf.web.http.guard import EVERY_HEADER
from tests.web.fixtures import API, PAGE, Opens, Site

MEMORY = f"{PAGE}/MEMORY.md"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "",
        "[::2]",
        "localhost.",
        # Malformed: each begins with a name that is allowed.
        "localhost:",
        "localhost:evil.example",
        "localhost:80@evil.example",
        "localhost:99999",
        "localhost:80:80",
        "localhost/evil.example",
        "localhost, evil.example",
        "[::1]evil.example",
        "[::1]:evil",
        "[::1",
    ],
)
def test_a_foreign_host_is_refused(site: Site, token: str, host: str) -> None:
    """So that no web page reaches the server by a name of its own (DNS rebinding)."""
    answer = site.ask("GET", MEMORY, token, headers={"host": host})
    assert (answer.status_code, answer.json()["code"]) == (400, "host_not_allowed")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8765", "looseleaf.localhost:8765"]
)
def test_the_machines_own_names_are_allowed(site: Site, token: str, host: str) -> None:
    """On any port."""
    assert site.ask("GET", MEMORY, token, headers={"host": host}).status_code == 200


def test_a_host_is_allowed_by_the_settings(opens: Opens) -> None:
    """By its name alone."""
    site = opens(allowed_hosts=("Memory.example.com",))
    token = site.token()
    for host, status in (("memory.example.com:443", 200), ("other.example.com", 400)):
        assert site.ask("GET", MEMORY, token, headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),
        ({"origin": "SELF"}, True),
        ({"sec-fetch-site": "same-origin", "origin": "SELF"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://127.0.0.1:1"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "same-origin", "origin": "https://evil.example"}, False),
    ],
)
def test_changes_from_other_sites_are_refused(
    site: Site, token: str, headers: dict[str, str], *, allowed: bool
) -> None:
    """Whatever credential they show; reading is harmless, since the answer cannot be read."""
    told = {name: text.replace("SELF", site.base) for name, text in headers.items()}
    status = 200 if allowed else 403
    assert site.ask("PUT", MEMORY, token, content=b"x", headers=told).status_code == status
    assert site.ask("GET", MEMORY, token, headers=told).status_code == 200


def test_nothing_is_shared_with_other_origins(site: Site, token: str) -> None:
    """No answer has a CORS header, and a preflight is refused."""
    headers = {"origin": "https://evil.example", "access-control-request-method": "PUT"}
    preflight = site.ask("OPTIONS", MEMORY, token, headers=headers)
    assert preflight.status_code == 405
    for answer in (preflight, site.ask("GET", MEMORY, token, headers=headers)):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_compressed_body_is_refused(site: Site, token: str) -> None:
    """What unpacks to more than it weighs is not unpacked at all."""
    headers = {"content-encoding": "gzip"}
    answer = site.ask("PUT", MEMORY, token, content=b"x", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_encoding")


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "text/plain; charset=latin-1",
    ],
)
def test_a_form_or_another_encoding_is_refused(site: Site, token: str, kind: str) -> None:
    """Pages are UTF-8."""
    headers = {"content-type": kind}
    assert site.ask("PUT", MEMORY, token, content=b"x", headers=headers).status_code == 415


ANSWERS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("GET", "/health", {}),
    ("GET", "/", {}),
    ("GET", "/login", {}),
    ("GET", "/admin", {}),
    ("GET", "/static/api.js", {}),
    ("GET", "/static/none.js", {}),
    ("GET", "/openapi.json", {}),
    ("GET", "/metrics", {}),
    ("GET", "/nowhere", {}),
    ("GET", f"{API}/agents", {}),
    ("DELETE", f"{API}/agents", {}),
    ("GET", MEMORY, {"authorization": "Bearer wrong"}),
    ("GET", MEMORY, {}),
    ("HEAD", MEMORY, {}),
    ("GET", MEMORY, {"if-none-match": "*"}),
    ("GET", MEMORY, {"accept": "text/plain"}),
    ("GET", f"{PAGE}/none.md", {}),
    ("PUT", MEMORY, {"content-encoding": "gzip"}),
    ("PUT", MEMORY, {"origin": "null"}),
    ("POST", "/login", {}),
    ("GET", MEMORY, {"host": "evil.example"}),
    ("TRACE", MEMORY, {}),
)


@pytest.mark.parametrize("with_token", [False, True])
def test_every_answer_has_the_security_headers(site: Site, token: str, *, with_token: bool) -> None:
    """Errors, files and redirections too; none tells the server's name and version."""
    wanted = {name.decode() for name, _ in EVERY_HEADER}
    for method, path, headers in ANSWERS:
        answer = site.ask(method, path, token if with_token else "", headers=headers)
        assert wanted <= set(answer.headers), (method, path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert len(answer.headers.get_list("content-security-policy")) == 1
        assert "server" not in answer.headers


def test_the_pages_load_nothing_from_elsewhere(site: Site) -> None:
    """Scripts and styles are our own files."""
    for path in ("/docs", "/login"):
        page = site.client.get(path)
        assert page.headers["content-type"].startswith("text/html")
        assert "://" not in page.text
        assert "<script>" not in page.text


@pytest.mark.parametrize("target", ["http://evil.example/health", "http://127.0.0.1/health"])
def test_an_absolute_target_is_refused(site: Site, target: str) -> None:
    """Only a proxy is asked so, and the name in it may be another than that of Host."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=30) as connection:
        head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert b"invalid_request" in answer
    assert site.client.get("/health").status_code == 200


@pytest.mark.parametrize("index", ["/", "/index.php"])
def test_a_route_in_the_query_is_an_address(site: Site, token: str, index: str) -> None:
    """As in WordPress without rewriting: encoded or not, for reading and for writing."""
    route = "/datamachine/v1/files/agent/MEMORY.md"
    plain = site.ask("GET", route, token)
    for query in (f"rest_route={route}", f"rest_route={route.replace('/', '%2F')}"):
        answer = site.ask("GET", f"{index}?{query}", token)
        assert answer.status_code == 200
        assert answer.content == plain.content
    assert site.ask("GET", f"{index}?agent=none&rest_route={route}", token).status_code == 404
    put = site.ask("PUT", f"{index}?rest_route={PAGE}/n.md", token, json={"content": "# N\n"})
    assert put.status_code == 200, put.text
    run = "/wp-abilities/v1/abilities/datamachine/get-agent-memory/run"
    answer = site.ask("POST", f"{index}?rest_route={run}", token, json={"input": {"file": "n.md"}})
    assert answer.json()["content"] == "# N\n"
    assert site.ask("GET", f"{index}?rest_route={route}").status_code == 401


@pytest.mark.parametrize("route", ["/admin/", "/login", "/mcp", "/health", "", "//evil.example"])
def test_only_routes_of_rest_stand_in_a_query(site: Site, token: str, route: str) -> None:
    """Pages for people and all else have their own address alone."""
    for index, status in (("/", 303), ("/index.php", 404)):
        answer = site.ask("GET", f"{index}?rest_route={route}", token)
        assert answer.status_code == status
    broken = site.ask("GET", f"/?rest_route={PAGE}/%ff.md", token)
    assert (broken.status_code, broken.json()["code"]) == (400, "invalid_name")
