"""Every built-in operation: importing this module adds all of them to the catalog."""

from __future__ import annotations

from looseleaf.catalog.operation import CATALOG
from looseleaf.operations import (
    agent_summary,
    agents,
    artifacts,
    audit,
    backups,
    bundle_installs,
    bundles,
    chat,
    composed,
    config_preview,
    daily,
    doctor,
    files,
    flows,
    history,
    imports,
    installed_bundles,
    jobs,
    lint,
    long_and_short_term,
    memory,
    page_commits,
    page_export,
    pipeline_transfer,
    pipelines,
    prompt,
    retention,
    schedules,
    search,
    session_ends,
    sessions,
    settings,
    status,
    system_tasks,
    task_prompts,
    tokens,
    transcripts,
    upkeep,
    users,
    workflow_files,
    workflow_memory,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.registry import Operations

MODULES = (
    agent_summary,
    agents,
    artifacts,
    audit,
    backups,
    bundle_installs,
    bundles,
    chat,
    composed,
    config_preview,
    daily,
    doctor,
    files,
    flows,
    history,
    imports,
    installed_bundles,
    jobs,
    lint,
    long_and_short_term,
    memory,
    page_commits,
    page_export,
    pipeline_transfer,
    pipelines,
    prompt,
    retention,
    schedules,
    search,
    session_ends,
    sessions,
    settings,
    status,
    system_tasks,
    task_prompts,
    tokens,
    transcripts,
    upkeep,
    users,
    workflow_files,
    workflow_memory,
)


def register_core_operations(operations: Operations) -> None:
    """Register every operation of the catalog in a workspace."""
    for operation in CATALOG.values():
        operations.add(operation)
