"""`looseleaf upkeep | retention | system` and `looseleaf memory lint`: keeping memory in order."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.json_values import to_json_value
from looseleaf.cli.arguments import CHANGE, SharedOptions, confirm, take_stdin, with_shared_options
from looseleaf.cli.command_line import Group, command
from looseleaf.cli.derived_commands import Derivation, ResultTable
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.output import FAILED, say, show
from looseleaf.errors import Invalid, Unavailable
from looseleaf.features.upkeep.lint import LINT_RULES
from looseleaf.features.workflows.system_tasks import DAILY_MEMORY_TYPE, RETENTION_PREFIX
from looseleaf.values import as_dict, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.features.upkeep.operations import (
        RetentionReport,
        UpkeepPreview,
        UpkeepRun,
        UpkeepUndo,
    )
    from looseleaf.features.workflows.operations.system_tasks import RunInfo, SystemStatus

_system_tasks = Derivation("system", "looseleaf.features.workflows.operations.system_tasks")
_task_prompts = Derivation("system", "looseleaf.features.workflows.operations.system_tasks")
_upkeep = Derivation("upkeep", "looseleaf.features.upkeep.operations")
_upkeep_tasks = Derivation("upkeep", "looseleaf.features.workflows.operations.system_tasks")
_retention = Derivation("retention", "looseleaf.features.upkeep.operations")


@_system_tasks.shown("status", "show_system_status", "")
def show_status(status: SystemStatus) -> None:
    """Show the condition of the system tasks.

    A task needs attention if it is overdue, or ended badly three times in a row.
    """
    say(f"{status.tasks} system tasks, {status.enabled} of them on.")
    for name in status.needs_attention:
        say(f"Needs attention: {name}")


list_tasks = _system_tasks.derive(
    "tasks",
    "list_tasks",
    "",
    "--format json",
    key="tasks",
    show=ResultTable(
        "task=task_type agent is runs=trigger last_run ended=last_status attention",
        cells={
            "is": lambda info: "on" if info.enabled else "off",
            "last_run": lambda info: info.last_run_at or "never",
            "attention": lambda info: "attention" if info.needs_attention else "",
        },
        shrink="RUNS",
    ),
)


def print_runs(runs: Sequence[RunInfo]) -> None:
    """Print the runs that a command has just made."""
    if not runs:
        raise Unavailable("The task", "there is no agent to run it for")
    _RUNS(runs)


def _has_failures(runs: Sequence[RunInfo | RetentionReport]) -> bool:
    return any(run.is_failure for run in runs)


def _await_runs(context: Context, runs: Sequence[RunInfo]) -> list[RunInfo]:
    """Wait for the jobs that a worker has for these runs, and return how they ended."""
    return [_await_run(context, run) if run.job_id else run for run in runs]


def _await_run(context: Context, run: RunInfo) -> RunInfo:
    from looseleaf.features.workflows.job_commands import FAILURES, await_job
    from looseleaf.features.workflows.operations.system_tasks import list_runs
    from looseleaf.features.workflows.system_tasks import MOST_RUNS

    job = await_job(context, run.job_id)
    found = list_runs(context, task_type=run.task_type, agent=run.agent or None, limit=MOST_RUNS)
    for record in found:
        if record.id == run.id:
            return replace(record, job_id=run.job_id)
    # The job ended before the task did.
    return replace(run, status=job.status, reason=job.reason, is_failure=job.status in FAILURES)


def _take_params(arguments: dict[str, Any], given: dict[str, Any]) -> None:
    arguments["task_params"] = parse_params(given["pairs"], given["document"])


_RUNS = ResultTable(
    "run=id ended=end task=task_type agent status why=reason",
    shrink="WHY",
    empty="No task has run yet. Run one: looseleaf system run TASK",
)
run_task = _system_tasks.derive(
    "run",
    "run_now",
    "daily_memory_generation --agent ada",
    "daily_memory_generation --param date=2026-04-17",
    help="""Run a system task now, for one agent or for all.

    Without --agent the task runs for all active agents. Exits with 1 if a run failed.
    """,
    parameters={
        "task_type": "TASK",
        "task_params": None,
        "pairs": click.Option(
            ["--param", "pairs"], multiple=True, metavar="NAME=VALUE", help="A parameter."
        ),
        "document": click.Option(
            ["--params", "document"], metavar="JSON", help="Parameters as JSON."
        ),
    },
    prepare=_take_params,
    finish=_await_runs,
    key="runs",
    failed=_has_failures,
    show=print_runs,
)
list_runs = _system_tasks.derive(
    "runs",
    "list_runs",
    "",
    "--task daily_memory_generation",
    parameters={"task_type": "--task TYPE"},
    key="runs",
    show=_RUNS,
)


def parse_params(pairs: Sequence[str], document: str | None) -> dict[str, object]:
    """Parse parameters: JSON first, then `name=value` pairs with numbers and booleans."""
    try:
        params = json.loads(document) if document else {}
    except ValueError as error:
        raise Invalid(f"--params is not JSON ({error}).") from error
    if not isinstance(params, dict):
        raise Invalid('--params is a JSON object, as in {"date": "2026-04-17"}.')
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not name or not equals:
            raise Invalid(f"--param is NAME=VALUE, not {pair!r}.")
        params[name] = _parse_value(text)
    return params


def _parse_value(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else text


_PROMPT = {"task_type": "TASK", "prompt_key": "KEY"}
list_prompts = _task_prompts.derive(
    "prompts",
    "list_prompts",
    "",
    key="prompts",
    show=ResultTable(
        "task=task_type key=prompt_key text=effective_source what_it_is_for=description",
        shrink="WHAT IT IS FOR",
    ),
)
show_prompt = _task_prompts.derive(
    "prompt-get",
    "show_prompt",
    "daily_memory_generation daily_memory",
    parameters=_PROMPT,
    show=lambda prompt: show(prompt.effective.encode()),
)


def _read_prompt(arguments: dict[str, Any], _given: dict[str, Any]) -> None:
    if arguments["prompt"] == "-":
        take_stdin("prompt")
        arguments["prompt"] = sys.stdin.read()


set_prompt = _task_prompts.derive(
    "prompt-set",
    "set_prompt",
    "daily_memory_generation daily_memory < prompt.md",
    help="""Replace a prompt of a task.

    Without PROMPT, the text is read from standard input.
    A text without the placeholders and markers that the task needs is refused.
    """,
    parameters={**_PROMPT, "prompt": click.Argument(["prompt"], default="-")},
    prepare=_read_prompt,
    show="Replaced the prompt {prompt_key} of {task_type}.",
)
reset_prompt = _task_prompts.derive(
    "prompt-reset",
    "reset_prompt",
    "daily_memory_generation daily_memory",
    parameters=_PROMPT,
    show="The prompt {prompt_key} of {task_type} is the built-in one.",
)


@_upkeep.shown("preview", "preview", "--agent ada", shared=("agent", "format"))
def preview_upkeep(preview: UpkeepPreview) -> None:
    """Show what a run would do, and write nothing.

    The model is asked if the run would ask it.
    """
    say(f"{preview.agent}: {preview.status}: {preview.reason}")
    for refusal in preview.refusals:
        _print_refusal(as_dict(refusal))
    if preview.diff:
        say(f"MEMORY.md: {preview.original_size} bytes, {preview.new_size} afterwards.")
        show(f"{preview.diff}\n".encode())
        say(f"The journal of {preview.date} would get {preview.archived_size} bytes.")


def _print_refusal(refusal: Mapping[str, Any]) -> None:
    """Print one refused answer: the reason, then what it concerns; old records have only that."""
    say(f"Refused in turn {refusal['turn']} ({refusal['gate']}): {refusal['reason']}")
    for line in refusal.get("sample", "").splitlines():
        say(f"  {line}")


def _take_date(arguments: dict[str, Any], given: dict[str, Any]) -> None:
    arguments["task_type"] = DAILY_MEMORY_TYPE
    arguments["task_params"] = {"date": given["date"]} if given["date"] else {}


run_upkeep = _upkeep_tasks.derive(
    "run",
    "run_now",
    "",
    "--agent ada --date 2026-04-17",
    help="""Keep MEMORY.md within its budget, now.

    For one agent, or without --agent for all active agents. Exits with 1 if a run failed.
    """,
    parameters={
        "task_type": None,
        "task_params": None,
        "date": click.Option(["--date"], metavar="DAY", help="The day of the archive."),
    },
    prepare=_take_date,
    finish=_await_runs,
    key="runs",
    failed=_has_failures,
    show=print_runs,
)
_UPKEEP_RUNS = ResultTable(
    "run=id ended=end task=task_type agent status why=reason",
    shrink="WHY",
    empty="Nothing has run yet. Run it now: looseleaf upkeep run",
)
list_upkeep = _upkeep_tasks.derive(
    "log",
    "list_runs",
    "--agent ada",
    help="List the runs of an agent, newest first.\n\nWithout --agent, the runs of all agents.",
    parameters={"task_type": None},
    prepare=lambda arguments, _given: arguments.update(task_type=DAILY_MEMORY_TYPE),
    key="runs",
    show=_UPKEEP_RUNS,
)


@_upkeep.shown("show", "show_run", "--agent ada", shared=("agent", "format"))
def show_run(upkeep_run: UpkeepRun) -> None:
    """Show a run: its reason, and where each line went.

    Without an id, the last run.
    """
    run = upkeep_run.run
    say(f"{run.id} {run.agent}: {run.status}: {run.reason}")
    if upkeep_run.state:
        say(f"State: {upkeep_run.state}")
    for name in ("original_size", "new_size", "archived_size", "model", "turns"):
        if run.details.get(name):
            say(f"{name}: {run.details[name]}")
    for refusal in run.details.get("refusals", ()):
        _print_refusal(refusal)
    if upkeep_run.ledger:
        ResultTable("line lines section now_in=to", rows="ledger", shrink="SECTION")(upkeep_run)
        show(f"{upkeep_run.diff}\n".encode())


def _print_undo(undo: UpkeepUndo) -> None:
    kept = " What was changed in it since stays." if undo.merged else ""
    say(f"Undid {undo.run}: {undo.lines} lines are back in {undo.file}.{kept}")


undo_upkeep = _upkeep.derive(
    "undo",
    "undo",
    "--agent ada",
    shared=("agent", "format"),
    ask="Put the archived lines back into MEMORY.md?",
    show=_print_undo,
)


@command(
    "lint",
    "looseleaf memory lint",
    "looseleaf memory lint MEMORY.md --rule duplicate_line --fix",
)
@click.argument("file", default="")
@click.option(
    "--rule",
    type=click.Choice(tuple(LINT_RULES)),
    metavar="RULE",
    default=None,
    help="Only this rule.",
)
@click.option("--diff", "with_diff", is_flag=True, help="Show the proposed edit of each finding.")
@click.option("--fix", is_flag=True, help="Apply the proposed edits.")
@click.option(
    "--finding", "ids", multiple=True, metavar="ID", help="With --fix: only this finding."
)
@with_shared_options(*CHANGE)
def lint_memory(
    options: SharedOptions,
    file: str,
    rule: str | None,
    ids: tuple[str, ...],
    *,
    with_diff: bool,
    fix: bool,
) -> None:
    """Find problems in pages, and mend them.

    No model is asked. Exits with 1 if problems are left. With --fix the proposed edits are applied;
    text that leaves a page goes to the journal or to the page where it belongs.
    """
    from looseleaf.features.upkeep import operations

    context = options.open()
    fixes = []
    if fix:
        fixes = operations.fix_memory(
            context, file=file, rule=rule or "", findings=ids, where=options.where
        )
    findings = operations.lint_memory(context, file=file, rule=rule or "", where=options.where)
    if options.json:
        print_document({"fixes": to_json_value(fixes), "findings": to_json_value(findings)})
    else:
        for mend in fixes:
            targets = f", moved text to {', '.join(mend.moved_to)}" if mend.moved_to else ""
            count = len(mend.findings)
            noun = "finding" if count == 1 else "findings"
            say(f"Mended {mend.file}: {count} {noun}{targets}.")
        rows = [
            (finding.id, finding.rule, f"{finding.file}:{finding.line}", finding.message)
            for finding in findings
        ]
        if rows:
            print_table(("ID", "RULE", "WHERE", "WHAT"), rows, shrink="WHAT")
        else:
            say("Nothing to mend.")
        for finding in findings if with_diff else ():
            if finding.diff:
                show(f"{finding.id} {finding.advice}\n{finding.diff}\n".encode())
    if findings:
        raise click.exceptions.Exit(FAILED)


show_retention = _retention.derive(
    "show",
    "show_retention",
    "",
    key="retention",
    show=ResultTable(
        "kind kept_for task last_run removed",
        cells={
            "kind": lambda rule: rule.task_type.removeprefix(RETENTION_PREFIX),
            "kept_for": lambda rule: ", ".join(
                f"{name} = {limit:g}" for name, limit in rule.settings.items()
            ),
            "task": lambda rule: "on" if rule.enabled else "off",
            "last_run": lambda rule: rule.runs[0].end if rule.runs else "never",
            "removed": lambda rule: rule.runs[0].report if rule.runs else "-",
        },
        shrink="REMOVED",
    ),
)
preview_retention = _retention.derive(
    "preview",
    "preview_retention",
    "",
    "chat_sessions",
    parameters={"kind": "KIND"},
    key="reports",
    show=lambda reports: _print_reports(reports, "Would remove"),
)


@command("run", "looseleaf retention run --dry-run", "looseleaf retention run chat_sessions --yes")
@click.argument("kind", default="", metavar="[KIND]")
@click.option("--dry-run", is_flag=True, help="Only count, as preview does.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options("format")
def run_retention(options: SharedOptions, kind: str, *, dry_run: bool, yes: bool) -> None:
    """Remove the data that is past its retention.

    Pages and the journal are never removed. Exits with 1 if a task failed.
    """
    from looseleaf.features.upkeep import operations

    context = options.open()
    if not dry_run:
        confirm(f"Remove {kind or 'all data'} that is past its retention?", yes=yes)
    remove = operations.preview_retention if dry_run else operations.run_retention
    reports = remove(context, kind=kind)
    if options.json:
        print_document({"reports": to_json_value(reports)})
    else:
        _print_reports(reports, "Would remove" if dry_run else "Removed")
    if _has_failures(reports):
        raise click.exceptions.Exit(FAILED)


def _print_reports(reports: list[RetentionReport], verb: str) -> None:
    _REPORTS(reports)
    total = sum(count for report in reports for count in report.counts.values())
    say(f"{verb} {total:,} in all.")


_REPORTS = ResultTable(
    "kind status what=report",
    cells={"kind": lambda report: report.task_type.removeprefix(RETENTION_PREFIX)},
    shrink="WHAT",
)
system_group = Group(
    "system",
    "The system tasks, which run by themselves, and their prompts.",
    *(show_status, list_tasks, run_task, list_runs),
    *(list_prompts, show_prompt, set_prompt, reset_prompt),
)
upkeep_group = Group(
    "upkeep",
    "Keep MEMORY.md within its budget, without losing a line.",
    *(preview_upkeep, run_upkeep, list_upkeep, show_run, undo_upkeep),
)
retention_group = Group(
    "retention",
    "How long data is kept; removing older data.",
    *(show_retention, preview_retention, run_retention),
)
