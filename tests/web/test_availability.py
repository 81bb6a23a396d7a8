"""A server whose workspace is gone says so everywhere, and goes on when it is back."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from looseleaf.web.http.authentication import MOST
from looseleaf.web.rest.endpoints import NAMESPACE
from tests.web.fixtures import ENDPOINTS, Site

MEMORY = f"{NAMESPACE}/files/agent/MEMORY.md"
ADDRESSES = sorted(
    {
        endpoint.path
        for endpoint in ENDPOINTS
        if endpoint.method == "GET" and "{" not in endpoint.path
    }
)


@pytest.mark.parametrize("is_mount_point", [False, True])
def test_a_workspace_that_is_gone_is_503_everywhere(site: Site, *, is_mount_point: bool) -> None:
    """Every address answers with the same code, read or written to; health names it."""
    token = site.token(user=1)
    page = {"user_id": 1}
    assert site.ask("GET", MEMORY, token, params=page).status_code == 200
    root = Path(site.workspace.root)
    away = root.with_name("away")
    root.rename(away)
    if is_mount_point:
        root.mkdir()
    site.wait_for_decisions()
    answers = [site.ask("GET", f"{NAMESPACE}{path}", token) for path in ADDRESSES]
    answers += [
        site.ask("GET", MEMORY, token),
        site.ask("GET", f"{NAMESPACE}/files/agent/none.md", token),
        site.ask("PUT", MEMORY, token, content="new", headers={"content-type": "text/plain"}),
        site.ask("POST", f"{NAMESPACE}/agents", token, json={"slug": "bob"}),
        site.ask("GET", MEMORY, "nobody"),
    ]
    password = {"login": "admin", "password": "wrong"}
    hook = f"{NAMESPACE}/webhooks/1/gate/none"
    for path, body in (("/login", password), ("/login", {"link": "none"}), (hook, {})):
        answers.append(site.ask("POST", path, json=body))  # without a credential, too
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {
        (503, "workspace_unavailable")
    }
    assert str(root) not in "".join(answer.text for answer in answers)
    health = site.ask("GET", "/health")
    assert (health.status_code, health.json()["problems"]) == (503, ["workspace_unavailable"])
    if is_mount_point:
        root.rmdir()  # nothing was made in it
    away.rename(root)
    site.wait_for_decisions()
    assert site.ask("GET", MEMORY, token).status_code == 200
    assert site.ask("GET", "/health").status_code == 200


MCP_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools/list", {}),
    ("tools/call", {"name": "get_agent_memory", "arguments": {}}),
    (
        "tools/call",
        {"name": "append_agent_memory", "arguments": {"section": "S", "content": "- x"}},
    ),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "looseleaf://agents/ada/MEMORY.md"}),
    ("prompts/get", {"name": "start-session", "arguments": {}}),
)
NEEDS_NO_PAGE = {"resources/templates/list"}  # for a user, it names no agent


@pytest.mark.parametrize("gone", ["", "agents"])
def test_mcp_answers_a_workspace_that_is_gone_as_rest_does(
    site: Site, gone: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the same code, and no word about folders of the server, which its operator sees."""
    tokens = {"agent": site.token(), "user": site.token(user=1)}
    sessions = {who: begin_session(site, token) for who, token in tokens.items()}
    place = Path(site.workspace.root, gone)
    away = place.with_name("away")
    place.rename(away)
    site.wait_for_decisions()
    for who, token in tokens.items():
        for method, params in MCP_CALLS:
            answer = ask_mcp(site, token, method, params, sessions[who])
            if gone and who == "user" and method in NEEDS_NO_PAGE | {"tools/list"}:
                continue
            assert "workspace_unavailable" in answer.text, (who, method, answer.text)
            assert str(site.workspace.root) not in answer.text
            assert "agents/" not in answer.text.replace("looseleaf://agents/", "")
    narrowed = ask_mcp(site, tokens["user"], "tools/list", {}, "", query="?agent=ada")
    assert (narrowed.status_code, narrowed.json()["code"]) == (503, "workspace_unavailable")
    assert "The workspace is not available: " in capfd.readouterr().err
    away.rename(place)
    site.wait_for_decisions()
    for who, token in tokens.items():
        for method, params in MCP_CALLS:
            answer = ask_mcp(site, token, method, params, sessions[who])
            assert answer.status_code == 200
            assert "unavailable" not in answer.text, answer.text


def ask_mcp(
    site: Site, token: str, method: str, params: dict[str, Any], session: str, query: str = ""
) -> Any:  # noqa: ANN401 - an answer of the client
    """Send a request of the protocol, in a session if there is one."""
    headers = {"accept": "application/json, text/event-stream"}
    headers |= {"mcp-session-id": session} if session else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return site.ask("POST", f"/mcp{query}", token, headers=headers, json=body)


def begin_session(site: Site, token: str) -> str:
    """Begin a session of the older protocol; return its id."""
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a client", "version": "1"},
    }
    answer = ask_mcp(site, token, "initialize", params, "")
    session = str(answer.headers["mcp-session-id"])
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    headers = {"accept": "application/json, text/event-stream", "mcp-session-id": session}
    assert site.ask("POST", "/mcp", token, headers=headers, json=body).status_code == 202
    return session


def test_deleted_agents_are_listed_and_restored(site: Site) -> None:
    """By whoever may manage agents; their tokens stay ended."""
    site.run("looseleaf/create-agent", slug="bob")
    token, his = site.token(user=1), site.token(agent="bob")
    assert site.ask("GET", MEMORY, his).status_code == 200
    assert site.ask("DELETE", f"{NAMESPACE}/agents/bob?files=true", token).status_code == 200
    assert site.ask("GET", MEMORY, his).status_code == 401
    listed = site.ask("GET", f"{NAMESPACE}/agents/deleted", token).json()["data"]
    assert [item["slug"] for item in listed] == ["bob"]
    restored = site.ask("POST", f"{NAMESPACE}/agents/deleted/bob/restore", token, json={})
    assert restored.json()["data"]["id"] == 2
    assert site.ask("GET", f"{NAMESPACE}/agents/bob", token).status_code == 200
    site.wait_for_decisions()
    assert site.ask("GET", MEMORY, his).status_code == 401


@pytest.mark.parametrize("state", ["missing", "empty", "another disk"])
def test_health_says_what_calls_answer_without_agents(site: Site, state: str) -> None:
    """A folder of agents that is away makes every call 503, and so health is 503, too."""
    token = site.token(user=1)
    agents = Path(site.workspace.root, "agents")
    away = agents.rename(agents.with_name("agents-away"))
    if state != "missing":
        agents.mkdir()
    if state == "another disk":
        (agents / "lost+found").mkdir()
    site.wait_for_decisions()
    answer, health = site.ask("GET", MEMORY, token), site.ask("GET", "/health")
    assert (answer.status_code, answer.json()["code"]) == (503, "workspace_unavailable")
    assert (health.status_code, health.json()["problems"]) == (503, ["workspace_unavailable"])
    if state != "missing":
        shutil.rmtree(agents)
    away.rename(agents)
    site.wait_for_decisions()
    assert site.ask("GET", MEMORY, token).status_code == 200
    assert site.ask("GET", "/health").status_code == 200


def test_a_token_whose_agent_is_away_is_not_wrong(site: Site) -> None:
    """It gets 503 however often it asks, and works again with the folder."""
    token = site.token(agent="ada")
    folder = Path(site.workspace.root, "agents", "ada")
    away = folder.rename(folder.parent.parent / "ada-away")
    site.wait_for_decisions()
    for _ in range(MOST + 1):
        answer = site.ask("GET", MEMORY, token)
        assert (answer.status_code, answer.json()["code"]) == (503, "workspace_unavailable")
    away.rename(folder)
    site.wait_for_decisions()
    assert site.ask("GET", MEMORY, token).status_code == 200
