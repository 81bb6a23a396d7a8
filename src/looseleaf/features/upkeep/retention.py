"""Retention: removing data that is past it, the tasks that do so, and packing histories."""

from __future__ import annotations

from functools import partial

from looseleaf.access.audit import Event
from looseleaf.features.chat.session import prune_sessions
from looseleaf.features.workflows.jobs.folders import OldFileTimes
from looseleaf.features.workflows.jobs.job import FINAL
from looseleaf.features.workflows.jobs.queue import JobFilter
from looseleaf.features.workflows.operations.jobs import delete_jobs, forget_items, remove_files
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.features.workflows.system_tasks import (
    RETENTION_PREFIX,
    RunLog,
    SystemTask,
    TaskResult,
)
from looseleaf.memory.provenance import FROM_SYSTEM, TASK
from looseleaf.memory.store import Retention
from looseleaf.operations.history import drop_versions, pack_histories
from looseleaf.times import DAY_SECONDS
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.catalog.services import WorkspaceServices
    from looseleaf.features.workflows.system_tasks import TaskRun
    from looseleaf.settings import Settings

    Remove = Callable[..., dict[str, int]]


# Removing data that is past its retention, one function for each kind; a dry run only counts.
# No function here touches a page: neither an agent's files nor the journal are ever removed.


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
    """Remove old packets of jobs, artifacts, and uploaded files of flows that a job has read."""
    now = parts.clock()
    before = now - settings.file_retention_days * DAY_SECONDS
    artifacts_before = now - settings.job_retention_days * DAY_SECONDS
    reads = jobs_of(parts).jobs.list_last_reads() if parts.has_accounts() else {}
    times = OldFileTimes(before, before, artifacts_before, reads)
    counts = remove_files(parts, times, dry_run=dry_run)
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


PREFIX = RETENTION_PREFIX
RUN = "looseleaf/run-retention"  # the operation that runs every task which is on
WHEN = "30 3 * * *"  # when few people are at work, and the nightly compactions are done
_PARAMS = FrozenDict({"dry_run": "whether the run only counts"})
# The nouns for the counts, singular and plural.
NOUNS = {
    "sessions": ("conversation", "conversations"),
    "empty_sessions": ("empty conversation", "empty conversations"),
    "jobs": ("job", "jobs"),
    "flow_files": ("uploaded file", "uploaded files"),
    "job_folders": ("folder of a job", "folders of jobs"),
    "artifact_folders": ("folder of artifacts", "folders of artifacts"),
    "items": ("item of a source", "items of sources"),
    "runs": ("record of a run", "records of runs"),
    "entries": ("entry of the audit", "entries of the audit"),
    "versions": ("prior version", "prior versions"),
}


@value
class RetentionRule:
    """One kind of data, and how long it is kept.

    Fields:
        task_type: The system task that removes it.
        label: The name for people.
        description: What goes and when, in one sentence.
        settings: The names of the settings that say how long it is kept.
        remove: Removes the data, or counts it in a dry run; gives the counts by kind.
    """

    task_type: str
    label: str
    description: str
    settings: tuple[str, ...]
    remove: Remove


RULES = (
    RetentionRule(
        f"{PREFIX}chat_sessions",
        "Conversations",
        "Deletes conversations in which nothing was said for a while, and empty ones.",
        ("chat_retention_days", "chat_empty_hours"),
        prune_sessions,
    ),
    RetentionRule(
        f"{PREFIX}jobs",
        "Jobs",
        "Deletes jobs that ended a while ago, with their folders and artifacts.",
        ("job_retention_days",),
        prune_jobs,
    ),
    RetentionRule(
        f"{PREFIX}files",
        "Files of workflows",
        "Removes old packets of jobs and uploaded files of flows; artifacts with their job.",
        ("file_retention_days", "job_retention_days"),
        prune_files,
    ),
    RetentionRule(
        f"{PREFIX}processed_items",
        "Items of sources",
        "Forgets items that flows have taken, once no source offers them any more.",
        ("processed_item_retention_days",),
        prune_items,
    ),
    RetentionRule(
        f"{PREFIX}task_runs",
        "Runs of system tasks",
        "Removes records of runs; the newest old one of each task stays.",
        ("task_run_retention_days",),
        prune_runs,
    ),
    RetentionRule(
        f"{PREFIX}audit",
        "Audit",
        "Removes the oldest entries of the audit; the chain of the others can still be verified.",
        ("audit_retention_days",),
        prune_audit,
    ),
    RetentionRule(
        f"{PREFIX}revisions",
        "Prior versions of pages",
        "Drops prior versions that were replaced long ago, or that are too many.",
        ("retention_days", "retention_versions"),
        prune_revisions,
    ),
)


def apply_rule(
    rule: RetentionRule, parts: WorkspaceServices, settings: Settings, *, dry_run: bool
) -> TaskResult:
    """Remove the data that is past its retention, or count it; the result has the counts."""
    counts = rule.remove(parts, settings, dry_run=dry_run)
    total = sum(counts.values())
    status = "nothing" if not total else "counted" if dry_run else "removed"
    return TaskResult(
        status, describe_counts(counts), details={"counts": counts, "dry_run": dry_run}
    )


def describe_counts(counts: dict[str, int]) -> str:
    """Describe the counts in words."""
    parts = [f"{count:,} {NOUNS[kind][count != 1]}" for kind, count in counts.items() if count]
    return ", ".join(parts) or "nothing is past its retention"


def _run_rule(rule: RetentionRule, run: TaskRun) -> TaskResult:
    dry_run = _parse_flag(run.params.get("dry_run", False))
    return apply_rule(rule, run.parts, run.settings, dry_run=dry_run)


def _parse_flag(flag: Any) -> bool:  # noqa: ANN401 - a parameter as it was typed
    """Parse a flag; every word but a no means yes, since a dry run does no harm."""
    return str(flag).strip().lower() not in ("", "false", "no", "off", "0")


def build_tasks() -> tuple[SystemTask, ...]:
    """Return a system task for each rule."""
    return tuple(
        SystemTask(
            type=rule.task_type,
            label=f"Retention: {rule.label}",
            description=rule.description,
            run=partial(_run_rule, rule),
            trigger="Daily at 03:30 UTC",
            supports_run=True,
            per_agent=False,
            params=_PARAMS,
            permission="operate",
        )
        for rule in RULES
    )


# The task that packs histories: old versions of every page go into one compressed file each.


TASK_TYPE = "history_packing"
SETTING = "history_packing_enabled"


def run_history_packing(run: TaskRun) -> TaskResult:
    """Pack the histories of the workspace."""
    if not run.settings.history_packing_enabled:
        return TaskResult("skipped", f"{SETTING} is off")
    report = pack_histories(run.parts.history, is_cancelled=run.is_cancelled)
    details = {
        "pages": report.pages,
        "versions": report.versions,
        "file_bytes": report.file_bytes,
        "pack_bytes": report.pack_bytes,
        "problems": list(report.problems),
    }
    if report.problem_count:
        reason = f"{report.problem_count} pages could not be packed; first {report.problems[0]}"
        return TaskResult("failed", reason, True, True, details)
    if not report.versions:
        return TaskResult("unchanged", "no page has enough settled versions", details=details)
    reason = (
        f"{report.versions} versions of {report.pages} pages: {report.file_bytes} bytes of files "
        f"became {report.pack_bytes} bytes of packs"
    )
    return TaskResult("packed", reason, details=details)


HISTORY_PACKING = SystemTask(
    type=TASK_TYPE,
    label="History packing",
    description="Puts the settled prior versions of each page into one compressed file.",
    run=run_history_packing,
    setting=SETTING,
    trigger="Daily at 03:40 UTC",
    supports_run=True,
    per_agent=False,
)
