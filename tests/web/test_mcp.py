"""MCP under the same server: the same tokens, the same guard."""

from __future__ import annotations

import pytest

from tests.web.conftest import Site

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
HEADERS = {"accept": "application/json, text/event-stream"}


def test_a_token_opens_mcp_and_nothing_else_does(site: Site, token: str) -> None:
    """Under the headers that all answers have."""
    opened = site.ask("POST", "/mcp", token, json=INITIALIZE, headers=HEADERS)
    assert opened.status_code == 200, opened.text
    assert "serverInfo" in opened.text
    assert opened.headers["x-content-type-options"] == "nosniff"
    assert site.ask("POST", "/mcp", "", json=INITIALIZE, headers=HEADERS).status_code == 401
    assert site.ask("POST", "/mcp", "wrong", json=INITIALIZE, headers=HEADERS).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"origin": "https://evil.example"}, 403), ({"host": "evil.example"}, 400)],
)
def test_other_sites_cannot_reach_mcp(
    site: Site, token: str, headers: dict[str, str], status: int
) -> None:
    """The guard stands before it, too."""
    answer = site.ask("POST", "/mcp", token, json=INITIALIZE, headers={**HEADERS, **headers})
    assert answer.status_code == status
