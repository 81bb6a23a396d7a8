"""Every operation there is, behind the one door: whoever imports this has the whole catalog."""

from __future__ import annotations

from looseleaf.operations import (
    agents,
    audit,
    chat,
    composed,
    daily,
    doctor,
    files,
    finishing,
    history,
    memory,
    prompt,
    search,
    sessions,
    settings,
    status,
    terms,
    tokens,
    users,
)
from looseleaf.operations.catalog import CATALOG
from looseleaf.operations.door import act, find, invoke, perform, record, require_precondition_kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.operations.registry import Operations

__all__ = [
    "PAGES",
    "ROOMS",
    "act",
    "find",
    "invoke",
    "perform",
    "record",
    "require_precondition_kept",
]

# Each enters its operations.
PAGES = (agents, composed, daily, files, history, memory, prompt, search, terms)
CHATS = (chat, finishing, sessions)
ROOMS = (*PAGES, *CHATS, audit, doctor, settings, status, tokens, users)


def register_core_operations(operations: Operations) -> None:
    """Register all of the catalog; to import this module has entered every operation in it."""
    for operation in CATALOG.values():
        operations.add(operation)
