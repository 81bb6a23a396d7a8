"""`looseleaf jobs …`, `looseleaf schedules …` and `looseleaf work`: runs of workflows."""

from __future__ import annotations

import json
import signal
import threading
import time
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.catalog.workflows.job_documents import PacketFields
from looseleaf.cli.arguments import (
    SharedOptions,
    confirm,
    read_object,
    read_text,
    require_local,
    with_shared_options,
)
from looseleaf.cli.commands.workflows import read_steps
from looseleaf.cli.formats import format_count, paint, print_document, print_table
from looseleaf.cli.groups import Group, command
from looseleaf.cli.output import (
    FAILED,
    count_columns,
    escape_line,
    note,
    on_terminal,
    print_text,
    say,
)
from looseleaf.errors import Invalid
from looseleaf.times import format_time, now, parse_time
from looseleaf.workflows.parts import jobs_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.workflows.job_documents import JobInfo, StepInfo
    from looseleaf.operations.artifacts import RunArtifacts
    from looseleaf.operations.schedules import ScheduleInfo
    from looseleaf.workflows.execution.job_event import JobEvent
    from looseleaf.workspace import Workspace


FINAL = ("completed", "completed_no_items", "agent_skipped", "failed", "cancelled")
STILL = (*FINAL, "waiting", "paused")  # ended, or a person must act first
_MARKS = {
    "completed": ("✓", "green"),
    "processing": ("▸", "yellow"),
    "failed": ("✗", "red"),
    "waiting": ("…", "yellow"),
}
_LOOK_SECONDS = 0.2


def watch_job(context: Context, job_id: int) -> JobInfo:
    """Show a job until it ends or needs a person, and return its last state."""
    from looseleaf.operations.jobs import show_job

    view = JobView()
    while True:
        job = show_job(context, job_id)
        view.show(job)
        if job.status in STILL or (job.status == "pending" and job.next_attempt_at):
            return job
        time.sleep(_LOOK_SECONDS)


class JobView:
    """Draws a job; without a terminal, each change of a step is one line."""

    def __init__(self) -> None:
        self._height = 0
        self._last_lines: dict[str, str] = {}
        self._is_live = on_terminal()

    def show(self, job: JobInfo) -> None:
        """Render the job as it is now."""
        if self._is_live:
            lines = format_job(job)
            erase = f"\x1b[{self._height}A\x1b[J" if self._height else ""
            print_text(erase + "".join(f"{line}\n" for line in lines))
            self._height = len(lines)
            return
        for step in job.steps:
            line = f"{step.label or step.type}: {step.status}{_format_reason(step.reason)}"
            if step.status != "pending" and self._last_lines.get(step.id) != line:
                say(line)
            self._last_lines[step.id] = line
        if job.status in STILL and self._last_lines.get("") != job.status:
            say(describe_end(job))
            self._last_lines[""] = job.status


def format_job(job: JobInfo) -> list[str]:
    """Return the lines of a job: its name, one line for each step, and its state."""
    lines = [paint(_cut(f"Job {job.job_id}: {job.label}"), "bold")]
    lines += [_format_step(step) for step in job.steps]
    return [*lines, _cut(describe_end(job))]


def describe_end(job: JobInfo) -> str:
    """Describe the state of a job in one line."""
    tokens = job.input_tokens + job.output_tokens
    figures = f"{job.seconds:.1f} s" if job.completed_at else _format_elapsed(job.started_at)
    figures += f", {tokens} tokens" if tokens else ""
    next_attempt = f", again at {job.next_attempt_at}" if job.next_attempt_at else ""
    state = f"{job.status}{_format_reason(job.reason)}{next_attempt}"
    return f"{state} ({figures})" if figures else state


def _format_step(step: StepInfo) -> str:
    mark, color = _MARKS.get(step.status, ("·", ""))
    seconds = ""
    if step.status != "pending":
        seconds = f"{step.seconds:.1f} s" if step.ended_at else _format_elapsed(step.started_at)
    tokens = step.input_tokens + step.output_tokens
    attempts = f"{step.attempts} attempts" if step.attempts > 1 else ""
    details = [text for text in (attempts, seconds, f"{tokens} tokens" if tokens else "") if text]
    details += [f"{write.file} revision {write.revision}" for write in step.writes]
    state = step.progress or step.reason
    text = _cut(f"{step.label or step.type}  {', '.join(details)}  {state}".rstrip(), 4)
    return f"  {paint(mark, color) if color else mark} {text}"


def _format_elapsed(start: str) -> str:
    return f"{max(now() - parse_time(start), 0.0):.1f} s" if start else ""


def _format_reason(reason: str) -> str:
    return f": {reason}" if reason else ""


def _cut(text: str, margin: int = 0) -> str:
    space = max(count_columns() - margin - 1, 20)
    line = escape_line(text)
    return line if len(line) <= space else f"{line[: space - 1]}…"


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
    from looseleaf.operations import jobs as operations

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
    from looseleaf.operations import jobs as operations

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
    from looseleaf.operations import jobs as operations

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
    from looseleaf.operations import jobs as operations

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
    from looseleaf.operations import jobs as operations

    packets = operations.show_packets(options.open(), job, step=step)
    print_document({"packets": to_json_value(packets)})


@command("watch", "looseleaf jobs watch 7")
@job_argument
@with_shared_options()
def watch_until_end(options: SharedOptions, job: int) -> None:
    """Show the progress of a job until it ends.

    The command also ends when the job waits or is paused. If no worker runs, this command runs the
    job.
    """
    from looseleaf.operations import jobs as operations

    if options.server:
        _check_success(watch_job(options.open(), job))
        return
    with options.workspace() as workspace:
        _follow_here(options, workspace, operations.show_job(workspace.context, job))


def _build_request_command(name: str, text: str) -> click.Command:
    """Build a command that sends one request to a job."""

    @job_argument
    @with_shared_options("format")
    def ask(options: SharedOptions, job: int) -> None:
        from looseleaf.operations import jobs as operations

        requests: dict[str, Callable[[Context, int], JobInfo]] = {
            "cancel": operations.cancel_job,
            "pause": operations.pause_job,
            "resume": operations.resume_job,
            "retry": operations.retry_job,
        }
        job_info = requests[name](options.open(), job)
        if options.json:
            print_document(to_json_value(job_info))
        else:
            say(f"Job {job_info.job_id} is {describe_end(job_info)}.")

    ask.__doc__ = text
    return command(name, f"looseleaf jobs {name} 7")(ask)


cancel_job = _build_request_command(
    "cancel", "Cancel a job.\n\nA running step ends as soon as it can."
)
pause_job = _build_request_command("pause", "Pause a job after its present step.")
resume_job = _build_request_command("resume", "Resume a paused job.")
retry_job = _build_request_command("retry", "Run a job again from the step that failed.")


@command("delete", "looseleaf jobs delete 7 --yes")
@job_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options("format")
def delete_job(options: SharedOptions, job: int, *, yes: bool) -> None:
    """Delete a job that has ended.

    Its packets and artifacts go, too; the pages that it changed stay.
    """
    from looseleaf.operations import jobs as operations

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


@command("artifacts", "looseleaf jobs artifacts 7", "looseleaf jobs artifacts 7 --format json")
@job_argument
@with_shared_options("format")
def list_artifacts(options: SharedOptions, job: int) -> None:
    """List the artifacts of a job.

    Artifacts are pages that the job wrote, transcripts and tool traces.
    """
    from looseleaf.operations import artifacts as operations

    artifacts = operations.get_run_artifacts(options.open(), job)
    if options.json:
        print_document(to_json_value(artifacts))
    elif artifacts.artifact_refs:
        print_table(("REFERENCE", "BYTES", "IN A BUNDLE"), _describe_rows(artifacts))
    else:
        say("The job left no artifacts.")


def _describe_rows(artifacts: RunArtifacts) -> list[tuple[object, ...]]:
    sizes: dict[str, tuple[int, str]] = {
        file.ref.partition("/artifacts/")[2]: (file.bytes, "-") for file in artifacts.artifact_files
    }
    for day in artifacts.daily_memory_artifacts:
        sizes[f"{day.type}/{day.date}"] = (len(day.content.encode()), day.bundle_relative_path)
    for page in artifacts.agent_memory_artifacts:
        sizes[f"{page.type}/{page.file}"] = (len(page.content.encode()), page.bundle_relative_path)
    return [(ref, *sizes[ref.partition("/artifacts/")[2]]) for ref in artifacts.artifact_refs]


@command(
    "artifact-content", "looseleaf jobs artifact-content datamachine://jobs/7/artifacts/transcript"
)
@click.argument("ref", metavar="REF")
@with_shared_options("format")
def show_content(options: SharedOptions, ref: str) -> None:
    """Print the content of an artifact, verified.

    The size and the hash of the content are compared with the record.
    """
    from looseleaf.operations import artifacts as operations

    artifact = operations.hydrate_artifact(options.open(), ref)
    if options.json:
        print_document(to_json_value(artifact))
    else:
        print_text(artifact.content)


@command("transcript", "looseleaf jobs transcript 7", "looseleaf jobs transcript 7 --step draft")
@job_argument
@click.option("--step", default="", metavar="STEP", help="The step; else the last step.")
@with_shared_options()
def show_transcript(options: SharedOptions, job: int, step: str) -> None:
    """Print the transcript of a job.

    Transcripts are kept if the flow, its pipeline or the settings say so.
    """
    from looseleaf.operations import artifacts as operations

    print_text(operations.show_transcript(options.open(), job, step=step).content)


@command("gate", "looseleaf jobs gate 7")
@job_argument
@click.option("--step", default="", metavar="STEP", help="The step; else the waiting step.")
@with_shared_options()
def show_gate(options: SharedOptions, job: int, step: str) -> None:
    """Print the address that a waiting job listens at.

    The address takes one POST.
    """
    from looseleaf.operations import artifacts as operations

    say(operations.show_gate(options.open(), job, step=step).address)


@command(
    "open-gate",
    "looseleaf jobs open-gate 7",
    """looseleaf jobs open-gate 7 --body '{"ok": true}'""",
)
@job_argument
@click.option("--step", default="", metavar="STEP", help="The step; else the waiting step.")
@click.option("--body", default="{}", metavar="JSON|@FILE", help="The body of the call.")
@with_shared_options("format")
def open_gate(options: SharedOptions, job: int, step: str, body: str) -> None:
    """Continue a job that waits for a call.

    As a call to its address does; a job can be continued so only once.
    """
    from looseleaf.operations import artifacts as operations

    document = read_object("--body", body)
    job_info = operations.open_gate(options.open(), job, step=step, body=document)
    if options.json:
        print_document(to_json_value(job_info))
    else:
        say(f"Job {job_info.job_id} goes on.")


@command("prune", "looseleaf jobs prune --days 30 --dry-run", "looseleaf jobs prune --yes")
@click.option("--days", type=click.IntRange(1), default=30, help="How old the data must be.")
@click.option("--flow-files", is_flag=True, help="Also uploaded files of flows.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options("format")
def prune_jobs(
    options: SharedOptions, *, days: int, flow_files: bool, dry_run: bool, yes: bool
) -> None:
    """Remove old data of jobs.

    The jobs, and the pages that they wrote, stay.
    """
    from looseleaf.operations import artifacts as operations

    context = options.open()
    if not dry_run:
        confirm(f"Remove data of jobs that is older than {days} days?", yes=yes)
    counts = operations.prune_job_data(context, days=days, flow_files=flow_files, dry_run=dry_run)
    if options.json:
        print_document(to_json_value(counts))
        return
    verb = "Would remove" if dry_run else "Removed"
    say(
        f"{verb} {counts.job_folders} folders of packets, {counts.artifact_folders} of artifacts, "
        f"{counts.flow_files} files of flows; {counts.processed_items} items may be taken again."
    )


schedule_argument = click.argument("schedule", metavar="SCHEDULE")


@command("list", "looseleaf schedules list", "looseleaf schedules list --format json")
@with_shared_options("format")
def list_schedules(options: SharedOptions) -> None:
    """List schedules with their next times."""
    from looseleaf.operations import schedules as operations

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
def run_schedule(options: SharedOptions, schedule: str) -> None:
    """Start the jobs of a schedule now.

    The next time of the schedule stays.
    """
    from looseleaf.operations import schedules as operations

    jobs = operations.run_schedule(options.open(), schedule)
    if options.json:
        print_document({"jobs": to_json_value(jobs)})
        return
    for job in jobs:
        say(f"Job {job.job_id}: {job.label}{f' ({job.agent})' if job.agent else ''}.")


@command("pause", "looseleaf schedules pause task:daily_memory_generation")
@schedule_argument
@with_shared_options("format")
def pause_schedule(options: SharedOptions, schedule: str) -> None:
    """Pause a schedule.

    A paused schedule starts no jobs.
    """
    from looseleaf.operations import schedules as operations

    _print_schedule(options, operations.pause_schedule(options.open(), schedule))


@command("resume", "looseleaf schedules resume task:daily_memory_generation")
@schedule_argument
@with_shared_options("format")
def resume_schedule(options: SharedOptions, schedule: str) -> None:
    """Resume a paused schedule."""
    from looseleaf.operations import schedules as operations

    _print_schedule(options, operations.resume_schedule(options.open(), schedule))


def _print_schedule(options: SharedOptions, entry: ScheduleInfo) -> None:
    if options.json:
        print_document(to_json_value(entry))
        return
    times = f"; next: {', '.join(entry.next_local)}" if entry.next_local else ""
    say(f"{entry.schedule} ({entry.label}) is {entry.status}{times}.")


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


jobs_group = Group(
    "jobs",
    "Durable runs of flows and tasks.",
    *(run_job, list_jobs, show_job, show_packets, watch_until_end),
    *(cancel_job, pause_job, resume_job, retry_job, delete_job),
    *(list_artifacts, show_content, show_transcript, show_gate, open_gate, prune_jobs),
)
schedules_group = Group(
    "schedules",
    "The schedules of flows and tasks, with their next times.",
    *(list_schedules, run_schedule, pause_schedule, resume_schedule),
)
