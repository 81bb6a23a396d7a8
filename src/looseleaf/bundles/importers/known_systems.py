"""The systems that memory can be imported from, and the choice of one for a folder."""

from __future__ import annotations

from looseleaf.bundles.importers.contract import Importer
from looseleaf.bundles.importers.systems import (
    basic_memory,
    claude_code,
    clawpress,
    datamachine,
    hermes,
    letta,
    mcp_memory,
    nanobot,
    openclaw,
)
from looseleaf.errors.bundles import InvalidImport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from looseleaf.bundles.importers.source_folder import SourceFolder


def _build_importer(system: ModuleType, title: str, example: str) -> Importer:
    kind = system.__name__.rpartition(".")[2].replace("_", "-")
    return Importer(kind, title, example, system.detect, system.read)


# In the order in which a folder is tried: the layouts with the clearest signs first.
IMPORTERS: tuple[Importer, ...] = (
    _build_importer(datamachine, "Data Machine", "wp-content/uploads/datamachine-files"),
    _build_importer(hermes, "Hermes", "~/.hermes"),
    _build_importer(letta, "Letta", "~/.letta/agents/ID/memory"),
    _build_importer(nanobot, "nanobot", "~/.nanobot/workspace"),
    _build_importer(clawpress, "clawpress", "a folder of its files"),
    _build_importer(openclaw, "OpenClaw", "~/.openclaw/workspace"),
    _build_importer(mcp_memory, "MCP memory server", "memory.jsonl"),
    _build_importer(claude_code, "Claude Code", "~/.claude/projects/PROJECT/memory, or a project"),
    _build_importer(basic_memory, "basic-memory", "~/basic-memory"),
)


def detect_systems(folder: SourceFolder) -> Iterator[tuple[Importer, str]]:
    """Yield the systems whose layout a folder has, each with the files that show it."""
    for importer in IMPORTERS:
        sign = importer.detect(folder)
        if sign:
            yield importer, sign


def find_importer(kind: str) -> Importer:
    """Find an importer by the kind of its system, or raise `InvalidImport`."""
    for importer in IMPORTERS:
        if importer.kind == kind:
            return importer
    kinds = ", ".join(importer.kind for importer in IMPORTERS)
    raise InvalidImport(f"There is no importer {kind!r}. Importers: {kinds}.")


def choose_importer(folder: SourceFolder, kind: str = "") -> Importer:
    """Choose the importer by its kind, or by the layout of the folder."""
    if kind:
        return find_importer(kind)
    importer, _ = next(detect_systems(folder), (None, ""))
    if importer is None:
        for refusal in folder.refusals:
            if refusal.source in ("/", folder.single):
                raise InvalidImport(f"{folder.location} cannot be imported: {refusal.reason}.")
        kinds = ", ".join(importer.kind for importer in IMPORTERS)
        raise InvalidImport(
            f"{folder.location} has the layout of no system that is known. If it belongs to one "
            f"of {kinds}, name that one (--from KIND)."
        )
    return importer
