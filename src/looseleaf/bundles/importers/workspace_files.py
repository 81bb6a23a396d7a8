"""The names that agents' workspaces share: which file of a workspace becomes which page here."""

from __future__ import annotations

from looseleaf.bundles.importers.contract import SourcePage
from looseleaf.memory.scope import PAGE_SUFFIXES
from looseleaf.memory.text.managed_block import remove_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.bundles.importers.source_folder import SourceFolder

INSTRUCTIONS = "operating-instructions.md"  # AGENTS.md is the name of a page that is generated here
NOT_IN_PROMPTS = "it is not in prompts by itself"
BOOTSTRAP = "BOOTSTRAP.md"
SKILLS = "skills are instructions for programs, and no memory"
NO_MEMORY = "it holds no memory"
_CORE = ("SOUL.md", "MEMORY.md")


def map_page(source: str, filename: str, text: str) -> SourcePage:
    """Return the page here that a file of a workspace becomes."""
    if filename == "USER.md":
        return SourcePage(filename=filename, text=text, sources=(source,), layer="user")
    if filename == "AGENTS.md":
        return SourcePage(
            filename=INSTRUCTIONS, text=remove_block(text), sources=(source,), note=NOT_IN_PROMPTS
        )
    note = "" if filename in _CORE else NOT_IN_PROMPTS
    return SourcePage(filename=filename, text=text, sources=(source,), note=note)


def is_page(folder: SourceFolder, file: str) -> bool:
    """Return whether a file can be a page; if not, note the reason."""
    if file.rpartition("/")[2] == BOOTSTRAP:
        folder.refuse(file, "it is for the first run of a new workspace alone")
        return False
    if not file.lower().endswith(PAGE_SUFFIXES):
        folder.refuse(file, f"it is no page: a page ends in {', '.join(PAGE_SUFFIXES)}")
        return False
    return True


def note_folders(folder: SourceFolder, reasons: dict[str, str]) -> tuple[str, ...]:
    """Record the folders that hold no memory, each with its reason; return those that exist."""
    present = tuple(path for path in reasons if folder.has_folder(path))
    for path in present:
        folder.refuse(f"{path}/", reasons[path])
    return present


def join_path(top: str, path: str) -> str:
    """Return the path of a file below a folder of the source; "" is the source itself."""
    return f"{top}/{path}" if top else path
