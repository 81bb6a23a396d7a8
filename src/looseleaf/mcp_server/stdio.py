"""One client over standard input and output, acting for the operator who started it."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from looseleaf.agents.access import AGENT_CEILING, LOCAL_ADMINISTRATOR, confined, through
from looseleaf.mcp_server.server import MemoryServer, client_of
from looseleaf.operations.tools import operation_tools
from looseleaf.values import changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.mcp_server.server import Acting, Asking
    from looseleaf.operations.context import Context
    from looseleaf.workspace import Workspace


def serve(
    opened: Callable[[], Workspace],
    *,
    agent: str | None = None,
    user: int | None = None,
    several: bool = False,
    full: bool = False,
) -> None:
    """Serve until the client goes; for one agent, unless several are asked for."""
    with redirect_stdout(sys.stderr):  # what plugins print must not reach the client
        memory = _server(opened(), agent, user, several=several, full=full)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await memory.server.run(incoming, outgoing, memory.options())

    anyio.run(run)


def _server(
    workspace: Workspace, agent: str | None, user: int | None, *, several: bool, full: bool
) -> MemoryServer:
    record = None if several else workspace.agents.resolve(agent)
    whose = user or (record.owner if record else workspace.settings.default_user)
    tools = operation_tools(workspace.context, full=full)
    acting = acting_locally(workspace, record.id if record else 0, whose, full=full)
    return MemoryServer(acting, tools, tell_of_lists=True)


def acting_locally(workspace: Workspace, agent_id: int, user: int, *, full: bool = False) -> Acting:
    """Let the client act for the operator, under its own name.

    Who an agent is and what all must obey, it may change only where everything is asked for.
    """

    def acting(asking: Asking) -> Context:
        name = client_of(asking)
        principal = through(LOCAL_ADMINISTRATOR, agent_id, user=user, name=name)
        if not full:
            principal = confined(principal)
        if not agent_id and principal.ceiling is not None:
            principal = changed(principal, ceiling=AGENT_CEILING | {"manage_agents"})
        return workspace.acting(principal=principal, surface="mcp")

    return acting
