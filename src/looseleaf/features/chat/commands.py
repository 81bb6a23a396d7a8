"""`looseleaf chat …`: talking to an agent at the terminal, and its sessions."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, confirm, take_stdin, with_shared_options
from looseleaf.cli.command_line import DefaultGroup, Group, command
from looseleaf.cli.derived_commands import Derivation, ResultTable
from looseleaf.cli.formats import format_count, print_document
from looseleaf.cli.output import complain, escape, note, on_terminal, print_text, say, show
from looseleaf.errors import Invalid, LooseleafError
from looseleaf.features.chat.events import (
    Compacted,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    Waiting,
)
from looseleaf.features.chat.session import ChatInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from looseleaf.catalog.context import Context
    from looseleaf.features.chat.events import Event
    from looseleaf.features.chat.operations import Finished
    from looseleaf.features.chat.session_operations import MessageInfo
    from looseleaf.memory.scope import Where


HELP = """\
/new     begin a new session
/finish  end this session; it may be summed up in the journal
/quit    leave (or Ctrl-D); Ctrl-C stops an answer"""
_ARGUMENT_CHARACTERS = 120  # characters of a tool's arguments


@command(
    "talk",
    "looseleaf chat",
    'looseleaf chat "What do you know about the shop?" --agent ada',
    'looseleaf chat --last "And since when?"',
)
@click.argument("words", nargs=-1, metavar="[MESSAGE]")
@click.option("--message", metavar="TEXT", help="The message as an option; - is standard input.")
@click.option(
    "--session", default="", metavar="ID", help="Continue this session; an id may be shortened."
)
@click.option("--last", is_flag=True, help="Continue the last session.")
@click.option("--retry", is_flag=True, help="Answer the last message, if it has no answer.")
@click.option(
    "--mode", default="chat", metavar="MODE", help="The mode of a new session; else chat."
)
@click.option(
    "--model", default="", metavar="NAME", help="provider:model, instead of the configured one."
)
@with_shared_options("agent", "user", "format")
def talk(
    options: SharedOptions,
    words: tuple[str, ...],
    *,
    message: str | None,
    session: str,
    last: bool,
    retry: bool,
    mode: str,
    model: str,
) -> None:
    """Talk to an agent, line by line or one message.

    With a message, the command prints its answer as it comes, and ends; without a message, a
    conversation begins, line by line. The tools that the agent used and the pages that it wrote
    are listed on standard error.
    """
    message = _select_message(words, message)
    context = options.open()
    if last:
        session = _resolve_newest_session(context, options.where)
    if retry and (message is not None or not session):
        raise click.UsageError("--retry needs --session or --last, and no message.")
    chat_input = ChatInput(message, session, mode, model=model)
    try:
        _talk(context, options, chat_input, retry=retry)
    finally:
        if not context.is_remote:  # a server uses its own models
            context.parts.models().close()


def _select_message(words: tuple[str, ...], option: str | None) -> str | None:
    """Read the message from the words of the command or from its option."""
    if words and option is not None:
        raise click.UsageError("The message is there twice: as an argument and by --message.")
    if len(words) > 1:
        raise click.UsageError('Put the message in quotes: looseleaf chat "one message".')
    if words and (similar := _find_similar_command(words[0])):
        misplaced_text = f"{similar} is a command: put it before the options."
        misspelled_text = f"No such command {words[0]!r}. Did you mean {similar}?"
        raise click.UsageError(
            f"{misplaced_text if similar == words[0] else misspelled_text} "
            f"To send it as a message, use --message {words[0]}."
        )
    text = words[0] if words else option
    if text != "-":
        return text
    take_stdin("message")
    return sys.stdin.read()


def _find_similar_command(word: str) -> str:
    """Find the command that a single word may be a misspelling of, or "" for a real message."""
    parent = click.get_current_context().parent
    names = list(parent.command.commands) if parent and isinstance(parent.command, Group) else []
    matches = difflib.get_close_matches(word, names, 1, cutoff=0.75) if word.islower() else []
    return matches[0] if matches else ""


def _talk(context: Context, options: SharedOptions, chat_input: ChatInput, *, retry: bool) -> None:
    from looseleaf.features.chat import operations as chat
    from looseleaf.features.chat.operations import converse

    message, session, model = chat_input.message, chat_input.session, chat_input.model
    if message is not None and options.json:
        reply = chat.send_message(
            context,
            message,
            session=session,
            mode=chat_input.mode,
            model=model,
            where=options.where,
        )
        print_document(to_json_value(reply))
    elif retry and options.json:
        print_document(to_json_value(chat.continue_chat(context, session, model=model)))
    elif message is not None or retry:
        _print_answer(context, converse(context, chat_input, options.where))
    elif options.json:
        raise click.UsageError("--format json needs a message: one question, one document.")
    else:
        _talk_line_by_line(context, chat_input, options.where)


def _resolve_newest_session(context: Context, where: Where) -> str:
    from looseleaf.features.chat import session_operations

    newest_sessions = session_operations.list_sessions(context, where=where, limit=1).sessions
    if not newest_sessions:
        raise Invalid("There is no session yet to continue.")
    return newest_sessions[0].session_id


def _talk_line_by_line(context: Context, start: ChatInput, page_owner: Where) -> None:
    from looseleaf.features.chat import session_operations
    from looseleaf.operations.agents import show_agent

    session = None
    if start.session:
        session = session_operations.show_session(context, start.session, limit=1).session
    agent = session.agent_slug if session else show_agent(context, page_owner.agent).slug
    is_person = sys.stdin is not None and sys.stdin.isatty()
    if is_person:
        _remember_lines(context, start.session)
        title_note = f", {session.title!r}" if session else ""
        note(f"Talking to {agent}{title_note}. /help lists the commands.")
    current = start.session
    for line in _read_lines(is_person):
        if line in ("/quit", "/exit"):
            return
        if line == "/help":
            print_text(HELP + "\n")
        elif line == "/new":
            current = ""
        elif line == "/finish":
            current = _finish(context, current)
        elif line:
            line_input = ChatInput(line, current, start.mode, model=start.model)
            current = _send_line(context, line_input, page_owner) or current


def _read_lines(is_person: bool) -> Iterator[str]:  # noqa: FBT001 - who types
    while True:
        try:
            line = input("you> ") if is_person else sys.stdin.readline()
        except EOFError:
            print_text("\n")
            return
        if not is_person and not line:
            return
        yield line.strip()


def _remember_lines(context: Context, session: str) -> None:
    """Make the arrow keys recall the earlier messages of this session."""
    from looseleaf.features.chat import session_operations

    try:
        import readline
    except ImportError:
        return  # some Pythons have no readline; then lines are plain
    readline.clear_history()
    for entry in session_operations.show_session(context, session).messages if session else ():
        if entry["role"] == "user" and "\n" not in entry["content"]:
            readline.add_history(entry["content"])


def _finish(context: Context, session: str) -> str:
    from looseleaf.features.chat.operations import finish_session

    if session:
        try:
            result = finish_session(context, session)
        except LooseleafError as error:
            complain(str(error), error=error)
            return session
        note(f"Finished; told in {result.file}." if result.file else "Finished.")
    return ""


def _send_line(context: Context, chat_input: ChatInput, where: Where) -> str:
    """Send one line and return the session; a failure is reported and does not end the chat."""
    from looseleaf.features.chat import session_operations
    from looseleaf.features.chat.operations import converse

    try:
        return _print_answer(context, converse(context, chat_input, where))
    except LooseleafError as error:
        complain(str(error), error=error)
    except KeyboardInterrupt:
        note("(stopped)")
    newest_sessions = session_operations.list_sessions(context, where=where, limit=1).sessions
    return chat_input.session or (newest_sessions[0].session_id if newest_sessions else "")


def _print_answer(context: Context, events: Iterator[Event]) -> str:
    """Print an answer as it comes, mark it as read on a terminal, and return the session."""
    from looseleaf.features.chat import session_operations

    session = _print_events(events)
    if session and on_terminal():
        session_operations.mark_read(context, session)
    return session


def _print_events(events: Iterator[Event]) -> str:
    session, has_text = "", False
    for event in events:
        if isinstance(event, TurnStarted):
            session = event.session
        elif isinstance(event, TextDelta):
            print_text(escape(event.text))
            has_text = True
        elif isinstance(event, TurnEnded):
            session = event.session
            _print_end(event, has_text=has_text)
        else:
            if has_text:
                print_text("\n")
                has_text = False
            _print_note(event)
    return session


def _print_end(event: TurnEnded, *, has_text: bool) -> None:
    if not has_text and event.text:
        print_text(escape(event.text))  # the request was repeated, so its answer comes whole
    if has_text or event.text:
        print_text("\n")
    if event.warning:
        note(event.warning)
    elif event.status == "cancelled":
        note("(stopped)")


def _print_note(event: Event) -> None:
    if isinstance(event, ToolCalled):
        note(f"[{event.tool} {event.arguments[:_ARGUMENT_CHARACTERS]}]")
    elif isinstance(event, ToolReturned):
        for change in event.written:
            note(f"[wrote {change.file}, revision {change.revision}]")
        if event.failed:
            note(f"[{event.tool} failed: {event.text[:_ARGUMENT_CHARACTERS]}]")
    elif isinstance(event, Waiting):
        note(f"[{event.why}; asking again in {event.seconds:.1f} s]")
    elif isinstance(event, Compacted) and not event.error:
        note(f"[summed up the first {event.through} messages]")


OWNER_OPTIONS = ("agent", "user", "format")
_sessions = Derivation("chat", "looseleaf.features.chat.session_operations")
_chat = Derivation("chat", "looseleaf.features.chat.operations")
_ends = Derivation("chat", "looseleaf.features.chat.operations")

list_sessions = _sessions.derive(
    "list",
    "list_sessions",
    "",
    "--agent ada --format json",
    shared=OWNER_OPTIONS,
    show=ResultTable(
        "session=session_id agent=agent_slug last messages=message_count unread=unread_count title",
        cells={"last": lambda session: session.updated_at[:16].replace("T", " ")},
        rows="sessions",
        shrink="TITLE",
        count="session",
    ),
)


@command("show", "looseleaf chat show 3f0c…", "looseleaf chat show 3f0c… --last 10")
@click.argument("session")
@click.option("--last", type=int, default=0, metavar="N", help="Only the last so many messages.")
@with_shared_options("format")
def show_session(options: SharedOptions, session: str, last: int) -> None:
    """Print the messages of a session.

    Also prints the pages that the agent wrote, and the error of a failed turn. Printing a session
    marks it as read.
    """
    from looseleaf.features.chat import session_operations

    context = options.open()
    conversation = session_operations.show_session(context, session, limit=last)
    if options.json:
        print_document(to_json_value(conversation))
        return
    session_operations.mark_read(context, session)
    session_info = conversation.session
    count = format_count(session_info.message_count, "message")
    say(f"{session_info.title} ({session_info.agent_slug}, {session_info.mode}, {count})")
    for message in conversation.messages:
        say()
        _print_message(message, session_info.agent_slug)
    for turn in conversation.turns:
        for change in turn.written:
            say()
            say(f"Turn {turn.number} wrote {change.file}, revision {change.revision}.")
        if turn.error:
            say()
            say(f"Turn {turn.number} {turn.status}: {turn.error}")


def _print_message(message: MessageInfo, agent: str) -> None:
    speaker = {"user": "You", "assistant": agent}.get(message["role"], message.get("name", ""))
    if message["content"]:
        show(f"{speaker}: {message['content']}\n".encode())
    for call in message.get("tool_calls", ()):
        say(f"{speaker} called {call.name} {call.arguments}")


search_sessions = _sessions.derive(
    "search",
    "search_sessions",
    "deployment",
    shared=OWNER_OPTIONS,
    document=lambda matches: {"matches": to_json_value(matches), "total": len(matches)},
    show=ResultTable(
        "session=session_id message=number who=role text=excerpt", shrink="TEXT", count="match"
    ),
)
rename_session = _sessions.derive(
    "rename",
    "rename_session",
    '3f0c… "The move to Friday"',
    show="The session is now called {title}.",
)
generate_title = _ends.derive(
    "title",
    "generate_title",
    "3f0c…",
    "3f0c… --force",
    parameters={"force": "--force: Even if a person or a model has given a title."},
    show="{title}",
)
prune_sessions = _sessions.derive(
    "prune",
    "prune_sessions",
    "",
    ask="",
    show=lambda result: say(f"Deleted {format_count(result.deleted, 'session')}."),
)


@_ends.shown("finish", "finish_session", "3f0c…")
def finish_session(result: Finished) -> None:
    """End a session, and sum it up if configured.

    With chat.journal in the agent's configuration, today's journal gets a summary of the session.
    """
    told = f"; {result.file} tells of it (revision {result.revision})" if result.revision else ""
    say(f"Finished{told}.")


cancel_chat = _chat.derive(
    "cancel",
    "cancel_chat",
    "3f0c…",
    show=lambda result: say("It will stop." if result.cancelled else "Nothing is running."),
)


@command("export", "looseleaf chat export 3f0c… > talk.md", "looseleaf chat export 3f0c… --as json")
@click.argument("session")
@click.option(
    "--as",
    "shape",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    help="The format; else markdown.",
)
@with_shared_options()
def export_session(
    options: SharedOptions, session: str, shape: Literal["markdown", "json"]
) -> None:
    """Print a session as a page or as JSON.

    JSON holds all that is stored.
    """
    from looseleaf.features.chat import session_operations

    document = session_operations.export_session(options.open(), session, format=shape)
    if isinstance(document, session_operations.SessionMarkdown):
        show(document.content.encode())
    else:
        print_document(to_json_value(document))


@command("delete", "looseleaf chat delete 3f0c… --yes")
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options("format")
def delete_session(options: SharedOptions, session: str, *, yes: bool) -> None:
    """Delete a session for good.

    With all its messages.
    """
    from looseleaf.features.chat import session_operations

    context = options.open()
    session_info = session_operations.show_session(context, session, limit=1).session
    messages = format_count(session_info.message_count, "message")
    confirm(f"Delete {session_info.title!r} with {messages}?", yes=yes)
    result = session_operations.delete_session(context, session)
    if options.json:
        print_document(to_json_value(result))
    else:
        say(f"Deleted {session_info.title}.")


chat_group = DefaultGroup(
    "chat",
    "Talk to an agent, and find its sessions.",
    *(talk, list_sessions, show_session, search_sessions, rename_session, generate_title),
    *(finish_session, cancel_chat, export_session, delete_session, prune_sessions),
)
