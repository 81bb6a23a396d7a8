"""Upkeep: runs of every agent, lint, prompts of system tasks, and retention."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.features.upkeep.lint import LINT_RULES
from looseleaf.features.upkeep.retention import PREFIX
from looseleaf.plugins.admin_pages import Document, Redirect

if TYPE_CHECKING:
    from looseleaf.features.upkeep.operations import (
        LintFinding,
        LintFix,
        RetentionInfo,
        RetentionReport,
        UpkeepRun,
    )
    from looseleaf.features.workflows.operations.system_tasks import RunInfo, TaskInfo
    from looseleaf.features.workflows.system_tasks import PromptInfo
    from looseleaf.plugins.admin_pages import Visit


TASK = "daily_memory_generation"
ADDRESS = "/admin/upkeep"
SWITCH = "daily_memory_enabled"
MOST_RUNS, MOST_FETCHED = 30, 200  # in one list; of an agent
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
    if any(run.job_id for run in runs):
        return Redirect("/admin/jobs", f"Started for {len(runs)} agents, each as a job.")
    return Redirect(ADDRESS, f"Ran for {len(runs)} agents: {_count_statuses(runs)}.")


def _count_statuses(runs: list[RunInfo]) -> str:
    statuses = [run.status for run in runs]
    return ", ".join(f"{statuses.count(name)} {name}" for name in dict.fromkeys(statuses)) or "none"


def show_runs(visit: Visit) -> Document | Redirect:
    """Show the runs of one agent, and one of them with its ledger and its change."""
    agent = visit.parameters["agent"]
    runs: list[RunInfo] = visit.run(
        "looseleaf/list-task-runs", task_type=TASK, agent=agent, limit=MOST_FETCHED
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
        "runs": visit.cut(runs, MOST_RUNS, name="runs"),
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
        kept = " What was changed in it since stays." if undo.merged else ""
        return Redirect(address, f"{undo.lines} lines are back in {undo.file}.{kept}")
    [run] = visit.run("datamachine/run-task", task_type=TASK, agent=agent)
    if run.job_id:
        return Redirect(f"/admin/jobs/{run.job_id}", f"Upkeep of {agent} runs as this job.")
    return Redirect(address, f"{WORDS.get(run.status, run.status)}: {run.reason}.")


def split_diff_lines(diff: str) -> list[tuple[str, str]]:
    """Return the lines of a unified diff with their kinds: added, removed, same or gap."""
    kinds = {"+": "added", "-": "removed", " ": "same", "@": "gap"}
    lines = diff.split("\n")[2:] if diff.startswith("---") else diff.split("\n")
    return [(kinds.get(line[:1], "same"), line[1:]) for line in lines if line]


# Lint: problems in an agent's pages, each with its edit and a button that applies it.


MOST_SHOWN = 100


def show_findings(visit: Visit) -> Document | Redirect:
    """List what lint finds in the pages of an agent."""
    agent = visit.parameters["agent"]
    findings: list[LintFinding] = visit.run("looseleaf/lint-memory", agent=agent)
    data = {
        "agent": agent,
        "findings": visit.cut(
            [(finding, split_diff_lines(finding.diff)) for finding in findings],
            MOST_SHOWN,
            name="findings",
        ),
        "count": len(findings),
        "fixable": sum(finding.fixable for finding in findings),
        "rules": LINT_RULES,
    }
    return Document("upkeep/lint.html", f"Problems in the pages of {agent}", data)


def apply_fix(visit: Visit) -> Document | Redirect:
    """Apply the edit of one finding."""
    agent = visit.parameters["agent"]
    fixes: list[LintFix] = visit.run(
        "looseleaf/fix-memory", agent=agent, findings=[visit.form.get("finding", "")]
    )
    address = f"/admin/agents/{quote(agent)}/lint"
    if not fixes:
        return Redirect(address, "Nothing to mend: the page has changed since.")
    targets = ", ".join(dict.fromkeys(target for fix in fixes for target in fix.moved_to))
    notice = f" Lines that left the page are in {targets}." if targets else ""
    return Redirect(address, f"{fixes[0].file} is mended.{notice}")


# The prompts of system tasks: the present text, its placeholders, an editor and a reset.


PROMPTS_ADDRESS = "/admin/upkeep/prompts"


def show_prompts(visit: Visit) -> Document | Redirect:
    """Show every prompt in an editor; a text that was refused stays in its field."""
    prompts: list[PromptInfo] = visit.run("looseleaf/list-task-prompts")
    return Document("upkeep/prompts.html", "Prompts of system tasks", {"prompts": prompts})


def change_prompt(visit: Visit) -> Document | Redirect:
    """Replace a prompt, or go back to the built-in text."""
    place = {
        "task_type": visit.form.get("task_type", ""),
        "prompt_key": visit.form.get("prompt_key", ""),
    }
    if visit.form.get("action") == "reset":
        visit.run("looseleaf/reset-task-prompt", **place)
        return Redirect(PROMPTS_ADDRESS, "The built-in prompt is used again.")
    text = visit.form.get("prompt", "").replace("\r\n", "\n")
    prompts: list[PromptInfo] = visit.run("looseleaf/list-task-prompts")
    present = [
        prompt.effective
        for prompt in prompts
        if (prompt.task_type, prompt.prompt_key) == tuple(place.values())
    ]
    if present == [text]:  # a built-in text that nobody changed goes on to follow updates
        return Redirect(PROMPTS_ADDRESS, "The prompt has this text already; nothing was changed.")
    visit.run("looseleaf/set-task-prompt", prompt=text, **place)
    return Redirect(PROMPTS_ADDRESS, "The prompt is replaced.")


# Retention: how long data is kept, a dry run with counts, and the last reports.


RETENTION_ADDRESS = "/admin/retention"
MOST_REPORTS = 20


def show_retention(visit: Visit) -> Document | Redirect:
    """Show how long each kind of data is kept; with a preview, the data that would be removed."""
    rules: list[RetentionInfo] = visit.run("looseleaf/show-retention")
    reports: list[RetentionReport] = []
    if visit.query.get("preview"):
        reports = visit.run("looseleaf/preview-retention")
    past_runs = [(run, rule) for rule in rules for run in rule.runs]
    past_runs.sort(key=lambda pair: pair[0].end, reverse=True)
    data = {
        "rules": rules,
        "reports": {report.task_type: report for report in reports},
        "is_preview": bool(reports),
        "total": sum(sum(report.counts.values()) for report in reports),
        "past_runs": visit.cut(past_runs, MOST_REPORTS, name="reports"),
        "prefix": PREFIX,
    }
    return Document("upkeep/retention.html", "Retention", data)


def remove_data(visit: Visit) -> Document | Redirect:
    """Remove data that is past its retention: one kind of data, or all."""
    kind = visit.form.get("kind", "")
    visit.run("looseleaf/show-retention")  # who may not do it is refused, not asked
    consequence = (
        "Removed is what the preview shows, and what has become due since. It does not return."
    )
    visit.ask("Remove this data for good?", consequence, button="Remove it")
    reports: list[RetentionReport] = visit.run("looseleaf/run-retention", kind=kind)
    failures = [report for report in reports if report.is_failure]
    if failures:
        reasons = "; ".join(f"{report.label}: {report.report}" for report in failures)
        return Redirect(RETENTION_ADDRESS, f"Not everything was removed. {reasons}")
    counts = [report.report for report in reports if any(report.counts.values())]
    return Redirect(RETENTION_ADDRESS, f"Removed: {', '.join(counts) or 'nothing'}.")
