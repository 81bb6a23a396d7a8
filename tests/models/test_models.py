"""Models over the wire: streaming, tool calls, usage, retries, and no secret anywhere."""

from __future__ import annotations

import json
import pickle
import threading
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from looseleaf.errors import InvalidSetting
from looseleaf.errors.operations import InvalidModel, ModelFailed
from looseleaf.models.by_name import Models
from looseleaf.models.model import (
    Answer,
    Attachment,
    Delta,
    Message,
    Offer,
    Question,
    Retry,
    ToolCall,
    Usage,
    answer,
    never,
)
from looseleaf.models.pydantic_ai import ProviderConnection
from looseleaf.models.retries import LoopThread, RetryingModel
from looseleaf.settings import Provider, Settings, load
from looseleaf.values import Secret
from tests.models.conftest import KEY
from tests.models.scripted import Reply, Scripted

TOOL = Offer(
    "agent_memory", "Memory.", '{"type": "object", "properties": {"a": {"type": "integer"}}}'
)
HELLO = Question(("You are Ada.", "A page."), (Message(role="user", text="Hello"),), (TOOL,))


def test_an_answer_comes_bit_by_bit_and_whole_at_the_end(models: Models, server: Scripted) -> None:
    """With what it cost."""
    server.script(Reply("I am here"))
    *bits, last = models.open("local:m").ask(HELLO, never)
    assert bits == [Delta("I"), Delta(" am"), Delta(" here")]
    assert isinstance(last, Answer)
    assert (last.message.text, last.model) == ("I am here", "local:m")
    assert last.usage == Usage(1, 100, 3)


def test_the_provider_is_given_pages_messages_and_tools(models: Models, server: Scripted) -> None:
    """One system message per page, and the key of the settings."""
    answer(models.open("local:m"), HELLO)
    (asked,) = server.requests
    assert [message["role"] for message in asked["messages"]] == ["system", "system", "user"]
    assert [message["content"] for message in asked["messages"]] == [
        "You are Ada.",
        "A page.",
        "Hello",
    ]
    assert asked["tools"][0]["function"]["name"] == "agent_memory"
    assert asked["model"] == "m"
    assert server.keys == [KEY]


def test_tool_calls_and_their_results_go_both_ways(models: Models, server: Scripted) -> None:
    """As the provider wrote them."""
    server.script(Reply(calls=(("agent_memory", {"a": 1}),)), Reply("Done"))
    model = models.open("local:m")
    first = answer(model, HELLO).message
    (call,) = first.calls
    assert (call.name, json.loads(call.arguments)) == ("agent_memory", {"a": 1})
    result = Message(role="tool", text='{"success": true}', call=call.id, name=call.name)
    answer(model, Question((), (Message(role="user", text="Hello"), first, result)))
    told = server.requests[1]["messages"]
    assert told[1]["tool_calls"][0]["id"] == call.id
    assert told[2] == {"role": "tool", "tool_call_id": call.id, "content": '{"success": true}'}


def test_an_attachment_is_named_to_the_model(models: Models, server: Scripted) -> None:
    """By reference."""
    note = Attachment("plan.pdf", "application/pdf", "shared/plan.pdf", 12)
    answer(
        models.open("local:m"),
        Question((), (Message(role="user", text="Read", attachments=(note,)),)),
    )
    said = server.requests[0]["messages"][0]["content"]
    assert said == "Read\n\nAttached: plan.pdf (application/pdf, 12 bytes): shared/plan.pdf"


def test_a_busy_provider_is_asked_again(models: Models, server: Scripted) -> None:
    """After as long as it asks for."""
    busy = Reply(status=429, headers=(("retry-after-ms", "20"),))
    server.script(busy, Reply(status=503, headers=(("retry-after-ms", "10"),)), Reply("Now"))
    first, second, *_, last = models.open("local:m").ask(HELLO, never)
    assert isinstance(first, Retry)
    assert (first.attempt, first.seconds, first.reason) == (1, 0.02, "status 429: scripted 429")
    assert isinstance(second, Retry)
    assert isinstance(last, Answer)


def test_retries_end(models: Models, server: Scripted) -> None:
    """With what the provider said last."""
    server.script(Reply(status=500, headers=(("retry-after-ms", "1"),)))
    with pytest.raises(ModelFailed, match="status 500: scripted 500"):
        answer(models.open("local:m"), HELLO)
    assert len(server.requests) == 3


def test_a_wrong_request_is_not_repeated(models: Models, server: Scripted) -> None:
    """It would be wrong again."""
    server.script(Reply(status=400))
    with pytest.raises(ModelFailed, match="status 400: scripted 400"):
        answer(models.open("local:m"), HELLO)
    assert len(server.requests) == 1


def test_half_an_answer_is_not_begun_anew(models: Models, server: Scripted) -> None:
    """It was shown already."""
    server.script(Reply("one two three four", breaks=True))
    shown: list[object] = []
    with pytest.raises(ModelFailed, match="cannot be reached"):
        shown.extend(models.open("local:m").ask(HELLO, never))
    assert len(server.requests) == 1


def test_a_silent_provider_is_given_up(server: Scripted) -> None:
    """After the timeout."""
    server.script(Reply("late", delay=3))
    opened = Models({"local": Provider("local", server.url)}, timeout=0.2, retries=0)
    with pytest.raises(ModelFailed, match=r"in time|timed out"):
        answer(opened.open("local:m"), HELLO)
    opened.close()


def test_a_provider_that_is_not_there_fails_clearly() -> None:
    """Without a word of the library's own."""
    opened = Models({"gone": Provider("gone", "http://127.0.0.1:9/v1")}, retries=0)
    with pytest.raises(ModelFailed, match="The model gone:m is not available: the provider cannot"):
        answer(opened.open("gone:m"), HELLO)
    opened.close()


def test_asking_can_be_stopped_while_nothing_comes(models: Models, server: Scripted) -> None:
    """The request ends too."""
    server.script(Reply("late", delay=4))
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    assert list(models.open("local:m").ask(HELLO, stop.is_set)) == []


def test_a_key_is_never_shown(models: Models, server: Scripted) -> None:
    """In no error, repr, pickle or message of the provider that repeats it."""
    said = json.dumps({"error": {"message": f"Incorrect key provided: {KEY}. Look it up."}})
    errors = []
    for status in (401, 403, 400, 500):
        server.script(Reply(status=status, body=said, headers=(("retry-after-ms", "1"),)))
        with pytest.raises(ModelFailed) as failed:
            answer(models.open("local:m"), HELLO)
        assert failed.value.__cause__ is None
        errors.append(str(failed.value))
    settings = Settings(root="x", providers=(Provider("local", server.url, Secret(KEY)),))
    shown = "".join([*errors, repr(settings), str(settings), repr(vars(models))])
    assert KEY not in shown
    assert "does not accept the key" in errors[0]
    with pytest.raises(TypeError, match="not written down"):
        pickle.dumps(settings)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gpt", "it is written provider:model"),
        ("nowhere:m", r"there is no provider nowhere; .* \[providers.nowhere\]"),
        ("openai:m", "set OPENAI_API_KEY or LOOSELEAF_KEY_OPENAI, or key under"),
        ("groq:m", r"needs a package: pip install 'pydantic-ai-slim\[groq\]'"),
    ],
)
def test_a_model_that_cannot_be_says_what_to_do(
    models: Models, name: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is asked."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidModel, match=why):
        models.open(name)


def test_keys_come_from_the_file_or_the_environment(tmp_path: Path) -> None:
    """The environment wins."""
    (tmp_path / "looseleaf.toml").write_text(
        '[providers.local]\nbase_url = "http://a/v1"\nkey = "of-the-file"\n'
        '[mode_models]\nsystem = "local:small"\n'
    )
    told = load(str(tmp_path), environ={})
    assert told.providers == (Provider("local", "http://a/v1", Secret("of-the-file")),)
    assert told.mode_models == (("system", "local:small"),)
    told = load(str(tmp_path), environ={"LOOSELEAF_KEY_LOCAL": "x", "LOOSELEAF_MODEL": "echo"})
    assert told.providers[0].key == Secret("x")
    assert told.default_model == "echo"


def test_a_wrong_table_of_providers_is_refused_without_repeating_it(tmp_path: Path) -> None:
    """It may hold a key."""
    (tmp_path / "looseleaf.toml").write_text(f'[providers.local]\nkeys = "{KEY}"\n')
    with pytest.raises(InvalidSetting) as error:
        load(str(tmp_path), environ={})
    assert KEY not in str(error.value)


def test_what_only_the_library_knows_of_an_answer_goes_back_to_the_provider() -> None:
    """Such as what a model was thinking, signed."""
    seen: list[ModelResponse] = []

    def reply(messages: list[object], _info: AgentInfo) -> ModelResponse:
        seen.extend(message for message in messages if isinstance(message, ModelResponse))
        thought = ThinkingPart("hmm", signature="signed", provider_name="function")
        return ModelResponse(parts=[thought, TextPart("Yes")])

    async def stream(messages: list[object], info: AgentInfo):  # type: ignore[no-untyped-def]  # noqa: ANN202
        for part in reply(messages, info).parts:
            if isinstance(part, TextPart):
                yield part.content

    loop_thread = LoopThread()
    line = ProviderConnection("f:m", FunctionModel(reply, stream_function=stream))  # type: ignore[arg-type]
    model = RetryingModel("f:m", line, loop_thread)
    thinking = (
        '[{"parts":[{"content":"hmm","signature":"signed","part_kind":"thinking"},'
        '{"content":"Yes","part_kind":"text"}],"kind":"response"}]'
    )
    for native, kinds in ((thinking, ["thinking", "text"]), ('"signature":broken', ["text"])):
        seen.clear()
        said = Message(role="assistant", text="Yes", native=native)
        answer(
            model,
            Question(
                (), (Message(role="user", text="?"), said, Message(role="user", text="Sure?"))
            ),
        )
        assert [part.part_kind for part in seen[0].parts] == kinds
    loop_thread.close()


def test_the_library_s_test_model_calls_every_tool() -> None:
    """No network is needed if the wire does not matter."""
    loop_thread = LoopThread()
    model = RetryingModel("t:m", ProviderConnection("t:m", TestModel()), loop_thread)
    said = answer(model, HELLO).message
    assert [item.name for item in said.calls] == ["agent_memory"]
    loop_thread.close()


def test_echo_says_again_what_it_is_told() -> None:
    """And calls a tool when told to."""
    echo = Models().open("echo")
    assert answer(echo, HELLO).message.text == "Hello"
    called = answer(
        echo, Question((), (Message(role="user", text='/call agent_memory {"action": "get"}'),))
    )
    assert called.message.calls == (ToolCall("echo-1", "agent_memory", '{"action": "get"}'),)
    result = Message(role="tool", text="a fact", call="echo-1", name="agent_memory")
    assert answer(echo, Question((), (result,))).message.text == "agent_memory said: a fact"


def test_a_provider_of_one_s_own_can_be_registered() -> None:
    """Under its name."""
    opened = Models()
    echo = opened.open("echo")
    opened.register("mine", lambda _name: echo)
    assert opened.open("mine:any") is echo
