"""One client over standard input and output, acting for the operator who started it."""

from __future__ import annotations

from looseleaf.agents.access import LOCAL_ADMINISTRATOR, confine_model, through
from looseleaf.mcp_server.connection import Connection
from looseleaf.mcp_server.offer import Offer
from looseleaf.mcp_server.wire import Wire
from looseleaf.operations.tools import operation_tools
from looseleaf.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.operations.context import Context
    from looseleaf.workspace import Workspace

ENVELOPE_BYTES = 1_048_576


def serve(
    opened: Callable[[], Workspace],
    *,
    agent: str | None = None,
    user: int | None = None,
    several: bool = False,
    full: bool = False,
) -> None:
    """Serve until the client goes; for one agent, unless several are asked for."""
    wire = Wire.claim()
    workspace = opened()
    record = None if several else workspace.agents.resolve(agent)
    whose = user or (record.owner if record else workspace.settings.default_user)
    offer = Offer(operation_tools(workspace.context, full=full))
    acting = acting_locally(workspace, record.id if record else 0, whose, full=full)
    Connection(offer, acting, wire).serve(longest_message(workspace.settings.max_page_bytes))


def longest_message(max_page_bytes: int) -> int:
    """Give how many bytes a message may have.

    A page in JSON may take twice its bytes, and more only where it is no prose.
    """
    return 2 * max_page_bytes + ENVELOPE_BYTES


def acting_locally(
    workspace: Workspace, agent_id: int, user: int, *, full: bool = False
) -> Callable[[str], Context]:
    """Let a client act for the operator, under its own name.

    Who an agent is and what all must obey, it may change only where everything is asked for.
    """

    def acting(client: str) -> Context:
        principal = through(LOCAL_ADMINISTRATOR, agent_id, user=user, name=client)
        if not full:
            principal = confine_model(principal)
        # Whoever started the program sits before it.
        principal = changed(principal, is_attended=True)
        return workspace.acting(principal=principal, surface="mcp")

    return acting
