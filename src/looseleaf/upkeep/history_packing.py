"""The task that packs histories: old versions of every page go into one compressed file each."""

from __future__ import annotations

from looseleaf.errors import LooseleafError
from looseleaf.upkeep.system_tasks.task import SystemTask, TaskResult
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.memory.history import History
    from looseleaf.upkeep.system_tasks.task import TaskRun

    Progress = Callable[[str, int, int], None]

TASK_TYPE = "history_packing"
SETTING = "history_packing_enabled"
_MOST_PROBLEMS = 20


@value
class PackReport:
    """The result of packing the histories of a workspace.

    Fields:
        pages: The number of pages with versions that went into a pack, or would.
        versions: The number of these versions.
        file_bytes: The bytes of their files.
        pack_bytes: The bytes that the packs grew by, or would grow by.
        problems: The pages that could not be packed, at most 20, each with the reason.
        problem_count: The number of pages that could not be packed.
        dry_run: Whether nothing was written.
    """

    pages: int
    versions: int
    file_bytes: int
    pack_bytes: int
    problems: tuple[str, ...] = ()
    problem_count: int = 0
    dry_run: bool = False


def pack_histories(
    history: History,
    *,
    dry_run: bool = False,
    show_progress: Progress = lambda _activity, _count, _total: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> PackReport:
    """Pack the history of every page, of deleted pages and agents too.

    A page that cannot be packed is reported, and the others are packed all the same.
    """
    scopes = [shelf.page(name) for shelf in history.shelves() for name in history.pages(shelf)]
    results, problems = [], []
    for number, scope in enumerate(scopes, 1):
        if is_cancelled():
            break
        show_progress("Packing histories", number, len(scopes))
        try:
            result = history.pack(scope, dry_run=dry_run)
        except LooseleafError as error:
            problems.append(f"{scope.key}: {error}")
            continue
        results += [result] if result.versions else []
    return PackReport(
        len(results),
        sum(result.versions for result in results),
        sum(result.file_bytes for result in results),
        sum(result.pack_bytes for result in results),
        tuple(problems[:_MOST_PROBLEMS]),
        len(problems),
        dry_run,
    )


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
    TASK_TYPE,
    "History packing",
    "Puts the settled prior versions of each page into one compressed file.",
    run_history_packing,
    setting=SETTING,
    trigger="Daily at 03:40 UTC",
    supports_run=True,
    per_agent=False,
)
