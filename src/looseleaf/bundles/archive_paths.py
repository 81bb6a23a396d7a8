"""Names of files in an archive: each must be safe on every system and different from all others."""

from __future__ import annotations

from looseleaf.errors import InvalidArchive, InvalidName
from looseleaf.files.folders import fold
from looseleaf.memory.scope import check_folder

MAX_PATH_BYTES = 400
MAX_PATH_DEPTH = 16
_TOP = 2  # folders of the layout, such as memory/agent, that stand before the name of a page


def check_archive_path(path: str, *, depth: int = MAX_PATH_DEPTH) -> str:
    """Give a relative path back, or raise `InvalidArchive` where it could leave its folder.

    The rules are those of a page's name: no absolute path, backslash, drive letter, `..`, hidden,
    percent-encoded, invisible or device name. The path of a bundle has two folders more.
    """
    segments = path.split("/")
    if len(segments) > depth:
        raise InvalidArchive(_shorten(path), f"it is more than {depth} folders deep")
    if len(path.encode(errors="replace")) > MAX_PATH_BYTES:
        raise InvalidArchive(_shorten(path), f"its name is longer than {MAX_PATH_BYTES} bytes")
    for part in ("/".join(segments[:_TOP]), "/".join(segments[_TOP:])):
        try:
            if part or len(segments) <= _TOP:
                check_folder(part or path)
        except InvalidName as error:
            raise InvalidArchive(_shorten(path), error.why) from None
    return path


class ArchiveNames:
    """The names of an archive so far; a name that another system could not tell apart is refused.

    That is a name given twice, one that differs from another only by case or Unicode form, and a
    file that is also a folder.
    """

    def __init__(self) -> None:
        self._files: dict[str, str] = {}  # the name by its folded form
        self._folders: dict[str, str] = {}

    def add(self, path: str) -> None:
        """Add the path of a file with its folders, or raise `InvalidArchive`."""
        segments = path.split("/")
        for count in range(1, len(segments)):
            folder = "/".join(segments[:count])
            _refuse_twin(folder, self._folders.setdefault(fold(folder), folder))
            if fold(folder) in self._files:
                raise InvalidArchive(_shorten(folder), "it is a file and a folder")
        key = fold(path)
        if key in self._folders:
            raise InvalidArchive(_shorten(path), "it is a file and a folder")
        if self._files.get(key) == path:
            raise InvalidArchive(_shorten(path), "the archive has it twice")
        _refuse_twin(path, self._files.setdefault(key, path))


def _refuse_twin(path: str, known_path: str) -> None:
    if known_path != path:
        reason = f"it differs from {_shorten(known_path)} only by case or Unicode form"
        raise InvalidArchive(_shorten(path), reason)


def _shorten(path: str) -> str:
    """Cut a name for a message, so that a hostile one does not fill it."""
    return path if len(path) <= 120 else f"{path[:120]}…"
