"""`looseleaf mcp serve | install | uninstall`: memory for programs that speak MCP."""

from __future__ import annotations

import os

import click

from looseleaf.cli.arguments import Asked, confirmed, local, shared
from looseleaf.cli.groups import DefaultGroup, Entry, command
from looseleaf.cli.output import print_text, say
from looseleaf.mcp_server import clients
from looseleaf.workspace import Workspace

MCP = {
    "serve": Entry("mcp", "serve", "Serve one client over standard input and output."),
    "install": Entry("mcp", "install", "Tell a program how to start this server."),
    "uninstall": Entry("mcp", "uninstall", "Take our entry out of a program's configuration."),
}
mcp = DefaultGroup(
    "mcp",
    MCP,
    "Memory for programs that speak MCP. `looseleaf mcp` alone is `looseleaf mcp serve`.",
)
tools_option = click.option(
    "--tools",
    type=click.Choice(["small", "full"]),
    default="small",
    help="What is needed every day, or everything a model may do.",
)
several_option = click.option(
    "--all-agents", "several", is_flag=True, help="For all agents; the model says which."
)
client_option = click.option(
    "--client", type=click.Choice(list(clients.CLIENTS)), required=True, help="Which program."
)
project_option = click.option(
    "--project", is_flag=True, help="For the project in this folder only, not for all."
)
name_option = click.option(
    "--name", default=clients.NAME, metavar="WORD", help="What the program calls the server."
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
_NOT_REMOTE = "a server speaks MCP itself, at /mcp"


@command("serve", "looseleaf mcp serve --agent ada", "looseleaf mcp serve --tools full")
@tools_option
@several_option
@shared("agent", "user")
def serve(asked: Asked, tools: str, *, several: bool) -> None:
    """Serve one client over standard input and output.

    Programs start this by themselves, once `looseleaf mcp install` has told them. Whatever it is
    asked to do is done for one agent, under the program's name.
    """
    local(asked, _NOT_REMOTE)
    from looseleaf.mcp_server.stdio import serve as serve_stdio

    serve_stdio(
        lambda: Workspace.open(asked.root, surface="mcp"),
        agent=asked.agent,
        user=asked.user,
        several=several,
        full=tools == "full",
    )


@command(
    "install",
    "looseleaf mcp install --client claude-code",
    "looseleaf mcp install --client cursor --agent ada --project",
    "looseleaf mcp install --client codex --print",
)
@client_option
@tools_option
@several_option
@project_option
@name_option
@click.option("--print", "only_print", is_flag=True, help="Print the entry and change nothing.")
@yes_option
@shared("agent", "user")
def install(
    asked: Asked, client: str, tools: str, name: str, *, several: bool, project: bool,
    only_print: bool, yes: bool,
) -> None:  # fmt: skip
    """Tell a program how to start this server.

    Shows the change to the program's configuration first, and asks.
    """
    local(asked, _NOT_REMOTE)
    words = _command(asked, tools, several=several)
    chosen = clients.CLIENTS[client]
    if only_print:
        print_text(clients.snippet(chosen, name, words))
        return
    edit = clients.planned(chosen, _path(chosen, project=project), name, words)
    if edit.after == edit.before:
        say(f"{edit.path} has it already.")
        return
    _make(edit, yes=yes)
    say(f"{chosen.title} starts it from now on; restart it if it is running.")


@command("uninstall", "looseleaf mcp uninstall --client claude-code")
@client_option
@project_option
@name_option
@yes_option
@shared()
def uninstall(asked: Asked, client: str, name: str, *, project: bool, yes: bool) -> None:
    """Take our entry out of a program's configuration.

    Shows the change first, and asks. Nothing else in the file is touched.
    """
    local(asked, _NOT_REMOTE)
    chosen = clients.CLIENTS[client]
    edit = clients.planned(chosen, _path(chosen, project=project), name, None)
    if edit.after == (edit.before or b""):
        say(f"{edit.path} has no entry {name}.")
        return
    _make(edit, yes=yes)


def _make(edit: clients.Edit, *, yes: bool) -> None:
    for line in edit.diff.split("\n"):
        say(line)
    confirmed(f"Write this to {edit.path}?", yes=yes)
    clients.write(edit)


def _path(client: clients.Client, *, project: bool) -> str:
    return os.path.abspath(client.project_file) if project else client.file()


def _command(asked: Asked, tools: str, *, several: bool) -> list[str]:
    """Give the words that start the server for what is meant now, from any folder."""
    workspace = Workspace.open(asked.root, surface="cli")
    words = [*clients.own_command(), "mcp", "--root", workspace.root]
    if several:
        words.append("--all-agents")
    else:
        words += ["--agent", workspace.agents.resolve(asked.agent).slug]
    if asked.user is not None:
        words += ["--user", str(asked.user)]
    return [*words, "--tools", tools] if tools != "small" else words
