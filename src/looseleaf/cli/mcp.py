"""`looseleaf mcp` and `looseleaf mcp serve`: memory for programs that speak MCP."""

from __future__ import annotations

import click

from looseleaf.cli.arguments import Asked, local, shared
from looseleaf.cli.groups import DefaultGroup, Entry, command
from looseleaf.workspace import Workspace

MCP = {
    "serve": Entry("mcp", "serve", "Serve one client over standard input and output."),
    "install": Entry("clients", "install", "Connect a program: its server and its hook."),
    "uninstall": Entry("clients", "uninstall", "Take our entries out of a program's files."),
    "status": Entry("clients", "status", "Show which programs are connected to which workspace."),
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
NOT_REMOTE = "a server speaks MCP itself, at /mcp"


@command("serve", "looseleaf mcp serve --agent ada", "looseleaf mcp serve --tools full")
@tools_option
@several_option
@shared("agent", "user")
def serve(asked: Asked, tools: str, *, several: bool) -> None:
    """Serve one client over standard input and output.

    Programs start this by themselves, once `looseleaf mcp install` has told them. Whatever it is
    asked to do is done for one agent, under the program's name.
    """
    local(asked, NOT_REMOTE)
    from looseleaf.mcp_server.stdio import serve as serve_stdio

    serve_stdio(
        lambda: Workspace.open(asked.root, surface="mcp"),
        agent=asked.agent,
        user=asked.user,
        several=several,
        full=tools == "full",
    )
