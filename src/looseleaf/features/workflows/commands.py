"""`looseleaf pipelines …` and `looseleaf flows …`: the workflows of agents."""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.json_values import to_json_value
from looseleaf.cli.arguments import (
    SharedOptions,
    read_object,
    read_text,
    take_stdin,
    with_shared_options,
)
from looseleaf.cli.command_line import Group, command
from looseleaf.cli.derived_commands import Derivation, ResultTable
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.output import say
from looseleaf.errors import Invalid
from looseleaf.features.workflows import documents
from looseleaf.features.workflows.definitions import CRON, ONE_TIME, QUEUE_MODES, Step
from looseleaf.features.workflows.documents import ScheduleFields, parse_schedule
from looseleaf.features.workflows.step_commands import (
    EGRESS,
    TOOL_POLICY,
    find_schemas,
    pick_pairs,
    read_steps,
    set_flow,
    set_object,
    set_option,
    set_steps,
    unset_option,
)
from looseleaf.values import as_dict, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Function = Callable[..., object]
    from collections.abc import Callable, Iterator

    from looseleaf.catalog.context import Context
    from looseleaf.features.workflows.documents import FlowDocument, PipelineDocument
    from looseleaf.features.workflows.operations.flows import FlowRemoved
    from looseleaf.features.workflows.operations.pipelines import PipelineRemoved


INTERVALS = "hourly, daily, 6h …, five fields of cron, a UTC time, or manual"


def read_schedule(schedule: str, at: str, *, is_paused: bool) -> ScheduleFields:
    """Read a schedule: a short text such as `daily`, or the time of --at."""
    fields = ScheduleFields(ONE_TIME, at=at) if at else parse_schedule(schedule)
    return replace(fields, enabled=not is_paused)


def format_schedule(schedule: ScheduleFields) -> str:
    """Write a schedule in a few words."""
    descriptions = {CRON: f"cron {schedule.cron}", ONE_TIME: f"once at {schedule.at}"}
    words = descriptions.get(schedule.interval, schedule.interval)
    return words if schedule.enabled else f"{words} (paused)"


def format_steps(steps: Iterable[Step]) -> str:
    """Write the steps of a pipeline in one line."""
    return " → ".join(f"{step.title} ({step.id})" for step in steps) or "no steps yet"


pipeline_argument = click.argument("pipeline", metavar="PIPELINE")
if_match_option = click.option("--if-match", metavar="HASH", help="Only if it has this version.")


_pipelines = Derivation("pipelines", "looseleaf.features.workflows.operations.pipelines")
_flows = Derivation("flows", "looseleaf.features.workflows.operations.flows")

list_pipelines = _pipelines.derive(
    "list",
    "list_pipelines",
    "",
    "--agent ada --format json",
    key="pipelines",
    show=ResultTable(
        "id slug agent steps memory_files flows",
        cells={"steps": lambda found: ", ".join(step.type for step in found.steps) or "-"},
        shrink="STEPS",
        empty="There are no pipelines yet. Create one: looseleaf pipelines create NAME",
    ),
)


@_pipelines.shown("show", "show_pipeline", "daily-music-news")
def show_pipeline(document: PipelineDocument) -> None:
    """Show one pipeline: its steps, its memory files and its version.

    PIPELINE is an id, a slug, or agent/slug.
    """
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


_PIPELINE: dict[str, str | click.Parameter | None] = {
    "slug": "--slug SLUG: The short name that never changes.",
    "system_prompt": click.Option(
        ["--prompt", "system_prompt"],
        metavar="TEXT|@FILE",
        callback=lambda _ctx, _param, text: text if text is None else read_text(text),
        help="The task of the AI steps.",
    ),
    "tool_policy": "--tool-policy: The tool policy of the AI steps.",
    "steps": click.Option(
        ["--step", "steps"],
        multiple=True,
        metavar="TYPE[:LABEL][=JSON]",
        help="A step, in order; repeat.",
    ),
    "settings": set_option,
}


def _take_steps(arguments: dict[str, Any], given: dict[str, Any]) -> None:
    if given["steps"]:
        arguments["steps"] = [as_dict(step) for step in read_steps(given["steps"])]


def _set_pipeline(context: Context, arguments: dict[str, Any], given: dict[str, Any]) -> None:
    """Apply --set and --unset to the steps that are given, else to those that there are."""
    policy, of_steps = pick_pairs(TOOL_POLICY, given["settings"])
    policy_names, step_names = pick_pairs(TOOL_POLICY, given.get("unset", ()))
    has_steps = "steps" in arguments or not (of_steps or step_names)
    has_policy = "tool_policy" in arguments or not (policy or policy_names)
    steps = tuple(Step(**fields) for fields in arguments.get("steps", ()))
    tool_policy = arguments.get("tool_policy") or {}
    if "pipeline" in arguments and not (has_steps and has_policy):
        from looseleaf.features.workflows.operations.pipelines import show_pipeline

        current = show_pipeline(context, arguments["pipeline"])
        arguments.setdefault("if_match", current.hash)
        steps = steps if has_steps else current.steps
        tool_policy = tool_policy if has_policy else to_json_value(current.tool_policy)
    if of_steps or step_names:
        changed = set_steps(find_schemas(context), steps, of_steps, step_names)
        arguments["steps"] = [as_dict(step) for step in changed]
    if policy or policy_names:
        arguments["tool_policy"] = set_object(TOOL_POLICY, tool_policy, policy, policy_names)
    if not arguments.keys() - {"pipeline", "if_match"}:
        raise click.UsageError("Nothing to change. Name a field, such as --prompt.")


create_pipeline = _pipelines.derive(
    "create",
    "create_pipeline",
    '"Daily Music News" --memory-file content-strategy.md',
    'News --step ai:Write --set "ai.prompt=Write the news."',
    help="""Create a pipeline of an agent.

    --step names a type and, optionally, a label: input:Feed. --set STEP.NAME=VALUE names a step by
    its type, its id or its place from 1; a list has commas, and @FILE is the text of a file. All
    types and settings: looseleaf steps list, looseleaf steps show TYPE. Settings may also stand
    behind the type as JSON: input={"source": "text", "text": "…"}.
    """,
    parameters={**_PIPELINE, "memory_files": "--memory-file PAGE: A page to add; repeat."},
    prepare=_take_steps,
    resolve=_set_pipeline,
    show=lambda document: _say_pipeline(document, "Created"),
)


def _take_changes(arguments: dict[str, Any], given: dict[str, Any]) -> None:
    if given["row"] is not None and given["steps"]:
        raise click.UsageError("--step and --steps exclude each other. Leave one out.")
    _take_steps(arguments, given)
    if given["row"] is not None:
        rows = read_object("--steps", given["row"]).get("steps", [])
        arguments["steps"] = [as_dict(step) for step in documents.read_steps(rows)]


_IF_MATCH = "--if-match HASH: Only if it has this version."
update_pipeline = _pipelines.derive(
    "update",
    "update_pipeline",
    'daily-music-news --prompt "Write the news."',
    'daily-music-news --set "ai.prompt=Begin with jazz."',
    help="""Change a pipeline; fields without an option stay.

    --set changes one setting of a step that stays as it is, and --unset takes one away. --step
    replaces all steps by new ones. --steps takes the steps as `show --format json` prints
    them, so that a step keeps its id.
    """,
    parameters={
        **_PIPELINE,
        "unset": unset_option,
        "memory_files": None,
        "if_match": _IF_MATCH,
        "row": click.Option(
            ["--steps", "row"],
            metavar="JSON|@FILE",
            help='All steps as {"steps": […]}, with ids.',
        ),
    },
    prepare=_take_changes,
    resolve=_set_pipeline,
    show=lambda document: _say_pipeline(document, "Changed"),
)


def _ask_to_delete_pipeline(context: Context, arguments: dict[str, Any]) -> str:
    from looseleaf.features.workflows.operations.pipelines import show_pipeline

    document = show_pipeline(context, arguments["pipeline"])
    arguments["pipeline"] = document.id
    return f"Delete {document.slug} with {format_count(document.flows, 'flow')}?"


@_pipelines.shown(
    "delete",
    "delete_pipeline",
    "daily-music-news --yes",
    parameters={"if_match": _IF_MATCH},
    ask=_ask_to_delete_pipeline,
)
def delete_pipeline(removal: PipelineRemoved) -> None:
    """Delete a pipeline with its flows and files, for good.

    Records of its jobs stay.
    """
    flows = ", ".join(removal.flows) or "no flows"
    files = format_count(removal.context_files + removal.flow_files, "file")
    say(f"Deleted pipeline {removal.slug} (id {removal.id}) with {flows} and {files}. Jobs stay.")


copy_pipeline = _pipelines.derive(
    "copy",
    "copy_pipeline",
    'daily-music-news --name "Weekly Music News"',
    parameters={"agent": "--to-agent ID|SLUG: The agent of the copy."},
    show=lambda document: _say_pipeline(document, "Created"),
)


export_pipeline = Derivation(
    "pipelines", "looseleaf.features.workflows.operations.pipelines"
).derive(
    "export",
    "export_pipeline",
    "daily-music-news > news.json",
    parameters={"without_flows": "--without-flows: Only the pipeline itself."},
    shared=(),
    show=lambda file: print_document(to_json_value(file)),
)


@command("import", "looseleaf pipelines import news.json --agent ada")
@click.argument("file", type=click.Path())
@click.option("--name", default="", metavar="NAME", help="A name instead of that in the file.")
@with_shared_options("agent", "format")
def import_pipeline(options: SharedOptions, file: str, *, name: str) -> None:
    """Create a pipeline and its flows from an exported file; - is standard input.

    Schedules arrive paused.
    """
    from looseleaf.features.workflows.operations.pipelines import import_pipeline

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
    if options.json:
        print_document(to_json_value(document))
    else:
        _say_pipeline(document, "Imported")


@command(
    "memory-files",
    "looseleaf pipelines memory-files album-reviews",
    "looseleaf pipelines memory-files album-reviews --add content-briefing.md",
)
@pipeline_argument
@click.option("--add", multiple=True, metavar="PAGE", help="Select a page; repeat.")
@click.option("--remove", multiple=True, metavar="PAGE", help="Deselect a page; repeat.")
@with_shared_options("format")
def pipeline_memory_files(
    options: SharedOptions, pipeline: str, *, add: tuple[str, ...], remove: tuple[str, ...]
) -> None:
    """List or change the pages that a pipeline selects besides the core files."""
    from looseleaf.features.workflows.operations.flows import (
        list_pipeline_memory_files,
        set_pipeline_memory_files,
    )

    context = options.open()
    before = list_pipeline_memory_files(context, pipeline)
    files = before
    if add or remove:
        files = set_pipeline_memory_files(context, pipeline, add=add, remove=remove)
    _print_memory_files(options, before, files, is_change=bool(add or remove))


def _print_memory_files(
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


def _say_pipeline(document: PipelineDocument, verb: str) -> None:
    say(f"{verb} pipeline {document.slug} (id {document.id}) of agent {document.agent}.")
    say(f"Steps: {format_steps(document.steps)}")


flow_argument = click.argument("flow", metavar="FLOW")


def with_flow_options(function: Function) -> Function:
    """Add the options that define a flow."""
    options = (
        click.option("--slug", metavar="SLUG", help="The short name that never changes."),
        click.option("--schedule", metavar="WHEN", help=f"{INTERVALS}."),
        click.option("--at", metavar="TIME", help="Once, at this UTC time."),
        click.option("--paused/--running", default=None, help="Whether the schedule is paused."),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="STEP.NAME=VALUE",
            help="A setting of a step in this flow, or run_artifacts.NAME=VALUE; repeat.",
        ),
        click.option(
            "--unset",
            multiple=True,
            metavar="STEP[.NAME]",
            help="Take a setting away, so that the step's own counts; repeat.",
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


def _parse_flow(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a flow that the options name."""
    fields: dict[str, Any] = {
        name: options[name] for name in ("slug", "queue_mode") if options[name] is not None
    }
    schedule, at, is_paused = options["schedule"], options["at"], options["paused"]
    if schedule is not None or at is not None:
        fields["schedule"] = read_schedule(schedule or "", at or "", is_paused=bool(is_paused))
    if options["prompts"]:
        fields["prompt_queue"] = options["prompts"]
    if options["run_artifacts"] is not None:
        fields["run_artifacts"] = read_object("--run-artifacts", options["run_artifacts"])
    return fields


def _set_flow(
    context: Context,
    fields: dict[str, Any],
    options: dict[str, Any],
    pipeline: str | int,
    flow: FlowDocument | None = None,
) -> None:
    """Apply --set and --unset to the settings of steps, and to the policy of artifacts."""
    egress, of_steps = pick_pairs(EGRESS, options["settings"])
    egress_names, step_names = pick_pairs(EGRESS, options["unset"])
    if egress or egress_names:
        stored = to_json_value(flow.run_artifacts) if flow is not None else {}
        policy = fields.get(EGRESS, stored)
        fields[EGRESS] = set_object(EGRESS, policy, egress, egress_names)
    if of_steps or step_names:
        from looseleaf.features.workflows.operations.pipelines import show_pipeline

        steps = show_pipeline(context, pipeline).steps
        stored = to_json_value(flow.step_settings) if flow is not None else {}
        schemas = find_schemas(context)
        fields["step_settings"] = set_flow(schemas, steps, stored, of_steps, step_names)


list_flows = _flows.derive(
    "list",
    "list_flows",
    "",
    "--pipeline daily-music-news",
    key="flows",
    show=ResultTable(
        "id slug pipeline agent schedule memory_files queue",
        cells={
            "schedule": lambda flow: format_schedule(flow.schedule),
            "queue": lambda flow: len(flow.prompt_queue),
        },
        shrink="MEMORY FILES",
        empty="There are no flows yet. Create one: looseleaf flows create PIPELINE NAME",
    ),
)


@_flows.shown("show", "show_flow", "morning", "daily-music-news/morning")
def show_flow(document: FlowDocument) -> None:
    """Show one flow: its schedule, its memory files, its queue and its version.

    FLOW is an id, a slug, or pipeline/slug.
    """
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
    'looseleaf flows create daily-music-news Weekly --set "input.text=A new album."',
)
@click.argument("pipeline", metavar="PIPELINE")
@click.argument("name")
@with_flow_options
@click.option(
    "--memory-file", "memory_files", multiple=True, metavar="PAGE", help="A page to add; repeat."
)
@with_shared_options("format")
def create_flow(options: SharedOptions, pipeline: str, name: str, **fields: Any) -> None:  # noqa: ANN401 - one for each option
    """Create a flow of a pipeline.

    --set STEP.NAME=VALUE overrides a setting of a step in this flow; looseleaf steps show TYPE has
    the settings of a type.
    """
    from looseleaf.features.workflows.operations import flows as operations

    memory_files, context = fields.pop("memory_files"), options.open()
    values = _parse_flow(fields)
    _set_flow(context, values, fields, pipeline)
    document = operations.create_flow(context, pipeline, name, memory_files=memory_files, **values)
    _print_flow(options, document, "Created")


@command(
    "update",
    "looseleaf flows update morning --schedule hourly",
    "looseleaf flows update morning --paused",
)
@flow_argument
@click.option("--name", metavar="NAME", help="The new name; the slug stays.")
@with_flow_options
@if_match_option
@with_shared_options("format")
def update_flow(
    options: SharedOptions,
    flow: str,
    *,
    name: str | None,
    if_match: str | None,
    **fields: Any,  # noqa: ANN401 - one for each option
) -> None:
    """Change a flow; fields without an option stay.

    --set changes one setting of a step in this flow, --set STEP=JSON all of a step's, and --unset
    takes one or all of them away. --prompt replaces the whole queue.
    """
    from looseleaf.features.workflows.operations import flows as operations

    context = options.open()
    changes = _parse_flow(fields)
    if fields["settings"] or fields["unset"]:
        current = operations.show_flow(context, flow)
        _set_flow(context, changes, fields, current.pipeline_id, current)
        if_match = if_match or current.hash
    if name is not None:
        changes["name"] = name
    if fields["paused"] is not None and "schedule" not in changes:
        schedule = operations.show_flow(context, flow).schedule
        changes["schedule"] = replace(schedule, enabled=not fields["paused"])
    if not changes:
        raise click.UsageError("Nothing to change. Name a field, such as --schedule.")
    document = operations.update_flow(context, flow, if_match=if_match, **changes)
    _print_flow(options, document, "Changed")


queue_prompt = _flows.derive(
    "queue",
    "queue_prompt",
    'morning "Write about the festival."',
    show=lambda flow: say(f"Queued prompt {len(flow.prompt_queue)} of flow {flow.slug}."),
)


def _ask_to_delete_flow(context: Context, arguments: dict[str, Any]) -> str:
    from looseleaf.features.workflows.operations.flows import show_flow

    document = show_flow(context, arguments["flow"])
    arguments["flow"] = document.id
    return f"Delete flow {document.slug} of pipeline {document.pipeline}?"


@_flows.shown(
    "delete",
    "delete_flow",
    "morning --yes",
    parameters={"if_match": _IF_MATCH},
    ask=_ask_to_delete_flow,
)
def delete_flow(removal: FlowRemoved) -> None:
    """Delete a flow with its files, for good; records of its jobs stay."""
    files = format_count(removal.files, "file")
    say(f"Deleted flow {removal.slug} (id {removal.id}) with {files}. Jobs stay.")


copy_flow = _flows.derive(
    "copy",
    "copy_flow",
    'morning --name "Evening edition"',
    show=lambda document: _say_flow(document, "Created"),
)


@command(
    "memory-files",
    "looseleaf flows memory-files morning",
    "looseleaf flows memory-files morning --add contexts/festival.md",
)
@flow_argument
@click.option("--add", multiple=True, metavar="PAGE", help="Select a page; repeat.")
@click.option("--remove", multiple=True, metavar="PAGE", help="Deselect a page; repeat.")
@with_shared_options("format")
def flow_memory_files(
    options: SharedOptions, flow: str, *, add: tuple[str, ...], remove: tuple[str, ...]
) -> None:
    """List or change the pages that a flow selects after those of its pipeline."""
    from looseleaf.features.workflows.operations.flows import (
        list_flow_memory_files,
        set_flow_memory_files,
    )

    context = options.open()
    before = list_flow_memory_files(context, flow)
    after = before
    if add or remove:
        after = set_flow_memory_files(context, flow, add=add, remove=remove)
    _print_memory_files(
        options, list(before.memory_files), list(after.memory_files), is_change=bool(add or remove)
    )


def _print_flow(options: SharedOptions, document: FlowDocument, verb: str) -> None:
    if options.json:
        print_document(to_json_value(document))
    else:
        _say_flow(document, verb)


def _say_flow(document: FlowDocument, verb: str) -> None:
    schedule = format_schedule(document.schedule)
    place = f"of pipeline {document.pipeline}"
    say(f"{verb} flow {document.slug} (id {document.id}) {place}: {schedule}.")


_PART_BYTES = 1_048_576

add_option = click.option(
    "--add", multiple=True, type=click.Path(), metavar="PATH", help="Upload this file; repeat."
)
remove_option = click.option(
    "--remove", multiple=True, metavar="NAME", help="Delete this file; repeat."
)


@command(
    "files",
    "looseleaf pipelines files album-reviews",
    "looseleaf pipelines files album-reviews --add style-guide.pdf",
)
@click.argument("pipeline", metavar="PIPELINE")
@add_option
@remove_option
@with_shared_options("format")
def pipeline_files(
    options: SharedOptions, pipeline: str, add: tuple[str, ...], remove: tuple[str, ...]
) -> None:
    """List, upload or delete the context files of a pipeline.

    The prompts of its AI steps contain text files, and name other files.
    """
    _change_files(options, {"pipeline": pipeline}, add, remove)


@command(
    "files",
    "looseleaf flows files morning",
    "looseleaf flows files morning --add notes.txt --remove old.txt",
)
@click.argument("flow", metavar="FLOW")
@add_option
@remove_option
@with_shared_options("format")
def flow_files(
    options: SharedOptions, flow: str, add: tuple[str, ...], remove: tuple[str, ...]
) -> None:
    """List, upload or delete the files that are input of a flow."""
    _change_files(options, {"flow": flow}, add, remove)


def _change_files(
    options: SharedOptions, place: dict[str, str], add: tuple[str, ...], remove: tuple[str, ...]
) -> None:
    from looseleaf.features.workflows.operations import files as operations

    context = options.open()
    for path in add:
        _upload(context, place, path, is_remote=bool(options.server))
    for name in remove:
        operations.delete_workflow_file(
            context, name, flow=place.get("flow"), pipeline=place.get("pipeline")
        )
    files = operations.list_workflow_files(
        context, flow=place.get("flow"), pipeline=place.get("pipeline")
    )
    if options.json:
        print_document({"files": to_json_value(files)})
    elif files:
        rows = [(file.filename, file.size, file.modified) for file in files]
        print_table(("NAME", "BYTES", "MODIFIED"), rows)
    else:
        say("No files yet. Upload one: --add PATH")


def _upload(context: Context, place: dict[str, str], path: str, *, is_remote: bool) -> None:
    from looseleaf.features.workflows.operations import files as operations

    name, flow, pipeline = os.path.basename(path), place.get("flow"), place.get("pipeline")
    if is_remote:
        data = b64encode(b"".join(_read_parts(path))).decode()
        operations.upload_workflow_file(context, name, data, flow=flow, pipeline=pipeline)
        return
    folder = operations.find_folder(context, "", flow, pipeline)
    operations.receive_file(context, folder, name, _read_parts(path))


def _read_parts(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            while part := file.read(_PART_BYTES):
                yield part
    except OSError as error:
        raise Invalid(f"{path!r} cannot be read: {error.strerror}.") from error


pipelines_group = Group(
    "pipelines",
    "Reusable workflows of an agent, and their memory.",
    *(list_pipelines, show_pipeline, create_pipeline, update_pipeline, delete_pipeline),
    *(copy_pipeline, export_pipeline, import_pipeline, pipeline_memory_files, pipeline_files),
)
flows_group = Group(
    "flows",
    "Configured and scheduled uses of a pipeline.",
    *(list_flows, show_flow, create_flow, update_flow, queue_prompt, delete_flow, copy_flow),
    *(flow_memory_files, flow_files),
)
