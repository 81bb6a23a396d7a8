"""The places of a page's history and its staged files, and how their names are parsed."""

from __future__ import annotations

from looseleaf.errors import LooseleafError
from looseleaf.memory.scope import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.scope import Scope

HISTORY = ".looseleaf/history"
STAGING = ".looseleaf/staging"
MAKING = ":making"
LOG = "log"
PACK = "pack"


def history_path_of(scope: Scope) -> str:
    """Return the folder of a page's history, below the root."""
    return f"{HISTORY}/{scope.shelf_name}/{scope.filename.replace('/', ':')}"


def staged_name_of(scope: Scope) -> str:
    """Return the name of a page's staged file; no page has `:` in its name, so it can be parsed."""
    return f"{scope.shelf_name}:{scope.filename.replace('/', ':')}"


def parse_staged_name(name: str) -> Scope | None:
    """Parse a name in staging, or in a shelf's history, or None if it is the name of no page."""
    shelf_name, _, rest = name.partition(":")
    shelf = parse_shelf_name(shelf_name)
    try:
        return shelf.page(rest.replace(":", "/")) if shelf is not None else None
    except LooseleafError:
        return None


def parse_shelf_name(name: str) -> Shelf | None:
    """Parse the name of a shelf, such as agent-3, or None if it is no such name."""
    layer, _, identity = name.partition("-")
    number = int(identity) if identity.isascii() and identity.isdigit() else 0
    try:
        return Shelf(layer, number, number)  # type: ignore[arg-type]
    except LooseleafError:
        return None
