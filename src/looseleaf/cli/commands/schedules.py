"""`looseleaf schedules list | run | pause | resume`."""

from __future__ import annotations

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.operations import schedules as operations

schedule_argument = click.argument("schedule", metavar="SCHEDULE")


@command("list", "looseleaf schedules list", "looseleaf schedules list --format json")
@with_shared_options("format")
def list_schedules(options: SharedOptions) -> None:
    """List schedules with their next times."""
    schedules = operations.list_schedules(options.open())
    if options.json:
        print_document({"schedules": to_json_value(schedules)})
        return
    rows = [
        (entry.schedule, entry.status, entry.when, ", ".join(entry.next_local) or "-", entry.label)
        for entry in schedules
    ]
    if rows:
        print_table(("SCHEDULE", "STATUS", "WHEN", "NEXT", "LABEL"), rows, shrink="NEXT")
        say()
    say(f"{format_count(len(schedules), 'schedule')}.")
    for entry in schedules:
        if entry.problem:
            say(f"{entry.schedule} could not be started: {entry.problem}")


@command("run", "looseleaf schedules run flow:3")
@schedule_argument
@with_shared_options("format")
def run(options: SharedOptions, schedule: str) -> None:
    """Start the jobs of a schedule now.

    The next time of the schedule stays.
    """
    jobs = operations.run_schedule(options.open(), schedule)
    if options.json:
        print_document({"jobs": to_json_value(jobs)})
        return
    for job in jobs:
        say(f"Job {job.job_id}: {job.label}{f' ({job.agent})' if job.agent else ''}.")


@command("pause", "looseleaf schedules pause task:daily_memory_generation")
@schedule_argument
@with_shared_options("format")
def pause(options: SharedOptions, schedule: str) -> None:
    """Pause a schedule.

    A paused schedule starts no jobs.
    """
    _show(options, operations.pause_schedule(options.open(), schedule))


@command("resume", "looseleaf schedules resume task:daily_memory_generation")
@schedule_argument
@with_shared_options("format")
def resume(options: SharedOptions, schedule: str) -> None:
    """Resume a paused schedule."""
    _show(options, operations.resume_schedule(options.open(), schedule))


def _show(options: SharedOptions, entry: operations.ScheduleInfo) -> None:
    if options.json:
        print_document(to_json_value(entry))
        return
    times = f"; next: {', '.join(entry.next_local)}" if entry.next_local else ""
    say(f"{entry.schedule} ({entry.label}) is {entry.status}{times}.")
