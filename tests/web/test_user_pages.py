"""USER.md stands in the prompts of all agents of a user: who may add to it, and who replaces it."""

from __future__ import annotations

import json

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.errors import Forbidden
from looseleaf.mcp.stdio import local_context_of
from looseleaf.models.model import ToolCall
from tests.features.chat.conftest import Script
from tests.operations.test_matrix import SAMPLES
from tests.web.fixtures import API, PAGE, Opens, Site

USER = f"{PAGE}/USER.md"
APPEND = "/wp-abilities/v1/abilities/datamachine/append-agent-file/run"
LINE = "- prefers short answers"
ADD = {"file": "USER.md", "content": LINE}
REPLACING = sorted(
    name
    for name, operation in CATALOG.items()
    if operation.permission == "write"
    and operation.changes_page
    and "file" in operation.run.__annotations__
    and name != "looseleaf/move-page"  # no core page is moved, by whoever it may be
)


def replacing(name: str) -> dict[str, object]:
    """Return the arguments by which an operation replaces USER.md, or a part of it."""
    taken = CATALOG[name].run.__annotations__
    given = {key: SAMPLES[key] for key in ("content", "data", "section", "revision")}
    given["mode"] = "set"
    return {"file": "USER.md", **{key: item for key, item in given.items() if key in taken}}


def page_of(workspace: Workspace) -> str:
    """Read USER.md as the operator."""
    return str(
        invoke(workspace.context, "datamachine/get-agent-file", {"file": "USER.md"})["content"]
    )


def test_a_token_reads_it_and_adds_nothing(site: Site) -> None:
    """The refusal says what it takes, and what to do instead."""
    token = site.token()
    assert site.ask("GET", USER, token).status_code == 200
    refused = site.ask("POST", APPEND, token, json=ADD)
    assert refused.status_code == 403
    assert "write_user_pages" in refused.json()["message"]
    assert "MEMORY.md" in refused.json()["message"]
    assert LINE not in page_of(site.workspace)


def test_a_token_with_the_right_adds_and_does_not_replace(site: Site) -> None:
    """A right of the token, which a person gives it."""
    token = site.token(agent="ada", capabilities=["chat", "write_user_pages"])
    assert site.ask("POST", APPEND, token, json=ADD).status_code == 200
    assert LINE in page_of(site.workspace)
    replaced = site.ask("PUT", USER, token, content=b"# New\n")
    assert replaced.status_code == 403
    assert "a person" in replaced.json()["message"]


def test_a_person_replaces_it(site: Site) -> None:
    """With a session, and with a token of their own."""
    browser, csrf = site.sign_in()
    headers = {"x-csrf-token": csrf}
    assert browser.put(USER, content=b"# One\n", headers=headers).status_code == 200
    assert site.ask("PUT", USER, site.token(user="admin"), content=b"# Two\n").status_code == 200
    assert page_of(site.workspace) == "# Two\n"


@pytest.mark.parametrize("bound", [{"agent": "ada"}, {"user": "admin"}])
def test_mcp_over_http_adds_nothing(site: Site, bound: dict[str, str]) -> None:
    """Nobody sits before it, whoever the token acts for."""
    headers = {"Authorization": f"Bearer {site.token(**bound)}"}

    async def run() -> str:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"{site.base}/mcp", http_client=http)) as client,
        ):
            given = {"file": "USER.md", "section": "About", "content": LINE}
            answer = await client.call_tool("append_agent_memory", given)
            return str((answer.structured_content or {}).get("code"))

    assert anyio.run(run) == "forbidden"
    assert LINE not in page_of(site.workspace)


@pytest.mark.parametrize("full", [False, True])
def test_mcp_over_stdio_adds_and_does_not_replace(site: Site, *, full: bool) -> None:
    """The person sits before it; the history says which agent it was."""
    workspace = site.workspace
    context = local_context_of(workspace, 1, 1, full=full)("some-editor")
    invoke(context, "datamachine/append-agent-file", ADD)
    last = invoke(workspace.context, "looseleaf/page-history", {"file": "USER.md"})[-1]
    assert (last["actor"], last["surface"]) == ("ada", "mcp")
    assert (last["actor_kind"], last["reason"]) == ("agent", "through some-editor")
    assert last["activity"] == "session"
    assert last["activity_id"]
    for name in REPLACING:
        with pytest.raises(Forbidden, match="a person"):
            invoke(context, name, replacing(name))


def test_the_test_above_tries_every_way_to_replace() -> None:
    """Write, upload, set and delete a section, clear, delete and restore."""
    assert len(REPLACING) >= 6


def test_an_agent_adds_in_a_conversation_with_its_owner(opens: Opens) -> None:
    """In the history it is the agent's, with the conversation; by a token it is refused."""
    site = opens(default_model="script:m")
    add = json.dumps({"action": "append", "section": "About", **ADD})
    replace = json.dumps({"action": "update", "section": "About", **ADD})
    calls = (ToolCall("c1", "agent_memory", add), ToolCall("c2", "agent_memory", replace))
    model = Script(calls, "Noted.", (calls[0],), "Noted.")
    site.workspace.models().register("script", lambda _name: model)
    browser, csrf = site.sign_in()
    said = browser.post(f"{API}/chat", json={"message": "Hi"}, headers={"x-csrf-token": csrf})
    assert [item["file"] for item in said.json()["data"]["written"]] == ["USER.md"]
    last = invoke(site.workspace.context, "looseleaf/page-history", {"file": "USER.md"})[-1]
    assert (last["actor"], last["surface"]) == ("ada", "chat")
    assert (last["actor_kind"], last["origin"], last["reason"]) == ("agent", "agent", "")
    assert (last["activity"], last["activity_id"]) == ("session", said.json()["data"]["session_id"])
    alone = site.ask("POST", f"{API}/chat", site.token(), json={"message": "Hi"})
    assert alone.json()["data"]["written"] == []
