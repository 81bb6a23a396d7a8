"""Making a folder the home of a workspace."""

from __future__ import annotations

import os

from looseleaf import atomic, settings
from looseleaf.folders import open_folder
from looseleaf.stores.disk import GROUP, PRIVATE


def make_home(folder: str, name: str, *, journal: bool = False) -> None:
    """Make the folder, its settings file and `.looseleaf`, as far as they are not there."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        is_new = settings.FILE not in os.listdir(root)
        shared = not is_new and settings.load(folder).group_writable
        os.close(open_folder(root, (".looseleaf",), create=(GROUP if shared else PRIVATE)[1]))
        if is_new:
            text = settings.starter(name, journal=journal)
            atomic.create_durably(root, settings.FILE, text.encode())
    finally:
        os.close(root)
