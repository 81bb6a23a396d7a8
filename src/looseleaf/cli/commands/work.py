"""`looseleaf work`: runs jobs and schedules until it is stopped."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import SharedOptions, require_local, with_shared_options
from looseleaf.cli.escapes import escape_line
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.times import format_time, now
from looseleaf.workflows.parts import jobs_of

if TYPE_CHECKING:
    from looseleaf.workflows.execution.job_event import JobEvent


@command("work", "looseleaf work", "looseleaf work --drain")
@click.option("--drain", is_flag=True, help="End when no schedule and no job is due.")
@with_shared_options()
def work(options: SharedOptions, *, drain: bool) -> None:
    """Run jobs and schedules without a server.

    Any number of workers can share one workspace, with PostgreSQL also on several machines. Ctrl-C
    stops the worker after its running steps; the next worker continues their jobs. With --drain, a
    timer of the system can run the command.
    """
    require_local(options, "the server runs jobs itself", by_option=True)
    with options.workspace() as workspace:
        is_announced = threading.Event()

        def print_event(event: JobEvent) -> None:
            is_announced.wait()
            say(f"{format_time(now())} {escape_line(event.describe())}")

        worker = jobs_of(workspace).start_worker(print_event)
        if not drain:
            say(f"Working on {workspace.root} as {worker.id}. Stop with Ctrl-C.")
        is_announced.set()
        if drain:
            worker.wait_until_drained()
            return
        _wait_for_signal()
        say("Stopping.")


def _wait_for_signal() -> None:
    """Wait for Ctrl-C, or for the signal by which a service is stopped."""
    is_over = threading.Event()
    previous = signal.signal(signal.SIGTERM, lambda *_: is_over.set())
    try:
        while not is_over.wait(3_600.0):
            pass
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, previous)
