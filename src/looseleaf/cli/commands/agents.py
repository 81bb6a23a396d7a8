"""`looseleaf agents …`: the agents of a workspace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.json_values import to_json_value
from looseleaf.cli.arguments import (
    SharedOptions,
    complete_agents,
    refuse_constant,
    with_shared_options,
)
from looseleaf.cli.command_line import Group, command
from looseleaf.cli.derived_commands import Derivation, DerivedCommand, Fields, ResultTable
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.output import say
from looseleaf.errors import Invalid
from looseleaf.times import format_minute
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.models.model import ModelOffer
    from looseleaf.operations.agents import AgentSummary, ConfigPreview, Removed

_agents = Derivation("agents", "looseleaf.operations.agents")
_models = Derivation("models", "looseleaf.operations.agents")


CHANGE_OPTIONS = ("format", "actor", "reason")  # recorded in the history of pages


@command(
    "list",
    "looseleaf agents list",
    "looseleaf agents list --deleted",
    "looseleaf agents list --sizes",
    "looseleaf agents list --format json",
)
@click.option("--deleted", is_flag=True, help="Deleted agents, which can be restored.")
@click.option("--sizes", is_flag=True, help="With sizes against budgets, and the last changes.")
@with_shared_options("format")
def list_agents(options: SharedOptions, *, deleted: bool, sizes: bool) -> None:
    """List every agent."""
    from looseleaf.operations import agents as operations
    from looseleaf.operations.agents import summarize_agents

    context = options.open()
    if sizes and deleted:
        raise click.UsageError("--deleted and --sizes exclude each other.")
    if sizes:
        _print_sizes(options, summarize_agents(context))
        return
    operation = operations.list_deleted_agents if deleted else operations.list_agents
    agents = operation(context)
    if options.json:
        print_document({"agents": [as_dict(agent) for agent in agents]})
    elif agents or not deleted:
        _AGENTS(agents)
    else:
        say("There are no deleted agents that could be restored.")


_AGENTS = ResultTable(
    "id slug name owner status created",
    cells={"created": lambda agent: agent.created[:10]},
    shrink="NAME",
    empty="There are no agents yet. Create one: looseleaf agents create SLUG",
)
_SIZES = ResultTable(
    "agent=slug status MEMORY.md over_budget changed page=changed_page by=changed_by",
    cells={
        "MEMORY.md": lambda agent: f"{agent.memory_bytes:,} of {agent.memory_budget:,}",
        "changed": lambda agent: format_minute(agent.changed) if agent.changed else "-",
    },
)


def _print_sizes(options: SharedOptions, summaries: list[AgentSummary]) -> None:
    if options.json:
        print_document({"agents": to_json_value(summaries)})
        return
    _SIZES(summaries)


create = _agents.derive(
    "create",
    "create_agent",
    "ada",
    """wiki --name "Wiki" --config '{"models": {"default": "a:b"}}'""",
    parameters={"owner": "--owner ID"},
    shared=CHANGE_OPTIONS,
    show="Created agent {slug} (id {id}) in agents/{slug}.",
)


@_agents.shown("show", "show_agent", "", "ada --format json")
def show(record: AgentRecord) -> None:
    """Show one agent and its configuration.

    AGENT is an id or a slug; without it, the default agent is shown.
    """
    Fields("id slug name owner status created")(record)
    if not record.config:
        say("config    none")
    for key, setting in record.config.items():
        say(f"config    {key} = {json.dumps(setting, ensure_ascii=False)}")


rename = _agents.derive(
    "rename",
    "rename_agent",
    "ada eve",
    '1 eve --name "Eve"',
    parameters={"slug": "NEW"},
    show="Agent {id} is now {slug} ({name}).",
)


@command(
    "configure",
    """looseleaf agents configure ada 'daily_memory={"enabled": true}'""",
    "looseleaf agents configure ada memory_policy=null",
)
@click.argument("agent", shell_complete=complete_agents)
@click.argument("settings", nargs=-1, required=True, metavar="KEY=JSON…")
@click.option("--preview", is_flag=True, help="Only show what this would change in the prompt.")
@with_shared_options("format")
def configure(
    options: SharedOptions, agent: str, settings: tuple[str, ...], *, preview: bool
) -> None:
    """Set keys of an agent's configuration.

    Values are JSON; null removes a key. Keys that are not named stay.
    """
    from looseleaf.operations import agents as operations
    from looseleaf.operations.agents import preview_config

    config = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not key or not equals:
            raise click.UsageError(f"{setting!r} is not KEY=JSON.")
        config[key] = _parse_json(key, text)
    if preview:
        _print_preview(options, preview_config(options.open(), agent, config))
        return
    record = operations.configure_agent(options.open(), agent, config)
    if options.json:
        print_document(to_json_value(record))
    else:
        say(f"Configured agent {record.slug}: {', '.join(config)}.")


def _print_preview(options: SharedOptions, preview: ConfigPreview) -> None:
    if options.json:
        print_document(to_json_value(preview))
        return
    rows: list[tuple[object, ...]] = [
        (difference.kind, difference.name, difference.layer or "-", *difference.bytes)
        for difference in preview.prompt.differences
        if difference.kind != "same"
    ]
    rows += [
        (tool.kind, tool.name, "tool", "", "") for tool in preview.tools if tool.kind != "same"
    ]
    if rows:
        print_table(("CHANGE", "NAME", "LAYER", "BYTES", "THEN"), rows)
    before, after = preview.prompt.bytes
    sizes = f"has {before:,} bytes, and would have {after:,}"
    say(f"The prompt in {preview.mode} {sizes}. Nothing is set.")


def _parse_json(name: str, text: str) -> object:
    try:
        data: object = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        hint = f""" Text needs quotes of its own: '{name}="{text}"'.""" if text.isalnum() else ""
        raise Invalid(f"The value of {name} is not JSON ({error}).{hint}") from error
    return data


def _build_status_command(name: str, status: str, *help_lines: str) -> DerivedCommand:
    return DerivedCommand(
        name,
        "looseleaf.operations.agents:set_agent_status",
        f"looseleaf agents {name} ada",
        help="\n\n".join(help_lines),
        parameters={"status": None},
        prepare=lambda arguments, _given: arguments.update(status=status),
        show="Agent {slug} is {status}.",
    )


_STAY = "Its pages stay and can be read and changed."
activate = _build_status_command(
    "activate", "active", "Make an agent active.", "An active agent can be the default agent."
)
deactivate = _build_status_command("deactivate", "inactive", "Make an agent inactive.", _STAY)
archive = _build_status_command("archive", "archived", "Archive an agent.", _STAY)


def _ask_to_delete(context: Context, arguments: dict[str, Any]) -> str:
    from looseleaf.operations.agents import show_agent

    record = show_agent(context, arguments["agent"])
    arguments["agent"] = record.id
    with_pages = " and all its pages" if arguments["files"] else ", but not its pages"
    return f"Delete agent {record.slug} (id {record.id}){with_pages}?"


@_agents.shown(
    "delete",
    "delete_agent",
    "ada",
    "ada --files --yes",
    parameters={"files": "--files: Delete its pages too; restoring the agent restores them."},
    shared=CHANGE_OPTIONS,
    ask=_ask_to_delete,
)
def delete(removal: Removed) -> None:
    """Delete an agent, and with --files its pages.

    Without --files the folder stays, and a new agent of the same slug takes the folder over. The
    agent's tokens end. looseleaf agents restore restores a deleted agent.
    """
    with_files = click.get_current_context().params["files"]
    pages = f" and {format_count(removal.pages, 'page')}" if with_files else ""
    note = f" Its folder agents/{removal.slug} is still there." if removal.folder_left else ""
    say(f"Deleted agent {removal.slug}{pages}.{note}")


restore = _agents.derive(
    "restore",
    "restore_agent",
    "ada",
    "2 --slug ada-again",
    help="""Restore a deleted agent.

    AGENT is an id or a slug; looseleaf agents list --deleted shows both. The id, pages and history
    are restored; tokens of the agent and roles on it are not.
    """,
    show="Restored agent {slug} (id {id}).",
)
agents_group = Group(
    "agents",
    "The agents of the workspace.",
    *(list_agents, create, show, rename, configure, activate, deactivate, archive, delete, restore),
)


@_models.shown("list", "list_models", "")
def list_models(offers: list[ModelOffer]) -> None:
    """List the models that the providers of the settings offer.

    Each provider is asked for a few seconds. A name that is not listed may be used, too.
    """
    for offer in offers:
        for name in offer.models:
            say(name)
        if offer.problem:
            say(f"{offer.provider}: {offer.problem}")


models_group = Group("models", "The models that providers offer.", list_models)
