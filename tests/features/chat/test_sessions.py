"""Sessions in the database: saved whole, one turn at a time, found again."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from looseleaf.errors.operations import SessionBusy, SessionMissing, TurnLost
from looseleaf.features.chat import tables
from looseleaf.features.chat.session import TurnOutcome, WrittenPage
from looseleaf.features.chat.sql_turns import LEASE_SECONDS, SqlChats
from looseleaf.models.model import Attachment, Message, ToolCall, Usage
from looseleaf.stores.database.database import Database
from looseleaf.values import replace
from tests.conftest import Clock
from tests.features.chat.conftest import ME, build_opening, lease_of

DONE = TurnOutcome(
    "completed", Usage(2, 30, 5), "", (WrittenPage("MEMORY.md", 7, "agent_memory", "c1"),)
)


def said(chats: SqlChats, text: str = "Hello", answer: str = "Hi.", session: str = "") -> str:
    """Send a message and wait for the answer."""
    begun = chats.turns.begin(build_opening(text, session))
    chats.turns.end(lease_of(begun), (Message(role="assistant", text=answer),), DONE)
    return begun.session.id


def test_a_session_begins_with_its_first_message(chats: SqlChats) -> None:
    """Which is there before anyone is asked."""
    begun = chats.turns.begin(build_opening("What is up?", title="What is up?"))
    assert begun.new
    found = chats.sessions.find(begun.session.id)
    assert found == begun.session
    assert found is not None
    assert (found.title, found.titled, found.messages, found.running) == (
        "What is up?", "first words", 1, True,
    )  # fmt: skip
    (entry,) = chats.sessions.messages(begun.session.id)
    assert (entry.number, entry.turn, entry.message.text) == (1, 1, "What is up?")


def test_messages_are_stored_whole(chats: SqlChats) -> None:
    """Calls, results, attachments and the library's own JSON."""
    note = Attachment("a.pdf", "application/pdf", "shared/a.pdf", 3)
    given = [
        Message(
            role="assistant",
            text="Let me look.",
            calls=(ToolCall("c1", "agent_memory", '{"a": 1}'),),
        ),
        Message(role="tool", text="{}", call="c1", name="agent_memory", failed=True),
        Message(role="user", text="Ünïcode \u2028 ok", attachments=(note,)),
        Message(role="assistant", text="Done", native='[{"kind":"response"}]'),
    ]
    begun = chats.turns.begin(build_opening())
    assert chats.turns.append(lease_of(begun), given[:2]) == 3
    assert chats.turns.end(lease_of(begun), given[2:], DONE) == 5
    entries = chats.sessions.messages(begun.session.id)
    assert [entry.message for entry in entries][1:] == given
    assert [entry.number for entry in entries] == [1, 2, 3, 4, 5]


def test_what_no_database_can_keep_is_marked(chats: SqlChats) -> None:
    """A zero, and half of a character."""
    session = said(chats, "a\0b", "half \ud800.")
    first, second = chats.sessions.messages(session)
    assert (first.message.text, second.message.text) == ("a\u2400b", "half ?.")


def test_one_turn_at_a_time(chats: SqlChats, clock: Clock) -> None:
    """Until it ends, or has been dead for long enough."""
    begun = chats.turns.begin(build_opening())
    with pytest.raises(SessionBusy):
        chats.turns.begin(build_opening("Again", begun.session.id))
    with pytest.raises(SessionBusy):
        chats.sessions.delete(begun.session.id)
    clock.advance(seconds=LEASE_SECONDS + 1)
    second = chats.turns.begin(build_opening("Again", begun.session.id))
    assert second.turn.number == 2
    assert [turn.status for turn in chats.turns.list(begun.session.id)] == ["lost", "running"]


def test_who_lost_the_lease_writes_nothing(chats: SqlChats, clock: Clock) -> None:
    """However late it wakes up."""
    late = chats.turns.begin(build_opening())
    clock.advance(seconds=LEASE_SECONDS + 1)
    chats.turns.begin(build_opening("Again", late.session.id))
    writes: tuple[Callable[[], object], ...] = (
        lambda: chats.turns.append(lease_of(late), (Message(role="assistant", text="late"),)),
        lambda: chats.turns.end(lease_of(late), (Message(role="assistant", text="late"),), DONE),
        lambda: chats.turns.renew(lease_of(late)),
    )
    for write in writes:
        with pytest.raises(TurnLost):
            write()
    texts = [entry.message.text for entry in chats.sessions.messages(late.session.id)]
    assert texts == ["Hello", "Again"]


def test_a_lease_lives_as_long_as_its_turn_stirs(chats: SqlChats, clock: Clock) -> None:
    """By looking whether to stop, or by saving."""
    begun = chats.turns.begin(build_opening())
    for _ in range(5):
        clock.advance(seconds=LEASE_SECONDS * 0.8)
        assert chats.turns.renew(lease_of(begun)) is False
    with pytest.raises(SessionBusy):
        chats.turns.begin(build_opening("Again", begun.session.id))


def test_a_running_turn_can_be_asked_to_stop(chats: SqlChats) -> None:
    """From anywhere."""
    begun = chats.turns.begin(build_opening())
    assert chats.turns.cancel(begun.session.id)
    assert chats.turns.renew(lease_of(begun)) is True
    chats.turns.end(lease_of(begun), (), TurnOutcome("cancelled", Usage()))
    assert not chats.turns.cancel(begun.session.id)
    again = chats.turns.begin(build_opening("Again", begun.session.id))
    assert chats.turns.renew(lease_of(again)) is False


def test_the_same_request_is_answered_once(chats: SqlChats) -> None:
    """A resend finds the turn that was completed, and saves nothing."""
    begun = chats.turns.begin(build_opening(request="r1"))
    with pytest.raises(SessionBusy):
        chats.turns.begin(build_opening(request="r1"))
    chats.turns.end(lease_of(begun), (Message(role="assistant", text="Hi."),), DONE)
    again = chats.turns.begin(build_opening(request="r1"))
    assert again.lease is None
    assert (again.session.id, again.turn.usage) == (begun.session.id, DONE.usage)
    assert again.turn.written == DONE.written
    assert chats.sessions.list()[1] == 1


def test_a_request_that_failed_is_taken_up_again(chats: SqlChats) -> None:
    """Without its message a second time."""
    begun = chats.turns.begin(build_opening(request="r1"))
    chats.turns.end(lease_of(begun), (), TurnOutcome("failed", Usage(), "no provider"))
    again = chats.turns.begin(build_opening(request="r1"))
    assert again.lease is not None
    assert (again.turn.number, again.turn.first) == (1, 1)
    assert len(chats.sessions.messages(begun.session.id)) == 1


def test_requests_of_others_are_others(chats: SqlChats) -> None:
    """Two users may choose the same id."""
    chats.turns.begin(build_opening(request="r1"))
    other = build_opening(request="r1")
    assert chats.turns.begin(replace(other, owner=2)).new


def test_two_who_send_the_same_at_once_make_one_session(chats: SqlChats) -> None:
    """One is told that it is being answered."""
    outcomes: list[str] = []

    def send() -> None:
        try:
            outcomes.append(chats.turns.begin(build_opening(request="r1")).session.id)
        except SessionBusy as busy:
            outcomes.append(busy.session)

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 6
    assert len(set(outcomes)) == 1
    assert chats.sessions.list()[1] == 1


def test_going_on_needs_something_to_answer(chats: SqlChats) -> None:
    """What is answered is over; what is not is answered now."""
    session = said(chats)
    assert chats.turns.begin(build_opening(None, session)).lease is None
    begun = chats.turns.begin(build_opening("And?", session))
    chats.turns.end(lease_of(begun), (), TurnOutcome("failed", Usage(), "gone"))
    assert chats.turns.begin(build_opening(None, session)).lease is not None


def test_a_session_that_is_not_there_is_missing(chats: SqlChats) -> None:
    """Whatever it is called."""
    with pytest.raises(SessionMissing):
        chats.turns.begin(build_opening("Hello", "nowhere"))
    assert chats.sessions.find("nowhere") is None
    assert chats.sessions.find("\0") is None
    assert chats.sessions.delete("nowhere") is False


def test_sessions_are_listed_by_what_was_said_last(chats: SqlChats, clock: Clock) -> None:
    """With how many there are in all."""
    first = said(chats, "one")
    clock.advance(seconds=1)
    second = said(chats, "two")
    clock.advance(seconds=1)
    said(chats, "three", session=first)
    listed, total = chats.sessions.list(owner=ME)
    assert ([item.id for item in listed], total) == ([first, second], 2)
    assert [item.id for item in chats.sessions.list(limit=1, offset=1)[0]] == [second]
    assert chats.sessions.list(owner=9) == ([], 0)
    assert chats.sessions.list(agents=[1], mode="chat")[1] == 2
    assert chats.sessions.list(mode="pipeline")[1] == 0


def test_to_read_or_rename_does_not_make_a_session_younger(chats: SqlChats, clock: Clock) -> None:
    """It lives as long as someone talks."""
    session = said(chats)
    before = chats.sessions.find(session)
    clock.advance(days=1)
    chats.sessions.change(session, title="Other", titled="person", answers_read=1)
    after = chats.sessions.find(session)
    assert before is not None
    assert after is not None
    assert (after.title, after.unread, before.unread) == ("Other", 0, 1)
    assert after.updated == before.updated


def test_a_text_is_found_in_what_was_said(chats: SqlChats, clock: Clock) -> None:
    """Whatever its case, in any script, and taken literally."""
    session = said(chats, "The Straße is 100% closed_off", "Which STREET?")
    clock.advance(seconds=1)
    said(chats, "Ärger", "no")
    for query, count in (
        ("straSSE", 1), ("street", 1), ("ärger", 1), ("ÄRGER", 1), ("100%", 1), ("closed_off", 1),
        ("1%0", 0), ("closed-off", 0), ("x", 0),
    ):  # fmt: skip
        assert len(chats.sessions.search(query)) == count, query
    (hit,) = chats.sessions.search("street")
    assert (hit.session.id, hit.entry.number) == (session, 2)
    assert chats.sessions.search("street", owner=9) == []


def test_sessions_are_found_by_the_beginning_of_their_id(chats: SqlChats) -> None:
    """Only among those of the owner and the agents that are asked for; no pattern is obeyed."""
    session = said(chats, "one")
    other = said(chats, "two")
    prefix = session[:10]
    assert [item.id for item in chats.sessions.find_by_prefix(prefix.upper())] == [session]
    assert {item.id for item in chats.sessions.find_by_prefix("-")} == set()
    assert chats.sessions.find_by_prefix(prefix, owner=9) == []
    assert chats.sessions.find_by_prefix(prefix, agents=[9]) == []
    for pattern in ("%", "_" * 36, "", "\0", other[:4] + "%"):
        assert chats.sessions.find_by_prefix(pattern) == []


def test_the_last_messages_come_in_order(chats: SqlChats) -> None:
    """As many as are asked for."""
    session = said(chats, "1", "2")
    said(chats, "3", "4", session)
    texts = [message.message.text for message in chats.sessions.messages(session, last=3)]
    assert texts == ["2", "3", "4"]
    assert [message.number for message in chats.sessions.messages(session, after=2)] == [3, 4]


def test_a_deleted_session_leaves_nothing(chats: SqlChats, database: Database) -> None:
    """No message, no turn."""
    session = said(chats)
    assert chats.sessions.delete(session)
    with database.reading() as connection:
        for table in (tables.chat_sessions, tables.chat_turns, tables.chat_messages):
            assert connection.execute(sa.select(sa.func.count()).select_from(table)).scalar() == 0


def test_old_and_empty_sessions_can_be_pruned(chats: SqlChats, clock: Clock) -> None:
    """Neither new ones, nor one that is being answered."""
    said(chats, "old")
    begun = chats.turns.begin(build_opening("running"))
    clock.advance(days=90)
    chats.turns.append(lease_of(begun), ())
    new = said(chats, "new")
    clock.advance(seconds=60)
    day, hour = clock() - 86_400, clock() - 3600
    assert chats.sessions.prune(said_before=day, empty_before=hour, dry_run=True) == 1
    assert chats.sessions.prune() == 0
    assert chats.sessions.prune(said_before=day, empty_before=hour) == 1
    assert {item.id for item in chats.sessions.list()[0]} == {new, begun.session.id}
