"""Long-term and short-term memory by the names agents know them: MEMORY.md, and the day's journal.

A read is bounded, and reports when it left something out. A change names the exact present text,
so that an agent can correct one fact without sending, or losing, the rest of the page.
"""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import scope_of
from looseleaf.errors import Ambiguous, Invalid, NotFound
from looseleaf.memory.pages import MAIN, Saved, decode_text
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.memory.store import Missing
from looseleaf.operations.daily import open_journal
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.memory.scope import Scope

DEFAULT_CHARS = 20_000
MOST_CHARS = 100_000


@value(kw_only=True)
class Remembered:
    """A page, or as much of its beginning as was asked for; without one, `exists` is false."""

    filename: str
    exists: bool
    content: str
    content_length: int  # of all of it, in characters
    truncated: bool
    hash: str = ""
    date: str = ""  # of a day's page
    daily_timestamp: int | None = None  # when that day began, in seconds since 1970 (UTC)


@operation(
    "memory_long_term_read", permission="read", categories=("memory", "terms"), read_only=True
)
def read_long_term(
    context: Context, *, max_chars: int | None = DEFAULT_CHARS, where: Where = DEFAULT_WHERE
) -> Remembered:
    """Read the agent's long-term memory, up to a number of characters.

    Arguments:
        max_chars: The most characters of MEMORY.md to give, from its beginning; at most 100,000.
    """
    return _read(context, scope_of(context, MAIN, where), max_chars)


@operation(
    "memory_long_term_add", permission="write", categories=("memory", "terms"), changes_page=True
)
def add_long_term(
    context: Context, content: str, *, section: str = "", where: Where = DEFAULT_WHERE
) -> Saved:
    """Add something to the agent's long-term memory, at its end or at the end of a section.

    Arguments:
        content: The Markdown lines to add to MEMORY.md, such as one fact in a list.
        section: The section that gets the lines, by the text of its ## header; without it, the end
            of the page.
    """
    scope, change = scope_of(context, MAIN, where), context.change("append")
    if section:
        return context.pages.append_to_section(scope, section, content, change=change)
    return context.pages.append(scope, content, change=change)


@operation(
    "memory_long_term_update",
    permission="write",
    categories=("memory", "terms"),
    destructive=True,
    changes_page=True,
)
def update_long_term(
    context: Context, old: str, new: str, *, where: Where = DEFAULT_WHERE
) -> Saved:
    """Replace a text that is in the long-term memory once; nothing else changes.

    Arguments:
        old: The text to replace, exactly as it stands in MEMORY.md, where it must occur once.
        new: The text that stands in its place afterwards.
    """
    return _replace(context, scope_of(context, MAIN, where), old, new)


@operation(
    "memory_long_term_delete",
    permission="write",
    categories=("memory", "terms"),
    destructive=True,
    changes_page=True,
)
def delete_long_term(context: Context, old: str, *, where: Where = DEFAULT_WHERE) -> Saved:
    """Remove a text that is in the long-term memory once; the history keeps it.

    Arguments:
        old: The text to take out, exactly as it stands in MEMORY.md, where it must occur once.
    """
    return _replace(context, scope_of(context, MAIN, where), old, "")


@operation(
    "memory_short_term_read",
    permission="read",
    categories=("memory", "daily", "terms"),
    read_only=True,
)
def read_short_term(
    context: Context,
    date: str | None = None,
    *,
    max_chars: int | None = DEFAULT_CHARS,
    where: Where = DEFAULT_WHERE,
) -> Remembered:
    """Read one day of the agent's journal, up to a number of characters; without a date, today.

    Arguments:
        date: The day to read, as YYYY-MM-DD in UTC; without it, today.
        max_chars: The most characters of the day to give, from its beginning; at most 100,000.
    """
    daily = open_journal(context, where)
    day = daily.day(date)
    memory = _read(context, daily.shelf.page(day.filename), max_chars)
    return replace(memory, date=str(day), daily_timestamp=day.timestamp)


@operation(
    "memory_short_term_add",
    permission="write",
    categories=("memory", "daily", "terms"),
    changes_page=True,
)
def add_short_term(
    context: Context, content: str, date: str | None = None, *, where: Where = DEFAULT_WHERE
) -> Saved:
    """Add something to one day of the agent's journal; without a date, today.

    Arguments:
        content: The Markdown lines to add to the day, such as what has just happened.
        date: The day that gets the lines, as YYYY-MM-DD in UTC; without it, today.
    """
    return open_journal(context, where).append(date, content, change=context.change("append"))


@operation(
    "memory_short_term_update",
    permission="write",
    categories=("memory", "daily", "terms"),
    destructive=True,
    changes_page=True,
)
def update_short_term(
    context: Context, old: str, new: str, date: str | None = None, *, where: Where = DEFAULT_WHERE
) -> Saved:
    """Replace a text that is in one day of the journal once; nothing else changes.

    Arguments:
        old: The text to replace, exactly as it stands in the day's page, where it must occur once.
        new: The text that stands in its place afterwards.
        date: The day to change, as YYYY-MM-DD in UTC; without it, today.
    """
    return _replace(context, _page_of(context, date, where), old, new)


@operation(
    "memory_short_term_delete",
    permission="write",
    categories=("memory", "daily", "terms"),
    destructive=True,
    changes_page=True,
)
def delete_short_term(
    context: Context, old: str, date: str | None = None, *, where: Where = DEFAULT_WHERE
) -> Saved:
    """Remove a text that is in one day of the journal once; the history keeps it.

    Arguments:
        old: The text to take out, exactly as it stands in the day's page, where it must occur
            once.
        date: The day to change, as YYYY-MM-DD in UTC; without it, today.
    """
    return _replace(context, _page_of(context, date, where), old, "")


def _page_of(context: Context, date: str | None, where: Where) -> Scope:
    daily = open_journal(context, where)
    return daily.shelf.page(daily.day(date).filename)


def _read(context: Context, scope: Scope, max_chars: int | None) -> Remembered:
    max_chars = DEFAULT_CHARS if max_chars is None else max_chars
    if max_chars < 1:
        raise Invalid(f"max_chars is at least 1, and counts as {MOST_CHARS} at most.")
    page = context.pages.read(scope)
    if isinstance(page, Missing):
        return Remembered(
            filename=scope.filename, exists=False, content="", content_length=0, truncated=False
        )
    text = decode_text(scope.filename, page.content)
    excerpt = text[: min(max_chars, MOST_CHARS)]
    is_cut = len(excerpt) < len(text)
    return Remembered(
        filename=scope.filename,
        exists=True,
        content=excerpt,
        content_length=len(text),
        truncated=is_cut,
        hash=page.hash,
    )


def _replace(context: Context, scope: Scope, old: str, new: str) -> Saved:
    def edit(page: str) -> str:
        return replace_text(scope.filename, page, old, new)

    return context.pages.edit(scope, edit, change=context.change("replace" if new else "remove"))


def replace_text(filename: str, page: str, old: str, new: str) -> str:
    """Replace a text that occurs once; lines that become empty are removed."""
    if not old.strip():
        raise Invalid("Say which text: old is empty.")
    count = page.count(old)
    if count == 0:
        raise NotFound(f"{filename} does not have this text, exactly as it was given. Read it.")
    if count > 1 or page.find(old) != page.rfind(old):
        raise Ambiguous(f"{filename} has this text more than once. Give more of what is around it.")
    before, after = page.split(old)
    if new or old.endswith("\n") or (before and not before.endswith("\n")):
        return before + new + after
    return _without_line(before, after)


def _without_line(before: str, after: str) -> str:
    """Join the text around removed lines, without the line end that belonged to them."""
    if after.startswith(("\n", "\r\n")):
        return before + after[after.index("\n") + 1 :]
    if after:
        return before + after
    return before.removesuffix("\n").removesuffix("\r") if before.endswith("\n") else before
