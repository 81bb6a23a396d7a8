"""Exports of pages for other programs: a plain folder, or a managed block in a project's file."""

from __future__ import annotations

import os

from looseleaf.bundles.importers.folder_export import KEPT, WRITTEN, write_files
from looseleaf.bundles.secret_scan import scan_files
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of
from looseleaf.errors.bundles import FolderRefused, InvalidExport, SecretsFound
from looseleaf.memory.composed import is_generated
from looseleaf.memory.scope import PAGE_SUFFIXES, Shelf
from looseleaf.operations.composed import sources_of
from looseleaf.upkeep.generated_text import build_context
from looseleaf.upkeep.project_copy import write_copy
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context

_BLOCK = "AGENTS.md"  # the generated page whose sections a block has
_USER_PAGE = "USER.md"
_ONLY_LOCAL = "an export writes to the disk of the server, so that its operator runs it there"


@value
class ExportedPage:
    """One page of an export.

    Fields:
        file: The name of the file in the folder.
        layer: The layer of the page.
        bytes: The size of the page.
        action: written, unchanged, or kept: another file of this name is there, and stays.
    """

    file: str
    layer: str
    bytes: int
    action: str


@value
class FolderExport:
    """The pages of an agent as files in a folder.

    Fields:
        agent: The agent.
        folder: The path of the folder.
        pages: The pages.
        written: The number of files that were written.
        kept: The number of files that were not, since others are there.
    """

    agent: str
    folder: str
    pages: tuple[ExportedPage, ...]
    written: int
    kept: int


@value
class BlockExport:
    """The memory of an agent as a managed block in a file.

    Fields:
        agent: The agent.
        path: The path of the file.
        bytes: The size of the text in the block.
    """

    agent: str
    path: str
    bytes: int


@operation("looseleaf/export-pages", permission="operate", categories=("export",))
def export_pages(
    context: Context,
    folder: str,
    *,
    agent: str | int | None = None,
    replace: bool = False,
    allow_secrets: bool = False,
) -> FolderExport:
    """Write the pages of an agent and its USER.md as plain files into a folder, one way.

    Arguments:
        folder: The path of the folder, on the machine of the workspace; it is made if missing.
        agent: The agent, by id or slug; without it, the default agent.
        replace: Whether files that are there with another text are replaced.
        allow_secrets: Whether pages that hold secrets are exported all the same.
    """
    context.allow()
    _require_outside(context, folder)
    record = agent_of(context, agent)
    files = _read_pages(context, record)
    contents = {name: content for name, (_, content) in files.items()}
    _refuse_secrets(contents, allow_secrets=allow_secrets)
    actions = write_files(folder, contents, replace=replace)
    pages = tuple(
        ExportedPage(name, layer, len(content), actions[name])
        for name, (layer, content) in files.items()
    )
    counts = [sum(page.action == action for page in pages) for action in (WRITTEN, KEPT)]
    return FolderExport(record.slug, os.path.abspath(folder), pages, *counts)


@operation("looseleaf/export-block", permission="operate", categories=("export",), idempotent=True)
def export_block(
    context: Context,
    path: str,
    *,
    agent: str | int | None = None,
    allow_secrets: bool = False,
) -> BlockExport:
    """Write an agent's memory into the managed block of a file such as CLAUDE.md or AGENTS.md.

    The text around the block stays, and a later export replaces the block alone.

    Arguments:
        path: The path of the file, on the machine of the workspace; it is made if missing.
        agent: The agent, by id or slug; without it, the default agent.
        allow_secrets: Whether pages that hold secrets are exported all the same.
    """
    context.allow()
    folder, name = os.path.split(os.path.abspath(path))
    _require_outside(context, folder)
    if not name.lower().endswith(PAGE_SUFFIXES) or not os.path.isdir(folder):
        raise InvalidExport(
            f"{path} cannot hold a block: name a text file, such as CLAUDE.md, in a folder that "
            "is there."
        )
    record = agent_of(context, agent)
    sources = sources_of(context)
    text = sources.sections().generate(_BLOCK, build_context(sources, record, folder))
    head, _, body = text.partition("\n\n")
    content = body if is_generated(head) else text
    _refuse_secrets({name: content.encode()}, allow_secrets=allow_secrets)
    write_copy(folder, name, content)
    return BlockExport(record.slug, os.path.join(folder, name), len(content.encode()))


def _require_outside(context: Context, folder: str) -> None:
    """Refuse a folder of the workspace itself, and every folder to all but the operator."""
    if not context.principal.is_local:
        raise FolderRefused(folder, _ONLY_LOCAL)
    workspace = os.path.realpath(context.settings.root)
    real_path = os.path.realpath(folder)
    if real_path == workspace or real_path.startswith(f"{workspace}/"):
        raise InvalidExport(f"{folder} is in the workspace. Name a folder outside it.")


def _read_pages(context: Context, record: AgentRecord) -> dict[str, tuple[str, bytes]]:
    """Read the pages of an agent, and the page about its owner; each with its layer."""
    scopes = [record.shelf.page(entry.filename) for entry in context.pages.list(record.shelf)]
    user_page = Shelf("user", record.owner).page(_USER_PAGE)
    has_own_page = any(scope.filename == _USER_PAGE for scope in scopes)
    if not has_own_page and context.pages.exists(user_page):
        scopes.append(user_page)
    pages: dict[str, tuple[str, bytes]] = {}
    for number, scope in enumerate(scopes, 1):
        context.parts.show_progress("Exporting", number, len(scopes))
        pages[scope.filename] = (scope.layer, context.pages.require(scope).content)
    return pages


def _refuse_secrets(files: dict[str, bytes], *, allow_secrets: bool) -> None:
    findings = [] if allow_secrets else scan_files(files.items())
    if findings:
        places = tuple(finding.place for finding in findings)
        raise SecretsFound(places, "export them all the same (--allow-secrets)")
