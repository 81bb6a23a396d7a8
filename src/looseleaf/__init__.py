"""Persistent memory for AI agents, kept as Markdown pages that people can read."""

from __future__ import annotations

from looseleaf.version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agent_memory import AgentMemory as AgentMemory
    from looseleaf.agent_memory import open as open  # noqa: A004 - it is read as looseleaf.open
    from looseleaf.agents.config import Budget as Budget
    from looseleaf.errors import LooseleafError as LooseleafError
    from looseleaf.memory.daily import DailyMemory as DailyMemory
    from looseleaf.memory.history import Revision as Revision
    from looseleaf.memory.pages import MemoryPages as MemoryPages
    from looseleaf.memory.provenance import Activity as Activity
    from looseleaf.memory.provenance import Provenance as Provenance
    from looseleaf.memory.registry import FileRegistry as FileRegistry
    from looseleaf.memory.scope import Scope as Scope
    from looseleaf.memory.scope import Shelf as Shelf
    from looseleaf.memory.scope import Where as Where
    from looseleaf.memory.store import ABSENT as ABSENT
    from looseleaf.memory.store import Change as Change
    from looseleaf.memory.store import Conflict as Conflict
    from looseleaf.memory.store import Found as Found
    from looseleaf.memory.store import Missing as Missing
    from looseleaf.memory.store import Retention as Retention
    from looseleaf.memory.store import Store as Store
    from looseleaf.plugins.hooks import hookimpl as hookimpl
    from looseleaf.prompt.assembly import Assembly as Assembly
    from looseleaf.prompt.outputs import Data as Data
    from looseleaf.prompt.outputs import File as File
    from looseleaf.prompt.outputs import LeftOut as LeftOut
    from looseleaf.prompt.outputs import Text as Text
    from looseleaf.prompt.request import ContextFile as ContextFile
    from looseleaf.prompt.request import FlowPart as FlowPart
    from looseleaf.prompt.request import PipelinePart as PipelinePart
    from looseleaf.prompt.request import Tool as Tool
    from looseleaf.settings import Settings as Settings
    from looseleaf.workspace import Workspace as Workspace

_MODULES = {
    "ABSENT": "memory.store",
    "Activity": "memory.provenance",
    "AgentMemory": "agent_memory",
    "Assembly": "prompt.assembly",
    "Budget": "agents.config",
    "Change": "memory.store",
    "Conflict": "memory.store",
    "ContextFile": "prompt.request",
    "DailyMemory": "memory.daily",
    "Data": "prompt.outputs",
    "File": "prompt.outputs",
    "FileRegistry": "memory.registry",
    "FlowPart": "prompt.request",
    "Found": "memory.store",
    "LeftOut": "prompt.outputs",
    "LooseleafError": "errors",
    "MemoryPages": "memory.pages",
    "Missing": "memory.store",
    "PipelinePart": "prompt.request",
    "Provenance": "memory.provenance",
    "Retention": "memory.store",
    "Revision": "memory.history",
    "Scope": "memory.scope",
    "Settings": "settings",
    "Shelf": "memory.scope",
    "Store": "memory.store",
    "Text": "prompt.outputs",
    "Tool": "prompt.request",
    "Where": "memory.scope",
    "Workspace": "workspace",
    "hookimpl": "plugins.hooks",
    "open": "agent_memory",
}
_FORMER_NAMES = {"Flow": "FlowPart", "Pipeline": "PipelinePart"}  # as the docs once showed them
__all__ = sorted(_MODULES)  # noqa: PLE0605 - the names are in the table above


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that a command imports only what it needs."""
    current_name = _FORMER_NAMES.get(name, name)
    module_name = _MODULES.get(current_name)
    if module_name is None:
        raise AttributeError(f"module 'looseleaf' has no attribute {name!r}")
    module = __import__(f"looseleaf.{module_name}", fromlist=[current_name])
    attribute: object = getattr(module, current_name)
    globals()[name] = attribute
    return attribute
