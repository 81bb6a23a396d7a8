"""`looseleaf jobs …`, `looseleaf schedules …` and `looseleaf work`: runs of workflows."""

from __future__ import annotations

import json
import signal
import threading
import time
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.json_values import to_json_value
from looseleaf.cli.arguments import (
    NumberRange,
    SharedOptions,
    read_text,
    require_local,
    with_shared_options,
)
from looseleaf.cli.command_line import Group, command
from looseleaf.cli.derived_commands import Derivation, ResultTable
from looseleaf.cli.formats import format_count, paint, print_document, print_table
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
from looseleaf.features.workflows.jobs.documents import PacketFields
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.features.workflows.step_commands import find_schemas, read_steps, set_steps
from looseleaf.times import format_time, now, parse_time

if TYPE_CHECKING:
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.features.workflows.jobs.documents import JobInfo, StepInfo
    from looseleaf.features.workflows.jobs.worker import JobEvent
    from looseleaf.features.workflows.operations.artifacts import PrunedJobData, RunArtifacts
    from looseleaf.features.workflows.operations.jobs import ScheduleInfo
    from looseleaf.workspace import Workspace

_jobs = Derivation("jobs", "looseleaf.features.workflows.operations.jobs")
_artifacts = Derivation("jobs", "looseleaf.features.workflows.operations.artifacts")
_schedules = Derivation("schedules", "looseleaf.features.workflows.operations.jobs")


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
    from looseleaf.features.workflows.operations.jobs import show_job

    view = JobView()
    while True:
        job = show_job(context, job_id)
        view.show(job)
        if is_still(job):
            return job
        time.sleep(_LOOK_SECONDS)


def is_still(job: JobInfo) -> bool:
    """Return whether nobody waits for a job: it ended, begins later, or a person must act first.

    A job that is tried again after a failure is waited for: this command may be its worker.
    """
    begins_later = job.status == "pending" and bool(job.next_attempt_at) and not job.attempts
    return job.status in STILL or begins_later


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
        state = f"{job.status} {job.next_attempt_at}"
        if (is_still(job) or job.next_attempt_at) and self._last_lines.get("") != state:
            say(describe_end(job))
            self._last_lines[""] = state


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


FAILURES = ("failed", "cancelled")


@command(
    "run",
    "looseleaf jobs run morning-edition",
    "looseleaf jobs run --pipeline daily-music-news",
    'looseleaf jobs run --step input --set input.source=text --set "input.text=A new album."',
)
@click.argument("flow", required=False, metavar="[FLOW]")
@click.option("--pipeline", metavar="PIPELINE", help="Run a pipeline once, without a flow.")
@click.option(
    "--step",
    "steps",
    multiple=True,
    metavar="TYPE[=JSON]",
    help="A step of a job without a pipeline; repeat.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="STEP.NAME=VALUE",
    help="A setting of a step; repeat.",
)
@click.option("--packets", metavar="JSON|@FILE", help="Packets for the first step.")
@click.option("--at", "timestamp", default="", metavar="TIME", help="Not before this UTC time.")
@click.option("--label", default="", metavar="TEXT", help="The name of the job.")
@click.option("--detach", is_flag=True, help="Add the job, and do not wait for it.")
@with_shared_options("agent", "format")
def run_job(  # noqa: PLR0913 - one for each option
    options: SharedOptions,
    flow: str | None,
    *,
    pipeline: str | None,
    steps: tuple[str, ...],
    settings: tuple[str, ...],
    packets: str | None,
    timestamp: str,
    label: str,
    detach: bool,
) -> None:
    """Start a job and show its progress.

    A worker runs the job: the worker of a server or of looseleaf work; if no worker runs, this
    command is the worker. After a failure that passes by itself, the command waits for the next
    attempt. Ctrl-C leaves the job to the next worker.
    """
    from looseleaf.features.workflows.operations import jobs as operations

    if settings and not steps:
        raise click.UsageError("--set is for the steps of --step; a flow has settings of its own.")

    def start(context: Context) -> JobInfo:
        return operations.execute(
            context,
            flow=flow,
            pipeline=pipeline,
            steps=set_steps(find_schemas(context), read_steps(steps), settings),
            initial_packets=_read_packets(packets) if packets else (),
            agent=options.agent if steps else None,
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
    if job.status not in STILL and not runtime.has_live_worker():
        if not options.json:
            note("No worker runs, so this command runs the job.")
        runtime.start_worker()
    if options.json:
        final_job = await_job(workspace.context, job.job_id)
        print_document(to_json_value(final_job))
    else:
        final_job = watch_job(workspace.context, job.job_id)
    _check_success(final_job)


def await_job(context: Context, job_id: int) -> JobInfo:
    """Wait until a job ends or needs a person, and return its last state."""
    from looseleaf.features.workflows.operations import jobs as operations

    while True:
        job = operations.show_job(context, job_id)
        if is_still(job):
            return job
        time.sleep(0.1)


def _check_success(job: JobInfo) -> None:
    if job.status in FAILURES:
        click.get_current_context().exit(FAILED)


list_jobs = _jobs.derive(
    "list",
    "list_jobs",
    "",
    "--status failed --flow morning",
    parameters={"task_type": "--task TASK"},
    show=ResultTable(
        "job=job_id created status seconds tokens agent label",
        cells={
            "created": lambda job: job.created_at[:16].replace("T", " "),
            "seconds": lambda job: f"{job.seconds:.1f}",
            "tokens": lambda job: job.input_tokens + job.output_tokens,
            "agent": lambda job: job.agent,
        },
        rows="jobs",
        shrink="LABEL",
        right=("SECONDS",),
        count="job",
    ),
)
show_job = _jobs.derive(
    "show",
    "show_job",
    "7",
    show=lambda job: print_text("".join(f"{line}\n" for line in format_job(job))),
)
show_packets = _jobs.derive(
    "packets",
    "show_packets",
    "7 --step input",
    key="packets",
    show=lambda packets: print_document({"packets": to_json_value(packets)}),
)


@command("watch", "looseleaf jobs watch 7")
@click.argument("job", type=NumberRange(1), metavar="JOB")
@with_shared_options()
def watch_until_end(options: SharedOptions, job: int) -> None:
    """Show the progress of a job until it ends.

    The command also ends when the job waits or is paused. If no worker runs, this command runs the
    job.
    """
    from looseleaf.features.workflows.operations import jobs as operations

    if options.server:
        _check_success(watch_job(options.open(), job))
        return
    with options.workspace() as workspace:
        _follow_here(options, workspace, operations.show_job(workspace.context, job))


def _show_state(job: JobInfo) -> None:
    say(f"Job {job.job_id} is {describe_end(job)}.")


cancel_job = _jobs.derive("cancel", "cancel_job", "7", show=_show_state)
pause_job = _jobs.derive("pause", "pause_job", "7", show=_show_state)
resume_job = _jobs.derive("resume", "resume_job", "7", show=_show_state)
retry_job = _jobs.derive("retry", "retry_job", "7", show=_show_state)


def _ask_to_delete(context: Context, arguments: dict[str, Any]) -> str:
    from looseleaf.features.workflows.operations.jobs import show_job

    job = show_job(context, arguments["job"])
    if job.status not in FINAL:
        raise Invalid(f"The job {job.job_id} is {job.status}. Cancel it first.")
    return f"Delete job {job.job_id} ({job.label})?"


delete_job = _jobs.derive(
    "delete",
    "delete_job",
    "7 --yes",
    ask=_ask_to_delete,
    show=lambda result: say(f"Deleted {format_count(result.deleted, 'job')}."),
)


def _describe_rows(artifacts: RunArtifacts) -> list[tuple[object, ...]]:
    sizes: dict[str, tuple[int, str]] = {
        file.ref.partition("/artifacts/")[2]: (file.bytes, "-") for file in artifacts.artifact_files
    }
    for day in artifacts.daily_memory_artifacts:
        sizes[f"{day.type}/{day.date}"] = (len(day.content.encode()), day.bundle_relative_path)
    for page in artifacts.agent_memory_artifacts:
        sizes[f"{page.type}/{page.file}"] = (len(page.content.encode()), page.bundle_relative_path)
    return [(ref, *sizes[ref.partition("/artifacts/")[2]]) for ref in artifacts.artifact_refs]


@_artifacts.shown("artifacts", "get_run_artifacts", "7", "7 --format json")
def list_artifacts(artifacts: RunArtifacts) -> None:
    """List the artifacts of a job.

    Artifacts are pages that the job wrote, transcripts and tool traces.
    """
    if artifacts.artifact_refs:
        print_table(("REFERENCE", "BYTES", "IN A BUNDLE"), _describe_rows(artifacts))
    else:
        say("The job left no artifacts.")


show_content = _artifacts.derive(
    "artifact-content",
    "hydrate_artifact",
    "datamachine://jobs/7/artifacts/transcript/ai",
    show=lambda artifact: print_text(artifact.content),
)
show_transcript = _artifacts.derive(
    "transcript",
    "show_transcript",
    "7",
    "7 --step ai",
    show=lambda transcript: print_text(transcript.content),
)
show_gate = _artifacts.derive("gate", "show_gate", "7", show="{address}")
open_gate = _artifacts.derive(
    "open-gate", "open_gate", "7", """7 --body '{"ok": true}'""", show="Job {job_id} goes on."
)


def _ask_to_prune(_context: Context, arguments: dict[str, Any]) -> str:
    days = arguments.get("days", 30)
    return "" if arguments["dry_run"] else f"Remove data of jobs that is older than {days} days?"


@_artifacts.shown(
    "prune",
    "prune_job_data",
    "--days 30 --dry-run",
    "--yes",
    parameters={
        "days": "--days N: How old the data must be.",
        "flow_files": "--flow-files: Also uploaded files of flows.",
        "dry_run": "--dry-run: Only count.",
    },
    ask=_ask_to_prune,
)
def prune_jobs(counts: PrunedJobData) -> None:
    """Remove old data of jobs.

    The jobs, and the pages that they wrote, stay.
    """
    verb = "Would remove" if click.get_current_context().params["dry_run"] else "Removed"
    say(
        f"{verb} {counts.job_folders} folders of packets, {counts.artifact_folders} of artifacts, "
        f"{counts.flow_files} files of flows; {counts.processed_items} items may be taken again."
    )


_SCHEDULES = ResultTable(
    "schedule status when next=next_local label", shrink="NEXT", count="schedule"
)


@_schedules.shown("list", "list_schedules", "", "--format json", key="schedules")
def list_schedules(schedules: list[ScheduleInfo]) -> None:
    """List schedules with their next times."""
    _SCHEDULES(schedules)
    for entry in schedules:
        if entry.problem:
            say(f"{entry.schedule} could not be started: {entry.problem}")


@_schedules.shown("run", "run_schedule", "flow:3", key="jobs")
def run_schedule(jobs: list[JobInfo]) -> None:
    """Start the jobs of a schedule now.

    The next time of the schedule stays.
    """
    for job in jobs:
        say(f"Job {job.job_id}: {job.label}{f' ({job.agent})' if job.agent else ''}.")


def _show_schedule(entry: ScheduleInfo) -> None:
    times = f"; next: {', '.join(entry.next_local)}" if entry.next_local else ""
    say(f"{entry.schedule} ({entry.label}) is {entry.status}{times}.")


pause_schedule = _schedules.derive(
    "pause", "pause_schedule", "task:daily_memory_generation", show=_show_schedule
)
resume_schedule = _schedules.derive(
    "resume", "resume_schedule", "task:daily_memory_generation", show=_show_schedule
)


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
            worker.wait_until_drained(lambda text: note(escape_line(text)))
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
