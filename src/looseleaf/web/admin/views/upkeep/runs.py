"""Upkeep: the last run of every agent, and one run line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.upkeep.retention.tasks import PREFIX

if TYPE_CHECKING:
    from looseleaf.operations.system_tasks import RunInfo, TaskInfo
    from looseleaf.operations.upkeep import UpkeepRun
    from looseleaf.plugins.admin_pages import Visit

TASK = "daily_memory_generation"
ADDRESS = "/admin/upkeep"
SWITCH = "daily_memory_enabled"
MOST_RUNS = 30
WORDS = {
    "": "Never ran",
    "skipped": "Nothing to do",
    "unchanged": "Kept every line",
    "compacted": "Moved lines to the journal",
    "overflow_split": "Split without a model",
    "rejected": "Refused every answer",
    "failed": "Failed",
}
GOOD = ("compacted", "overflow_split", "unchanged", "skipped")


def show_overview(visit: Visit) -> Document | Redirect:
    """Show the last run of every agent: lines kept, archived and refused, and the reason."""
    tasks: list[TaskInfo] = visit.run("looseleaf/list-system-tasks")
    runs: list[RunInfo] = visit.run("looseleaf/list-task-runs", task_type=TASK, limit=1)
    last = {run.agent: run for run in runs}
    rows = [(task, last.get(task.agent)) for task in tasks if task.task_type == TASK]
    data = {
        "rows": rows,
        "others": [task for task in tasks if _is_other(task)],
        "words": WORDS,
        "good": GOOD,
        "is_enabled": any(task.enabled for task, _run in rows),
        "attention": sum(task.needs_attention for task in tasks),
    }
    return Document("upkeep/overview.html", "Upkeep", data)


def _is_other(task: TaskInfo) -> bool:
    """Return whether a task is listed below; retention has a page of its own, unless it fails."""
    if task.task_type.startswith(PREFIX):
        return task.needs_attention
    return task.task_type != TASK


def change_upkeep(visit: Visit) -> Document | Redirect:
    """Switch upkeep on or off, or run it now for every agent."""
    action = visit.form.get("action")
    if action in ("on", "off"):
        visit.run("looseleaf/set-settings", settings={SWITCH: action == "on"})
        return Redirect(ADDRESS, f"Upkeep is {action} now.")
    runs: list[RunInfo] = visit.run("datamachine/run-task", task_type=TASK)
    return Redirect(ADDRESS, f"Ran for {len(runs)} agents: {_count_statuses(runs)}.")


def _count_statuses(runs: list[RunInfo]) -> str:
    statuses = [run.status for run in runs]
    return ", ".join(f"{statuses.count(name)} {name}" for name in dict.fromkeys(statuses)) or "none"


def show_runs(visit: Visit) -> Document | Redirect:
    """Show the runs of one agent, and one of them with its ledger and its change."""
    agent = visit.parameters["agent"]
    runs: list[RunInfo] = visit.run(
        "looseleaf/list-task-runs", task_type=TASK, agent=agent, limit=MOST_RUNS
    )
    selection: UpkeepRun | None = None
    if runs:
        name = visit.query.get("run") or runs[0].id
        selection = visit.run("looseleaf/show-upkeep-run", run=name, agent=agent)
    preview = None
    if visit.query.get("preview"):
        preview = visit.run("looseleaf/preview-upkeep", agent=agent)
    data = {
        "agent": agent,
        "runs": runs,
        "chosen": selection,
        "changes": split_diff_lines(selection.diff) if selection else [],
        "preview": preview,
        "preview_changes": split_diff_lines(preview.diff) if preview else [],
        "words": WORDS,
        "good": GOOD,
    }
    return Document("upkeep/runs.html", f"Upkeep of {agent}", data)


def change_runs(visit: Visit) -> Document | Redirect:
    """Run the task for one agent now, or undo a run."""
    agent = visit.parameters["agent"]
    address = f"/admin/agents/{quote(agent)}/upkeep"
    if visit.form.get("action") == "undo":
        undo = visit.run("looseleaf/undo-upkeep", run=visit.form.get("run", ""), agent=agent)
        return Redirect(address, f"{undo.lines} lines are back in {undo.file}.")
    [run] = visit.run("datamachine/run-task", task_type=TASK, agent=agent)
    return Redirect(address, f"{WORDS.get(run.status, run.status)}: {run.reason}.")


def split_diff_lines(diff: str) -> list[tuple[str, str]]:
    """Return the lines of a unified diff with their kinds: added, removed, same or gap."""
    kinds = {"+": "added", "-": "removed", " ": "same", "@": "gap"}
    lines = diff.split("\n")[2:] if diff.startswith("---") else diff.split("\n")
    return [(kinds.get(line[:1], "same"), line[1:]) for line in lines if line]
