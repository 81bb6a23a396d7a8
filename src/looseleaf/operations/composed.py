"""Composing generated pages, and projecting them to where other tools look."""

from __future__ import annotations

import os
import shlex
import stat
import time

from looseleaf import atomic
from looseleaf.errors import AgentAmbiguous, AgentMissing, Invalid, NotFound, Unavailable
from looseleaf.folders import READ, Reporting, open_folder, read_all
from looseleaf.memory.composed import ComposeContext, Listed
from looseleaf.memory.pages import decoded
from looseleaf.memory.policy import decide, memory_policy
from looseleaf.memory.projection import managed_block, project
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Found
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import HERE, Where, agent_meant, scope_of, settled
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from looseleaf.agents.record import AgentRecord
    from looseleaf.memory.registry import RegisteredFile
    from looseleaf.memory.scope import Layer, Scope
    from looseleaf.operations.context import Context


FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ATTEMPTS = 20


@value
class Composed:
    """A page that was made anew: whether it changed, and where its copy went."""

    file: str
    bytes: int
    changed: bool
    projected: str = ""


@operation(
    "looseleaf/compose-files", permission="identity", categories=("composed",), idempotent=True
)
def compose(context: Context, file: str = "", *, where: Where = HERE) -> list[Composed]:
    """Make the generated pages anew, or one of them, and put their copies where they belong."""
    context.allow()  # a copy may go to a project that all agents share
    composable = [one for one in context.pages.registry.files() if one.composable]
    chosen = [one for one in composable if one.filename == file] if file else composable
    if not chosen:
        there = ", ".join(one.filename for one in composable) or "none"
        raise NotFound(f"{file} is not a generated page. Generated pages: {there}.")
    return [_compose(context, one, where) for one in chosen]


def _compose(context: Context, file: RegisteredFile, where: Where) -> Composed:
    folder = _project_folder(context, file)
    text = composed_text(context, file, where)
    if not text:
        raise Invalid(f"{file.filename} has no section with anything to say; nothing was written.")
    scope = scope_of(context, file.filename, Where(where.agent, where.user, file.layer))
    written = context.pages.write(scope, text, change=context.change("compose"))
    saved = settled(file.filename, written)
    if file.convention_path:
        _project(folder, file.convention_path, text)
    target = os.path.join(folder, file.convention_path) if file.convention_path else ""
    return Composed(file.filename, saved.bytes, saved.changed, target)


def composed_text(context: Context, file: RegisteredFile, where: Where) -> str:
    """Make the text of a generated page as it should be now; "" where no section says anything."""
    made_from = _compose_context(context, where, _project_folder(context, file), file)
    return context.composed().generate(file.filename, made_from)


def follow_copy(context: Context, file: RegisteredFile, where: Where, before: str) -> None:
    """Bring the copy in a project up to date, if it is the copy of this page as it was."""
    if not file.convention_path:
        return
    folder = _project_folder(context, file)
    *folders, name = file.convention_path.split("/")
    with Reporting(file.convention_path):
        try:
            root = os.open(os.path.join(folder, *folders), FOLDER)
        except FileNotFoundError:
            return
        try:
            existing, _mode = _existing(root, name)
        finally:
            os.close(root)
    if existing is not None and managed_block(existing) == before:
        _project(folder, file.convention_path, composed_text(context, file, where))


def _project_folder(context: Context, file: RegisteredFile) -> str:
    folder = context.settings.project_folder if file.convention_path else "."
    return os.path.realpath(os.path.join(context.settings.root, folder))


def _compose_context(
    context: Context, where: Where, folder: str, file: RegisteredFile
) -> ComposeContext:
    agent = _agent(context, where, needed=bool(file.convention_path))

    def scope(filename: str) -> Scope | None:
        # A composed page is one more way into a prompt, so the agent's policy holds here too.
        if agent is None or not _allowed(agent, filename):
            return None
        return scope_of(context, filename, Where(agent=agent.id, user=where.user))

    def read(filename: str) -> str | None:
        found = scope(filename)
        page = context.pages.read(found) if found is not None else None
        return decoded(filename, page.content) if isinstance(page, Found) else None

    def path(filename: str) -> str | None:
        found = scope(filename)
        if found is None or not context.pages.exists(found):
            return None
        located = getattr(context.pages.store_for(found), "path", None)
        return os.path.relpath(located(found), folder) if located else None

    def pages(layer: Layer) -> Sequence[Listed]:
        described = context.pages.registry
        return [
            Listed(
                entry.filename, file.description if (file := described.get(entry.filename)) else ""
            )
            for entry in context.pages.list(Shelf(layer))
        ]

    settings = context.settings
    return ComposeContext(
        agent_slug=agent.slug if agent else "",
        agent_name=agent.name if agent else "",
        workspace_name=settings.name,
        workspace_url=settings.url,
        language=settings.language,
        timezone=settings.timezone,
        date=time.strftime("%Y-%m-%d", time.gmtime(context.clock())),
        command=_command(context, folder),
        workspaces=(Listed(settings.name or os.path.basename(settings.root), settings.url),),
        include="imports" if settings.agents_md_include == "imports" else "inline",
        agents=tuple(Listed(one.slug, one.name) for one in context.agents.records()),
        pages=pages,
        read=read,
        path=path,
    )


def _agent(context: Context, where: Where, *, needed: bool) -> AgentRecord | None:
    try:
        return agent_meant(context, where)
    except (AgentAmbiguous, AgentMissing):
        if needed or where.agent is not None:
            raise
        return None  # a page about the whole workspace is nobody's in particular


def _command(context: Context, folder: str) -> str:
    """Give the command as it must be typed where the composed file is read."""
    root = os.path.realpath(context.settings.root)
    if os.path.commonpath([root, folder]) == root:
        return "looseleaf"
    return f"looseleaf --root {shlex.quote(os.path.relpath(root, folder))}"


def _allowed(agent: AgentRecord, filename: str) -> bool:
    return decide(filename, policy=memory_policy(agent.config.get("memory_policy"))).allowed


def _project(folder: str, convention_path: str, text: str) -> None:
    *folders, name = convention_path.split("/")
    with Reporting(convention_path):
        root = os.open(folder, FOLDER)
        try:
            there = open_folder(root, folders, create=0o755)
        finally:
            os.close(root)
        try:
            for _ in range(_ATTEMPTS):
                existing, mode = _existing(there, name)
                projected = project(existing, text)
                if projected == existing or _replaced(there, name, projected, existing, mode):
                    return
        finally:
            os.close(there)
    raise Unavailable(convention_path, "another program keeps changing it; try again")


def _replaced(there: int, name: str, text: str, existing: str | None, mode: int) -> bool:
    """Replace a file that may be a human's own, unless it has changed since it was read."""

    def unchanged() -> bool:
        return _existing(there, name)[0] == existing

    return atomic.replace(there, name, text.encode(), mode=mode, provided=unchanged)


def _existing(folder: int, name: str) -> tuple[str | None, int]:
    try:
        fd = os.open(name, READ, dir_fd=folder)
    except FileNotFoundError:
        return None, 0o600
    try:
        return decoded(name, read_all(fd)), stat.S_IMODE(os.fstat(fd).st_mode)
    finally:
        os.close(fd)
