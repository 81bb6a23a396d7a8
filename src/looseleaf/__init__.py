"""Persistent memory for AI agents, kept as Markdown pages that people can read."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.errors import LooseleafError as LooseleafError
    from looseleaf.memory.daily import DailyMemory as DailyMemory
    from looseleaf.memory.history import Retention as Retention
    from looseleaf.memory.history import Revision as Revision
    from looseleaf.memory.pages import MemoryPages as MemoryPages
    from looseleaf.memory.registry import FileRegistry as FileRegistry
    from looseleaf.memory.scope import Scope as Scope
    from looseleaf.memory.scope import Shelf as Shelf
    from looseleaf.memory.store import ABSENT as ABSENT
    from looseleaf.memory.store import Change as Change
    from looseleaf.memory.store import Conflict as Conflict
    from looseleaf.memory.store import Found as Found
    from looseleaf.memory.store import Missing as Missing
    from looseleaf.memory.store import Store as Store
    from looseleaf.operations.context import Where as Where
    from looseleaf.settings import Settings as Settings
    from looseleaf.workspace import Workspace as Workspace

__version__ = "0.1.0"

_HOMES = {
    "ABSENT": "memory.store",
    "Change": "memory.store",
    "Conflict": "memory.store",
    "DailyMemory": "memory.daily",
    "FileRegistry": "memory.registry",
    "Found": "memory.store",
    "LooseleafError": "errors",
    "MemoryPages": "memory.pages",
    "Missing": "memory.store",
    "Retention": "memory.history",
    "Revision": "memory.history",
    "Scope": "memory.scope",
    "Settings": "settings",
    "Shelf": "memory.scope",
    "Store": "memory.store",
    "Where": "operations.context",
    "Workspace": "workspace",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605 - the names are in the table above


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that a command imports only what it needs."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'looseleaf' has no attribute {name!r}")
    module = __import__(f"looseleaf.{home}", fromlist=[name])
    found: object = getattr(module, name)
    globals()[name] = found
    return found
