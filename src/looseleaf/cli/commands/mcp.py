"""`looseleaf mcp` and `looseleaf mcp serve`: memory for programs that speak MCP."""

from __future__ import annotations

import click

from looseleaf.cli.arguments import SharedOptions, require_local, with_shared_options
from looseleaf.cli.groups import DefaultGroup, Entry, command
from looseleaf.workspace import Workspace

MCP = {
    "serve": Entry("commands.mcp", "serve", "Serve one client over standard input and output."),
    "install": Entry(
        "commands.mcp_clients", "install", "Connect a program: its server and its hook."
    ),
    "uninstall": Entry(
        "commands.mcp_clients", "uninstall", "Take our entries out of a program's files."
    ),
    "status": Entry(
        "commands.mcp_clients", "status", "Show which programs are connected to which workspace."
    ),
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
    help="The tools of every day, or all tools that a model may use.",
)
all_agents_option = click.option(
    "--all-agents", is_flag=True, help="For all agents; the model names the agent."
)
NOT_REMOTE = "a server speaks MCP itself, at /mcp"


@command("serve", "looseleaf mcp serve --agent ada", "looseleaf mcp serve --tools full")
@tools_option
@all_agents_option
@with_shared_options("agent", "user")
def serve(options: SharedOptions, tools: str, *, all_agents: bool) -> None:
    """Serve one client over standard input and output.

    Programs start this command by themselves after `looseleaf mcp install`. The server acts for one
    agent, under the program's name.
    """
    require_local(options, NOT_REMOTE)
    from looseleaf.mcp_server.stdio import serve as serve_stdio

    serve_stdio(
        lambda: Workspace.open(options.root, surface="mcp"),
        agent=options.agent,
        user=options.user,
        all_agents=all_agents,
        full=tools == "full",
    )
