"""`looseleaf upkeep …`: keeping MEMORY.md within its budget; runs, and undoing a run."""

from __future__ import annotations

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, confirm, with_shared_options
from looseleaf.cli.commands.system import print_runs
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say, show
from looseleaf.operations import system_tasks
from looseleaf.operations import upkeep as operations
from looseleaf.upkeep.daily_task.task import TASK_TYPE

date_option = click.option("--date", default="", metavar="DAY", help="The day of the archive.")


@command("preview", "looseleaf upkeep preview --agent ada")
@date_option
@with_shared_options("agent", "format")
def preview(options: SharedOptions, date: str) -> None:
    """Show what a run would do, and write nothing.

    The model is asked if the run would ask it.
    """
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
def run(options: SharedOptions, date: str) -> None:
    """Keep MEMORY.md within its budget, now.

    For one agent, or without --agent for all active agents. Exits with 1 if a run failed.
    """
    params = {"date": date} if date else {}
    runs = system_tasks.run_now(options.open(), TASK_TYPE, task_params=params, agent=options.agent)
    print_runs(options, runs)
    if any(record.is_failure for record in runs):
        raise click.exceptions.Exit(1)


@command("log", "looseleaf upkeep log --agent ada")
@click.option("--limit", type=int, default=20, metavar="N", help="At most so many runs; 20.")
@with_shared_options("agent", "format")
def log(options: SharedOptions, limit: int) -> None:
    """List the runs of an agent, newest first.

    Without --agent, the runs of all agents.
    """
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
def undo(options: SharedOptions, run_id: str, *, yes: bool) -> None:
    """Undo a run, page and journal together.

    Without an id, the last run that moved lines.
    """
    context = options.open()
    confirm("Put the archived lines back into MEMORY.md?", yes=yes)
    result = operations.undo(context, run_id, where=options.where)
    if options.json:
        print_document(to_json_value(result))
    else:
        say(f"Undid {result.run}: {result.lines} lines are back in {result.file}.")
