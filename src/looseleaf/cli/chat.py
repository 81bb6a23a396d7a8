"""`looseleaf chat list | show | search | rename | finish | cancel | export | delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import Asked, confirmed, shared
from looseleaf.cli.formats import counted, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say, show
from looseleaf.operations import chat as talking
from looseleaf.operations import finishing
from looseleaf.operations import sessions as operations
from looseleaf.operations.schema import plain
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from typing import Any, Literal

session_argument = click.argument("session")
WHOSE = ("agent", "user", "format")


@command("list", "looseleaf chat list", "looseleaf chat list --agent ada --format json")
@click.option("--mode", default="", metavar="MODE", help="Only of this mode.")
@click.option("--limit", type=int, default=20, metavar="N", help="At most so many; else 20.")
@click.option("--offset", type=int, default=0, metavar="N", help="After so many.")
@shared(*WHOSE)
def list_sessions(asked: Asked, mode: str, limit: int, offset: int) -> None:
    """List the sessions, newest first.

    The one in which something was said last comes first.
    """
    found = operations.list_sessions(
        asked.open(), where=asked.where, mode=mode, limit=limit, offset=offset
    )
    if asked.json:
        print_document(plain(found))
        return
    rows = [
        (one.session_id, one.agent_slug, _minute(one.updated_at), one.message_count,
         one.unread_count, one.title)
        for one in found.sessions
    ]  # fmt: skip
    if rows:
        print_table(
            ("SESSION", "AGENT", "LAST", "MESSAGES", "UNREAD", "TITLE"), rows, shrink="TITLE"
        )
        say()
    say(f"{counted(found.total, 'session')}.")


@command("show", "looseleaf chat show 3f0c…", "looseleaf chat show 3f0c… --last 10")
@session_argument
@click.option("--last", type=int, default=0, metavar="N", help="Only the last messages.")
@shared("format")
def show_session(asked: Asked, session: str, last: int) -> None:
    """Print what was said in a session.

    With how each turn ended, and what the agent wrote to its memory. Who sees it has read it.
    """
    context = asked.open()
    found = operations.show_session(context, session, limit=last)
    if asked.json:
        print_document(plain(found))
        return
    operations.mark_read(context, session)
    about = found.session
    count = counted(about.message_count, "message")
    say(f"{about.title} ({about.agent_slug}, {about.mode}, {count})")
    for message in found.messages:
        say()
        _tell(message, about.agent_slug)
    for turn in found.turns:
        for one in turn.written:
            say()
            say(f"Turn {turn.number} wrote {one.file}, revision {one.revision}.")
        if turn.error:
            say()
            say(f"Turn {turn.number} {turn.status}: {turn.error}")


def _tell(message: dict[str, Any], agent: str) -> None:
    who = {"user": "You", "assistant": agent}.get(message["role"], message.get("name", ""))
    if message["content"]:
        show(f"{who}: {message['content']}\n".encode())
    for call in message.get("tool_calls", ()):
        say(f"{who} called {call['name']} {call['arguments']}")


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


@command("search", "looseleaf chat search deployment")
@click.argument("query")
@click.option("--limit", type=int, default=50, metavar="N", help="At most so many; else 50.")
@shared(*WHOSE)
def search(asked: Asked, query: str, limit: int) -> None:
    """Find a text in what was said.

    Newest first, whatever its case.
    """
    found = operations.search_sessions(asked.open(), query, where=asked.where, limit=limit)
    if asked.json:
        print_document({"matches": plain(found), "total": len(found)})
        return
    rows = [(one.session_id, one.number, one.role, one.excerpt) for one in found]
    if rows:
        print_table(("SESSION", "MESSAGE", "WHO", "TEXT"), rows, shrink="TEXT")
        say()
    say(f"{counted(len(found), 'match')}.")


@command("rename", 'looseleaf chat rename 3f0c… "The move to Friday"')
@session_argument
@click.argument("title")
@shared("format")
def rename(asked: Asked, session: str, title: str) -> None:
    """Give a session another title."""
    found = operations.rename_session(asked.open(), session, title)
    if asked.json:
        print_document(as_dict(found))
    else:
        say(f"The session is now called {found.title}.")


@command("title", "looseleaf chat title 3f0c…", "looseleaf chat title 3f0c… --force")
@session_argument
@click.option("--force", is_flag=True, help="Even if it has one that is not its first words.")
@shared("format")
def title(asked: Asked, session: str, *, force: bool) -> None:
    """Have the model give a session a title.

    Where none answers, its first words are the title.
    """
    made = finishing.generate_title(asked.open(), session, force=force)
    if asked.json:
        print_document(as_dict(made))
    else:
        say(made.title)


@command("prune", "looseleaf chat prune")
@shared("format")
def prune(asked: Asked) -> None:
    """Delete the sessions that need not be kept.

    Those in which nothing was said for chat_retention_days, and empty ones.
    """
    done = operations.prune_sessions(asked.open())
    if asked.json:
        print_document(done)
    else:
        say(f"Deleted {counted(done['deleted'], 'session')}.")


@command("finish", "looseleaf chat finish 3f0c…")
@session_argument
@shared("format")
def finish(asked: Asked, session: str) -> None:
    """End a session; the journal may tell of it.

    Where the agent's configuration says chat.journal, it is summed up in the journal of today.
    """
    found = finishing.finish_session(asked.open(), session)
    if asked.json:
        print_document(plain(found))
    elif found.revision:
        say(f"Finished; {found.file} tells of it (revision {found.revision}).")
    else:
        say("Finished.")


@command("cancel", "looseleaf chat cancel 3f0c…")
@session_argument
@shared("format")
def cancel(asked: Asked, session: str) -> None:
    """Stop the answer that is being given.

    Whatever process gives it, within a second or two.
    """
    found = talking.cancel_chat(asked.open(), session)
    if asked.json:
        print_document(found)
    else:
        say("It will stop." if found["cancelled"] else "Nothing is running.")


@command("export", "looseleaf chat export 3f0c… > talk.md", "looseleaf chat export 3f0c… --as json")
@session_argument
@click.option(
    "--as",
    "shape",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    help="Else markdown.",
)
@shared()
def export(asked: Asked, session: str, shape: Literal["markdown", "json"]) -> None:
    """Print a session as a page or as JSON.

    JSON has all that is stored.
    """
    found = operations.export_session(asked.open(), session, format=shape)
    if shape == "json":
        print_document(plain(found))
    else:
        show(found["content"].encode())


@command("delete", "looseleaf chat delete 3f0c… --yes")
@session_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared("format")
def delete(asked: Asked, session: str, *, yes: bool) -> None:
    """Delete a session for good.

    With all that was said.
    """
    context = asked.open()
    found = operations.show_session(context, session, limit=1).session
    confirmed(f"Delete {found.title!r} with {counted(found.message_count, 'message')}?", yes=yes)
    done = operations.delete_session(context, session)
    if asked.json:
        print_document(done)
    else:
        say(f"Deleted {found.title}.")
