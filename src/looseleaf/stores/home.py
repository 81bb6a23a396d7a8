"""Making a folder the home of a workspace."""

from __future__ import annotations

import os

from looseleaf import atomic, settings
from looseleaf.folders import open_folder


def make_home(folder: str, name: str, *, journal: bool = False) -> None:
    """Make the folder, its settings file and `.looseleaf`, as far as they are not there."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(open_folder(root, (".looseleaf",), create=0o700))
        if settings.FILE not in os.listdir(root):
            text = settings.starter(name, journal=journal)
            atomic.create_durably(root, settings.FILE, text.encode())
    finally:
        os.close(root)
