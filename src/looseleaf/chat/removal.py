"""Removing conversations that are past their retention; a dry run only counts."""

from __future__ import annotations

from looseleaf.chat.parts import chats_of
from looseleaf.times import DAY_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.parts import WorkspaceServices
    from looseleaf.settings import Settings

HOUR_SECONDS = 3_600


def prune_sessions(
    parts: WorkspaceServices, settings: Settings, *, dry_run: bool
) -> dict[str, int]:
    """Delete conversations in which nothing was said for a while, and empty ones."""
    if not parts.has_accounts():
        return {"sessions": 0, "empty_sessions": 0}
    sessions, now = chats_of(parts).sessions, parts.clock()
    said_before = now - settings.chat_retention_days * DAY_SECONDS
    empty_before = now - settings.chat_empty_hours * HOUR_SECONDS
    empty_count = sessions.prune(empty_before=empty_before, dry_run=dry_run)
    return {
        "sessions": sessions.prune(said_before=said_before, dry_run=dry_run),
        "empty_sessions": empty_count,
    }
