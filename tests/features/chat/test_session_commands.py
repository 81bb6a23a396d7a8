"""`looseleaf chat`: talking here and through a server, and finding what was said."""

from __future__ import annotations

import json
import shlex
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf import Workspace
from tests.cli.fixtures import Answer, Run
from tests.models import scripted
from tests.models.scripted import Reply, Scripted
from tests.web.fixtures import Clock, Site

REMEMBER = '/call agent_memory {"action": "append", "section": "Facts", "content": "- likes tea"}'


@pytest.fixture
def chosen() -> str:
    """Let the echo answer."""
    return 'default_model = "echo"\n'


@pytest.fixture
def server() -> Iterator[Scripted]:
    """Let a scripted server answer."""
    with scripted.serve_script(scripted.Scripted()) as script:
        yield script


@pytest.fixture(params=["here", "through a server"], autouse=True)
def place(
    request: pytest.FixtureRequest, command_root: Path, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Talk in this process, or through a Looseleaf server to which every command goes."""
    if "server" in request.fixturenames:
        url = request.getfixturevalue("server").url
        chosen = 'default_model = "local:m"\nmodel_retries = 0\n'
        chosen += f'[providers.local]\nbase_url = "{url}"\n'
    (command_root / "looseleaf.toml").write_text(chosen)
    if request.param == "here":
        yield
        return
    site = Site(Workspace.open(command_root, surface="rest"), Clock())
    site.start()
    monkeypatch.setenv("LOOSELEAF_REMOTE", site.base)
    monkeypatch.setenv("LOOSELEAF_TOKEN", site.token(user=1))
    yield
    site.stop()


def session_of(run: Run) -> str:
    """Return the newest session."""
    found: str = run("chat", "list", "--format", "json").json["sessions"][0]["session_id"]
    return found


def test_one_message_is_answered(run: Run) -> None:
    """The answer alone is on standard output."""
    answer = run("chat", "--message", "Hello there")
    assert (answer.code, answer.text, answer.err) == (0, "Hello there\n", "")


def test_a_message_needs_no_option(run: Run) -> None:
    """A word that looks like a misspelled command is no message unless an option says so."""
    assert run("chat", "Hello there").text == "Hello there\n"
    assert run("chat", "hello").text == "hello\n"
    assert run("chat", "--last", "- again", "--agent", "main").text == "- again\n"
    assert run("chat", "-", stdin=b"from a pipe").text == "from a pipe\n"
    assert run("chat", "list", "--format", "json").json["total"] == 3
    refused = run("chat", "serach")
    assert refused.code == 2
    assert "Did you mean search?" in refused.err
    assert run("chat", "--message", "serach").text == "serach\n"
    assert "list is a command: put it before" in run("chat", "--model", "echo", "list").err
    assert run("chat", "two", "words").code == 2
    assert run("chat", "one", "--message", "two").code == 2


def test_the_help_shows_how_to_talk(run: Run) -> None:
    """And the other commands."""
    text = run("chat", "--help").text
    assert text.startswith("Usage: looseleaf chat [OPTIONS] [MESSAGE] | COMMAND")
    for word in ("--message", "--session", "--last", "--model", "search", "finish", "Examples"):
        assert word in text


def test_an_id_may_be_shortened(run: Run) -> None:
    """As long as one session alone begins so; not below four characters."""
    run("chat", "--message", "One")
    session = session_of(run)
    assert "One" in run("chat", "show", session[:8]).text
    assert run("chat", "--session", session[:8], "--message", "Two").text == "Two\n"
    assert run("chat", "show", session[:3]).code == 3
    assert run("chat", "show", "zzzz").code == 3


def test_a_session_is_gone_on_with(run: Run) -> None:
    """The last one, or one by its id."""
    run("chat", "--message", "One")
    run("chat", "--last", "--message", "Two")
    session = session_of(run)
    run("chat", "--session", session, "--message", "Three")
    shown = run("chat", "show", session, "--format", "json").json
    assert [message["content"] for message in shown["messages"] if message["role"] == "user"] == [
        "One", "Two", "Three",
    ]  # fmt: skip
    assert len(shown["turns"]) == 3


def test_what_an_agent_does_is_told_beside_its_answer(run: Run) -> None:
    """Tools, and the pages it wrote."""
    answer = run("chat", "--message", REMEMBER)
    assert answer.err.splitlines()[0].startswith("[agent_memory {")
    assert "[wrote MEMORY.md, revision" in answer.err
    assert "- likes tea" in run("memory", "read").text
    shown = run("chat", "show", session_of(run)).text
    assert "main called agent_memory" in shown
    assert "Turn 1 wrote MEMORY.md, revision" in shown


def test_one_can_talk_line_by_line(run: Run) -> None:
    """From a pipe too; every line is a message, some are commands."""
    answer = run("chat", stdin=b"One\n\nTwo\n/new\nThree\n/help\n/quit\nnever said\n")
    assert answer.text.splitlines()[:3] == ["One", "Two", "Three"]
    assert "/finish" in answer.text
    assert "never" not in answer.text
    listed = run("chat", "list", "--format", "json").json
    assert [item["message_count"] for item in listed["sessions"]] == [2, 4]


def test_options_may_stand_anywhere(run: Run) -> None:
    """As everywhere."""
    assert run("--agent", "main", "chat", "--message", "Hi").text == "Hi\n"
    assert run("chat", "--agent", "main", "--message", "Hi").text == "Hi\n"
    assert run("--agent", "main", "chat", "list", "--format", "json").json["total"] == 2
    assert run("chat", "--help").text.startswith("Usage: looseleaf chat")


def test_a_document_for_programs(run: Run) -> None:
    """With what it cost."""
    document = run("chat", "--message", "Hi", "--format", "json").json
    assert (document["response"], document["completed"]) == ("Hi", True)
    assert document["usage"]["requests"] == 1
    assert run("chat", "--format", "json").code == 2


@pytest.mark.parametrize("chosen", [""])
def test_without_a_model_one_is_told_where_to_name_it(run: Run) -> None:
    """Everything else works."""
    answer = run("chat", "--message", "Hi")
    assert answer.code == 2
    assert "default_model" in answer.err
    assert run("chat", "list").text == "0 sessions.\n"


def test_sessions_are_found_renamed_exported_and_deleted(run: Run) -> None:
    """By their id."""
    run("chat", "--message", "The shop moves on Friday")
    session = session_of(run)
    assert run("chat", "search", "FRIDAY").text.count(session) == 2
    assert (
        run("chat", "rename", session, "The move").text == "The session is now called The move.\n"
    )
    assert run("chat", "export", session).text.startswith("# The move\n")
    assert json.loads(run("chat", "export", session, "--as", "json").out)["schema"] == 1
    assert run("chat", "title", session).text == "The move\n"
    assert run("chat", "prune").text == "Deleted 0 sessions.\n"
    assert run("chat", "cancel", session).text == "Nothing is running.\n"
    assert run("chat", "finish", session).text == "Finished.\n"
    assert run("chat", "delete", session).code == 2
    assert run("chat", "delete", session, "--yes").text == "Deleted The move.\n"
    assert run("chat", "show", session).code == 3


def test_a_failing_provider_is_told_and_the_talk_goes_on(run: Run, server: Scripted) -> None:
    """The message is kept."""
    server.script(Reply(status=400), Reply("Better now."))
    answer = run("chat", stdin=b"One\nTwo\n")
    assert answer.text == "Better now.\n"
    assert "The model local:m is not available: status 400: scripted 400." in answer.err
    shown = run("chat", "show", session_of(run)).text
    assert "You: One" in shown
    assert "Turn 1 failed" in shown


def test_what_was_left_unanswered_is_answered(run: Run, server: Scripted) -> None:
    """Without saying it again."""
    server.script(Reply(status=400), Reply("Here I am."))
    assert run("chat", "--message", "Are you there?").code == 6
    assert run("chat", "--last", "--retry").text == "Here I am.\n"
    assert run("chat", "--last", "--retry", "--format", "json").json["response"] == "Here I am."
    assert run("chat", "--retry").code == 2


def test_what_was_shown_was_read(run: Run) -> None:
    """Unless a program asked."""
    run("chat", "--message", "Hi")
    session = session_of(run)
    unread = [run("chat", "list", "--format", "json").json["sessions"][0]["unread_count"]]
    run("chat", "show", session, "--format", "json")
    unread += [run("chat", "list", "--format", "json").json["sessions"][0]["unread_count"]]
    run("chat", "show", session)
    unread += [run("chat", "list", "--format", "json").json["sessions"][0]["unread_count"]]
    assert unread == [1, 1, 0]


def test_an_answer_on_a_terminal_was_read(on_terminal: Run, run: Run) -> None:
    """The person has seen it."""
    on_terminal("chat", "Hi")
    assert run("chat", "list", "--format", "json").json["sessions"][0]["unread_count"] == 0


def test_an_answer_on_a_terminal_takes_no_control_of_it(on_terminal: Run, server: Scripted) -> None:
    """Nor does the name of a tool."""
    server.script(Reply("red \x1b[31m!"))
    assert b"red \\x1b[31m!" in on_terminal("chat", "--message", "Hi").out


def test_a_person_at_a_terminal_talks(on_terminal: Run) -> None:
    """And leaves with Ctrl-D."""
    answer: Answer = on_terminal("chat", prompt=b"you> ", keys=b"\x04")
    assert b"Talking to main." in answer.out
    assert answer.code == 0


def test_ctrl_c_stops_an_answer_and_keeps_what_was_said(
    on_terminal: Run, run: Run, server: Scripted
) -> None:
    """The session is free again."""
    server.script(Reply("one two three four five six seven eight nine ten", pause=0.5))
    answer = on_terminal("chat", "--message", "Count", prompt=b"two", keys=b"\x03")
    # The key may be pressed a second time, while Python is on its way out.
    assert answer.code in (130, -signal.SIGINT)
    end = time.monotonic() + 20
    while True:  # a server is told to stop, and does within a second or two
        shown = run("chat", "show", session_of(run), "--format", "json").json
        if shown["turns"][0]["status"] != "running" or time.monotonic() > end:
            break
    assert shown["turns"][0]["status"] == "cancelled"
    assert shown["messages"][1]["content"].startswith("one two")
    assert shown["session"]["running"] is False


def test_the_recorded_conversation_in_the_docs_is_true(on_terminal: Run, server: Scripted) -> None:
    """Line by line, with what the script says."""
    page = Path(__file__).parents[3].joinpath("docs", "chat.md").read_text()
    recorded = page.partition("```text\n")[2].partition("```")[0]
    fact = {"action": "append", "section": "People", "content": "- The user lives in Oslo."}
    compact = json.dumps(fact, separators=(",", ":"))
    server.script(
        Reply("I will note that.", calls=(("agent_memory", compact),)),
        Reply("Noted: you live in Oslo."),
        Reply("In Oslo."),
    )
    for part in recorded.removeprefix("$ looseleaf ").split("\n$ looseleaf "):
        typed, *lines = part.strip("\n").split("\n")
        screen = on_terminal(*shlex.split(typed)).out.decode()
        for line in lines:
            before, _, after = line.partition("…")
            assert before in screen, (typed, line, screen)
            assert after in screen, (typed, line, screen)
    told = "".join(str(message) for message in server.requests[1]["messages"])
    assert "- The user lives in Oslo." in told
