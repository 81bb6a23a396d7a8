"""Reading and changing pages and their sections."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import require_outcome, scope_of
from looseleaf.errors import Invalid
from looseleaf.memory import sections
from looseleaf.memory.pages import MAIN, PageText, Saved, decode_text
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.memory.sections import Section
from looseleaf.memory.store import Deleted, Found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.catalog.context import Context
    from looseleaf.memory.scope import Scope

MOST_SECTIONS = 10_000


@operation(
    "datamachine/get-agent-memory", permission="read", categories=("memory",), read_only=True
)
def read_memory(
    context: Context,
    file: str = MAIN,
    *,
    section: str | None = None,
    position: int | None = None,
    where: Where = DEFAULT_WHERE,
    as_of: str = "",
) -> PageText:
    """Read a page, or one section of it, as it is or as it was at a time or revision.

    Arguments:
        file: The name of the page, such as MEMORY.md, USER.md or projects/garden.md.
        section: The section to read, by the text of its ## header; without it, or with an empty
            text, the whole page.
        position: The position of the section as the list of sections gives it, needed only if
            several sections have the same name.
        as_of: A revision number or a UTC time such as 2026-04-17, to read what the page said then;
            without it, what it says now.
    """
    scope = scope_of(context, file, where)
    page = Found(context.read_past(scope, as_of), 0) if as_of else context.pages.require(scope)
    if not section and position is None:
        return PageText(file, page, scope.layer)
    text = sections.read_section(decode_text(file, page.content), section, position=position)
    return PageText(file, page, scope.layer, section, text)


@operation("datamachine/get-agent-file", permission="read", categories=("memory",), read_only=True)
def read_page(
    context: Context, file: str, *, where: Where = DEFAULT_WHERE, as_of: str = ""
) -> PageText:
    """Read a whole page, as it is or as it was at a time or revision.

    Arguments:
        file: The name of the page to read whole, such as SOUL.md or projects/garden.md.
        as_of: A revision number or a UTC time such as 2026-04-17, to read what the page said then;
            without it, what it says now.
    """
    return read_memory(context, file, where=where, as_of=as_of)


@operation(
    "datamachine/list-agent-memory-sections",
    permission="read",
    categories=("memory",),
    read_only=True,
)
def list_sections(
    context: Context, file: str = MAIN, *, where: Where = DEFAULT_WHERE
) -> tuple[Section, ...]:
    """List the sections of a page, in order.

    Arguments:
        file: The name of the page whose sections are listed.
    """
    text = context.pages.text(scope_of(context, file, where))
    if text.count("\n## ") > MOST_SECTIONS:
        raise Invalid(
            f"{file} has more than {MOST_SECTIONS:,} headers, the most that are listed. Read the "
            "page, search in it, or split it into pages."
        )
    return sections.list_sections(text)


@operation(
    "datamachine/update-agent-memory", permission="write", categories=("memory",), changes_page=True
)
def update_memory(  # noqa: PLR0913 - one for each word of a request
    context: Context,
    section: str | None,
    content: str,
    *,
    file: str = MAIN,
    mode: Literal["set", "append"],
    position: int | None = None,
    where: Where = DEFAULT_WHERE,
    if_match: str | None = None,
    allow_shrink: bool = False,
) -> Saved:
    """Set or append to one section of a page; no other byte changes.

    Arguments:
        section: The section to change, by the text of its ## header without the ##; a section that
            does not exist is added at the end of the page.
        content: The Markdown that goes into the section, without the section's own header: lines
            to add if mode is append, the whole new text if mode is set.
        file: The name of the page that has the section.
        mode: append adds lines to the end of the section; set replaces all of its text.
        position: The position of the section as the list of sections gives it, needed only if
            several sections have the same name.
        if_match: The hash of the version that may be changed, as a read gave it, or absent for a
            page that must not exist yet; any other version is refused.
        allow_shrink: Whether the page may lose most of its text or end in a placeholder such as
            "[rest unchanged]", which is refused otherwise.
    """
    if mode not in ("set", "append"):
        raise Invalid(f"mode is set or append, not {mode!r}.")
    page_context = context.with_permission("append") if mode == "append" else context
    scope = scope_of(page_context, file, where)
    change = context.change(
        mode, if_match=if_match, allow_shrink=allow_shrink, reason=_build_reason(context, scope)
    )
    if mode == "append":
        return context.pages.append_to_section(
            scope, section, content, change=change, position=position
        )
    return context.pages.set_section(scope, section, content, change=change, position=position)


@operation(
    "datamachine/delete-agent-memory-section",
    permission="write",
    categories=("memory",),
    destructive=True,
    changes_page=True,
)
def delete_section(
    context: Context,
    section: str | None,
    *,
    file: str = MAIN,
    position: int | None = None,
    where: Where = DEFAULT_WHERE,
    if_match: str | None = None,
    allow_shrink: bool = False,
) -> Saved:
    """Remove one section of a page; its text stays in the history.

    Arguments:
        section: The section to remove with all of its text, by the text of its ## header.
        file: The name of the page that has the section.
        position: The position of the section as the list of sections gives it, needed only if
            several sections have the same name.
        if_match: The hash of the version that may be changed, as a read gave it, or absent for a
            page that must not exist yet; any other version is refused.
        allow_shrink: Whether the page may lose most of its text, which is refused otherwise.
    """
    scope = scope_of(context, file, where)
    change = context.change("delete section", if_match=if_match, allow_shrink=allow_shrink)
    return context.pages.delete_section(scope, section, change=change, position=position)


@operation(
    "datamachine/write-agent-file",
    permission="write",
    categories=("memory",),
    destructive=True,
    idempotent=True,
    changes_page=True,
)
def write_page(
    context: Context,
    file: str,
    content: str | bytes,
    *,
    where: Where = DEFAULT_WHERE,
    if_match: str | None = None,
    allow_shrink: bool = False,
) -> Saved:
    """Replace or create a whole page; with if_match, only that version.

    Arguments:
        file: The name of the page to replace, or to create if there is none.
        content: The whole new text of the page, in Markdown; everything that it said before is
            replaced.
        if_match: The hash of the version that may be changed, as a read gave it, or absent for a
            page that must not exist yet; any other version is refused.
        allow_shrink: Whether the page may lose most of its text or end in a placeholder such as
            "[rest unchanged]", which is refused otherwise.
    """
    scope = scope_of(context, file, where)
    change = context.change("write", if_match=if_match, allow_shrink=allow_shrink)
    return require_outcome(file, context.pages.write(scope, content, change=change))


@operation(
    "datamachine/upload-agent-file",
    permission="write",
    categories=("memory",),
    destructive=True,
    idempotent=True,
    changes_page=True,
)
def upload_page(
    context: Context,
    file: str,
    data: str,
    *,
    where: Where = DEFAULT_WHERE,
    if_match: str | None = None,
    allow_shrink: bool = False,
) -> Saved:
    """Replace or create a whole page by a file's bytes, given in base64.

    Arguments:
        file: The name of the page to replace, or to create if there is none.
        data: The bytes of the whole new page, in base64.
        if_match: The hash of the version that may be changed, as a read gave it, or absent for a
            page that must not exist yet; any other version is refused.
        allow_shrink: Whether the page may lose most of its text or end in a placeholder such as
            "[rest unchanged]", which is refused otherwise.
    """
    from looseleaf.catalog.json_values import decode_data

    content = decode_data(data)
    return write_page(
        context, file, content, where=where, if_match=if_match, allow_shrink=allow_shrink
    )


@operation(
    "datamachine/append-agent-file", permission="append", categories=("memory",), changes_page=True
)
def append_page(
    context: Context, file: str, content: str, *, where: Where = DEFAULT_WHERE
) -> Saved:
    """Add lines to the end of a page, creating it if need be.

    Arguments:
        file: The name of the page that gets the lines; it is created if there is none.
        content: The Markdown lines to add after the last line of the page.
    """
    scope = scope_of(context, file, where)
    return context.pages.append(
        scope, content, change=context.change("append", reason=_build_reason(context, scope))
    )


def _build_reason(context: Context, scope: Scope) -> str:
    """Build the reason of a change, which names the agent if it adds to a user's page."""
    agent_id = context.principal.agent_id
    slug = context.parts.agents.resolve(agent_id).slug if agent_id and scope.layer == "user" else ""
    if not slug or context.actor.startswith(slug):
        return context.reason
    mark = f"by the agent {slug}"
    return f"{context.reason} ({mark})" if context.reason else mark


@operation(
    "datamachine/clear-agent-file",
    permission="write",
    categories=("memory",),
    destructive=True,
    idempotent=True,
    changes_page=True,
)
def clear_page(
    context: Context, file: str, *, where: Where = DEFAULT_WHERE, if_match: str | None = None
) -> Saved:
    """Empty a page, core pages too; its text stays in the history.

    Arguments:
        file: The name of the page to empty.
        if_match: The hash of the version that may be changed, as a read gave it, or absent for a
            page that must not exist yet; any other version is refused.
    """
    scope = scope_of(context, file, where)
    change = context.change("clear", if_match=if_match)
    return require_outcome(file, context.pages.clear(scope, change=change))


@operation(
    "datamachine/delete-agent-file",
    permission="write",
    categories=("memory",),
    destructive=True,
    changes_page=True,
)
def delete_page(
    context: Context, file: str, *, where: Where = DEFAULT_WHERE, if_match: str | None = None
) -> Deleted:
    """Delete a page that is not a core page; its text stays in the history.

    Arguments:
        file: The name of the page to delete; a core page such as MEMORY.md can only be cleared.
        if_match: The hash of the version that may be changed, as a read gave it, or absent for a
            page that must not exist yet; any other version is refused.
    """
    scope = scope_of(context, file, where)
    change = context.change("delete", if_match=if_match)
    return require_outcome(file, context.pages.delete(scope, change=change))
