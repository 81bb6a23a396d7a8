"""What is under way ends with its credential: turns, event streams, MCP streams, sessions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from looseleaf.models.model import Answer, Delta, Message, Question, ToolCall, Usage
from tests.web.fixtures import API, PAGE, Opens, Site

CHAT = f"{API}/chat"
REMEMBER = ToolCall(
    "c1", "agent_memory", '{"action": "append", "section": "Facts", "content": "- likes tea"}'
)
STREAM = {"accept": "text/event-stream"}
Begin = Callable[[], None]


class Stubborn:
    """A model that never asks whether it should stop: it does something, then calls a tool."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.before: Begin = lambda: None
        self.questions = 0

    def ask(self, _question: Question, _stopped: Callable[[], bool]) -> Iterator[Delta | Answer]:
        """Say a word, do what the test wants, and call a tool; the second time, answer."""
        self.questions += 1
        yield Delta("Well")
        self.before()
        calls = (REMEMBER,) if self.questions == 1 else ()
        yield Answer(Message(role="assistant", text="Well", calls=calls), Usage(1, 1, 1), self.name)


@pytest.fixture
def site(opens: Opens) -> Site:
    """Serve a workspace in which the stubborn model answers."""
    made = opens(default_model="stubborn:m")
    made.workspace.models().register("stubborn", Stubborn)
    return made


def model_of(site: Site) -> Stubborn:
    """Return the model."""
    model: Any = site.workspace.models().open("stubborn:m")
    while not isinstance(model, Stubborn):
        model = model.model
    return model


def revoke(site: Site, token: str) -> None:
    """End a token as the operator."""
    site.run("looseleaf/revoke-token", id=token.split("_")[1])


def disable(site: Site, _token: str) -> None:
    """Disable the user of the token."""
    site.user("second", capabilities=["manage_options"])
    site.run("looseleaf/update-user", user=1, status="disabled")


def wait(event: threading.Event) -> None:
    """Wait until a test goes on."""
    event.wait(60)


@pytest.mark.parametrize("end", [revoke, disable])
def test_a_turn_ends_before_its_next_step(site: Site, end: Callable[[Site, str], None]) -> None:
    """The tool that the model calls is not run, and the model is not asked again."""
    token, model = site.token(), model_of(site)
    model.before = lambda: end(site, token)
    with site.client.stream(
        "POST", CHAT, json={"message": "Hi"}, headers={"authorization": f"Bearer {token}", **STREAM}
    ) as answer:
        text = answer.read().decode()
    assert "event: returned" not in text
    assert model.questions == 1
    listed = site.run("datamachine/list-chat-sessions")["sessions"]
    turns = site.run("datamachine/get-chat-session", session=listed[0]["session_id"])["turns"]
    assert [turn["status"] for turn in turns] == ["cancelled"]
    page = site.run("datamachine/get-agent-memory", file="MEMORY.md")
    assert "likes tea" not in page["content"]


def test_an_event_stream_ends_while_the_model_is_silent(site: Site) -> None:
    """The reader is told why, though the turn has not come to its next step."""
    token, model, going_on = site.token(), model_of(site), threading.Event()
    model.before = lambda: wait(going_on)
    headers = {"authorization": f"Bearer {token}", **STREAM}
    try:
        with site.client.stream("POST", CHAT, json={"message": "Hi"}, headers=headers) as answer:
            lines = answer.iter_lines()
            assert any("event: said" in line for line in lines)
            revoke(site, token)
            rest = "\n".join(lines)
    finally:
        going_on.set()
    assert "event: error" in rest
    error = rest.partition("event: error\ndata: ")[2].partition("\n")[0]
    assert json.loads(error)["code"] == "unauthenticated"


def test_an_mcp_stream_ends(site: Site) -> None:
    """A client that listens hears no more from a server that it may not ask."""
    token = site.token()
    headers = {
        "authorization": f"Bearer {token}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
    }
    about = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "listener", "version": "1"},
    }
    ask = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    began = site.client.post("/mcp", json=ask, headers=headers)
    headers["mcp-session-id"] = began.headers["mcp-session-id"]
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert site.client.post("/mcp", json=told, headers=headers).status_code == 202
    with (
        httpx2.Client(base_url=site.base, timeout=60, trust_env=False) as listener,
        listener.stream("GET", "/mcp", headers={**headers, **STREAM}) as stream,
    ):
        assert stream.status_code == 200
        revoke(site, token)
        assert b"data:" not in b"".join(stream.iter_bytes())
    assert site.client.post("/mcp", json=told, headers=headers).status_code == 401


def test_a_new_password_ends_the_sessions_of_its_user(site: Site) -> None:
    """And their login links; those of others, and tokens, stay."""
    eve = site.user("eve", password="correct horse battery")
    browser, _ = site.sign_in("eve")
    other, _ = site.sign_in()
    link = site.run("looseleaf/create-login-link", user="eve")["token"]
    token = site.token(user="eve")
    site.run("looseleaf/update-user", user="eve", email="eve@example.com")
    assert browser.get("/session").status_code == 200
    site.run("looseleaf/update-user", user="eve", password="another horse battery")
    assert browser.get("/session").status_code == 401
    assert site.client.post("/login", json={"link": link}).status_code == 401
    assert other.get("/session").status_code == 200
    assert site.ask("GET", "/session", token).json()["data"]["user_id"] == eve


def test_an_agent_lists_its_own_credential_alone(site: Site) -> None:
    """Neither those of the same agent, nor those of its owner."""
    mine, another = site.token(), site.token()
    site.token(user="admin")
    for path in (f"{API}/agents/ada/tokens", f"{API}/tokens"):
        answer = site.ask("GET", path, mine)
        assert answer.status_code == 200, path
        listed = [item["id"] for item in answer.json()["data"]]
        assert set(listed) <= {mine.split("_")[1]}
    assert another.split("_")[1] in str(site.run("looseleaf/list-tokens", agent="ada"))


def test_an_agent_deletes_no_conversation(site: Site) -> None:
    """A person does."""
    browser, csrf = site.sign_in()
    person = {"x-csrf-token": csrf}
    said = browser.post(CHAT, json={"message": "Hi"}, headers=person)
    session = said.json()["data"]["session_id"]
    refused = site.ask("DELETE", f"{CHAT}/{session}", site.token())
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), refused.text
    assert browser.delete(f"{CHAT}/{session}", headers=person).status_code == 200


def test_two_servers_on_one_machine_keep_their_sessions_apart(opens: Opens) -> None:
    """Browsers send a cookie to every port of a host; its name says whose it is."""
    first, second = opens(), opens()
    browser, _ = first.sign_in()
    shown = "; ".join(f"{name}={text}" for name, text in browser.cookies.items())
    refused = second.client.get(f"{PAGE}/MEMORY.md", headers={"cookie": shown})
    assert refused.status_code == 401
    assert f"looseleaf_session_{first.port}=" in shown
