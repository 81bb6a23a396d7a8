"""`looseleaf chat`: talking to an agent at the terminal, line by line or one message."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING

import click

from looseleaf.chat.events import Began, Called, Compacted, Ended, Returned, Said, Waiting
from looseleaf.cli.arguments import Asked, shared, take_stdin
from looseleaf.cli.formats import print_document
from looseleaf.cli.groups import Group, command
from looseleaf.cli.output import complain, escaped, note, on_terminal, print_text
from looseleaf.errors import Invalid, LooseleafError
from looseleaf.operations import chat, sessions
from looseleaf.operations.agents import show_agent
from looseleaf.operations.chat import Saying, converse
from looseleaf.operations.finishing import finish_session
from looseleaf.operations.schema import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.chat.events import Event
    from looseleaf.operations.context import Context, Where

HELP = """\
/new     begin a new session
/finish  end this session; it may be summed up in the journal
/quit    leave (or Ctrl-D); Ctrl-C stops an answer"""
_SHOWN = 120  # characters of a tool's arguments


@command(
    "talk",
    "looseleaf chat",
    'looseleaf chat "What do you know about the shop?" --agent ada',
    'looseleaf chat --last "And since when?"',
)
@click.argument("words", nargs=-1, metavar="[MESSAGE]")
@click.option("--message", metavar="TEXT", help="The message as an option; - is standard input.")
@click.option(
    "--session", default="", metavar="ID", help="Go on with this session; an id may be cut."
)
@click.option("--last", is_flag=True, help="Go on with the last session.")
@click.option("--retry", is_flag=True, help="Have the last message answered that was not.")
@click.option("--mode", default="chat", metavar="MODE", help="Of a new session; else chat.")
@click.option("--model", default="", metavar="NAME", help="provider:model, instead of the set one.")
@shared("agent", "user", "format")
def talk(
    asked: Asked,
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

    With a message, its answer is printed as it comes, and that is all; without one, a conversation
    begins, line by line. The tools that the agent used and the pages that it wrote are listed on
    standard error.
    """
    message = _chosen_message(words, message)
    context = asked.open()
    if last:
        session = _newest(context, asked.where)
    if retry and (message is not None or not session):
        raise click.UsageError("--retry needs --session or --last, and no message.")
    saying = Saying(message, session, mode, model=model)
    try:
        _talk(context, asked, saying, retry=retry)
    finally:
        if context.models is not None:
            context.models().close()


def _chosen_message(words: tuple[str, ...], option: str | None) -> str | None:
    """Take the message from the words of the command or from its option."""
    if words and option is not None:
        raise click.UsageError("The message is there twice: as an argument and by --message.")
    if len(words) > 1:
        raise click.UsageError('Put the message in quotes: looseleaf chat "one message".')
    if words and (near := _similar_command(words[0])):
        misplaced = f"{near} is a command: put it before the options."
        misspelled = f"No such command {words[0]!r}. Did you mean {near}?"
        raise click.UsageError(
            f"{misplaced if near == words[0] else misspelled} "
            f"To send it as a message, use --message {words[0]}."
        )
    text = words[0] if words else option
    if text != "-":
        return text
    take_stdin("message")
    return sys.stdin.read()


def _similar_command(word: str) -> str:
    """Name the command that a single word seems to be a misspelling of; "" for a real message."""
    parent = click.get_current_context().parent
    known = list(parent.command.entries) if parent and isinstance(parent.command, Group) else []
    near = difflib.get_close_matches(word, known, 1, cutoff=0.75) if word.islower() else []
    return near[0] if near else ""


def _talk(context: Context, asked: Asked, saying: Saying, *, retry: bool) -> None:
    message, session, model = saying.message, saying.session, saying.model
    if message is not None and asked.json:
        reply = chat.send_message(
            context, message, session=session, mode=saying.mode, model=model, where=asked.where
        )
        print_document(plain(reply))
    elif retry and asked.json:
        print_document(plain(chat.continue_chat(context, session, model=model)))
    elif message is not None or retry:
        _print_answer(context, converse(context, saying, asked.where))
    elif asked.json:
        raise click.UsageError("--format json needs a message: one question, one document.")
    else:
        _line_by_line(context, saying, asked.where)


def _newest(context: Context, where: Where) -> str:
    found = sessions.list_sessions(context, where=where, limit=1).sessions
    if not found:
        raise Invalid("There is no session yet to go on with.")
    return found[0].session_id


def _line_by_line(context: Context, saying: Saying, where: Where) -> None:
    session = None
    if saying.session:
        session = sessions.show_session(context, saying.session, limit=1).session
    agent = session.agent_slug if session else show_agent(context, where.agent).slug
    person = sys.stdin is not None and sys.stdin.isatty()
    if person:
        _remember_lines(context, saying.session)
        about = f", {session.title!r}" if session else ""
        note(f"Talking to {agent}{about}. /help says what else one can do.")
    current = saying.session
    for line in _lines(person):
        if line in ("/quit", "/exit"):
            return
        if line == "/help":
            print_text(HELP + "\n")
        elif line == "/new":
            current = ""
        elif line == "/finish":
            current = _finished(context, current)
        elif line:
            now = Saying(line, current, saying.mode, model=saying.model)
            current = _answered(context, now, where) or current


def _lines(person: bool) -> Iterator[str]:  # noqa: FBT001 - who types
    while True:
        try:
            line = input("you> ") if person else sys.stdin.readline()
        except EOFError:
            print_text("\n")
            return
        if not person and not line:
            return
        yield line.strip()


def _remember_lines(context: Context, session: str) -> None:
    """Let the arrow keys bring back what was said before in this session."""
    try:
        import readline
    except ImportError:
        return  # some Pythons have none; then lines are plain
    readline.clear_history()
    for entry in sessions.show_session(context, session).messages if session else ():
        if entry["role"] == "user" and "\n" not in entry["content"]:
            readline.add_history(entry["content"])


def _finished(context: Context, session: str) -> str:
    if session:
        try:
            done = finish_session(context, session)
        except LooseleafError as error:
            complain(str(error), error=error)
            return session
        note(f"Finished; told in {done.file}." if done.file else "Finished.")
    return ""


def _answered(context: Context, saying: Saying, where: Where) -> str:
    """Say one line; what goes wrong is told, and the conversation goes on."""
    try:
        return _print_answer(context, converse(context, saying, where))
    except LooseleafError as error:
        complain(str(error), error=error)
    except KeyboardInterrupt:
        note("(stopped)")
    found = sessions.list_sessions(context, where=where, limit=1).sessions
    return saying.session or (found[0].session_id if found else "")


def _print_answer(context: Context, events: Iterator[Event]) -> str:
    """Print an answer as it comes; on a terminal it counts as read. Give the session."""
    session = _print_events(events)
    if session and on_terminal():
        sessions.mark_read(context, session)
    return session


def _print_events(events: Iterator[Event]) -> str:
    session, said = "", False
    for event in events:
        if isinstance(event, Began):
            session = event.session
        elif isinstance(event, Said):
            print_text(escaped(event.text))
            said = True
        elif isinstance(event, Ended):
            session = event.session
            _end(event, said=said)
        else:
            if said:
                print_text("\n")
                said = False
            _note(event)
    return session


def _end(event: Ended, *, said: bool) -> None:
    if not said and event.text:
        print_text(escaped(event.text))  # asked for again
    if said or event.text:
        print_text("\n")
    if event.warning:
        note(event.warning)
    elif event.status == "cancelled":
        note("(stopped)")


def _note(event: Event) -> None:
    if isinstance(event, Called):
        note(f"[{event.tool} {event.arguments[:_SHOWN]}]")
    elif isinstance(event, Returned):
        for one in event.written:
            note(f"[wrote {one.file}, revision {one.revision}]")
        if event.failed:
            note(f"[{event.tool} failed: {event.text[:_SHOWN]}]")
    elif isinstance(event, Waiting):
        note(f"[{event.why}; asking again in {event.seconds:.1f} s]")
    elif isinstance(event, Compacted) and not event.error:
        note(f"[summed up the first {event.through} messages]")
