"""Reading and changing pages and their sections."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.memory import sections
from looseleaf.memory.pages import decoded
from looseleaf.memory.store import Found
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import HERE, Where, scope_of, settled
from looseleaf.operations.moment import at
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.memory.pages import Saved
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.sections import Section
    from looseleaf.memory.store import Deleted
    from looseleaf.operations.context import Context

MAIN = "MEMORY.md"
MOST_SECTIONS = 10_000


@value
class PageText:
    """A page, or one section of it, as it was read."""

    file: str
    page: Found
    layer: str
    section: str | None = None
    part: str | None = None

    @property
    def content(self) -> str:
        """The text that was asked for, exactly."""
        return self.part if self.part is not None else decoded(self.file, self.page.content)

    @property
    def raw(self) -> bytes:
        """The same as bytes, which a page need not share with any text."""
        return self.part.encode() if self.part is not None else self.page.content

    @property
    def hash(self) -> str:
        """The version of the whole page."""
        return self.page.hash

    @property
    def size(self) -> int:
        """How many bytes the whole page has."""
        return len(self.page.content)

    @property
    def updated(self) -> float:
        """When the page last changed; 0 for one of the past."""
        return self.page.updated


@operation(
    "datamachine/get-agent-memory", permission="read", categories=("memory",), read_only=True
)
def read_memory(
    context: Context,
    file: str = MAIN,
    *,
    section: str | None = None,
    position: int | None = None,
    where: Where = HERE,
    as_of: str = "",
) -> PageText:
    """Read a page, or one section of it, as it is or as it was at a time or revision."""
    scope = scope_of(context, file, where)
    page = (
        context.pages.require(scope) if not as_of else Found(at(context.history, scope, as_of), 0)
    )
    if section is None and position is None:
        return PageText(file, page, scope.layer)
    text = sections.read_section(decoded(file, page.content), section, position=position)
    return PageText(file, page, scope.layer, section, text)


@operation("datamachine/get-agent-file", permission="read", categories=("memory",), read_only=True)
def read_page(context: Context, file: str, *, where: Where = HERE, as_of: str = "") -> PageText:
    """Read a whole page, as it is or as it was at a time or revision."""
    return read_memory(context, file, where=where, as_of=as_of)


@operation(
    "datamachine/list-agent-memory-sections",
    permission="read",
    categories=("memory",),
    read_only=True,
)
def list_sections(
    context: Context, file: str = MAIN, *, where: Where = HERE
) -> tuple[Section, ...]:
    """List the sections of a page, in order."""
    text = context.pages.text(scope_of(context, file, where))
    if text.count("\n## ") > MOST_SECTIONS:
        raise Invalid(
            f"{file} has more than {MOST_SECTIONS:,} headers, the most that are listed. Read the "
            "page, search in it, or split it into pages."
        )
    return sections.list_sections(text)


@operation(
    "datamachine/update-agent-memory", permission="write", categories=("memory",), versioned=True
)
def update_memory(  # noqa: PLR0913 - one for each word of a request
    context: Context,
    section: str | None,
    content: str,
    *,
    file: str = MAIN,
    mode: Literal["set", "append"],
    position: int | None = None,
    where: Where = HERE,
    if_match: str | None = None,
    allow_shrink: bool = False,
) -> Saved:
    """Set or append to one section of a page; no other byte changes."""
    if mode not in ("set", "append"):
        raise Invalid(f"mode is set or append, not {mode!r}.")
    acting = context.during("append") if mode == "append" else context
    scope = scope_of(acting, file, where)
    change = context.change(
        mode, if_match=if_match, allow_shrink=allow_shrink, reason=_agent_mark(context, scope)
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
    versioned=True,
)
def delete_section(
    context: Context,
    section: str | None,
    *,
    file: str = MAIN,
    position: int | None = None,
    where: Where = HERE,
    if_match: str | None = None,
) -> Saved:
    """Remove one section of a page; its text stays in the history."""
    scope = scope_of(context, file, where)
    change = context.change("delete section", if_match=if_match)
    return context.pages.delete_section(scope, section, change=change, position=position)


@operation(
    "datamachine/write-agent-file",
    permission="write",
    categories=("memory",),
    destructive=True,
    idempotent=True,
    versioned=True,
)
def write_page(
    context: Context,
    file: str,
    content: str | bytes,
    *,
    where: Where = HERE,
    if_match: str | None = None,
    allow_shrink: bool = False,
) -> Saved:
    """Replace or create a whole page; with if_match, only that version."""
    scope = scope_of(context, file, where)
    change = context.change("write", if_match=if_match, allow_shrink=allow_shrink)
    return settled(file, context.pages.write(scope, content, change=change))


@operation(
    "datamachine/upload-agent-file",
    permission="write",
    categories=("memory",),
    destructive=True,
    idempotent=True,
    versioned=True,
)
def upload_page(
    context: Context,
    file: str,
    data: str,
    *,
    where: Where = HERE,
    if_match: str | None = None,
    allow_shrink: bool = False,
) -> Saved:
    """Replace or create a whole page by a file's bytes, given in base64."""
    from base64 import b64decode

    try:
        content = b64decode(data, validate=True)
    except ValueError as error:
        raise Invalid(f"The data of {file} is not base64 ({error}).") from error
    return write_page(
        context, file, content, where=where, if_match=if_match, allow_shrink=allow_shrink
    )


@operation(
    "datamachine/append-agent-file", permission="append", categories=("memory",), versioned=True
)
def append_page(context: Context, file: str, content: str, *, where: Where = HERE) -> Saved:
    """Add lines to the end of a page, creating it if need be."""
    scope = scope_of(context, file, where)
    return context.pages.append(
        scope, content, change=context.change("append", reason=_agent_mark(context, scope))
    )


def _agent_mark(context: Context, scope: Scope) -> str:
    """Give the reason that marks in the history what an agent has added to a user's page."""
    agent_id = context.principal.agent_id
    slug = context.agents.resolve(agent_id).slug if agent_id and scope.layer == "user" else ""
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
    versioned=True,
)
def clear_page(
    context: Context, file: str, *, where: Where = HERE, if_match: str | None = None
) -> Saved:
    """Empty a page, core pages too; its text stays in the history."""
    scope = scope_of(context, file, where)
    change = context.change("clear", if_match=if_match)
    return settled(file, context.pages.clear(scope, change=change))


@operation(
    "datamachine/delete-agent-file",
    permission="write",
    categories=("memory",),
    destructive=True,
    versioned=True,
)
def delete_page(
    context: Context, file: str, *, where: Where = HERE, if_match: str | None = None
) -> Deleted:
    """Delete a page that is not a core page; its text stays in the history."""
    scope = scope_of(context, file, where)
    change = context.change("delete", if_match=if_match)
    return settled(file, context.pages.delete(scope, change=change))
