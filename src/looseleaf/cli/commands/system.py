"""`looseleaf system …`: the tasks that run by themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.errors import Invalid, Unavailable
from looseleaf.operations import system_tasks as operations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looseleaf.operations.system_tasks import RunInfo


@command("status", "looseleaf system status")
@with_shared_options("format")
def status(options: SharedOptions) -> None:
    """Show the condition of the system tasks.

    A task needs attention if it is overdue, or ended badly three times in a row.
    """
    result = operations.show_system_status(options.open())
    if options.json:
        print_document(to_json_value(result))
        return
    say(f"{result.tasks} system tasks, {result.enabled} of them on.")
    for name in result.needs_attention:
        say(f"Needs attention: {name}")


@command("tasks", "looseleaf system tasks", "looseleaf system tasks --format json")
@with_shared_options("format")
def tasks(options: SharedOptions) -> None:
    """List the system tasks and the condition of each.

    One line for each agent that a task runs for.
    """
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
def run(options: SharedOptions, task: str, pairs: tuple[str, ...], document: str) -> None:
    """Run a system task now, for one agent or for all.

    Without --agent the task runs for all active agents. Exits with 1 if a run failed.
    """
    params = parse_params(pairs, document)
    runs = operations.run_now(options.open(), task, task_params=params, agent=options.agent)
    print_runs(options, runs)
    if any(record.is_failure for record in runs):
        raise click.exceptions.Exit(1)


@command("runs", "looseleaf system runs", "looseleaf system runs --task daily_memory_generation")
@click.option("--task", default="", metavar="TYPE", help="Only runs of this task.")
@click.option("--limit", type=int, default=20, metavar="N", help="At most so many runs; 20.")
@with_shared_options("agent", "format")
def runs(options: SharedOptions, task: str, limit: int) -> None:
    """List the newest runs of system tasks."""
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
