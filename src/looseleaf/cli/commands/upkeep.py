"""`looseleaf upkeep | retention | system` and `looseleaf memory lint`: keeping memory in order."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import CHANGE, SharedOptions, confirm, take_stdin, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import Group, command
from looseleaf.cli.output import FAILED, say, show
from looseleaf.errors import Invalid, Unavailable
from looseleaf.upkeep.lint.problem import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looseleaf.operations.retention import RetentionReport
    from looseleaf.operations.system_tasks import RunInfo


@command("status", "looseleaf system status")
@with_shared_options("format")
def show_status(options: SharedOptions) -> None:
    """Show the condition of the system tasks.

    A task needs attention if it is overdue, or ended badly three times in a row.
    """
    from looseleaf.operations import system_tasks as operations

    result = operations.show_system_status(options.open())
    if options.json:
        print_document(to_json_value(result))
        return
    say(f"{result.tasks} system tasks, {result.enabled} of them on.")
    for name in result.needs_attention:
        say(f"Needs attention: {name}")


@command("tasks", "looseleaf system tasks", "looseleaf system tasks --format json")
@with_shared_options("format")
def list_tasks(options: SharedOptions) -> None:
    """List the system tasks and the condition of each.

    One line for each agent that a task runs for.
    """
    from looseleaf.operations import system_tasks as operations

    infos = operations.list_tasks(options.open())
    if options.json:
        print_document({"tasks": to_json_value(infos)})
        return
    rows = [
        (
            info.task_type,
            info.agent or "-",
            "on" if info.enabled else "off",
            info.trigger,
            info.last_run_at or "never",
            info.last_status or "-",
            "attention" if info.needs_attention else "",
        )
        for info in infos
    ]
    print_table(("TASK", "AGENT", "IS", "RUNS", "LAST RUN", "ENDED", ""), rows, shrink="RUNS")


@command(
    "run",
    "looseleaf system run daily_memory_generation --agent ada",
    "looseleaf system run daily_memory_generation --param date=2026-04-17",
)
@click.argument("task")
@click.option("--param", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter.")
@click.option("--params", "document", default="", metavar="JSON", help="Parameters as JSON.")
@with_shared_options("agent", "format")
def run_task(options: SharedOptions, task: str, pairs: tuple[str, ...], document: str) -> None:
    """Run a system task now, for one agent or for all.

    Without --agent the task runs for all active agents. Exits with 1 if a run failed.
    """
    from looseleaf.operations import system_tasks as operations

    params = parse_params(pairs, document)
    runs = operations.run_now(options.open(), task, task_params=params, agent=options.agent)
    print_runs(options, runs)
    if any(record.is_failure for record in runs):
        raise click.exceptions.Exit(1)


@command("runs", "looseleaf system runs", "looseleaf system runs --task daily_memory_generation")
@click.option("--task", default="", metavar="TYPE", help="Only runs of this task.")
@click.option("--limit", type=int, default=20, metavar="N", help="At most so many runs; 20.")
@with_shared_options("agent", "format")
def list_runs(options: SharedOptions, task: str, limit: int) -> None:
    """List the newest runs of system tasks."""
    from looseleaf.operations import system_tasks as operations

    records = operations.list_runs(options.open(), task_type=task, agent=options.agent, limit=limit)
    print_runs(options, records)


def parse_params(pairs: Sequence[str], document: str) -> dict[str, object]:
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


def print_runs(options: SharedOptions, runs: Sequence[RunInfo]) -> None:
    """Print runs as a table or as JSON."""
    if options.json:
        print_document({"runs": to_json_value(list(runs))})
        return
    if not runs:
        raise Unavailable("The list of runs", "it is empty; looseleaf system run runs a task")
    rows = [
        (record.id, record.end, record.task_type, record.agent or "-", record.status, record.reason)
        for record in runs
    ]
    print_table(("RUN", "ENDED", "TASK", "AGENT", "STATUS", "WHY"), rows, shrink="WHY")


task_argument = click.argument("task")
key_argument = click.argument("key")


@command("prompts", "looseleaf system prompts")
@with_shared_options("format")
def list_prompts(options: SharedOptions) -> None:
    """List the prompts of system tasks.

    The list says which prompts were replaced.
    """
    from looseleaf.operations import task_prompts as operations

    infos = operations.list_prompts(options.open())
    if options.json:
        print_document({"prompts": to_json_value(infos)})
        return
    rows = [
        (info.task_type, info.prompt_key, info.effective_source, info.description) for info in infos
    ]
    print_table(("TASK", "KEY", "TEXT", "WHAT IT IS FOR"), rows, shrink="WHAT IT IS FOR")


@command("prompt-get", "looseleaf system prompt-get daily_memory_generation daily_memory")
@task_argument
@key_argument
@with_shared_options("format")
def show_prompt(options: SharedOptions, task: str, key: str) -> None:
    """Print a prompt of a task.

    If the prompt was replaced, the replacement is printed.
    """
    from looseleaf.operations import task_prompts as operations

    info = operations.show_prompt(options.open(), task, key)
    if options.json:
        print_document(to_json_value(info))
    else:
        show(info.effective.encode())


@command(
    "prompt-set",
    "looseleaf system prompt-set daily_memory_generation daily_memory < prompt.md",
)
@task_argument
@key_argument
@click.argument("prompt", default="-")
@with_shared_options("format")
def set_prompt(options: SharedOptions, task: str, key: str, prompt: str) -> None:
    """Replace a prompt of a task.

    Without PROMPT, the text is read from standard input.
    A text without the placeholders and markers that the task needs is refused.
    """
    from looseleaf.operations import task_prompts as operations

    if prompt == "-":
        take_stdin("prompt")
        prompt = sys.stdin.read()
    info = operations.set_prompt(options.open(), task, key, prompt=prompt)
    if options.json:
        print_document(to_json_value(info))
    else:
        say(f"Replaced the prompt {key} of {task}.")


@command("prompt-reset", "looseleaf system prompt-reset daily_memory_generation daily_memory")
@task_argument
@key_argument
@with_shared_options("format")
def reset_prompt(options: SharedOptions, task: str, key: str) -> None:
    """Return to the built-in text of a prompt."""
    from looseleaf.operations import task_prompts as operations

    info = operations.reset_prompt(options.open(), task, key)
    if options.json:
        print_document(to_json_value(info))
    else:
        say(f"The prompt {key} of {task} is the built-in one.")


date_option = click.option("--date", default="", metavar="DAY", help="The day of the archive.")


@command("preview", "looseleaf upkeep preview --agent ada")
@date_option
@with_shared_options("agent", "format")
def preview_upkeep(options: SharedOptions, date: str) -> None:
    """Show what a run would do, and write nothing.

    The model is asked if the run would ask it.
    """
    from looseleaf.operations import upkeep as operations

    result = operations.preview(options.open(), date=date, where=options.where)
    if options.json:
        print_document(to_json_value(result))
        return
    say(f"{result.agent}: {result.status}: {result.reason}")
    for reason in result.refusals:
        say(f"A refused answer: {reason}")
    if result.diff:
        say(f"MEMORY.md: {result.original_size} bytes, {result.new_size} afterwards.")
        show(f"{result.diff}\n".encode())
        say(f"The journal of {result.date} would get {result.archived_size} bytes.")


@command("run", "looseleaf upkeep run", "looseleaf upkeep run --agent ada --date 2026-04-17")
@date_option
@with_shared_options("agent", "format")
def run_upkeep(options: SharedOptions, date: str) -> None:
    """Keep MEMORY.md within its budget, now.

    For one agent, or without --agent for all active agents. Exits with 1 if a run failed.
    """
    from looseleaf.operations import system_tasks
    from looseleaf.upkeep.daily_task.task import TASK_TYPE

    params = {"date": date} if date else {}
    runs = system_tasks.run_now(options.open(), TASK_TYPE, task_params=params, agent=options.agent)
    print_runs(options, runs)
    if any(record.is_failure for record in runs):
        raise click.exceptions.Exit(1)


@command("log", "looseleaf upkeep log --agent ada")
@click.option("--limit", type=int, default=20, metavar="N", help="At most so many runs; 20.")
@with_shared_options("agent", "format")
def list_upkeep(options: SharedOptions, limit: int) -> None:
    """List the runs of an agent, newest first.

    Without --agent, the runs of all agents.
    """
    from looseleaf.operations import system_tasks
    from looseleaf.upkeep.daily_task.task import TASK_TYPE

    runs = system_tasks.list_runs(
        options.open(), task_type=TASK_TYPE, agent=options.agent, limit=limit
    )
    print_runs(options, runs)


@command("show", "looseleaf upkeep show --agent ada")
@click.argument("run_id", default="", metavar="[RUN]")
@with_shared_options("agent", "format")
def show_run(options: SharedOptions, run_id: str) -> None:
    """Show a run: its reason, and where each line went.

    Without an id, the last run.
    """
    from looseleaf.operations import upkeep as operations

    result = operations.show_run(options.open(), run_id, where=options.where)
    if options.json:
        print_document(to_json_value(result))
        return
    say(f"{result.run.id} {result.run.agent}: {result.run.status}: {result.run.reason}")
    if result.state:
        say(f"State: {result.state}")
    for name in ("original_size", "new_size", "archived_size", "model", "turns"):
        if result.run.details.get(name):
            say(f"{name}: {result.run.details[name]}")
    for refusal in result.run.details.get("refusals", ()):
        say(f"Refused in turn {refusal['turn']} ({refusal['gate']}): {refusal['reason']}")
    if result.ledger:
        rows = [(entry.line, entry.lines, entry.section, entry.to) for entry in result.ledger]
        print_table(("LINE", "LINES", "SECTION", "NOW IN"), rows, shrink="SECTION")
        show(f"{result.diff}\n".encode())


@command("undo", "looseleaf upkeep undo --agent ada")
@click.argument("run_id", default="", metavar="[RUN]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options("agent", "format")
def undo_upkeep(options: SharedOptions, run_id: str, *, yes: bool) -> None:
    """Undo a run, page and journal together.

    Without an id, the last run that moved lines.
    """
    from looseleaf.operations import upkeep as operations

    context = options.open()
    confirm("Put the archived lines back into MEMORY.md?", yes=yes)
    result = operations.undo(context, run_id, where=options.where)
    if options.json:
        print_document(to_json_value(result))
    else:
        say(f"Undid {result.run}: {result.lines} lines are back in {result.file}.")


@command(
    "lint",
    "looseleaf memory lint",
    "looseleaf memory lint MEMORY.md --rule duplicate_line --fix",
)
@click.argument("file", default="")
@click.option(
    "--rule", type=click.Choice(tuple(RULES)), metavar="RULE", default=None, help="Only this rule."
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
    from looseleaf.operations import lint as operations

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


kind_argument = click.argument("kind", default="", metavar="[KIND]")


@command("show", "looseleaf retention show")
@with_shared_options("format")
def show_retention(options: SharedOptions) -> None:
    """Show how long each kind of data is kept.

    Each kind has its settings in looseleaf.toml; system_tasks_off switches a task off.
    """
    from looseleaf.operations import retention as operations
    from looseleaf.upkeep.retention.tasks import PREFIX

    rules = operations.show_retention(options.open())
    if options.json:
        print_document({"retention": to_json_value(rules)})
        return
    rows = [
        (
            rule.task_type.removeprefix(PREFIX),
            ", ".join(f"{name} = {limit:g}" for name, limit in rule.settings.items()),
            "on" if rule.enabled else "off",
            rule.runs[0].end if rule.runs else "never",
            rule.runs[0].report if rule.runs else "-",
        )
        for rule in rules
    ]
    print_table(("KIND", "KEPT FOR", "TASK", "LAST RUN", "REMOVED"), rows, shrink="REMOVED")


@command("preview", "looseleaf retention preview", "looseleaf retention preview chat_sessions")
@kind_argument
@with_shared_options("format")
def preview_retention(options: SharedOptions, kind: str) -> None:
    """Count the data past its retention; remove nothing.

    For one kind of data, or for all.
    """
    from looseleaf.operations import retention as operations

    _print_reports(options, operations.preview_retention(options.open(), kind=kind), "Would remove")


@command("run", "looseleaf retention run --dry-run", "looseleaf retention run chat_sessions --yes")
@kind_argument
@click.option("--dry-run", is_flag=True, help="Only count, as preview does.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options("format")
def run_retention(options: SharedOptions, kind: str, *, dry_run: bool, yes: bool) -> None:
    """Remove the data that is past its retention.

    Pages and the journal are never removed. Exits with 1 if a task failed.
    """
    from looseleaf.operations import retention as operations

    context = options.open()
    if dry_run:
        _print_reports(options, operations.preview_retention(context, kind=kind), "Would remove")
        return
    confirm(f"Remove {kind or 'all data'} that is past its retention?", yes=yes)
    reports = operations.run_retention(context, kind=kind)
    _print_reports(options, reports, "Removed")
    if any(report.is_failure for report in reports):
        raise click.exceptions.Exit(1)


def _print_reports(options: SharedOptions, reports: list[RetentionReport], verb: str) -> None:
    from looseleaf.upkeep.retention.tasks import PREFIX

    if options.json:
        print_document({"reports": to_json_value(reports)})
        return
    rows = [
        (report.task_type.removeprefix(PREFIX), report.status, report.report) for report in reports
    ]
    print_table(("KIND", "STATUS", "WHAT"), rows, shrink="WHAT")
    total = sum(count for report in reports for count in report.counts.values())
    say(f"{verb} {total:,} in all.")


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
