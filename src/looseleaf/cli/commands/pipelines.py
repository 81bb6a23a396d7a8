"""`looseleaf pipelines …`: reusable workflows of an agent, and the memory they select."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, complete_agents, confirm, with_shared_options
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.cli.stdin import take_stdin
from looseleaf.cli.workflow_options import format_steps, read_object, read_steps, read_text
from looseleaf.errors import Invalid
from looseleaf.operations import pipelines as operations
from looseleaf.operations.pipeline_transfer import export_pipeline, import_pipeline
from looseleaf.operations.workflow_memory import (
    list_pipeline_memory_files,
    set_pipeline_memory_files,
)
from looseleaf.workflows import documents

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.workflows.documents import PipelineDocument

    Function = Callable[..., object]

pipeline_argument = click.argument("pipeline", metavar="PIPELINE")
if_match_option = click.option("--if-match", metavar="HASH", help="Only if it has this version.")


def with_definition_options(function: Function) -> Function:
    """Add the options that define a pipeline."""
    options = (
        click.option("--slug", metavar="SLUG", help="The short name that never changes."),
        click.option("--prompt", metavar="TEXT|@FILE", help="The task of the AI steps."),
        click.option(
            "--tool-policy", metavar="JSON|@FILE", help="The tool policy of the AI steps."
        ),
        click.option(
            "--step",
            "steps",
            multiple=True,
            metavar="TYPE[:LABEL][=JSON]",
            help="A step, in order; repeat.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _parse_fields(slug: str | None, prompt: str | None, tool_policy: str | None) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if slug is not None:
        fields["slug"] = slug
    if prompt is not None:
        fields["system_prompt"] = read_text(prompt)
    if tool_policy is not None:
        fields["tool_policy"] = read_object("--tool-policy", tool_policy)
    return fields


@command("list", "looseleaf pipelines list", "looseleaf pipelines list --agent ada --format json")
@with_shared_options("agent", "format")
def list_pipelines(options: SharedOptions) -> None:
    """List the pipelines, by name."""
    pipelines = operations.list_pipelines(options.open(), agent=options.agent)
    if options.json:
        print_document({"pipelines": to_json_value(pipelines)})
    elif pipelines:
        rows = [
            (
                pipeline.id,
                pipeline.slug,
                pipeline.agent or "-",
                ", ".join(step.type for step in pipeline.steps) or "-",
                ", ".join(pipeline.memory_files) or "-",
                pipeline.flows,
            )
            for pipeline in pipelines
        ]
        headers = ("ID", "SLUG", "AGENT", "STEPS", "MEMORY FILES", "FLOWS")
        print_table(headers, rows, shrink="STEPS")
    else:
        say("There are no pipelines yet. Create one: looseleaf pipelines create NAME")


@command("show", "looseleaf pipelines show daily-music-news")
@pipeline_argument
@with_shared_options("format")
def show(options: SharedOptions, pipeline: str) -> None:
    """Show one pipeline: its steps, its memory files and its version.

    PIPELINE is an id, a slug, or agent/slug.
    """
    document = operations.show_pipeline(options.open(), pipeline)
    if options.json:
        print_document(to_json_value(document))
        return
    say(f"{document.name} (pipeline {document.id}, {document.slug}), agent {document.agent}")
    say(f"Steps: {format_steps(document.steps)}")
    for step in document.steps:
        settings = json.dumps(to_json_value(step.settings), ensure_ascii=False)
        say(f"  {step.id} ({step.type}): {settings}")
    say(f"Memory files: {', '.join(document.memory_files) or 'none besides the core files'}")
    if document.tool_policy:
        say(f"Tool policy: {json.dumps(to_json_value(document.tool_policy), ensure_ascii=False)}")
    say(f"Flows: {document.flows}")
    say(f"Updated {document.updated}, version {document.hash}")
    if document.system_prompt:
        say("Task:")
        for line in document.system_prompt.splitlines():
            say(f"  {line}")


@command(
    "create",
    'looseleaf pipelines create "Daily Music News" --memory-file content-strategy.md',
    """looseleaf pipelines create News --step 'input={"text": "…"}' --step ai:Write""",
)
@click.argument("name")
@with_definition_options
@click.option(
    "--memory-file", "memory_files", multiple=True, metavar="PAGE", help="A page to add; repeat."
)
@with_shared_options("agent", "format")
def create(
    options: SharedOptions,
    name: str,
    *,
    slug: str | None,
    prompt: str | None,
    tool_policy: str | None,
    steps: tuple[str, ...],
    memory_files: tuple[str, ...],
) -> None:
    """Create a pipeline of an agent.

    A step has a type and, optionally, a label and settings: input:Feed={"url": "…"}.
    """
    document = operations.create_pipeline(
        options.open(),
        name,
        agent=options.agent,
        memory_files=memory_files,
        steps=read_steps(steps),
        **_parse_fields(slug, prompt, tool_policy),
    )
    _print_pipeline(options, document, "Created")


@command(
    "update",
    'looseleaf pipelines update daily-music-news --prompt "Write the news."',
    "looseleaf pipelines update 3 --step input --step ai",
)
@pipeline_argument
@click.option("--name", metavar="NAME", help="The new name; the slug stays.")
@with_definition_options
@click.option("--steps", "row", metavar="JSON|@FILE", help='All steps as {"steps": […]}, with ids.')
@if_match_option
@with_shared_options("format")
def update(  # noqa: PLR0913 - one for each option
    options: SharedOptions,
    pipeline: str,
    *,
    name: str | None,
    slug: str | None,
    prompt: str | None,
    tool_policy: str | None,
    steps: tuple[str, ...],
    row: str | None,
    if_match: str | None,
) -> None:
    """Change a pipeline; fields without an option stay.

    --step replaces all steps by new ones. --steps takes the steps as `show --format json` prints
    them, so that a step keeps its id.
    """
    fields = _parse_fields(slug, prompt, tool_policy)
    if name is not None:
        fields["name"] = name
    if row is not None and steps:
        raise click.UsageError("--step and --steps exclude each other. Leave one out.")
    if row is not None:
        step_rows = read_object("--steps", row).get("steps", [])
        fields["steps"] = documents.read_steps(step_rows)
    elif steps:
        fields["steps"] = read_steps(steps)
    if not fields:
        raise click.UsageError("Nothing to change. Name a field, such as --prompt.")
    document = operations.update_pipeline(options.open(), pipeline, if_match=if_match, **fields)
    _print_pipeline(options, document, "Changed")


@command("delete", "looseleaf pipelines delete daily-music-news --yes")
@pipeline_argument
@if_match_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options("format")
def delete(options: SharedOptions, pipeline: str, *, if_match: str | None, yes: bool) -> None:
    """Delete a pipeline with its flows and files, for good.

    Records of its jobs stay.
    """
    context = options.open()
    document = operations.show_pipeline(context, pipeline)
    question = f"Delete {document.slug} with {format_count(document.flows, 'flow')}?"
    confirm(question, yes=yes)
    removal = operations.delete_pipeline(context, document.id, if_match=if_match)
    if options.json:
        print_document(to_json_value(removal))
    else:
        flows = ", ".join(removal.flows) or "no flows"
        files = format_count(removal.context_files + removal.flow_files, "file")
        parts = f"with {flows} and {files}"
        say(f"Deleted pipeline {removal.slug} (id {removal.id}) {parts}. Jobs stay.")


@command("copy", 'looseleaf pipelines copy daily-music-news --name "Weekly Music News"')
@pipeline_argument
@click.option(
    "--name", default="", metavar="NAME", help='The name of the copy; else with "(copy)".'
)
@click.option(
    "--to-agent", metavar="ID|SLUG", help="The agent of the copy.", shell_complete=complete_agents
)
@with_shared_options("format")
def copy(options: SharedOptions, pipeline: str, *, name: str, to_agent: str | None) -> None:
    """Copy a pipeline without its flows."""
    document = operations.copy_pipeline(options.open(), pipeline, name=name, agent=to_agent)
    _print_pipeline(options, document, "Created")


@command("export", "looseleaf pipelines export daily-music-news > news.json")
@pipeline_argument
@click.option("--without-flows", is_flag=True, help="Only the pipeline itself.")
@with_shared_options()
def export(options: SharedOptions, pipeline: str, *, without_flows: bool) -> None:
    """Print a pipeline with its flows as one JSON file."""
    file = export_pipeline(options.open(), pipeline, without_flows=without_flows)
    print_document(to_json_value(file))


@command("import", "looseleaf pipelines import news.json --agent ada")
@click.argument("file", type=click.Path())
@click.option("--name", default="", metavar="NAME", help="A name instead of that in the file.")
@with_shared_options("agent", "format")
def import_file(options: SharedOptions, file: str, *, name: str) -> None:
    """Create a pipeline and its flows from an exported file; - is standard input.

    Schedules arrive paused.
    """
    if file == "-":
        take_stdin("the file")
        text = sys.stdin.buffer.read().decode(errors="replace")
    else:
        text = read_text(f"@{file}")
    try:
        content = json.loads(text)
    except ValueError as error:
        raise Invalid(f"{file} is not JSON: {error}.") from None
    if not isinstance(content, dict):
        raise Invalid(f"{file} is not an exported pipeline: it is no JSON object.")
    document = import_pipeline(options.open(), content, agent=options.agent, name=name)
    _print_pipeline(options, document, "Imported")


@command(
    "memory-files",
    "looseleaf pipelines memory-files album-reviews",
    "looseleaf pipelines memory-files album-reviews --add content-briefing.md",
)
@pipeline_argument
@click.option("--add", multiple=True, metavar="PAGE", help="Select a page; repeat.")
@click.option("--remove", multiple=True, metavar="PAGE", help="Deselect a page; repeat.")
@with_shared_options("format")
def memory_files(
    options: SharedOptions, pipeline: str, *, add: tuple[str, ...], remove: tuple[str, ...]
) -> None:
    """List or change the pages that a pipeline selects besides the core files."""
    context = options.open()
    before = list_pipeline_memory_files(context, pipeline)
    files = before
    if add or remove:
        files = set_pipeline_memory_files(context, pipeline, add=add, remove=remove)
    print_memory_files(options, before, files, is_change=bool(add or remove))


def print_memory_files(
    options: SharedOptions, before: list[str], files: list[str], *, is_change: bool
) -> None:
    """Print the pages that a pipeline or flow selects."""
    if options.json:
        print_document({"memory_files": files})
        return
    if is_change and files == before:
        say("Nothing changed: the pages are as they were.")
    for name in files:
        say(name)
    if not files:
        say("No pages besides the core files.")


def _print_pipeline(options: SharedOptions, document: PipelineDocument, verb: str) -> None:
    if options.json:
        print_document(to_json_value(document))
    else:
        say(f"{verb} pipeline {document.slug} (id {document.id}) of agent {document.agent}.")
        say(f"Steps: {format_steps(document.steps)}")
