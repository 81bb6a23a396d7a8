"""The help sheet: every keyboard shortcut of the scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.plugins.admin_pages import Document, Redirect

if TYPE_CHECKING:
    from looseleaf.plugins.admin_pages import Visit

SHORTCUTS = (
    ("/", "Search pages, journal and conversations"),
    ("?", "Show this list"),
    ("g a", "Go to the agents"),
    ("g p", "Go to the pages of this agent"),
    ("g s", "Go to what this agent sees"),
    ("g j", "Go to the journal of this agent"),
    ("g c", "Go to the conversations with this agent"),
    ("r", "Read this page"),
    ("e", "Edit this page"),
    ("h", "History of this page"),
    ("p", "Earlier day of the journal"),
    ("n", "Later day of the journal"),
    ("j", "Next entry of a list"),
    ("k", "Previous entry of a list"),
    ("Ctrl s", "Save, in the editor"),
    ("Ctrl Enter", "Send, in a conversation"),
    ("Esc", "Leave a field, or close this list"),
)


def list_shortcuts(_visit: Visit) -> Document | Redirect:
    """Show the help sheet as a page."""
    return Document("shortcuts.html", "Keyboard shortcuts", {"shortcuts": SHORTCUTS})
