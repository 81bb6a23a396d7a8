"""The copy of a generated page in a project, where other tools look; the rest of the file stays."""

from __future__ import annotations

import os
import stat

from looseleaf.errors import InUse
from looseleaf.files import atomic
from looseleaf.files.folders import READ, OsErrorContext, open_folder, read_all
from looseleaf.memory.pages import decode_text
from looseleaf.memory.text.managed_block import find_block, put_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ATTEMPTS = 20


def update_copy(folder: str, path: str, before: str, make: Callable[[], str]) -> None:
    """Update the copy in a project, if it is the copy of the page as it was."""
    *folders, name = path.split("/")
    with OsErrorContext(path):
        try:
            root = os.open(os.path.join(folder, *folders), FOLDER)
        except FileNotFoundError:
            return
        try:
            current_text, _mode = _read_file(root, name)
        finally:
            os.close(root)
    if current_text is not None and find_block(current_text) == before:
        write_copy(folder, path, make())


def write_copy(folder: str, path: str, text: str) -> None:
    """Write the copy of a page into a project; the text of people around the copy stays."""
    *folders, name = path.split("/")
    with OsErrorContext(path):
        root = os.open(folder, FOLDER)
        try:
            target_folder = open_folder(root, folders, create=0o755)
        finally:
            os.close(root)
        try:
            for _ in range(_ATTEMPTS):
                current_text, mode = _read_file(target_folder, name)
                new_text = put_block(current_text, text)
                if new_text == current_text or _replace_unchanged(
                    target_folder, name, new_text, current_text, mode
                ):
                    return
        finally:
            os.close(target_folder)
    raise InUse(path, "another program keeps changing it; try again")


def _replace_unchanged(
    folder: int, name: str, text: str, current_text: str | None, mode: int
) -> bool:
    """Replace a file that may be a human's own, unless it has changed since it was read."""

    def is_unchanged() -> bool:
        return _read_file(folder, name)[0] == current_text

    return atomic.replace(folder, name, text.encode(), mode=mode, condition=is_unchanged)


def _read_file(folder: int, name: str) -> tuple[str | None, int]:
    try:
        fd = os.open(name, READ, dir_fd=folder)
    except FileNotFoundError:
        return None, 0o600
    try:
        return decode_text(name, read_all(fd)), stat.S_IMODE(os.fstat(fd).st_mode)
    finally:
        os.close(fd)
