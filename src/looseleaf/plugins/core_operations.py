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
    search,
    settings,
    status,
    tokens,
    users,
)
from looseleaf.operations import (
    agents as agent_summary,
)
from looseleaf.operations import (
    agents as config_preview,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.registry import Operations


def register_core_operations(operations: Operations) -> None:
    """Register the operations that every workspace has without any feature."""
    operations.add_declared(
        agent_summary,
        agents,
        audit,
        composed,
        config_preview,
        daily,
        doctor,
        files,
        history,
        long_and_short_term,
        memory,
        prompt,
        search,
        settings,
        status,
        tokens,
        users,
    )
