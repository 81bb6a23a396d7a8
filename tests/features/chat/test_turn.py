"""A turn: asked, tools run, every step told and saved, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from looseleaf.agents.config import CompactionConfig
from looseleaf.errors.operations import ModelFailed, TurnLost
from looseleaf.features.chat.events import (
    Compacted,
    Event,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    build_event_document,
)
from looseleaf.features.chat.session import WrittenPage
from looseleaf.features.chat.sql_turns import LEASE_SECONDS, SqlChats
from looseleaf.features.chat.turn import (
    INTERRUPTED,
    REPEATED,
    SUMMARY,
    Result,
    TurnRunner,
    TurnSetup,
    count_to_summarize,
    pair_calls,
)
from looseleaf.models.model import Answer, Delta, Message, Question, Retry, ToolCall, never
from looseleaf.values import replace
from tests.conftest import Clock
from tests.features.chat.conftest import Script, build_opening, lease_of

LOOK = ToolCall("c1", "agent_memory", '{"action": "get"}')


@pytest.fixture
def database_url() -> str:
    """Use SQLite: a turn knows no database."""
    return ""


def run(call: ToolCall) -> Result:
    """Be a tool that says its own arguments again, and writes for `write`."""
    wrote = (WrittenPage("MEMORY.md", 3, call.name, call.id),) if "write" in call.arguments else ()
    return Result(f"got {call.arguments}", written=wrote)


def turn(
    chats: SqlChats,
    model: Script,
    text: str | None = "Hello",
    session: str = "",
    *,
    limit: int = 25,
    compaction: CompactionConfig | None = None,
    stopped: Callable[[], bool] = never,
) -> list[Event]:
    """Take one turn to its end."""
    begun = chats.turns.begin(build_opening(text, session))
    rule = compaction or CompactionConfig()
    setup = TurnSetup(
        model=model,
        system=lambda: ("You are Ada.",),
        offers=(),
        run=run,
        limit=limit,
        compaction=rule,
        should_stop=stopped,
    )
    return list(TurnRunner(chats, begun, lease_of(begun), setup).run())


def transcript(chats: SqlChats, session: str) -> list[tuple[str, str]]:
    """Return who said what."""
    return [
        (message.message.role, message.message.text) for message in chats.sessions.messages(session)
    ]


def ended(events: list[Event]) -> TurnEnded:
    """Return the last event."""
    assert isinstance(events[-1], TurnEnded)
    return events[-1]


def test_an_answer_is_told_as_it_comes_and_saved(chats: SqlChats) -> None:
    """The session has both sides, and is free again."""
    events = turn(chats, Script(("Hi", " there")))
    assert [type(event) for event in events] == [TurnStarted, TextDelta, TextDelta, TurnEnded]
    end = ended(events)
    assert (end.status, end.text, end.usage.output_tokens) == ("completed", "Hi there", 2)
    assert transcript(chats, end.session) == [("user", "Hello"), ("assistant", "Hi there")]
    found = chats.sessions.find(end.session)
    assert found is not None
    assert (found.running, found.unread) == (False, 1)


def test_an_answer_that_was_cut_off_says_so(chats: SqlChats) -> None:
    """It is kept all the same."""

    class Cut(Script):
        def ask(
            self, question: Question, stopped: Callable[[], bool]
        ) -> Iterator[Delta | Retry | Answer]:
            for said in super().ask(question, stopped):
                yield (
                    replace(said, warning="It was too long.") if isinstance(said, Answer) else said
                )

    end = ended(turn(chats, Cut("Once upon")))
    assert (end.status, end.text, end.warning) == ("completed", "Once upon", "It was too long.")


def test_the_model_is_given_all_that_was_said(chats: SqlChats) -> None:
    """In the next turn too."""
    model = Script("One.", "Two.")
    session = ended(turn(chats, model)).session
    turn(chats, model, "And?", session)
    asked = model.questions[1]
    assert asked.system == ("You are Ada.",)
    assert [message.text for message in asked.messages] == ["Hello", "One.", "And?"]


def test_tools_are_run_and_their_results_given_back(chats: SqlChats) -> None:
    """Every step is told and saved, in order."""
    model = Script(("Let me look.", LOOK), "It says so.")
    events = turn(chats, model)
    kinds = [type(event) for event in events]
    assert kinds == [TurnStarted, TextDelta, ToolCalled, ToolReturned, TextDelta, TurnEnded]
    end = ended(events)
    assert (end.text, end.steps, end.usage.requests) == ("It says so.", 2, 2)
    assert transcript(chats, end.session) == [
        ("user", "Hello"),
        ("assistant", "Let me look."),
        ("tool", 'got {"action": "get"}'),
        ("assistant", "It says so."),
    ]
    assert model.questions[1].messages[-1].call == "c1"


def test_what_was_written_is_listed_with_the_turn(chats: SqlChats) -> None:
    """By page and revision."""
    call = ToolCall("c1", "agent_memory", '{"action": "write"}')
    end = ended(turn(chats, Script(call, "Noted.")))
    assert end.written == (WrittenPage("MEMORY.md", 3, "agent_memory", "c1"),)
    (kept,) = chats.turns.list(end.session)
    assert kept.written == end.written
    assert build_event_document(end)["written"] == [
        {"file": "MEMORY.md", "revision": 3, "tool": "agent_memory", "call": "c1"}
    ]


def test_the_same_call_twice_in_a_row_is_not_run_twice(chats: SqlChats) -> None:
    """The model is told that it has the result."""
    again = ToolCall("c2", LOOK.name, LOOK.arguments)
    other = ToolCall("c3", LOOK.name, '{"action": "list"}')
    events = turn(chats, Script(LOOK, again, other, ToolCall("c4", *LOOK_AGAIN), "Done."))
    texts = [event.text for event in events if isinstance(event, ToolReturned)]
    assert texts[1] == REPEATED
    assert [text == REPEATED for text in texts] == [False, True, False, False]


LOOK_AGAIN = (LOOK.name, LOOK.arguments)


def test_a_model_that_comes_to_no_end_is_stopped(chats: SqlChats) -> None:
    """After so many questions, and can be asked to go on."""
    calls = [ToolCall(f"c{n}", "agent_memory", f'{{"n": {n}}}') for n in range(9)]
    model = Script(*calls, "At last.")
    end = ended(turn(chats, model, limit=3))
    assert (end.status, end.steps) == ("limit", 3)
    assert "asked 3 times" in end.warning
    assert "asked 3 times" in end.warning
    model.replies[:] = ["At last."]
    assert ended(turn(chats, model, None, end.session)).text == "At last."


def test_a_failing_model_leaves_the_session_usable(chats: SqlChats) -> None:
    """With the message, the reason, and half an answer that was shown."""
    model = Script(("I thi", ModelFailed("script", "status 500")), "Now.")
    with pytest.raises(ModelFailed):
        turn(chats, model)
    (session,), _ = chats.sessions.list()
    (failed,) = chats.turns.list(session.id)
    assert (failed.status, failed.error) == (
        "failed", "The model script is not available: status 500.",
    )  # fmt: skip
    assert transcript(chats, session.id) == [("user", "Hello"), ("assistant", "I thi")]
    assert ended(turn(chats, model, "Again", session.id)).text == "Now."


def test_a_fault_of_ours_gives_the_lease_back(chats: SqlChats) -> None:
    """Nobody waits for it."""
    with pytest.raises(ZeroDivisionError):
        turn(chats, Script(ZeroDivisionError()))
    (session,), _ = chats.sessions.list()
    assert not session.running
    assert chats.turns.list(session.id)[0].error == "ZeroDivisionError"


def test_a_turn_can_be_cancelled_while_it_speaks(chats: SqlChats) -> None:
    """What was said stays; the session goes on."""
    stop: list[bool] = []
    model = Script(("One", lambda: stop.append(True), "Two"), "Fine.")
    end = ended(turn(chats, model, stopped=lambda: bool(stop)))
    assert (end.status, end.text) == ("cancelled", "One")
    assert transcript(chats, end.session)[-1] == ("assistant", "One")
    assert ended(turn(chats, model, "Again", end.session)).status == "completed"


def test_a_turn_can_be_cancelled_between_tools(chats: SqlChats) -> None:
    """The calls that were not run are told to be interrupted."""
    stop: list[bool] = []
    second = ToolCall("c2", "agent_memory", "{}")
    model = Script((LOOK, second), "Fine.")
    begun = chats.turns.begin(build_opening())

    def run_and_stop(call: ToolCall) -> Result:
        stop.append(True)
        return run(call)

    setup = TurnSetup(
        model=model,
        system=lambda: (),
        offers=(),
        run=run_and_stop,
        limit=9,
        should_stop=lambda: bool(stop),
    )
    events = list(TurnRunner(chats, begun, lease_of(begun), setup).run())
    # The model itself looks once after it has spoken.
    assert ended(events).status == "cancelled"
    turn(chats, model, "Again", begun.session.id)
    shown = [(message.role, message.call, message.text) for message in model.questions[-1].messages]
    assert ("tool", "c2", INTERRUPTED) in shown


def test_to_close_the_iteration_cancels(chats: SqlChats) -> None:
    """As a person does who leaves."""
    begun = chats.turns.begin(build_opening())
    setup = TurnSetup(model=Script(("One", "Two")), system=lambda: (), offers=(), run=run, limit=9)
    events = TurnRunner(chats, begun, lease_of(begun), setup).run()
    next(events)
    next(events)
    events.close()  # type: ignore[attr-defined]
    (kept,) = chats.turns.list(begun.session.id)
    assert kept.status == "cancelled"
    assert transcript(chats, begun.session.id)[-1] == ("assistant", "One")


def test_to_close_it_after_the_end_changes_nothing(chats: SqlChats) -> None:
    """The end was saved."""
    begun = chats.turns.begin(build_opening())
    setup = TurnSetup(model=Script("One"), system=lambda: (), offers=(), run=run, limit=9)
    events = TurnRunner(chats, begun, lease_of(begun), setup).run()
    while not isinstance(next(events), TurnEnded):
        pass
    events.close()  # type: ignore[attr-defined]
    assert chats.turns.list(begun.session.id)[0].status == "completed"


def test_another_process_can_cancel(chats: SqlChats, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the database."""
    monkeypatch.setattr("looseleaf.features.chat.turn._LOOK", 0.0)
    begun = chats.turns.begin(build_opening())
    model = Script(("One", lambda: chats.turns.cancel(begun.session.id), "Two"))
    setup = TurnSetup(model=model, system=lambda: (), offers=(), run=run, limit=9)
    events = list(TurnRunner(chats, begun, lease_of(begun), setup).run())
    assert ended(events).status == "cancelled"


def test_a_turn_that_was_taken_over_is_silent(chats: SqlChats, clock: Clock) -> None:
    """It writes nothing, and does not end the other's."""

    def sleep_too_long() -> None:
        clock.advance(seconds=LEASE_SECONDS + 1)
        chats.turns.begin(build_opening("Again", begun.session.id))

    begun = chats.turns.begin(build_opening())
    setup = TurnSetup(
        model=Script(("One", sleep_too_long)), system=lambda: (), offers=(), run=run, limit=9
    )
    with pytest.raises(TurnLost):
        list(TurnRunner(chats, begun, lease_of(begun), setup).run())
    found = chats.sessions.find(begun.session.id)
    assert found is not None
    assert found.running
    assert [text for _, text in transcript(chats, begun.session.id)] == ["Hello", "Again"]


def test_a_long_conversation_is_summed_up_where_that_is_wanted(chats: SqlChats) -> None:
    """The model gets a summary and the recent messages; the database keeps all."""
    rule = CompactionConfig(enabled=True, max_messages=4, recent_messages=2)
    model = Script("a1", "a2", "a3")
    session = ended(turn(chats, model, "q1")).session
    turn(chats, model, "q2", session, compaction=rule)
    model.replies[:] = ["They said q1 and q2.", "a3"]
    events = turn(chats, model, "q3", session, compaction=rule)
    assert Compacted(3, "") in events
    asked = model.questions[-1]
    assert asked.system[-1] == SUMMARY + "They said q1 and q2."
    assert [message.text for message in asked.messages] == ["a2", "q3"]
    assert len(transcript(chats, session)) == 6
    turn(chats, model, "q4", session, compaction=rule)
    assert [message.text for message in model.questions[-1].messages] == ["a2", "q3", "a3", "q4"]


def test_a_summary_that_fails_changes_nothing(chats: SqlChats) -> None:
    """The whole conversation is given, and the turn says why."""
    rule = CompactionConfig(enabled=True, max_messages=2, recent_messages=1)
    model = Script("a1")
    session = ended(turn(chats, model, "q1")).session
    model.replies[:] = [ModelFailed("script", "busy"), "a2"]
    events = turn(chats, model, "q2", session, compaction=rule)
    assert any(isinstance(event, Compacted) and "busy" in event.error for event in events)
    assert [message.text for message in model.questions[-1].messages] == ["q1", "a1", "q2"]
    found = chats.sessions.find(session)
    assert found is not None
    assert found.summary == ""


def test_a_tool_pair_is_never_cut() -> None:
    """The boundary moves back to the call."""
    said = [
        Message(role="user", text="q"),
        Message(role="assistant", text="", calls=(LOOK,)),
        Message(role="tool", text="r", call="c1", name="agent_memory"),
        Message(role="assistant", text="a"),
    ]
    assert count_to_summarize(said, 2) == 1
    assert count_to_summarize(said, 1) == 3
    assert count_to_summarize(said, 9) == 0


def test_every_call_has_its_result_and_every_result_its_call() -> None:
    """As providers insist, also after a crash."""
    orphan = Message(role="tool", text="r", call="c9", name="x")
    said = pair_calls(
        [
            orphan,
            Message(role="assistant", text="", calls=(LOOK,)),
            Message(role="user", text="q"),
            Message(role="assistant"),
        ]
    )
    assert [(item.role, item.call) for item in said] == [
        ("assistant", ""),
        ("tool", "c1"),
        ("user", ""),
    ]
    assert said[1].text == INTERRUPTED
