"""The parts of a workspace that an install of a bundle changes, and recovery after a kill."""

from __future__ import annotations

from looseleaf.bundles.installation.destination import InstallTarget
from looseleaf.bundles.installation.ledger import Ledgers
from looseleaf.bundles.installation.undo_log import is_open, recover_if_idle
from looseleaf.catalog.bundles.task_prompts import WorkspacePrompts
from looseleaf.catalog.new_ids import find_highest_agent_id
from looseleaf.workflows.parts import definitions_of, resources_of, step_types_of
from looseleaf.workflows.uploads.file_store import limits_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.memory.scope import Scope


def install_target_of(context: Context) -> InstallTarget:
    """Return the parts of the workspace that an install changes."""
    parts = context.parts

    def is_starter(scope: Scope) -> bool:
        latest = context.history.latest(scope)
        return latest is not None and latest.operation == "scaffold"

    return InstallTarget(
        agents=parts.agents,
        pages=context.pages,
        definitions=lambda: definitions_of(parts),
        has_definitions=parts.has_accounts,
        uploads=lambda: resources_of(parts).uploads,
        limits=limits_of(context.settings),
        prompts=WorkspacePrompts(context),
        sites=frozenset(site.name for site in context.settings.wordpress_sites),
        step_types=step_types_of(parts),
        ledgers=Ledgers(context.settings.root),
        change=context.import_change("import bundle"),
        is_starter=is_starter,
        clock=context.clock,
        highest_id=lambda: find_highest_agent_id(context),
        report=parts.report,
        show_progress=parts.show_progress,
    )


def recover_bundles(context: Context) -> None:
    """Undo an import that a killed process has left unfinished."""
    destination = install_target_of(context)
    if is_open(destination):
        recover_if_idle(destination)
