"""Talking over REST: answers whole and streamed, sessions, and many at once."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from looseleaf.errors.operations import ModelFailed
from looseleaf.models.model import ToolCall
from looseleaf.settings import Provider
from tests.features.chat.conftest import Reply, Script
from tests.web.fixtures import API, Opens, Site

CHAT = f"{API}/chat"
ROOT = Path(__file__).parents[3]
REMEMBER = ToolCall(
    "c1", "agent_memory", '{"action": "append", "section": "Facts", "content": "- likes tea"}'
)
Says = Callable[..., Script]


@pytest.fixture
def chatty(opens: Opens) -> Site:
    """Serve a workspace in which a scripted model answers."""
    site = opens(default_model="script:m")
    site.workspace.models().register("script", lambda _name: Script("Hello."))
    return site


@pytest.fixture
def says(chatty: Site) -> Says:
    """Script the model."""

    def script(*replies: Reply) -> Script:
        model: Any = chatty.workspace.models().open("script:m")
        model.replies[:] = replies
        assert isinstance(model, Script)
        return model

    return script


@pytest.fixture
def mine(chatty: Site) -> str:
    """Return a token of ada's owner."""
    return chatty.token()


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Read server-sent events."""
    parts = [part.split("\n") for part in text.strip().split("\n\n") if not part.startswith(":")]
    return [
        (kind.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for kind, data in parts
    ]


def test_a_message_is_answered_whole(chatty: Site, mine: str) -> None:
    """In the envelope, with what a program wants to know."""
    answer = chatty.ask("POST", CHAT, mine, json={"message": "Hi"})
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert (data["response"], data["completed"], data["turn"]) == ("Hello.", True, 1)
    again = chatty.ask(
        "POST", CHAT, mine, json={"message": "And?", "session_id": data["session_id"]}
    )
    assert again.json()["data"]["turn"] == 2


@pytest.mark.parametrize(
    "more",
    [
        {"headers": {"accept": "text/event-stream"}},
        {"params": {"stream": "1"}},
        {"json": {"message": "I like tea", "stream": True}},
    ],
)
def test_a_message_is_answered_as_it_comes(
    chatty: Site, mine: str, says: Says, more: dict[str, Any]
) -> None:
    """Every step is an event, and what was written is named."""
    says(("Let me", " see.", REMEMBER), "Noted.")
    answer = chatty.ask("POST", CHAT, mine, **{"json": {"message": "I like tea"}, **more})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_of(answer.text)
    kinds = [kind for kind, _ in events]
    assert kinds == ["began", "said", "said", "called", "returned", "said", "ended"]
    end = events[-1][1]
    assert (end["status"], end["text"]) == ("completed", "Noted.")
    assert end["written"][0]["file"] == "MEMORY.md"


def test_what_is_wrong_is_said_before_the_stream(chatty: Site, mine: str) -> None:
    """With its status."""
    stream = {"headers": {"accept": "text/event-stream"}}
    for body, status, code in (
        ({"message": " "}, 400, "empty_message"),
        ({"message": 7}, 400, "invalid_argument"),
        ({"messages": "x"}, 400, "invalid_argument"),
        ({"message": "x", "session_id": "nowhere"}, 404, "session_not_found"),
        ({"message": "x", "agent": "nobody"}, 404, "agent_missing"),
        ({"message": "x", "model": "echo"}, 403, "forbidden"),
    ):
        for more in (stream, {}):
            answer = chatty.ask("POST", CHAT, mine, json=body, **more)
            assert (answer.status_code, answer.json()["code"]) == (status, code), body
    assert chatty.ask("POST", CHAT, json={"message": "x"}).status_code == 401


def test_a_failing_model_is_told(chatty: Site, mine: str, says: Says) -> None:
    """As 502, or as the last event; the message is kept and answered later."""
    says(ModelFailed("script", "status 500: secret words"), ModelFailed("script", "x"), "Now.")
    answer = chatty.ask("POST", CHAT, mine, json={"message": "Hi"})
    assert (answer.status_code, answer.json()["code"]) == (502, "model_failed")
    assert "secret" not in answer.text
    events = events_of(chatty.ask("POST", CHAT, mine, json={"message": "Hi", "stream": True}).text)
    assert [kind for kind, _ in events] == ["began", "error"]
    session = events[0][1]["session"]
    done = chatty.ask("POST", f"{CHAT}/continue", mine, json={"session_id": session})
    assert done.json()["data"]["response"] == "Now."


def test_the_same_request_is_answered_once(chatty: Site, mine: str, says: Says) -> None:
    """By the header that clients send again."""
    model = says("One.", "Two.")
    more = {"headers": {"x-request-id": "r1"}, "json": {"message": "Hi"}}
    first = chatty.ask("POST", CHAT, mine, **more).json()["data"]
    again = chatty.ask("POST", CHAT, mine, **more).json()["data"]
    assert (again["session_id"], again["response"]) == (first["session_id"], "One.")
    assert len(model.questions) == 1
    stream = {**more, "params": {"stream": "1"}}
    assert events_of(chatty.ask("POST", CHAT, mine, **stream).text)[0][1]["text"] == "One."


def test_one_turn_at_a_time(chatty: Site, mine: str, says: Says) -> None:
    """Another is told to wait; it can be cancelled."""
    speaking, stop = threading.Event(), threading.Event()
    session = chatty.ask("POST", CHAT, mine, json={"message": "Hi"}).json()["data"]["session_id"]

    def speak() -> None:
        speaking.set()
        stop.wait(10)

    says(("One", speak, "Two"))
    talking = {"message": "Go", "session_id": session}
    answers: list[httpx2.Response] = []
    thread = threading.Thread(
        target=lambda: answers.append(
            httpx2.post(
                chatty.base + CHAT, json=talking, headers={"authorization": f"Bearer {mine}"}
            )
        )
    )
    thread.start()
    assert speaking.wait(10)
    busy = chatty.ask("POST", CHAT, mine, json=talking)
    assert (busy.status_code, busy.json()["code"]) == (409, "session_busy")
    person = chatty.token(user="admin")
    assert chatty.ask("DELETE", f"{CHAT}/{session}", person).status_code == 409
    cancel = chatty.ask("POST", f"{CHAT}/sessions/{session}/cancel", mine)
    assert cancel.json()["data"] == {"cancelled": True}
    time.sleep(1.1)  # a turn looks once a second whether someone wants it to stop
    stop.set()
    thread.join()
    assert answers[0].json()["data"]["status"] == "cancelled"


def test_who_leaves_finds_the_answer_later(chatty: Site, mine: str, says: Says) -> None:
    """The turn goes on without a listener."""
    go = threading.Event()
    says(("One", lambda: go.wait(10), " two."))
    headers = {"authorization": f"Bearer {mine}", "accept": "text/event-stream"}
    with httpx2.stream("POST", chatty.base + CHAT, json={"message": "Hi"}, headers=headers) as live:
        first = next(live.iter_text())
    go.set()
    session = events_of(first.split("\n\n")[0])[0][1]["session"]
    for _ in range(100):
        shown = chatty.ask("GET", f"{CHAT}/{session}", mine).json()["data"]
        if not shown["session"]["running"]:
            break
        time.sleep(0.05)
    assert shown["messages"][-1]["content"] == "One two."


def test_sessions_have_addresses(chatty: Site, mine: str) -> None:
    """To list, read, search, rename, mark, export and delete them."""
    session = chatty.ask("POST", CHAT, mine, json={"message": "Tea?"}).json()["data"]["session_id"]
    listed = chatty.ask("GET", f"{CHAT}/sessions?limit=5", mine).json()["data"]
    assert (listed["total"], listed["limit"]) == (1, 5)
    assert listed["sessions"][0]["unread_count"] == 1
    shown = chatty.ask("GET", f"{CHAT}/{session}", mine).json()["data"]
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant"]
    found = chatty.ask("GET", f"{CHAT}/sessions/search?query=TEA", mine).json()["data"]
    assert found[0]["session_id"] == session
    named = chatty.ask("PATCH", f"{CHAT}/{session}", mine, json={"title": "Tea"})
    assert named.json()["data"]["title"] == "Tea"
    read = chatty.ask("POST", f"{CHAT}/sessions/{session}/read", mine)
    assert read.json()["data"]["unread_count"] == 0
    page = chatty.ask("GET", f"{CHAT}/sessions/{session}/export", mine).json()["data"]["content"]
    assert page.startswith("# Tea\n")
    done = chatty.ask("POST", f"{CHAT}/sessions/{session}/finish", mine)
    assert done.json()["data"]["session"]["finished_at"]
    other = chatty.token(user=chatty.user("eve", capabilities=["chat"]))
    assert chatty.ask("GET", f"{CHAT}/{session}", other).status_code == 404
    person = chatty.token(user="admin")
    assert chatty.ask("DELETE", f"{CHAT}/{session}", person).status_code == 200
    assert chatty.ask("GET", f"{CHAT}/{session}", mine).status_code == 404


def test_who_said_what_is_not_in_the_audit_but_that_they_did_is(chatty: Site, mine: str) -> None:
    """Whole or streamed."""
    for stream in (False, True):
        chatty.ask("POST", CHAT, mine, json={"message": "very private", "stream": stream})
    audit = chatty.run("looseleaf/list-audit")
    assert [item["event"]["action"] for item in audit][:2] == ["datamachine/send-message"] * 2
    assert "very private" not in str(audit)


@pytest.fixture
def slow_provider(tmp_path: Path) -> Iterator[str]:
    """Serve long answers, word by word, from a process of its own."""
    script = tmp_path / "script.json"
    text = " ".join(f"word{number}" for number in range(20))
    script.write_text(json.dumps([{"text": text, "pause": 0.1}]))
    command = [sys.executable, "-m", "tests.models.scripted", str(script)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    server.terminate()
    server.communicate()


@pytest.mark.slow
def test_two_hundred_streams_do_not_stall_the_server(opens: Opens, slow_provider: str) -> None:
    """Whoever asks whether it is well is answered within a second."""
    site = opens(default_model="slow:m", providers=(Provider("slow", slow_provider),))
    token = site.token()
    site.ask("POST", CHAT, token, json={"message": "warm up"})
    command = [sys.executable, "-m", "tests.web.crowd", site.base]
    # Each in a process of its own, so that it is the server that is measured.
    with subprocess.Popen([*command, "look"], cwd=ROOT, stdout=-1, stdin=-1, text=True) as looking:
        assert looking.stdout is not None
        looking.stdout.readline()
        talked = subprocess.run(
            [*command, "talk", token, "200"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        taken = json.loads(looking.communicate("")[0])
    print(f"/health: {len(taken)} asked, at most {max(taken):.3f} s")  # noqa: T201 - a figure
    assert json.loads(talked.stdout) == {"completed": 200}
    assert len(taken) > 20
    assert max(taken) < 1.0
    site.workspace.models().close()
