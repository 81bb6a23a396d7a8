"""`looseleaf tools export`: the tools of models, in the formats of providers."""

from __future__ import annotations

import click

from looseleaf.catalog.resolution import agent_of
from looseleaf.catalog.tools.formats import FORMATS, declare_tools, list_all_tools
from looseleaf.cli.arguments import SharedOptions, require_local, with_shared_options
from looseleaf.cli.formats import print_document
from looseleaf.cli.groups import command


@command(
    "export",
    "looseleaf tools export --format openai",
    "looseleaf tools export --agent ada --format anthropic",
)
@click.option("--format", "shape", type=click.Choice(FORMATS), default="json", help="The format.")
@with_shared_options("agent")
def export(options: SharedOptions, shape: str) -> None:
    """Print every tool as JSON.

    With --agent, only the tools that the agent's policy allows.
    """
    require_local(
        options, "a server offers its tools itself, at /mcp and /wp-abilities/v1/abilities"
    )
    context = options.open()
    agent = agent_of(context, options.agent) if options.agent else None
    print_document({"tools": declare_tools(list_all_tools(context, agent), shape)})
