"""Anthropic, Google and OpenAI's Responses on the wire, each as its provider speaks it."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.errors.operations import InvalidModel, ModelFailed
from looseleaf.features.chat.events import Event, TextDelta, ToolReturned, TurnEnded
from looseleaf.features.chat.operations import converse
from looseleaf.features.chat.session import ChatInput, chats_of
from looseleaf.models.by_name import Models
from looseleaf.models.model import (
    Answer,
    Delta,
    Message,
    Model,
    Offer,
    Question,
    Retry,
    Usage,
    answer,
    never,
)
from looseleaf.settings import Provider
from looseleaf.values import Secret
from tests.conftest import Clock
from tests.models import scripted_anthropic, scripted_google, scripted_responses
from tests.models.conftest import KEY
from tests.models.scripted import Reply, Scripted, serve_script
from tests.models.scripted_anthropic import ScriptedAnthropic
from tests.models.scripted_google import ScriptedGoogle
from tests.models.scripted_responses import ScriptedResponses

TOOL = Offer(
    "agent_memory", "Memory.", '{"type": "object", "properties": {"a": {"type": "integer"}}}'
)
SYSTEM = ("You are Ada.", "A page.")
HELLO = Question(SYSTEM, (Message(role="user", text="Hello"),), (TOOL,))
CALLS = Reply("Let me look", calls=(("agent_memory", {"a": 1}),), thought="Hm.")
SOON = (("retry-after", "0"),)
Seen = dict[str, Any]
NONSENSE = (
    "<html>Bad gateway</html>",
    "data: [1, 2]\n\n",
    "data: 5\n\n",
    'event: message_start\ndata: {"type": "message_start", "message": {"id": 5}}\n\n',
    'event: content_block_stop\ndata: {"type": "content_block_start", "content_block": 1}\n\n',
    'data: {"candidates": 5}\n\n',
    'data: {"error": "x"}\n\n',
    'data: {"type": "response.completed"}\n\n',
    'event: error\ndata: {"type": "error"}\n\n',
)


@dataclass(frozen=True)
class Way:
    """How one provider is named, and where its requests hold what."""

    name: str
    server: type[Scripted]
    path: str
    signature: str
    system: Callable[[Seen], object]
    result: Callable[[Seen], object]  # of the tool, in the last message
    too_long: str  # why an answer ends that was to be longer
    withheld: str  # and one that a filter of the provider's ended

    @property
    def provider(self) -> str:
        """Return the first half of the name."""
        return self.name.partition(":")[0]


WAYS = (
    Way(
        "anthropic:claude-sonnet-5",
        ScriptedAnthropic,
        "/v1/messages",
        scripted_anthropic.SIGNATURE,
        lambda asked: tuple(asked["system"][0]["text"].split("\n\n")),
        lambda asked: asked["messages"][-1]["content"][0]["content"][0]["text"],
        "max_tokens",
        "refusal",
    ),
    Way(
        "google:gemini-3-pro-preview",
        ScriptedGoogle,
        "/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
        scripted_google.SIGNATURE,
        lambda asked: tuple(part["text"] for part in asked["systemInstruction"]["parts"]),
        lambda asked: asked["contents"][-1]["parts"][0]["functionResponse"]["response"][
            "return_value"
        ],
        "MAX_TOKENS",
        "SAFETY",
    ),
    Way(
        "openai-responses:gpt-5-mini",
        ScriptedResponses,
        "/v1/responses",
        scripted_responses.SIGNATURE,
        lambda asked: tuple(
            item["content"] for item in asked["input"] if item.get("role") == "system"
        ),
        lambda asked: asked["input"][-1]["output"],
        "max_output_tokens",
        "content_filter",
    ),
)


@pytest.fixture(params=WAYS, ids=lambda way: way.provider)
def way(request: pytest.FixtureRequest) -> Way:
    """Try every provider."""
    found: Way = request.param
    return found


@pytest.fixture
def spoken(way: Way) -> Iterator[Scripted]:
    """Serve a script in the provider's language."""
    with serve_script(way.server()) as script:
        yield script


@pytest.fixture
def model(way: Way, spoken: Scripted) -> Iterator[Model]:
    """Open a model of the provider at the address of the script."""
    opened = Models({way.provider: Provider(way.provider, spoken.url, Secret(KEY))}, timeout=20)
    yield opened.open(way.name)
    opened.close()


@pytest.fixture
def talk(way: Way, spoken: Scripted, tmp_path: Path, clock: Clock) -> Iterator[Workspace]:
    """Create a workspace whose settings name the provider, its address and a key."""
    root = tmp_path / "workspace"
    Workspace.create(root, name="House", agent="ada", clock=clock)
    (root / "looseleaf.toml").write_text(
        f'default_model = "{way.name}"\nmodel_retries = 1\n'
        f'[providers.{way.provider}]\nbase_url = "{spoken.url}"\nkey = "{KEY}"\n'
    )
    workspace = Workspace.open(root, clock=clock)
    yield workspace
    workspace.models().close()
    workspace.accounts().database.close()  # type: ignore[attr-defined]


def said(workspace: Workspace, text: str, session: str = "") -> list[Event]:
    """Send a message and listen to the end."""
    return list(converse(workspace.context, ChatInput(text, session)))


def ended(events: list[Event]) -> TurnEnded:
    """Return the last event."""
    assert isinstance(events[-1], TurnEnded)
    return events[-1]


def until(what: Callable[[], bool]) -> bool:
    """Wait a little for something to become true."""
    end = time.monotonic() + 5
    while not what() and time.monotonic() < end:
        time.sleep(0.01)
    return what()


def test_an_answer_comes_bit_by_bit_and_is_counted(
    way: Way, model: Model, spoken: Scripted
) -> None:
    """In order, with what was read from a cache among the input."""
    spoken.script(Reply("I am here", thought="Hm."))
    *bits, last = model.ask(HELLO, never)
    assert bits == [Delta("I"), Delta(" am"), Delta(" here")]
    assert isinstance(last, Answer)
    assert (last.message.text, last.message.calls, last.model) == ("I am here", (), way.name)
    thinking = 3 if way.provider == "google" else 0  # which it counts beside the answer
    assert last.usage == Usage(1, 100, 8 + thinking, 20)


def test_the_provider_is_given_pages_tools_and_the_key(
    way: Way, model: Model, spoken: Scripted
) -> None:
    """At its own address, what is a page as a system message."""
    answer(model, HELLO)
    (asked,) = spoken.requests
    assert spoken.paths[0].endswith(way.path)
    assert spoken.keys == [KEY]
    assert way.system(asked) == SYSTEM
    assert "agent_memory" in json.dumps(asked["tools"])
    assert KEY not in json.dumps(spoken.requests) + "".join(spoken.paths)


def test_calls_results_and_signed_thoughts_go_both_ways(
    way: Way, model: Model, spoken: Scripted
) -> None:
    """The provider gets back what it wrote, and would refuse it otherwise."""
    spoken.script(CALLS, Reply("Done", thought="So."), Reply("Yes"))
    first = answer(model, HELLO).message
    (call,) = first.calls
    assert (call.name, json.loads(call.arguments)) == ("agent_memory", {"a": 1})
    result = Message(role="tool", text="a fact", call=call.id, name=call.name)
    told = (*HELLO.messages, first, result)
    second = answer(model, Question(SYSTEM, told, (TOOL,))).message
    assert way.result(spoken.requests[1]) == "a fact"
    assert json.dumps(spoken.requests[1]).count(way.signature) == 1
    told = (*told, second, Message(role="user", text="Sure?"))
    assert answer(model, Question(SYSTEM, told, (TOOL,))).message.text == "Yes"
    assert json.dumps(spoken.requests[2]).count(way.signature) == 2


def test_a_conversation_goes_on_with_another_provider(
    way: Way, model: Model, spoken: Scripted
) -> None:
    """To whom the calls and signatures of the one before are nothing to refuse."""
    for other in WAYS:
        with serve_script(other.server()) as script:
            known = {other.provider: Provider(other.provider, script.url, Secret(KEY))}
            opened = Models(known, timeout=5)
            script.script(CALLS)
            first = answer(opened.open(other.name), HELLO).message
            opened.close()
        result = Message(role="tool", text="a fact", call=first.calls[0].id, name="agent_memory")
        told = (*HELLO.messages, first, result)
        assert answer(model, Question(SYSTEM, told, (TOOL,))).message.text == "Hello.", way.name
        sent = json.dumps(spoken.requests[-1])
        assert (other.signature in sent) == (other is way)


def test_a_wrong_key_is_one_clear_error(way: Way, model: Model, spoken: Scripted) -> None:
    """Without a word of the provider's, who may repeat the key."""
    spoken.script(Reply(status=401, body=spoken.error(401, f"invalid key {KEY}")))
    with pytest.raises(ModelFailed) as failed:
        answer(model, HELLO)
    assert str(failed.value) == (
        f"The model {way.name} is not available: the provider does not accept the key."
    )
    assert failed.value.__cause__ is None
    assert len(spoken.requests) == 1


def test_google_calls_a_wrong_key_a_wrong_argument() -> None:
    """Which is told as what it is."""
    why = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    body = scripted_google.format_error(400, "API key not valid. Please pass a valid API key.", why)
    with serve_script(ScriptedGoogle()) as script:
        script.script(Reply(status=400, body=body))
        opened = Models({"google": Provider("google", script.url, Secret(KEY))})
        with pytest.raises(ModelFailed, match="does not accept the key"):
            answer(opened.open("google:gemini-3-pro-preview"), HELLO)
        opened.close()


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_busy_provider_is_asked_again(model: Model, spoken: Scripted, status: int) -> None:
    """By us alone, not by its client too, and as soon as it allows."""
    spoken.script(Reply(status=status, headers=SOON), Reply("Now"))
    first, *_, last = model.ask(HELLO, never)
    assert first == Retry(1, 0.0, f"status {status}: scripted {status}")
    assert isinstance(last, Answer)
    assert len(spoken.requests) == 2


def test_retries_end(model: Model, spoken: Scripted) -> None:
    """With what the provider said last."""
    spoken.script(Reply(status=529, headers=SOON))
    with pytest.raises(ModelFailed, match="status 529: scripted 529"):
        answer(model, HELLO)
    assert len(spoken.requests) == 3


def test_a_busy_provider_has_its_time(model: Model, spoken: Scripted) -> None:
    """Before it is asked again."""
    spoken.script(Reply(status=429, headers=(("retry-after-ms", "300"),)), Reply("Now"))
    begin = time.monotonic()
    assert answer(model, HELLO).message.text == "Now"
    assert time.monotonic() - begin >= 0.3


@pytest.mark.parametrize(("asked", "waited"), [("7", 7.0), ("86400", 60.0)])
def test_a_provider_is_waited_for_as_long_as_it_asks(
    model: Model, spoken: Scripted, asked: str, waited: float
) -> None:
    """And at most a minute; whoever does not want to wait can stop."""
    spoken.script(Reply(status=429, headers=(("retry-after", asked),)))
    asking = model.ask(HELLO, never)
    assert next(asking) == Retry(1, waited, "status 429: scripted 429")
    asking.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("delay", "waited"), [("0.02s", 0.02), ("3600s", 60.0)])
def test_google_says_in_its_error_how_long_to_wait(delay: str, waited: float) -> None:
    """Where others use a header."""
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    body = scripted_google.format_error(429, "Quota exceeded.", info)
    with serve_script(ScriptedGoogle()) as script:
        script.script(Reply(status=429, body=body))
        opened = Models({"google": Provider("google", script.url, Secret(KEY))})
        asking = opened.open("google:gemini-3-pro-preview").ask(HELLO, never)
        assert next(asking) == Retry(1, waited, "status 429: Quota exceeded.")
        asking.close()  # type: ignore[attr-defined]
        opened.close()


@pytest.mark.parametrize("how", [{"breaks": True}, {"ends": True}, {"fails": True}])
def test_half_an_answer_is_no_answer(model: Model, spoken: Scripted, how: dict[str, bool]) -> None:
    """Whether the connection breaks, ends as if all were said, or an error comes instead."""
    more: dict[str, Any] = {
        **how,
        "fails": spoken.error(529, "Overloaded") if "fails" in how else "",
    }
    spoken.script(Reply("one two three four", **more))
    shown: list[object] = []
    with pytest.raises(ModelFailed, match=r"cannot be reached|broke off|Overloaded"):
        shown.extend(item for item in model.ask(HELLO, never))
    assert len(spoken.requests) == 1
    spoken.script(Reply("Again"))
    assert answer(model, HELLO).message.text == "Again"


def test_an_answer_that_ends_before_its_first_word_is_asked_for_again(
    model: Model, spoken: Scripted
) -> None:
    """Nobody has seen any of it."""
    spoken.script(Reply("one", ends=True), Reply("two"))
    first, *_, last = model.ask(HELLO, never)
    assert isinstance(first, Retry)
    assert isinstance(last, Answer)
    assert last.message.text == "two"


def test_google_gives_up_a_call_that_it_wrote_wrongly() -> None:
    """And is asked again."""
    with serve_script(ScriptedGoogle()) as script:
        script.script(Reply(finish="MALFORMED_FUNCTION_CALL"), Reply("Now"))
        opened = Models({"google": Provider("google", script.url, Secret(KEY))})
        first, *_, last = opened.open("google:gemini-3-pro-preview").ask(HELLO, never)
        opened.close()
    assert isinstance(first, Retry)
    assert first.reason == "the provider gave up its answer: malformed function call"
    assert isinstance(last, Answer)


@pytest.mark.parametrize("raw", NONSENSE)
def test_nonsense_is_no_answer(way: Way, raw: str) -> None:
    """Whatever a library makes of it; and it is told as one clear error."""
    with serve_script(way.server()) as script:
        script.script(Reply(raw=raw))
        known = {way.provider: Provider(way.provider, script.url, Secret(KEY))}
        opened = Models(known, timeout=5, retries=0)
        with pytest.raises(
            ModelFailed, match=f"The model {way.name} is not available: .+"
        ) as failed:
            answer(opened.open(way.name), HELLO)
        opened.close()
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__


def test_a_provider_is_asked_to_keep_the_beginning_of_a_prompt() -> None:
    """The tools, the pages and the conversation so far; unless that is switched off."""
    for cache, times in ((True, 3), (False, 0)):
        with serve_script(ScriptedAnthropic()) as spoken:
            spoken.script(Reply("Kept"))
            known = {"anthropic": Provider("anthropic", spoken.url, Secret(KEY))}
            opened = Models(known, cache=cache)
            answer(opened.open("anthropic:claude-sonnet-5"), HELLO)
            opened.close()
        (asked,) = spoken.requests
        kept = (asked, asked["system"][-1], asked["tools"][-1]) if cache else ()
        assert all(item["cache_control"]["type"] == "ephemeral" for item in kept)
        assert json.dumps(asked).count("cache_control") == times


def test_an_answer_that_a_limit_or_a_filter_ended_says_so(
    way: Way, model: Model, spoken: Scripted
) -> None:
    """It is all there is, and not all there was to say."""
    spoken.script(Reply("Once upon", finish=way.too_long), Reply(finish=way.withheld))
    told = answer(model, HELLO)
    assert (told.message.text, told.usage.output_tokens > 0) == ("Once upon", True)
    assert "limit of length" in told.warning
    assert "filter" in answer(model, HELLO).warning


def test_asking_can_be_stopped(model: Model, spoken: Scripted) -> None:
    """Before the first word and after it; the provider is no longer kept busy."""
    stop = threading.Event()
    spoken.script(Reply("late", delay=20))
    threading.Timer(0.1, stop.set).start()
    assert list(model.ask(HELLO, stop.is_set)) == []
    assert until(lambda: spoken.disconnects == 1)
    spoken.script(Reply("one two three", pause=20))
    asking = model.ask(HELLO, never)
    assert next(asking) == Delta("one")
    asking.close()  # type: ignore[attr-defined]
    assert until(lambda: spoken.disconnects == 2)


def test_asking_can_be_stopped_between_two_words(model: Model, spoken: Scripted) -> None:
    """If a library is not listening just then, and would leave the line open."""
    spoken.script(Reply("one two three", pause=20))

    async def listen() -> None:
        async for said in model._ask_with_retries(HELLO):  # type: ignore[attr-defined]
            if said == Delta("one"):
                task = asyncio.current_task()
                assert task is not None
                task.cancel()

    gc.disable()
    try:
        with pytest.raises(CancelledError):
            model._loop_thread.run(listen())  # type: ignore[attr-defined]
        assert until(lambda: spoken.disconnects == 1)
    finally:
        gc.enable()


def test_a_silent_provider_is_given_up(way: Way, spoken: Scripted) -> None:
    """After the timeout, whether it never began or fell silent."""
    known = {way.provider: Provider(way.provider, spoken.url, Secret(KEY))}
    opened = Models(known, timeout=0.3, retries=0)
    for silent in (Reply("late", delay=20), Reply("one two", pause=20)):
        spoken.script(silent)
        with pytest.raises(ModelFailed, match=r"in time|timed out"):
            answer(opened.open(way.name), HELLO)
    opened.close()


def test_a_key_is_in_no_log(
    model: Model, spoken: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    """However much is logged."""
    caplog.set_level(logging.DEBUG)
    spoken.script(Reply(status=500, headers=SOON), Reply(status=401))
    with pytest.raises(ModelFailed):
        answer(model, HELLO)
    shown = caplog.text + "".join(repr(vars(record)) for record in caplog.records)
    assert KEY not in shown


def test_a_turn_runs_tools_and_the_next_goes_on_with_it(
    way: Way, talk: Workspace, spoken: Scripted
) -> None:
    """With pages as system messages, results in the provider's shape, and signatures kept."""
    note = {"action": "append", "section": "Facts", "content": "- likes tea"}
    spoken.script(Reply("Noting", calls=(("agent_memory", note),), thought="Hm."), Reply("Noted"))
    events = said(talk, "I like tea")
    end = ended(events)
    assert (end.status, end.text, end.steps) == ("completed", "Noted", 2)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Noting", "Noted"]
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert not returned.failed
    assert way.result(spoken.requests[1]) == returned.text
    assert "- likes tea" in str(way.system(spoken.requests[1]))
    assert (end.usage.requests, end.usage.input_tokens, end.usage.cached_tokens) == (2, 200, 40)
    said(talk, "What do I like?", end.session)
    third = json.dumps(spoken.requests[2])
    assert [third.count(text) for text in ("I like tea", '"Noted"', "What do I like?")] == [1, 1, 1]
    assert way.signature in third


def test_a_turn_that_fails_leaves_its_session_usable(talk: Workspace, spoken: Scripted) -> None:
    """Half the answer is kept, and the next turn goes on."""
    spoken.script(Reply("one two three four", breaks=True))
    told: list[Event] = []
    with pytest.raises(ModelFailed):
        told.extend(item for item in converse(talk.context, ChatInput("Count")))
    (session,), _ = chats_of(talk).sessions.list()
    spoken.script(Reply("Five"))
    assert ended(said(talk, "Go on", session.id)).text == "Five"
    assert "one two" in json.dumps(spoken.requests[-1])


def test_a_turn_that_is_cancelled_ends_its_request(talk: Workspace, spoken: Scripted) -> None:
    """And the session goes on."""
    spoken.script(Reply("one two three", pause=20))
    turn = converse(talk.context, ChatInput("Count"))
    assert any(isinstance(item, TextDelta) for item in turn)
    turn.close()  # type: ignore[attr-defined]
    assert until(lambda: spoken.disconnects == 1)
    (session,), _ = chats_of(talk).sessions.list()
    assert [item.status for item in chats_of(talk).turns.list(session.id)] == ["cancelled"]
    spoken.script(Reply("Two"))
    assert ended(said(talk, "Go on", session.id)).text == "Two"


def test_a_key_is_not_in_the_workspace(talk: Workspace, spoken: Scripted, tmp_path: Path) -> None:
    """But in the settings, where it was put."""
    spoken.script(CALLS, Reply("Done"), Reply(status=401, body=spoken.error(401, KEY)))
    said(talk, "Hello")
    with pytest.raises(ModelFailed):
        said(talk, "Hello")
    talk.accounts().database.close()  # type: ignore[attr-defined]
    holding = [
        path.name
        for path in tmp_path.rglob("*")
        if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    assert holding == ["looseleaf.toml"]


def test_a_password_in_an_address_is_not_kept_with_an_answer(way: Way, spoken: Scripted) -> None:
    """Though a client does use it."""
    address = spoken.url.replace("http://", "http://me:a-password@")
    opened = Models({way.provider: Provider(way.provider, address, Secret(KEY))}, timeout=5)
    assert "a-password" not in answer(opened.open(way.name), HELLO).message.native
    opened.close()


def test_openai_by_its_plain_name_is_asked_for_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    """At OpenAI's own address, or the one that its own variable names."""
    with serve_script(ScriptedResponses()) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.url)
        opened = Models({"openai": Provider("openai", "", Secret(KEY))}, timeout=5)
        assert answer(opened.open("openai:gpt-5-mini"), HELLO).message.text == "Hello."
        opened.close()
        assert (script.paths, script.keys) == (["/v1/responses"], [KEY])


@pytest.mark.parametrize(
    ("provider", "first", "second"),
    [
        ("anthropic", "ANTHROPIC_API_KEY", "LOOSELEAF_KEY_ANTHROPIC"),
        ("google", "GOOGLE_API_KEY", "LOOSELEAF_KEY_GOOGLE"),
        ("openai-responses", "OPENAI_API_KEY", "LOOSELEAF_KEY_OPENAI_RESPONSES"),
        ("moonshotai", "MOONSHOTAI_API_KEY", "LOOSELEAF_KEY_MOONSHOTAI"),
    ],
)
def test_a_provider_without_a_key_says_where_to_set_it(
    provider: str, first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is asked."""
    for variable in (first, "GEMINI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(InvalidModel, match=f"there is no key; set {first} or {second}, or key"):
        Models().open(f"{provider}:m")


def test_a_cloud_whose_credentials_are_missing_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one clear error, though its client has one of its own."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(InvalidModel, match=r"google-cloud:m cannot be used: .*none.json"):
        Models().open("google-cloud:m")
