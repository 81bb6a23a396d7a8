"""A server whose workspace is gone says so everywhere, and goes on when it is back."""

from __future__ import annotations

from pathlib import Path

import pytest

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
