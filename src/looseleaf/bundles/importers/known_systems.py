"""The systems that memory can be imported from, and the choice of one for a folder."""

from __future__ import annotations

from looseleaf.bundles.importers.contract import Importer
from looseleaf.bundles.importers.systems import datamachine, openclaw
from looseleaf.errors import InvalidImport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.bundles.importers.source_folder import SourceFolder

# In the order in which a folder is tried: the layouts with the clearest signs first.
IMPORTERS: tuple[Importer, ...] = (
    Importer(
        "datamachine",
        "Data Machine",
        "wp-content/uploads/datamachine-files",
        datamachine.detect,
        datamachine.read,
    ),
    Importer("openclaw", "OpenClaw", "~/.openclaw/workspace", openclaw.detect, openclaw.read),
)


def detect_systems(folder: SourceFolder) -> list[tuple[Importer, str]]:
    """Give the systems whose layout a folder has, each with the files that show it."""
    signs = [(importer, importer.detect(folder)) for importer in IMPORTERS]
    return [(importer, sign) for importer, sign in signs if sign]


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
    candidates = detect_systems(folder)
    if not candidates:
        kinds = ", ".join(importer.kind for importer in IMPORTERS)
        raise InvalidImport(
            f"{folder.location} has the layout of no system that is known. If it belongs to one "
            f"of {kinds}, name that one (--from KIND)."
        )
    return candidates[0][0]
