"""The part that conversations add to a workspace."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.parts import WorkspaceServices
    from looseleaf.chat.session import Chats

CHATS = "chats"


def chats_of(parts: WorkspaceServices) -> Chats:
    """Return the conversations of a workspace, from the database of the accounts."""
    chats: Chats = parts.part(CHATS)
    return chats
