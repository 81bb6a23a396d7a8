"""The server of one client over standard input and output, which acts for the operator."""

from __future__ import annotations

import os

from looseleaf.access.principals import LOCAL_ADMINISTRATOR, act_through, confine_model
from looseleaf.catalog.tools.operation_tools import list_operation_tools
from looseleaf.mcp_server.connection import ClientConnection
from looseleaf.mcp_server.features import Features
from looseleaf.mcp_server.json_lines import JsonLines
from looseleaf.memory.provenance import SESSION, Activity
from looseleaf.operations import daily, files, memory, prompt, search
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.catalog.context import Context
    from looseleaf.workspace import Workspace

ENVELOPE_BYTES = 1_048_576
# Each module adds its operations; the small set of tools needs no other module.
SMALL_SET = (daily, files, memory, prompt, search)


def serve(
    open_workspace: Callable[[], Workspace],
    *,
    agent: str | None = None,
    user: int | None = None,
    all_agents: bool = False,
    full: bool = False,
) -> None:
    """Serve until the client closes the connection; for one agent, or for several."""
    lines = JsonLines.claim()
    workspace = open_workspace()
    record = None if all_agents else workspace.agents.resolve(agent)
    user_id = user or (record.owner if record else workspace.settings.default_user)
    features = Features(list_operation_tools(workspace.context, full=full))
    context_of = local_context_of(workspace, record.id if record else 0, user_id, full=full)
    ClientConnection(features, context_of, lines).serve(
        compute_message_limit(workspace.settings.max_page_bytes)
    )


def compute_message_limit(max_page_bytes: int) -> int:
    """Return the largest number of bytes of a message.

    In JSON, a page of prose takes at most twice its bytes.
    """
    return 2 * max_page_bytes + ENVELOPE_BYTES


def local_context_of(
    workspace: Workspace, agent_id: int, user: int, *, full: bool = False
) -> Callable[[str], Context]:
    """Build the contexts of a client: it acts for the operator, under its own name, in one session.

    Only with `full` may a client change the identity of an agent and the rules for all agents.
    """

    session = Activity(SESSION, os.urandom(8).hex())

    def context_of(client: str) -> Context:
        principal = act_through(LOCAL_ADMINISTRATOR, agent_id, user=user, name=client)
        if not full:
            principal = confine_model(principal)
        # A person started the program and is present.
        principal = replace(principal, is_attended=True)
        return workspace.acting(principal=principal, surface="mcp", activity=session)

    return context_of
