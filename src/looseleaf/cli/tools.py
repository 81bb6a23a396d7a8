"""`looseleaf tools export`: the tools of models, as providers declare them."""

from __future__ import annotations

import click

from looseleaf.cli.arguments import Asked, local, shared
from looseleaf.cli.formats import print_document
from looseleaf.cli.groups import command
from looseleaf.operations.context import agent_of
from looseleaf.operations.tool_formats import FORMATS, all_tools, declared


@command(
    "export",
    "looseleaf tools export --format openai",
    "looseleaf tools export --agent ada --format anthropic",
)
@click.option("--format", "shape", type=click.Choice(FORMATS), default="json", help="For whom.")
@shared("agent")
def export(asked: Asked, shape: str) -> None:
    """Print every tool as JSON.

    With --agent, the tools that its policy allows.
    """
    local(asked, "a server offers its tools itself, at /mcp and /wp-abilities/v1/abilities")
    context = asked.open()
    agent = agent_of(context, asked.agent) if asked.agent else None
    print_document({"tools": declared(all_tools(context, agent), shape)})
