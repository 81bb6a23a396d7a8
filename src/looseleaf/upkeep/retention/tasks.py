"""The system tasks of retention: each removes one kind of data that is past its retention."""

from __future__ import annotations

from functools import partial

from looseleaf.chat.removal import prune_sessions
from looseleaf.upkeep.retention import removal
from looseleaf.upkeep.system_tasks.activity import RETENTION_PREFIX
from looseleaf.upkeep.system_tasks.task import SystemTask, TaskResult
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.catalog.parts import WorkspaceServices
    from looseleaf.settings import Settings
    from looseleaf.upkeep.system_tasks.task import TaskRun

    Remove = Callable[..., dict[str, int]]

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
        removal.prune_jobs,
    ),
    RetentionRule(
        f"{PREFIX}files",
        "Files of workflows",
        "Removes old packets of jobs and uploaded files of flows; artifacts with their job.",
        ("file_retention_days", "job_retention_days"),
        removal.prune_files,
    ),
    RetentionRule(
        f"{PREFIX}processed_items",
        "Items of sources",
        "Forgets items that flows have taken, once no source offers them any more.",
        ("processed_item_retention_days",),
        removal.prune_items,
    ),
    RetentionRule(
        f"{PREFIX}task_runs",
        "Runs of system tasks",
        "Removes records of runs; the newest old one of each task stays.",
        ("task_run_retention_days",),
        removal.prune_runs,
    ),
    RetentionRule(
        f"{PREFIX}audit",
        "Audit",
        "Removes the oldest entries of the audit; the chain of the others can still be verified.",
        ("audit_retention_days",),
        removal.prune_audit,
    ),
    RetentionRule(
        f"{PREFIX}revisions",
        "Prior versions of pages",
        "Drops prior versions that were replaced long ago, or that are too many.",
        ("retention_days", "retention_versions"),
        removal.prune_revisions,
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
