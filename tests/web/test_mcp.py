"""`/mcp` of the whole server: the same tokens, the same guard, the same memory as REST."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from looseleaf import settings
from looseleaf.errors import InvalidSetting
from looseleaf.mcp.http import MOST_SESSIONS
from tests.web.fixtures import PAGE, Opens, Site

ERAS = ("auto", "legacy")


@pytest.mark.parametrize("era", ERAS)
def test_a_token_opens_both_doors_to_one_memory(site: Site, era: str) -> None:
    """What MCP writes, REST reads; what a token may not do, it may not do here."""
    headers = {"Authorization": f"Bearer {site.token()}"}

    async def run() -> None:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(
                streamable_http_client(f"{site.base}/mcp", http_client=http), mode=era
            ) as client,
        ):
            told = {"section": "Facts", "content": f"- by {era}"}
            assert not (await client.call_tool("append_agent_memory", told)).is_error
            told["file"] = "SOUL.md"
            refused = await client.call_tool("append_agent_memory", told)
            assert refused.structured_content["code"] == "forbidden"

    anyio.run(run)
    page = site.client.get(f"{PAGE}/MEMORY.md", headers={**headers, "Accept": "text/markdown"})
    assert f"- by {era}" in page.text


def test_the_guard_stands_before_it(site: Site) -> None:
    """No token, a revoked one, another site's page, another name: none comes in."""
    token = site.token()
    mine = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    ask = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert site.client.post("/mcp", json=ask).status_code == 401
    evil = {**mine, "Origin": "https://evil.example"}
    assert site.client.post("/mcp", json=ask, headers=evil).status_code == 403
    other = {**mine, "Host": "evil.example"}
    assert site.client.post("/mcp", json=ask, headers=other).status_code == 400
    assert site.client.post("/mcp", json=ask, headers=mine).status_code not in (401, 403)
    site.run("looseleaf/revoke-token", id=token.split("_")[1])
    assert site.client.post("/mcp", json=ask, headers=mine).status_code == 401


def test_a_change_by_mcp_stands_in_the_audit(site: Site) -> None:
    """With the token, the surface and what was changed, never what was written."""
    headers = {"Authorization": f"Bearer {site.token()}"}

    async def run() -> None:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"{site.base}/mcp", http_client=http)) as client,
        ):
            await client.call_tool("append_agent_memory", {"section": "Facts", "content": "- hush"})

    anyio.run(run)
    last = site.run("looseleaf/list-audit", limit=1)[0]["event"]
    assert (last["action"], last["surface"]) == ("datamachine/update-agent-memory", "mcp")
    assert "section=Facts" in last["target"]
    assert "hush" not in str(last)


def test_the_server_offers_all_tools_where_its_settings_say_so(
    opens: Opens, tmp_path: Path
) -> None:
    """By `mcp_tools`; another word is refused."""
    site = opens(mcp_tools="full", workers=2)
    headers = {"Authorization": f"Bearer {site.token()}"}

    async def run() -> int:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"{site.base}/mcp", http_client=http)) as client,
        ):
            return len((await client.list_tools()).tools)

    assert anyio.run(run) > 25
    (tmp_path / "looseleaf.toml").write_text('mcp_tools = "some"\n')
    with pytest.raises(InvalidSetting, match="small, full"):
        settings.load(str(tmp_path), environ={})


def test_a_credential_has_a_bounded_number_of_sessions(site: Site, token: str) -> None:
    """One more ends the one that was used longest ago, as its client would."""
    headers = {"accept": "application/json, text/event-stream"}
    hello = {
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }  # fmt: skip
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    begun = [
        site.ask("POST", "/mcp", token, json=hello, headers=headers).headers["mcp-session-id"]
        for _ in range(MOST_SESSIONS + 1)
    ]

    def status(session: str) -> int:
        known = {**headers, "mcp-session-id": session}
        return site.ask("POST", "/mcp", token, json=listing, headers=known).status_code

    assert status(begun[0]) == 404
    assert status(begun[1]) == 200
    assert status(begun[-1]) == 200
