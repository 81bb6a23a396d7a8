"""`looseleaf flows …`: configured and scheduled uses of a pipeline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, confirm, with_shared_options
from looseleaf.cli.commands.pipelines import if_match_option, print_memory_files
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.cli.workflow_options import (
    INTERVALS,
    format_schedule,
    read_object,
    read_schedule,
    read_settings,
)
from looseleaf.operations import flows as operations
from looseleaf.operations.workflow_memory import (
    list_flow_memory_files,
    set_flow_memory_files,
)
from looseleaf.values import replace
from looseleaf.workflows.flow import QUEUE_MODES

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.workflows.documents import FlowDocument

    Function = Callable[..., object]

flow_argument = click.argument("flow", metavar="FLOW")


def with_definition_options(function: Function) -> Function:
    """Add the options that define a flow."""
    options = (
        click.option("--slug", metavar="SLUG", help="The short name that never changes."),
        click.option("--schedule", metavar="WHEN", help=f"{INTERVALS}."),
        click.option("--at", metavar="TIME", help="Once, at this UTC time."),
        click.option("--paused/--running", default=None, help="Whether the schedule is paused."),
        click.option(
            "--set", "settings", multiple=True, metavar="STEP=JSON", help="Settings of a step."
        ),
        click.option(
            "--prompt",
            "prompts",
            multiple=True,
            metavar="TEXT",
            help="A prompt of the queue; repeat.",
        ),
        click.option("--queue-mode", type=click.Choice(QUEUE_MODES), help="How the queue is used."),
        click.option("--run-artifacts", metavar="JSON|@FILE", help="Egress policy of artifacts."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _parse_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Give the fields of a flow that the options name."""
    fields: dict[str, Any] = {
        name: options[name] for name in ("slug", "queue_mode") if options[name] is not None
    }
    schedule, at, is_paused = options["schedule"], options["at"], options["paused"]
    if schedule is not None or at is not None:
        fields["schedule"] = read_schedule(schedule or "", at or "", is_paused=bool(is_paused))
    if options["settings"]:
        fields["step_settings"] = read_settings(options["settings"])
    if options["prompts"]:
        fields["prompt_queue"] = options["prompts"]
    if options["run_artifacts"] is not None:
        fields["run_artifacts"] = read_object("--run-artifacts", options["run_artifacts"])
    return fields


@command("list", "looseleaf flows list", "looseleaf flows list --pipeline daily-music-news")
@click.option("--pipeline", metavar="PIPELINE", help="Only of this pipeline.")
@with_shared_options("agent", "format")
def list_flows(options: SharedOptions, pipeline: str | None) -> None:
    """List the flows, by name."""
    flows = operations.list_flows(options.open(), pipeline=pipeline, agent=options.agent)
    if options.json:
        print_document({"flows": to_json_value(flows)})
    elif flows:
        rows = [
            (
                flow.id,
                flow.slug,
                flow.pipeline,
                flow.agent or "-",
                format_schedule(flow.schedule),
                ", ".join(flow.memory_files) or "-",
                len(flow.prompt_queue),
            )
            for flow in flows
        ]
        headers = ("ID", "SLUG", "PIPELINE", "AGENT", "SCHEDULE", "MEMORY FILES", "QUEUE")
        print_table(headers, rows, shrink="MEMORY FILES")
    else:
        say("There are no flows yet. Create one: looseleaf flows create PIPELINE NAME")


@command("show", "looseleaf flows show morning", "looseleaf flows show daily-music-news/morning")
@flow_argument
@with_shared_options("format")
def show(options: SharedOptions, flow: str) -> None:
    """Show one flow: its schedule, its memory files, its queue and its version.

    FLOW is an id, a slug, or pipeline/slug.
    """
    document = operations.show_flow(options.open(), flow)
    if options.json:
        print_document(to_json_value(document))
        return
    say(f"{document.name} (flow {document.id}, {document.slug}) of pipeline {document.pipeline}")
    say(f"Agent: {document.agent}")
    say(f"Schedule: {format_schedule(document.schedule)}")
    say(f"Memory files: {', '.join(document.memory_files) or 'none besides the pipeline'}")
    for step, settings in document.step_settings.items():
        say(f"Step {step}: {json.dumps(to_json_value(settings), ensure_ascii=False)}")
    if document.run_artifacts:
        say(f"Artifacts: {json.dumps(to_json_value(document.run_artifacts), ensure_ascii=False)}")
    say(f"Queue ({document.queue_mode}): {len(document.prompt_queue)}")
    for number, prompt in enumerate(document.prompt_queue, 1):
        say(f"  {number}. {prompt}")
    say(f"Updated {document.updated}, version {document.hash}")


@command(
    "create",
    'looseleaf flows create daily-music-news "Morning edition" --schedule daily',
    """looseleaf flows create album-reviews Weekly --schedule "0 6 * * 1" """
    """--set 'input={"text": "…"}'""",
)
@click.argument("pipeline", metavar="PIPELINE")
@click.argument("name")
@with_definition_options
@click.option(
    "--memory-file", "memory_files", multiple=True, metavar="PAGE", help="A page to add; repeat."
)
@with_shared_options("format")
def create(options: SharedOptions, pipeline: str, name: str, **fields: Any) -> None:  # noqa: ANN401 - one for each option
    """Create a flow of a pipeline."""
    memory_files = fields.pop("memory_files")
    document = operations.create_flow(
        options.open(), pipeline, name, memory_files=memory_files, **_parse_fields(fields)
    )
    _print_flow(options, document, "Created")


@command(
    "update",
    "looseleaf flows update morning --schedule hourly",
    "looseleaf flows update morning --paused",
)
@flow_argument
@click.option("--name", metavar="NAME", help="The new name; the slug stays.")
@with_definition_options
@if_match_option
@with_shared_options("format")
def update(
    options: SharedOptions,
    flow: str,
    *,
    name: str | None,
    if_match: str | None,
    **fields: Any,  # noqa: ANN401 - one for each option
) -> None:
    """Change a flow; fields without an option stay.

    --set replaces all settings of steps in this flow, and --prompt the whole queue.
    """
    context = options.open()
    changes = _parse_fields(fields)
    if name is not None:
        changes["name"] = name
    if fields["paused"] is not None and "schedule" not in changes:
        schedule = operations.show_flow(context, flow).schedule
        changes["schedule"] = replace(schedule, enabled=not fields["paused"])
    if not changes:
        raise click.UsageError("Nothing to change. Name a field, such as --schedule.")
    document = operations.update_flow(context, flow, if_match=if_match, **changes)
    _print_flow(options, document, "Changed")


@command("queue", 'looseleaf flows queue morning "Write about the festival."')
@flow_argument
@click.argument("prompt")
@with_shared_options("format")
def queue(options: SharedOptions, flow: str, prompt: str) -> None:
    """Add a prompt to the end of the queue of a flow."""
    document = operations.queue_prompt(options.open(), flow, prompt)
    if options.json:
        print_document(to_json_value(document))
    else:
        say(f"Queued prompt {len(document.prompt_queue)} of flow {document.slug}.")


@command("delete", "looseleaf flows delete morning --yes")
@flow_argument
@if_match_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options("format")
def delete(options: SharedOptions, flow: str, *, if_match: str | None, yes: bool) -> None:
    """Delete a flow with its files, for good; records of its jobs stay."""
    context = options.open()
    document = operations.show_flow(context, flow)
    confirm(f"Delete flow {document.slug} of pipeline {document.pipeline}?", yes=yes)
    removal = operations.delete_flow(context, document.id, if_match=if_match)
    if options.json:
        print_document(to_json_value(removal))
    else:
        files = format_count(removal.files, "file")
        say(f"Deleted flow {removal.slug} (id {removal.id}) with {files}. Jobs stay.")


@command("copy", 'looseleaf flows copy morning --name "Evening edition"')
@flow_argument
@click.option(
    "--name", default="", metavar="NAME", help='The name of the copy; else with "(copy)".'
)
@with_shared_options("format")
def copy(options: SharedOptions, flow: str, *, name: str) -> None:
    """Copy a flow inside its pipeline; the schedule of the copy is paused."""
    _print_flow(options, operations.copy_flow(options.open(), flow, name=name), "Created")


@command(
    "memory-files",
    "looseleaf flows memory-files morning",
    "looseleaf flows memory-files morning --add contexts/festival.md",
)
@flow_argument
@click.option("--add", multiple=True, metavar="PAGE", help="Select a page; repeat.")
@click.option("--remove", multiple=True, metavar="PAGE", help="Deselect a page; repeat.")
@with_shared_options("format")
def memory_files(
    options: SharedOptions, flow: str, *, add: tuple[str, ...], remove: tuple[str, ...]
) -> None:
    """List or change the pages that a flow selects after those of its pipeline."""
    context = options.open()
    before = list_flow_memory_files(context, flow)
    after = before
    if add or remove:
        after = set_flow_memory_files(context, flow, add=add, remove=remove)
    print_memory_files(
        options, list(before.memory_files), list(after.memory_files), is_change=bool(add or remove)
    )


def _print_flow(options: SharedOptions, document: FlowDocument, verb: str) -> None:
    if options.json:
        print_document(to_json_value(document))
    else:
        schedule = format_schedule(document.schedule)
        place = f"of pipeline {document.pipeline}"
        say(f"{verb} flow {document.slug} (id {document.id}) {place}: {schedule}.")
