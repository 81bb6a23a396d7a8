"""Servers that speak OpenAI's language more or less: what they send is heard, not believed."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.providers import infer_provider_class

from looseleaf.errors.operations import InvalidModel, ModelFailed
from looseleaf.models.by_name import OWN_PROTOCOL, Models
from looseleaf.models.model import (
    Answer,
    Message,
    Offer,
    Question,
    Retry,
    ToolCall,
    Usage,
    answer,
    never,
)
from looseleaf.models.openai import AnswerBuilder, encode_request
from looseleaf.models.retries import ProviderFailure
from looseleaf.settings import Provider
from looseleaf.values import Secret
from tests.models.conftest import KEY
from tests.models.scripted import Reply, Scripted

HELLO = Question(("You are Ada.",), (Message(role="user", text="Hello"),))
STREAM = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


@contextmanager
def raw(*answers: str, pause: float = 0.0) -> Iterator[str]:
    """Serve answers as they are given, header and all, one connection each; yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        ended = threading.Event()

        def serve() -> None:
            for text in (*answers, *([answers[-1]] * 9)):
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    while (heard := connection.recv(65_536)) and not heard.endswith(b"}"):
                        continue
                    for part in text.split("|pause|"):
                        connection.sendall(part.encode())
                        ended.wait(pause)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        finally:
            ended.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def asked(*answers: str, question: Question = HELLO, pause: float = 0.0, **more: Any) -> Answer:  # noqa: ANN401
    """Ask a server that answers so."""
    with raw(*answers, pause=pause) as url:
        models = Models({"local": Provider("local", url, Secret(KEY))}, **{"timeout": 5, **more})
        try:
            return answer(models.open("local:m"), question)
        finally:
            models.close()


def chunk(finish: str | None = None, **delta: object) -> str:
    """Write one chunk of an answer."""
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def events(*data: str, end: str = "\n\n") -> str:
    """Write a stream of events."""
    return STREAM + "".join(f"data: {item}{end}" for item in data)


def test_an_answer_is_heard_however_its_bytes_are_cut() -> None:
    """Lines end in one way or the other, comments come between, the last has no end."""
    said = events(chunk(content="He"), chunk(content="llo"), chunk("stop"), end="\r\n\r\n")
    assert asked(said).message.text == "Hello"
    bits = (": wait\n\n", f"data: {chunk(content='Hé')[:30]}", chunk(content="Hé")[30:], "\n\n")
    ended = f"event: x\nid: 1\ndata:{chunk('stop', content='!')}"
    assert asked(STREAM + "|pause|".join((*bits, ended)), pause=0.01).message.text == "Hé!"


def test_an_end_needs_no_reason() -> None:
    """Some servers only say that they are done."""
    assert asked(events(chunk(content="Hello"), "[DONE]")).message.text == "Hello"


def test_a_short_key_is_not_shown_either() -> None:
    """Though it looks like any word."""
    said = "HTTP/1.1 400 No\r\nconnection: close\r\n\r\nthe key tiny is not known"
    with raw(said) as url:
        models = Models({"local": Provider("local", url, Secret("tiny"))}, timeout=5)
        with pytest.raises(ModelFailed, match="status 400: the key … is not known"):
            answer(models.open("local:m"), HELLO)
        models.close()


def test_a_server_that_does_not_stream_is_heard_too() -> None:
    """The whole answer as one document."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Hello", "tool_calls": [call]}
    document = {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 7,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 3},
        },
    }
    head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
    said = asked(head + json.dumps(document))
    assert (said.message.text, said.message.calls) == ("Hello", (ToolCall("c", "f"),))
    assert said.usage == Usage(1, 7, 2, 3)


@pytest.mark.parametrize(
    "bits",
    [
        # As OpenAI sends it: numbered, the name and the id once, the arguments in bits.
        [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}},
            {"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"x"'}},
            {"index": 0, "function": {"arguments": '{"y": 2}'}},
            {"index": 1, "function": {"arguments": ": 1}"}},
        ],
        # Without numbers, each whole, or going on with the last.
        [
            {"id": "a", "function": {"name": "f", "arguments": {"y": 2}}},
            {"id": "b", "function": {"name": "g", "arguments": '{"x": '}},
            {"function": {"arguments": "1}"}},
        ],
    ],
)
def test_calls_are_put_together(bits: list[dict[str, Any]]) -> None:
    """Whoever sent them."""
    said = asked(events(*(chunk(tool_calls=[bit]) for bit in bits), chunk("tool_calls")))
    first, second = said.message.calls
    assert (first.id, first.name, json.loads(first.arguments)) == ("a", "f", {"y": 2})
    assert (second.id, second.name, json.loads(second.arguments)) == ("b", "g", {"x": 1})


def test_a_call_without_an_id_gets_one() -> None:
    """Its result must find it again."""
    bits = [chunk(tool_calls=[{"index": at, "function": {"name": "f"}}]) for at in (0, 1)]
    first, second = asked(events(*bits, chunk("tool_calls"))).message.calls
    assert first.id.startswith("call_")
    assert first.id != second.id
    assert first.arguments == "{}"


def test_what_a_server_said_beside_its_answer_goes_back_to_it_alone() -> None:
    """Thoughts and signatures; another provider gets none of it."""
    call = {"index": 0, "id": "a", "function": {"name": "f"}, "extra_content": {"signed": "s"}}
    bits = chunk(reasoning_content="h"), chunk(reasoning_content="mm"), chunk(tool_calls=[call])
    said = asked(events(*bits, chunk("tool_calls"))).message
    asks = Question(
        (),
        (Message(role="user", text="?"), said, Message(role="tool", text="r", call="a", name="f")),
    )
    told = json.loads(encode_request("m", "local", asks))["messages"][1]
    assert told["reasoning_content"] == "hmm"
    assert told["tool_calls"][0]["extra_content"] == {"signed": "s"}
    other = json.loads(encode_request("m", "other", asks))["messages"][1]
    assert other == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    }


@pytest.mark.parametrize(
    ("finish", "told"), [("stop", ""), ("length", "limit of length"), ("content_filter", "filter")]
)
def test_an_answer_that_is_not_whole_says_so(finish: str, told: str) -> None:
    """Nothing is cut off without a notice."""
    cut = asked(events(chunk(finish, content="Hel"))).warning
    assert told in cut
    assert bool(told) == bool(cut)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (events(chunk(content="Hel")), "the answer breaks off"),
        (events("[DONE]"), "the answer breaks off"),
        ("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{}",
         "the answer breaks off"),
        (events('{"error": {"message": "out of memory", "code": 507}}'), "out of memory"),
        (events('{"error": "no more"}'), "no more"),
        (events("{"), "not OpenAI-compatible"),
        (events("[]"), "not OpenAI-compatible"),
        (events('{"choices": [[]]}'), "not OpenAI-compatible"),
        (events("[" * 100_000), "not OpenAI-compatible"),
        ("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<p>Welcome",
         "not OpenAI-compatible"),
        ("HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n",
         "status 307: the server redirects us"),
        ("HTTP/1.1 404 No\r\nconnection: close\r\n\r\nno\r\nsuch page", "status 404: no such page"),
        ("no HTTP at all", "cannot be reached"),
        (STREAM + "data: " + "x" * 8_100_000, "does not end"),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_one_clear_error(said: str, why: str) -> None:
    """And no part of it passes for an answer."""
    with pytest.raises(ModelFailed, match=why):
        asked(said, retries=0)


def test_comments_are_no_answer() -> None:
    """A server that only keeps the line busy is given up like a silent one."""
    with pytest.raises(ModelFailed, match="in time"):
        asked(STREAM + ": wait\n\n|pause|" * 100, pause=0.05, timeout=0.3, retries=0)


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("retry-after: 2", 2, 2),
        ("retry-after-ms: 30", 0.03, 0.03),
        ("retry-after: 86400", 60, 60),
        ("retry-after: soon", 0.5, 1),
        ("retry-after: -1", 0.5, 1),
        ("retry-after: Mon, 01 Jan 2024 00:00:00 GMT", 0, 0),
    ],
)
def test_a_server_says_when_to_come_again(header: str, least: float, most: float) -> None:
    """In one of three ways, within reason."""
    busy = f"HTTP/1.1 503 Busy\r\n{header}\r\ncontent-length: 0\r\n\r\n"
    with raw(busy) as url:
        models = Models({"local": Provider("local", url)}, timeout=5)
        told = models.open("local:m").ask(HELLO, never)
        first = next(told)
        assert isinstance(first, Retry)
        assert least <= first.seconds <= most
        told.close()  # type: ignore[attr-defined]
        models.close()


def test_a_question_is_written_as_every_server_reads_it() -> None:
    """With half characters, and without what there is none of."""
    tool = Offer("f", "Does.", '{"type": "object"}')
    said = (
        Message(role="user", text="a\ud800é"),
        Message(role="assistant", text=""),
        Message(role="user", text="b"),
    )
    told = json.loads(encode_request("m", "local", Question((), said, (tool,))))
    assert [item["content"] for item in told["messages"]] == ["a?é", "", "b"]
    assert told["tools"][0]["function"] == {
        "name": "f", "description": "Does.", "parameters": {"type": "object"},
    }  # fmt: skip
    assert "tools" not in json.loads(encode_request("m", "local", HELLO))


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(
        st.sampled_from(["choices", "delta", "message", "tool_calls", "function", "index", "id",
                         "content", "usage", "error", "arguments", "finish_reason", "reasoning",
                         "prompt_tokens", "name", "type", "text", "code"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(DOCUMENTS, max_size=4))
def test_no_chunk_does_more_than_be_refused(chunks: list[Any]) -> None:
    """Whatever JSON a server makes of itself."""
    listener = AnswerBuilder("local:m")
    with suppress(ProviderFailure, AttributeError, LookupError, TypeError, ValueError):
        for item in chunks:
            assert isinstance(listener.add_chunk(item), str)
        said = listener.answer()
        json.loads(encode_request("m", "local", Question((), (said.message,))))


def test_addresses_and_keys_are_looked_at_before_anything_is_sent() -> None:
    """What is wrong is said when the model is opened, and the key is not in it."""
    for url in ("127.0.0.1:1/v1", "ftp://a/v1", "http://", "http://[::1/v1"):
        with pytest.raises(InvalidModel, match="its base_url is not an address"):
            Models({"local": Provider("local", url)}).open("local:m")
    for key in (f"{KEY}\nx: y", "ключ", "two words"):
        with pytest.raises(InvalidModel, match="its key is invalid") as error:
            Models({"local": Provider("local", "http://a/v1", Secret(key))}).open("local:m")
        assert key not in str(error.value)
    with pytest.raises(InvalidModel, match="azure takes no base_url"):
        Models({"azure": Provider("azure", "http://a/v1", Secret(KEY))}).open("azure:m")


def test_an_address_may_end_in_a_slash_or_a_query(server: Scripted) -> None:
    """As gateways want it."""
    for url in (f"{server.url}/", f"{server.url}?version=1"):
        models = Models({"local": Provider("local", url)}, timeout=5)
        assert answer(models.open("local:m"), HELLO).message.text == "Hello."
        models.close()
    assert server.keys == ["", ""]


def test_ollama_needs_no_setting(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked where it usually is, or where its own variable says."""
    monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
    server.script(Reply("Hi"))
    models = Models(timeout=5)
    assert answer(models.open("ollama:small"), HELLO).message.text == "Hi"
    models.close()


def test_names_with_a_language_of_their_own_are_names_of_the_library() -> None:
    """A name that is misspelt there would send a question in the wrong language."""
    for name in OWN_PROTOCOL:
        with suppress(ImportError):
            infer_provider_class(name)


def test_the_provider_library_is_not_loaded(server: Scripted) -> None:
    """It takes longer to load than most answers take to come."""
    code = (
        "import sys\n"
        "from looseleaf.models.model import Message, Question, answer\n"
        "from looseleaf.models.by_name import Models\n"
        "from looseleaf.settings import Provider\n"
        f"models = Models({{'local': Provider('local', {server.url!r})}})\n"
        "question = Question((), (Message(role='user', text='x'),))\n"
        "print(answer(models.open('local:m'), question).message.text)\n"
        "models.close()\n"
        "print(sorted({'pydantic', 'pydantic_ai', 'openai'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Hello.\n[]\n"
