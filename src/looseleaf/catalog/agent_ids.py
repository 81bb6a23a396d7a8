"""Ids of agents that were given once, so that none is given again."""

from __future__ import annotations

from looseleaf.access.accounts import TOKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context


def highest_agent_id(context: Context) -> int:
    """Give the highest id of an agent that any token or grant names: one that has been given."""
    if not context.parts.has_accounts():
        return 0
    accounts = context.parts.accounts()
    credentials = [credential.agent_id for credential in accounts.credentials.list(TOKEN)]
    return max([0, *credentials, *(grant.agent_id for grant in accounts.grants.list())])
