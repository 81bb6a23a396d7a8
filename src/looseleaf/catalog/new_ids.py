"""Ids of new agents and users: no id is used a second time."""

from __future__ import annotations

from looseleaf.access.accounts import TOKEN
from looseleaf.memory.scope import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context


def find_highest_agent_id(context: Context) -> int:
    """Find the highest id of an agent that any token or grant names, and that was thus in use."""
    if not context.parts.has_accounts():
        return 0
    accounts = context.parts.accounts()
    credentials = [credential.agent_id for credential in accounts.credentials.list(TOKEN)]
    return max([0, *credentials, *(grant.agent_id for grant in accounts.grants.list())])


def find_free_user_id(context: Context) -> int:
    """Find the id of a new user, who must not inherit what belongs to somebody else.

    Agents and pages may belong to users who are not known: they came by an import, or the database
    was lost.
    """
    parts = context.parts
    owner_ids = [record.owner for record in parts.agents.records()]
    user_ids = [user.id for user in parts.accounts().users.list()]
    user_id = max([0, *owner_ids, *user_ids]) + 1
    while _has_pages(context, Shelf("user", user_id)):
        user_id += 1
    return user_id


def _has_pages(context: Context, shelf: Shelf) -> bool:
    return bool(context.parts.pages.list(shelf) or context.parts.history.pages(shelf))
