"""`looseleaf chat list | show | search | rename | finish | cancel | export | delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, confirm, with_shared_options
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say, show
from looseleaf.operations import chat as chat_operations
from looseleaf.operations import session_ends, transcripts
from looseleaf.operations import sessions as operations
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from typing import Literal

session_argument = click.argument("session")
OWNER_OPTIONS = ("agent", "user", "format")


@command("list", "looseleaf chat list", "looseleaf chat list --agent ada --format json")
@click.option("--mode", default="", metavar="MODE", help="Only sessions of this mode.")
@click.option("--limit", type=int, default=20, metavar="N", help="At most so many sessions; 20.")
@click.option("--offset", type=int, default=0, metavar="N", help="Skip so many sessions.")
@with_shared_options(*OWNER_OPTIONS)
def list_sessions(options: SharedOptions, mode: str, limit: int, offset: int) -> None:
    """List the sessions, newest first.

    The session with the newest message comes first.
    """
    page = operations.list_sessions(
        options.open(), where=options.where, mode=mode, limit=limit, offset=offset
    )
    if options.json:
        print_document(to_json_value(page))
        return
    rows = [
        (
            session.session_id,
            session.agent_slug,
            _format_minute(session.updated_at),
            session.message_count,
            session.unread_count,
            session.title,
        )
        for session in page.sessions
    ]
    if rows:
        print_table(
            ("SESSION", "AGENT", "LAST", "MESSAGES", "UNREAD", "TITLE"), rows, shrink="TITLE"
        )
        say()
    say(f"{format_count(page.total, 'session')}.")


@command("show", "looseleaf chat show 3f0c…", "looseleaf chat show 3f0c… --last 10")
@session_argument
@click.option("--last", type=int, default=0, metavar="N", help="Only the last so many messages.")
@with_shared_options("format")
def show_session(options: SharedOptions, session: str, last: int) -> None:
    """Print the messages of a session.

    Also prints the pages that the agent wrote, and the error of a failed turn. Printing a session
    marks it as read.
    """
    context = options.open()
    conversation = transcripts.show_session(context, session, limit=last)
    if options.json:
        print_document(to_json_value(conversation))
        return
    operations.mark_read(context, session)
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


def _print_message(message: transcripts.MessageInfo, agent: str) -> None:
    speaker = {"user": "You", "assistant": agent}.get(message["role"], message.get("name", ""))
    if message["content"]:
        show(f"{speaker}: {message['content']}\n".encode())
    for call in message.get("tool_calls", ()):
        say(f"{speaker} called {call.name} {call.arguments}")


def _format_minute(time: str) -> str:
    return time[:16].replace("T", " ")


@command("search", "looseleaf chat search deployment")
@click.argument("query")
@click.option("--limit", type=int, default=50, metavar="N", help="At most so many matches; 50.")
@with_shared_options(*OWNER_OPTIONS)
def search(options: SharedOptions, query: str, limit: int) -> None:
    """Find a text in messages.

    Newest first, ignoring case.
    """
    matches = operations.search_sessions(options.open(), query, where=options.where, limit=limit)
    if options.json:
        print_document({"matches": to_json_value(matches), "total": len(matches)})
        return
    rows = [(match.session_id, match.number, match.role, match.excerpt) for match in matches]
    if rows:
        print_table(("SESSION", "MESSAGE", "WHO", "TEXT"), rows, shrink="TEXT")
        say()
    say(f"{format_count(len(matches), 'match')}.")


@command("rename", 'looseleaf chat rename 3f0c… "The move to Friday"')
@session_argument
@click.argument("title")
@with_shared_options("format")
def rename(options: SharedOptions, session: str, title: str) -> None:
    """Give a session another title."""
    session_info = operations.rename_session(options.open(), session, title)
    if options.json:
        print_document(as_dict(session_info))
    else:
        say(f"The session is now called {session_info.title}.")


@command("title", "looseleaf chat title 3f0c…", "looseleaf chat title 3f0c… --force")
@session_argument
@click.option("--force", is_flag=True, help="Even if a person or a model has given a title.")
@with_shared_options("format")
def title(options: SharedOptions, session: str, *, force: bool) -> None:
    """Let the model give a session a title.

    If no model answers, the title is the first words.
    """
    session_info = session_ends.generate_title(options.open(), session, force=force)
    if options.json:
        print_document(as_dict(session_info))
    else:
        say(session_info.title)


@command("prune", "looseleaf chat prune")
@with_shared_options("format")
def prune(options: SharedOptions) -> None:
    """Delete the sessions past their retention.

    Sessions without a new message for chat_retention_days, and empty sessions.
    """
    result = operations.prune_sessions(options.open())
    if options.json:
        print_document(to_json_value(result))
    else:
        say(f"Deleted {format_count(result.deleted, 'session')}.")


@command("finish", "looseleaf chat finish 3f0c…")
@session_argument
@with_shared_options("format")
def finish(options: SharedOptions, session: str) -> None:
    """End a session, and sum it up if configured.

    With chat.journal in the agent's configuration, today's journal gets a summary of the session.
    """
    result = session_ends.finish_session(options.open(), session)
    if options.json:
        print_document(to_json_value(result))
    elif result.revision:
        say(f"Finished; {result.file} tells of it (revision {result.revision}).")
    else:
        say("Finished.")


@command("cancel", "looseleaf chat cancel 3f0c…")
@session_argument
@with_shared_options("format")
def cancel(options: SharedOptions, session: str) -> None:
    """Stop the running answer of a session.

    In any process, within a second or two.
    """
    result = chat_operations.cancel_chat(options.open(), session)
    if options.json:
        print_document(to_json_value(result))
    else:
        say("It will stop." if result.cancelled else "Nothing is running.")


@command("export", "looseleaf chat export 3f0c… > talk.md", "looseleaf chat export 3f0c… --as json")
@session_argument
@click.option(
    "--as",
    "shape",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    help="The format; else markdown.",
)
@with_shared_options()
def export(options: SharedOptions, session: str, shape: Literal["markdown", "json"]) -> None:
    """Print a session as a page or as JSON.

    JSON holds all that is stored.
    """
    document = transcripts.export_session(options.open(), session, format=shape)
    if isinstance(document, transcripts.SessionMarkdown):
        show(document.content.encode())
    else:
        print_document(to_json_value(document))


@command("delete", "looseleaf chat delete 3f0c… --yes")
@session_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options("format")
def delete(options: SharedOptions, session: str, *, yes: bool) -> None:
    """Delete a session for good.

    With all its messages.
    """
    context = options.open()
    session_info = transcripts.show_session(context, session, limit=1).session
    messages = format_count(session_info.message_count, "message")
    confirm(f"Delete {session_info.title!r} with {messages}?", yes=yes)
    result = operations.delete_session(context, session)
    if options.json:
        print_document(to_json_value(result))
    else:
        say(f"Deleted {session_info.title}.")
