"""Removing data that is past its retention, one function for each kind; a dry run only counts.

No function here touches a page: neither an agent's files nor the journal are ever removed.
"""

from __future__ import annotations

from looseleaf.access.audit import Event
from looseleaf.memory.provenance import FROM_SYSTEM, TASK
from looseleaf.memory.store import Retention
from looseleaf.times import DAY_SECONDS
from looseleaf.upkeep.retention.versions import drop_versions
from looseleaf.upkeep.system_tasks.runs import RunLog
from looseleaf.workflows.artifacts.job_data import OldFileTimes
from looseleaf.workflows.job import FINAL
from looseleaf.workflows.job_list import JobFilter
from looseleaf.workflows.parts import jobs_of
from looseleaf.workflows.removal import delete_jobs, forget_items, remove_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.parts import WorkspaceServices
    from looseleaf.settings import Settings

MOST_JOBS = 10_000  # in one run; the next run deletes the rest
_BATCH = 100


def prune_jobs(parts: WorkspaceServices, settings: Settings, *, dry_run: bool) -> dict[str, int]:
    """Delete jobs that ended a while ago, with their folders and artifacts."""
    if not parts.has_accounts():
        return {"jobs": 0}
    jobs = jobs_of(parts).jobs
    before = parts.clock() - settings.job_retention_days * DAY_SECONDS
    old_jobs = JobFilter(statuses=FINAL, ended_until=before)
    if dry_run:
        return {"jobs": jobs.list(old_jobs, limit=1)[1]}
    count = 0
    while count < MOST_JOBS:
        page, _total = jobs.list(old_jobs, limit=_BATCH)
        deleted = delete_jobs(parts, page)
        if not deleted:
            break
        count += deleted
    return {"jobs": count}


def prune_files(parts: WorkspaceServices, settings: Settings, *, dry_run: bool) -> dict[str, int]:
    """Remove old packets of jobs, artifacts, and uploaded files of flows."""
    now = parts.clock()
    before = now - settings.file_retention_days * DAY_SECONDS
    artifacts_before = now - settings.job_retention_days * DAY_SECONDS
    counts = remove_files(parts, OldFileTimes(before, before, artifacts_before), dry_run=dry_run)
    return {
        "flow_files": counts.flow_files,
        "job_folders": counts.job_folders,
        "artifact_folders": counts.artifact_folders,
    }


def prune_items(parts: WorkspaceServices, settings: Settings, *, dry_run: bool) -> dict[str, int]:
    """Delete items of sources that were taken, and that no source offers any more."""
    before = parts.clock() - settings.processed_item_retention_days * DAY_SECONDS
    return {"items": forget_items(parts, before, dry_run=dry_run)}


def prune_runs(parts: WorkspaceServices, settings: Settings, *, dry_run: bool) -> dict[str, int]:
    """Remove records of runs of system tasks; the newest old one of each task stays."""
    before = parts.clock() - settings.task_run_retention_days * DAY_SECONDS
    return {"runs": RunLog(settings.root).prune(before, dry_run=dry_run)}


def prune_audit(parts: WorkspaceServices, settings: Settings, *, dry_run: bool) -> dict[str, int]:
    """Remove the oldest entries of the audit; the chain of the others stays verifiable."""
    if not parts.has_accounts():
        return {"entries": 0}
    before = parts.clock() - settings.audit_retention_days * DAY_SECONDS
    event = Event(
        action="",
        actor="looseleaf",
        kind="local",
        surface="upkeep",
        actor_kind=TASK,
        origin=FROM_SYSTEM,
    )
    return {"entries": parts.accounts().audit.prune(before, event, dry_run=dry_run)}


def prune_revisions(
    parts: WorkspaceServices, settings: Settings, *, dry_run: bool
) -> dict[str, int]:
    """Drop prior versions of pages as the settings say."""
    retention = Retention(settings.retention_days, settings.retention_versions)
    return {"versions": drop_versions(parts, settings, retention, dry_run=dry_run)}
