"""`looseleaf agents …`: the agents of a workspace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, complete_agents, confirm, with_shared_options
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.groups import Group, command
from looseleaf.cli.output import say
from looseleaf.errors import Invalid
from looseleaf.times import format_minute
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.operations.agent_summary import AgentSummary
    from looseleaf.operations.config_preview import ConfigPreview


agent_argument = click.argument("agent", shell_complete=complete_agents)
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
    from looseleaf.operations.agent_summary import summarize_agents

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
    elif agents:
        rows = [
            (agent.id, agent.slug, agent.name, agent.owner, agent.status, agent.created[:10])
            for agent in agents
        ]
        print_table(("ID", "SLUG", "NAME", "OWNER", "STATUS", "CREATED"), rows, shrink="NAME")
    elif deleted:
        say("There are no deleted agents that could be restored.")
    else:
        say("There are no agents yet. Create one: looseleaf agents create SLUG")


def _print_sizes(options: SharedOptions, summaries: list[AgentSummary]) -> None:
    if options.json:
        print_document({"agents": to_json_value(summaries)})
        return
    rows = [
        (
            agent.slug,
            agent.status,
            f"{agent.memory_bytes:,} of {agent.memory_budget:,}",
            ", ".join(agent.over_budget) or "-",
            format_minute(agent.changed) if agent.changed else "-",
            agent.changed_page or "-",
            agent.changed_by or "-",
        )
        for agent in summaries
    ]
    headers = ("AGENT", "STATUS", "MEMORY.md", "OVER BUDGET", "CHANGED", "PAGE", "BY")
    print_table(headers, rows)


@command(
    "create",
    "looseleaf agents create ada",
    """looseleaf agents create wiki --name "Wiki" --config '{"models": {"default": "a:b"}}'""",
)
@click.argument("slug")
@click.option("--name", default="", help="The name for people; else made from the slug.")
@click.option("--owner", type=int, metavar="ID", help="The user who owns the agent.")
@click.option("--config", metavar="JSON|@FILE", help="The configuration.")
@with_shared_options(*CHANGE_OPTIONS)
def create(
    options: SharedOptions, slug: str, name: str, owner: int | None, config: str | None
) -> None:
    """Create an agent and start its pages.

    A slug has lower-case letters, digits, - and _. Existing pages stay.
    """
    from looseleaf.operations import agents as operations

    settings = _parse_json("--config", _read_text(config)) if config else None
    if settings is not None and not isinstance(settings, dict):
        raise click.UsageError('--config takes a JSON object, such as {"tone": "calm"}.')
    record = operations.create_agent(options.open(), slug, name=name, owner=owner, config=settings)
    _print_agent(
        options, record, f"Created agent {record.slug} (id {record.id}) in agents/{record.slug}."
    )


@command("show", "looseleaf agents show", "looseleaf agents show ada --format json")
@click.argument("agent", required=False, shell_complete=complete_agents)
@with_shared_options("format")
def show(options: SharedOptions, agent: str | None) -> None:
    """Show one agent and its configuration.

    AGENT is an id or a slug; without it, the default agent is shown.
    """
    from looseleaf.operations import agents as operations

    record = operations.show_agent(options.open(), agent)
    if options.json:
        print_document(as_dict(record))
        return
    for name, field in as_dict(record).items():
        if name != "config":
            say(f"{name:<8}  {field}")
    if not record.config:
        say("config    none")
    for key, setting in record.config.items():
        say(f"config    {key} = {json.dumps(setting, ensure_ascii=False)}")


@command("rename", "looseleaf agents rename ada eve", 'looseleaf agents rename 1 eve --name "Eve"')
@agent_argument
@click.argument("slug", metavar="NEW")
@click.option("--name", default="", help="The new name for people.")
@with_shared_options("format")
def rename(options: SharedOptions, agent: str, slug: str, name: str) -> None:
    """Change an agent's slug.

    Its folder moves; its id, its pages and their history stay.
    """
    from looseleaf.operations import agents as operations

    record = operations.rename_agent(options.open(), agent, slug, name=name)
    _print_agent(options, record, f"Agent {record.id} is now {record.slug} ({record.name}).")


@command(
    "configure",
    """looseleaf agents configure ada 'daily_memory={"enabled": true}'""",
    "looseleaf agents configure ada memory_policy=null",
)
@agent_argument
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
    from looseleaf.operations.config_preview import preview_config

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
    _print_agent(options, record, f"Configured agent {record.slug}: {', '.join(config)}.")


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


def _read_text(config: str) -> str:
    if not config.startswith("@"):
        return config
    try:
        with open(config[1:], encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{config[1:]!r} cannot be read: {error}.") from error


def _parse_json(name: str, text: str) -> object:
    try:
        data: object = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        hint = f""" Text needs quotes of its own: '{name}="{text}"'.""" if text.isalnum() else ""
        raise Invalid(f"The value of {name} is not JSON ({error}).{hint}") from error
    return data


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON number")


def _build_status_command(name: str, status: str, summary: str, details: str) -> click.Command:
    @command(name, f"looseleaf agents {name} ada")
    @agent_argument
    @with_shared_options("format")
    def change(options: SharedOptions, agent: str) -> None:
        from looseleaf.operations import agents as operations

        record = operations.set_agent_status(options.open(), agent, status)
        _print_agent(options, record, f"Agent {record.slug} is {record.status}.")

    change.help = f"{summary}\n\n{details}"
    return change


activate = _build_status_command(
    "activate", "active", "Make an agent active.", "An active agent can be the default agent."
)
deactivate = _build_status_command(
    "deactivate",
    "inactive",
    "Make an agent inactive.",
    "Its pages stay and can be read and changed.",
)
archive = _build_status_command(
    "archive", "archived", "Archive an agent.", "Its pages stay and can be read and changed."
)


@command("delete", "looseleaf agents delete ada", "looseleaf agents delete ada --files --yes")
@agent_argument
@click.option(
    "--files", is_flag=True, help="Delete its pages too; restoring the agent restores them."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options(*CHANGE_OPTIONS)
def delete(options: SharedOptions, agent: str, *, files: bool, yes: bool) -> None:
    """Delete an agent, and with --files its pages.

    Without --files the folder stays, and a new agent of the same slug takes the folder over. The
    agent's tokens end. looseleaf agents restore restores a deleted agent.
    """
    from looseleaf.operations import agents as operations

    context = options.open()
    record = operations.show_agent(context, agent)
    with_pages = " and all its pages" if files else ", but not its pages"
    confirm(f"Delete agent {record.slug} (id {record.id}){with_pages}?", yes=yes)
    removal = operations.delete_agent(context, record.id, files=files)
    if options.json:
        print_document(as_dict(removal))
        return
    pages = f" and {format_count(removal.pages, 'page')}" if files else ""
    folder_note = (
        f" Its folder agents/{removal.slug} is still there." if removal.folder_left else ""
    )
    say(f"Deleted agent {removal.slug}{pages}.{folder_note}")


@command("restore", "looseleaf agents restore ada", "looseleaf agents restore 2 --slug ada-again")
@click.argument("agent")
@click.option("--slug", default="", help="Another slug, if the old slug is taken.")
@with_shared_options("format")
def restore(options: SharedOptions, agent: str, slug: str) -> None:
    """Restore a deleted agent.

    AGENT is an id or a slug; looseleaf agents list --deleted shows both. The id, pages and history
    are restored; tokens of the agent and roles on it are not.
    """
    from looseleaf.operations import agents as operations

    record = operations.restore_agent(options.open(), agent, slug=slug)
    _print_agent(options, record, f"Restored agent {record.slug} (id {record.id}).")


def _print_agent(options: SharedOptions, record: AgentRecord, sentence: str) -> None:
    if options.json:
        print_document(as_dict(record))
    else:
        say(sentence)


agents_group = Group(
    "agents",
    "The agents of the workspace.",
    *(list_agents, create, show, rename, configure, activate, deactivate, archive, delete, restore),
)
