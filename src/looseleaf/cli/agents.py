"""`looseleaf agents …`: who remembers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import Asked, complete_agents, confirmed, shared
from looseleaf.cli.formats import counted, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.errors import Invalid
from looseleaf.operations import agents as operations
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord

agent_argument = click.argument("agent", shell_complete=complete_agents)
CHANGING = ("format", "actor", "reason")  # what goes into the history of pages


@command(
    "list",
    "looseleaf agents list",
    "looseleaf agents list --deleted",
    "looseleaf agents list --format json",
)
@click.option("--deleted", is_flag=True, help="Those that were deleted and can be restored.")
@shared("format")
def list_agents(asked: Asked, *, deleted: bool) -> None:
    """List every agent."""
    context = asked.open()
    run = operations.list_deleted_agents if deleted else operations.list_agents
    found = run(context)
    if asked.json:
        print_document({"agents": [as_dict(one) for one in found]})
    elif found:
        rows = [
            (one.id, one.slug, one.name, one.owner, one.status, one.created[:10]) for one in found
        ]
        print_table(("ID", "SLUG", "NAME", "OWNER", "STATUS", "CREATED"), rows, shrink="NAME")
    elif deleted:
        say("There are no deleted agents that could be restored.")
    else:
        say("There are no agents yet. Create one: looseleaf agents create SLUG")


@command(
    "create",
    "looseleaf agents create ada",
    """looseleaf agents create wiki --name "Wiki" --config '{"models": {"default": "a:b"}}'""",
)
@click.argument("slug")
@click.option("--name", default="", help="What people call it; else made from the slug.")
@click.option("--owner", type=int, metavar="ID", help="The user it belongs to.")
@click.option("--config", metavar="JSON|@FILE", help="Its configuration.")
@shared(*CHANGING)
def create(asked: Asked, slug: str, name: str, owner: int | None, config: str | None) -> None:
    """Create an agent and start its pages.

    A slug has lower-case letters, digits, - and _. Pages that are there already stay.
    """
    settings = _parsed("--config", _text(config)) if config else None
    if settings is not None and not isinstance(settings, dict):
        raise click.UsageError('--config takes a JSON object, such as {"tone": "calm"}.')
    record = operations.create_agent(asked.open(), slug, name=name, owner=owner, config=settings)
    _tell(asked, record, f"Created agent {record.slug} (id {record.id}) in agents/{record.slug}.")


@command("show", "looseleaf agents show", "looseleaf agents show ada --format json")
@click.argument("agent", required=False, shell_complete=complete_agents)
@shared("format")
def show(asked: Asked, agent: str | None) -> None:
    """Show one agent and its configuration.

    By id or slug; without either, the default agent.
    """
    record = operations.show_agent(asked.open(), agent)
    if asked.json:
        print_document(as_dict(record))
        return
    for name, known in as_dict(record).items():
        if name != "config":
            say(f"{name:<8}  {known}")
    if not record.config:
        say("config    none")
    for key, setting in record.config.items():
        say(f"config    {key} = {json.dumps(setting, ensure_ascii=False)}")


@command("rename", "looseleaf agents rename ada eve", 'looseleaf agents rename 1 eve --name "Eve"')
@agent_argument
@click.argument("slug", metavar="NEW")
@click.option("--name", default="", help="What people call it from now on.")
@shared("format")
def rename(asked: Asked, agent: str, slug: str, name: str) -> None:
    """Give an agent another slug.

    Its folder moves; its id, its pages and their history stay.
    """
    record = operations.rename_agent(asked.open(), agent, slug, name=name)
    _tell(asked, record, f"Agent {record.id} is now {record.slug} ({record.name}).")


@command(
    "configure",
    """looseleaf agents configure ada 'daily_memory={"enabled": true}'""",
    "looseleaf agents configure ada memory_policy=null",
)
@agent_argument
@click.argument("settings", nargs=-1, required=True, metavar="KEY=JSON…")
@shared("format")
def configure(asked: Asked, agent: str, settings: tuple[str, ...]) -> None:
    """Set keys of an agent's configuration.

    Values are JSON; null takes a key out. Keys that are not named stay as they are.
    """
    config = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not key or not equals:
            raise click.UsageError(f"{setting!r} is not KEY=JSON.")
        config[key] = _parsed(key, text)
    record = operations.configure_agent(asked.open(), agent, config)
    _tell(asked, record, f"Configured agent {record.slug}: {', '.join(config)}.")


def _text(config: str) -> str:
    if not config.startswith("@"):
        return config
    try:
        with open(config[1:], encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{config[1:]!r} cannot be read: {error}.") from error


def _parsed(name: str, text: str) -> object:
    try:
        parsed: object = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        hint = f""" Text needs quotes of its own: '{name}="{text}"'.""" if text.isalnum() else ""
        raise Invalid(f"The value of {name} is not JSON ({error}).{hint}") from error
    return parsed


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON number")


def _status_command(name: str, status: str, summary: str, more: str) -> click.Command:
    @command(name, f"looseleaf agents {name} ada")
    @agent_argument
    @shared("format")
    def change(asked: Asked, agent: str) -> None:
        record = operations.set_agent_status(asked.open(), agent, status)
        _tell(asked, record, f"Agent {record.slug} is {record.status}.")

    change.help = f"{summary}\n\n{more}"
    return change


activate = _status_command(
    "activate", "active", "Make an agent active.", "It can be the default again."
)
deactivate = _status_command(
    "deactivate", "inactive", "Switch an agent off.", "Its pages stay and can be read and changed."
)
archive = _status_command(
    "archive", "archived", "Put an agent away.", "Its pages stay and can be read and changed."
)


@command("delete", "looseleaf agents delete ada", "looseleaf agents delete ada --files --yes")
@agent_argument
@click.option("--files", is_flag=True, help="Its pages too, until the agent is restored.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared(*CHANGING)
def delete(asked: Asked, agent: str, *, files: bool, yes: bool) -> None:
    """Delete an agent, and its pages if told.

    Without --files its folder stays, and creating an agent of that slug takes it over again. Its
    tokens end. looseleaf agents restore brings it back.
    """
    context = asked.open()
    record = operations.show_agent(context, agent)
    with_pages = " and all its pages" if files else ", but not its pages"
    confirmed(f"Delete agent {record.slug} (id {record.id}){with_pages}?", yes=yes)
    removed = operations.delete_agent(context, record.id, files=files)
    if asked.json:
        print_document(as_dict(removed))
        return
    pages = f" and {counted(removed.pages, 'page')}" if files else ""
    left = f" Its folder agents/{removed.slug} is still there." if removed.folder_left else ""
    say(f"Deleted agent {removed.slug}{pages}.{left}")


@command("restore", "looseleaf agents restore ada", "looseleaf agents restore 2 --slug ada-again")
@click.argument("agent")
@click.option("--slug", default="", help="Another slug, where the old one is taken.")
@shared("format")
def restore(asked: Asked, agent: str, slug: str) -> None:
    """Bring a deleted agent back.

    By id or slug; looseleaf agents list --deleted shows both. Its id, pages and history come back,
    its tokens and the roles on it do not.
    """
    record = operations.restore_agent(asked.open(), agent, slug=slug)
    _tell(asked, record, f"Restored agent {record.slug} (id {record.id}).")


def _tell(asked: Asked, record: AgentRecord, sentence: str) -> None:
    if asked.json:
        print_document(as_dict(record))
    else:
        say(sentence)
