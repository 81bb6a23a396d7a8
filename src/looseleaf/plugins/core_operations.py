"""The operations of the core's nouns."""

from __future__ import annotations

from looseleaf.operations import (
    agents,
    audit,
    composed,
    daily,
    doctor,
    files,
    history,
    long_and_short_term,
    memory,
    prompt,
    recent,
    search,
    settings,
    status,
    tokens,
    users,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.registry import Operations


def register_core_operations(operations: Operations) -> None:
    """Register the operations that every workspace has without any feature."""
    operations.add_declared(
        agents,
        audit,
        composed,
        daily,
        doctor,
        files,
        history,
        long_and_short_term,
        memory,
        prompt,
        recent,
        search,
        settings,
        status,
        tokens,
        users,
    )
