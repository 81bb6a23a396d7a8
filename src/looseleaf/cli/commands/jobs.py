"""`looseleaf jobs run | list | show | watch | cancel | …`: durable runs of flows and tasks."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.catalog.workflows.job_documents import PacketFields
from looseleaf.cli.arguments import SharedOptions, confirm, with_shared_options
from looseleaf.cli.commands.job_view import FINAL, describe_end, format_job, watch_job
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import FAILED, note, print_text, say
from looseleaf.cli.workflow_options import read_steps, read_text
from looseleaf.errors import Invalid
from looseleaf.operations import jobs as operations
from looseleaf.workflows.parts import jobs_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.workflows.job_documents import JobInfo
    from looseleaf.workspace import Workspace

job_argument = click.argument("job", type=click.IntRange(1), metavar="JOB")
FAILURES = ("failed", "cancelled")
ENDS_OF_VIEW = (*FINAL, "waiting", "paused")


@command(
    "run",
    "looseleaf jobs run morning-edition",
    """looseleaf jobs run --step 'input={"text": "…"}' --step ai --detach""",
)
@click.argument("flow", required=False, metavar="[FLOW]")
@click.option(
    "--step",
    "steps",
    multiple=True,
    metavar="TYPE[=JSON]",
    help="A step of a job without a flow; repeat.",
)
@click.option("--packets", metavar="JSON|@FILE", help="Packets for the first step.")
@click.option("--at", "timestamp", default="", metavar="TIME", help="Not before this UTC time.")
@click.option("--label", default="", metavar="TEXT", help="The name of the job.")
@click.option("--detach", is_flag=True, help="Add the job, and do not wait for it.")
@with_shared_options("agent", "format")
def run_job(
    options: SharedOptions,
    flow: str | None,
    *,
    steps: tuple[str, ...],
    packets: str | None,
    timestamp: str,
    label: str,
    detach: bool,
) -> None:
    """Start a job and show its progress.

    A worker runs the job: the worker of a server or of looseleaf work; if no worker runs, this
    command is the worker. Ctrl-C leaves the job to the next worker.
    """

    def start(context: Context) -> JobInfo:
        return operations.execute(
            context,
            flow=flow,
            steps=read_steps(steps),
            initial_packets=_read_packets(packets) if packets else (),
            agent=options.agent if flow is None else None,
            label=label,
            timestamp=timestamp,
        )

    if options.server or detach or timestamp:
        context = options.open()
        job = start(context)
        _show_started(options, context, job, detach=detach or bool(timestamp))
        return
    with options.workspace() as workspace:
        job = start(workspace.acting(actor=options.actor or ""))
        _follow_here(options, workspace, job)


def _read_packets(text: str) -> tuple[PacketFields, ...]:
    try:
        packets = json.loads(read_text(text))
    except ValueError as error:
        raise click.UsageError(f"--packets is not JSON: {error}.") from None
    try:
        return tuple(PacketFields(**packet) for packet in packets)
    except TypeError:
        advice = "--packets takes a JSON list of packets with type, data and metadata."
        raise click.UsageError(advice) from None


def _show_started(options: SharedOptions, context: Context, job: JobInfo, *, detach: bool) -> None:
    if not detach and not options.json:
        _check_success(watch_job(context, job.job_id))
        return
    if options.json:
        print_document(to_json_value(job))
    else:
        say(f"Job {job.job_id}: {job.label}. Follow it: looseleaf jobs watch {job.job_id}")


def _follow_here(options: SharedOptions, workspace: Workspace, job: JobInfo) -> None:
    """Follow a job of this machine; without a worker, run it in this process."""
    runtime = jobs_of(workspace)
    if job.status not in ENDS_OF_VIEW and not runtime.has_live_worker():
        if not options.json:
            note("No worker runs, so this command runs the job.")
        runtime.start_worker()
    if options.json:
        final_job = _wait(workspace.context, job.job_id)
        print_document(to_json_value(final_job))
    else:
        final_job = watch_job(workspace.context, job.job_id)
    _check_success(final_job)


def _wait(context: Context, job_id: int) -> JobInfo:
    while True:
        job = operations.show_job(context, job_id)
        if job.status in ENDS_OF_VIEW or job.next_attempt_at:
            return job
        time.sleep(0.1)


def _check_success(job: JobInfo) -> None:
    if job.status in FAILURES:
        click.get_current_context().exit(FAILED)


@command("list", "looseleaf jobs list", "looseleaf jobs list --status failed --flow morning")
@click.option(
    "--status", default="", metavar="STATUS", help="Only these statuses, separated by commas."
)
@click.option("--flow", metavar="FLOW", help="Only of this flow.")
@click.option("--pipeline", metavar="PIPELINE", help="Only of this pipeline.")
@click.option("--task", "task_type", default="", metavar="TASK", help="Only of this task.")
@click.option("--limit", type=int, default=20, metavar="N", help="At most so many jobs; 20.")
@click.option("--offset", type=int, default=0, metavar="N", help="Skip so many jobs.")
@with_shared_options("agent", "format")
def list_jobs(
    options: SharedOptions,
    *,
    status: str,
    flow: str | None,
    pipeline: str | None,
    task_type: str,
    limit: int,
    offset: int,
) -> None:
    """List jobs, newest first."""
    page = operations.list_jobs(
        options.open(),
        status=status,
        flow=flow,
        pipeline=pipeline,
        agent=options.agent,
        task_type=task_type,
        limit=limit,
        offset=offset,
    )
    if options.json:
        print_document(to_json_value(page))
        return
    rows = [
        (job.job_id, job.created_at[:16].replace("T", " "), job.status, f"{job.seconds:.1f}",
         job.input_tokens + job.output_tokens, job.agent, job.label)
        for job in page.jobs
    ]  # fmt: skip
    if rows:
        headers = ("JOB", "CREATED", "STATUS", "SECONDS", "TOKENS", "AGENT", "LABEL")
        print_table(headers, rows, shrink="LABEL", right=("SECONDS",))
        say()
    say(f"{format_count(page.total, 'job')}.")


@command("show", "looseleaf jobs show 7")
@job_argument
@with_shared_options("format")
def show_job(options: SharedOptions, job: int) -> None:
    """Show a job with its steps and its writes."""
    job_info = operations.show_job(options.open(), job)
    if options.json:
        print_document(to_json_value(job_info))
        return
    print_text("".join(f"{line}\n" for line in format_job(job_info)))


@command("packets", "looseleaf jobs packets 7 --step input")
@job_argument
@click.option("--step", default="", metavar="STEP", help="Only of this step.")
@with_shared_options("format")
def show_packets(options: SharedOptions, job: int, step: str) -> None:
    """Print the packets of a job as JSON.

    The newest packet comes first.
    """
    packets = operations.show_packets(options.open(), job, step=step)
    print_document({"packets": to_json_value(packets)})


@command("watch", "looseleaf jobs watch 7")
@job_argument
@with_shared_options()
def watch(options: SharedOptions, job: int) -> None:
    """Show the progress of a job until it ends.

    The command also ends when the job waits or is paused. If no worker runs, this command runs the
    job.
    """
    if options.server:
        _check_success(watch_job(options.open(), job))
        return
    with options.workspace() as workspace:
        _follow_here(options, workspace, operations.show_job(workspace.context, job))


def _build_request_command(
    name: str, run: Callable[[Context, int], JobInfo], text: str
) -> click.Command:
    """Build a command that sends one request to a job."""

    @job_argument
    @with_shared_options("format")
    def ask(options: SharedOptions, job: int) -> None:
        job_info = run(options.open(), job)
        if options.json:
            print_document(to_json_value(job_info))
        else:
            say(f"Job {job_info.job_id} is {describe_end(job_info)}.")

    ask.__doc__ = text
    return command(name, f"looseleaf jobs {name} 7")(ask)


cancel = _build_request_command(
    "cancel", operations.cancel_job, "Cancel a job.\n\nA running step ends as soon as it can."
)
pause = _build_request_command("pause", operations.pause_job, "Pause a job after its present step.")
resume = _build_request_command("resume", operations.resume_job, "Resume a paused job.")
retry = _build_request_command(
    "retry", operations.retry_job, "Run a job again from the step that failed."
)


@command("delete", "looseleaf jobs delete 7 --yes")
@job_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options("format")
def delete(options: SharedOptions, job: int, *, yes: bool) -> None:
    """Delete a job that has ended.

    Its packets and artifacts go, too; the pages that it changed stay.
    """
    context = options.open()
    job_info = operations.show_job(context, job)
    if job_info.status not in FINAL:
        raise Invalid(f"The job {job} is {job_info.status}. Cancel it first.")
    confirm(f"Delete job {job} ({job_info.label})?", yes=yes)
    result = operations.delete_job(context, job)
    if options.json:
        print_document(to_json_value(result))
    else:
        say(f"Deleted {format_count(result.deleted, 'job')}.")
