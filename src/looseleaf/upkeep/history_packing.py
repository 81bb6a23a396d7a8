"""The task that packs histories: old versions of every page go into one compressed file each."""

from __future__ import annotations

from looseleaf.upkeep.retention.versions import pack_histories
from looseleaf.upkeep.system_tasks.task import SystemTask, TaskResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.upkeep.system_tasks.task import TaskRun

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
