"""What bundles register in a workspace: operations and admin pages."""

from __future__ import annotations

from looseleaf.plugins.hooks import hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.registry import Operations
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.plugins.commands import Commands
    from looseleaf.plugins.endpoints import Endpoints


def recover(context: Context) -> None:
    """Undo an import that a killed process has left unfinished."""
    from looseleaf.features.bundles.workspace_target import recover_bundles

    recover_bundles(context)


@hookimpl
def register_operations(operations: Operations) -> None:
    """Register the operations of bundles."""
    from looseleaf.features.bundles import install_operations
    from looseleaf.features.bundles import operations as bundles

    operations.add_declared(bundles, install_operations)


@hookimpl
def register_endpoints(endpoints: Endpoints) -> None:
    """Register the endpoints of bundles; those with a body take and return archives."""
    from looseleaf.features.bundles.endpoints import export_bundle, receive_archive

    register = endpoints.register
    register("GET", "/agent-bundles", "looseleaf/list-bundles")
    register("GET", "/agent-bundles/{agent}", "looseleaf/show-bundle")
    register("POST", "/agent-bundles/preview", "looseleaf/preview-bundle")
    register("POST", "/agent-bundles/export", "looseleaf/export-bundle", handler=export_bundle)
    register("POST", "/agent-bundles/inspect", "looseleaf/inspect-bundle", handler=receive_archive)
    register("POST", "/agent-bundles/validate", "looseleaf/inspect-bundle", handler=receive_archive)
    register("POST", "/agent-bundles/plan", "looseleaf/plan-bundle", handler=receive_archive)
    register("POST", "/agent-bundles/install", "looseleaf/install-bundle", handler=receive_archive)
    register("POST", "/agent-bundles/upgrade", "looseleaf/upgrade-bundle", handler=receive_archive)
    register("POST", "/agent-bundles/rebase", "looseleaf/rebase-bundle", handler=receive_archive)
    register(
        "POST", "/agent-bundles/status", "looseleaf/show-bundle-status", handler=receive_archive
    )
    register("GET", "/agent-bundle-approvals", "looseleaf/list-pending-upgrades")
    register("GET", "/agent-bundle-approvals/{agent}", "looseleaf/show-pending-upgrade")
    register("POST", "/agent-bundle-approvals/{agent}/approve", "looseleaf/approve-upgrade")
    register("POST", "/agent-bundle-approvals/{agent}/reject", "looseleaf/reject-upgrade")


@hookimpl
def register_admin_pages(pages: AdminPages) -> None:
    """Register the pages that export, install and upgrade bundles."""
    from looseleaf.features.bundles import views
    from looseleaf.plugins.admin_pages import AGENT

    pages.register(
        "bundle", "agents/{agent}/bundle", views.preview_export, label="Export", section=AGENT,
        priority=75, needs="looseleaf/export-bundle",
    )  # fmt: skip
    pages.register(
        "bundle-download", "agents/{agent}/bundle/download", views.download_bundle, section=AGENT,
        parent="bundle",
    )  # fmt: skip
    pages.register(
        "bundles", "bundles", views.list_bundles, submit=views.change_bundles, label="Bundles",
        priority=72, takes_file=True, group="administration", needs="looseleaf/list-bundles",
    )  # fmt: skip
    pages.register(
        "bundle-approval", "bundles/{agent}", views.show_approval,
        submit=views.decide_approval, parent="bundles",
    )  # fmt: skip


@hookimpl
def register_commands(commands: Commands) -> None:
    """Register the commands of bundles."""
    commands.register(
        "bundles",
        "looseleaf.features.bundles.commands:bundles_group",
        "An agent as files: export, install, upgrade.",
        priority=25,
    )
