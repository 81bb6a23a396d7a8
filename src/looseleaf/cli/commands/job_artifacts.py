"""`looseleaf jobs artifacts | transcript | gate | open-gate | prune | …`: results of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, confirm, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import print_text, say
from looseleaf.cli.workflow_options import read_object
from looseleaf.operations import artifacts as operations

if TYPE_CHECKING:
    from looseleaf.operations.artifacts import RunArtifacts

job_argument = click.argument("job", type=click.IntRange(1), metavar="JOB")


@command("artifacts", "looseleaf jobs artifacts 7", "looseleaf jobs artifacts 7 --format json")
@job_argument
@with_shared_options("format")
def list_artifacts(options: SharedOptions, job: int) -> None:
    """List the artifacts of a job.

    Artifacts are pages that the job wrote, transcripts and tool traces.
    """
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
    print_text(operations.show_transcript(options.open(), job, step=step).content)


@command("gate", "looseleaf jobs gate 7")
@job_argument
@click.option("--step", default="", metavar="STEP", help="The step; else the waiting step.")
@with_shared_options()
def show_gate(options: SharedOptions, job: int, step: str) -> None:
    """Print the address that a waiting job listens at.

    The address takes one POST.
    """
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
def prune(options: SharedOptions, *, days: int, flow_files: bool, dry_run: bool, yes: bool) -> None:
    """Remove old data of jobs.

    The jobs, and the pages that they wrote, stay.
    """
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
