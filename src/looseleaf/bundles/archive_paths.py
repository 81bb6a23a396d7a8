"""Names of files in an archive: each must be safe on every system and different from all others."""

from __future__ import annotations

from looseleaf.errors import InvalidName
from looseleaf.errors.bundles import InvalidArchive
from looseleaf.files.folders import casefold_name
from looseleaf.memory.scope import check_folder
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_PATH_BYTES = 400
MAX_PATH_DEPTH = 16
MAX_SOURCE_BYTES = 1_000
_TOP = 2  # folders of the layout, such as memory/agent, that stand before the name of a page


def check_archive_path(path: str, *, depth: int = MAX_PATH_DEPTH) -> str:
    """Return a relative path unchanged, or raise `InvalidArchive` if it could leave its folder.

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


def check_source_path(path: str, *, depth: int = MAX_PATH_DEPTH) -> str:
    """Return the path of a file that is only read, and never written under its name.

    Hidden names and names that no page can have are allowed; a path that leaves its folder is not.
    """
    segments = path.split("/")
    if len(segments) > depth:
        raise InvalidArchive(_shorten(path), f"it is more than {depth} folders deep")
    if len(path.encode(errors="replace")) > MAX_SOURCE_BYTES:
        raise InvalidArchive(_shorten(path), f"its name is longer than {MAX_SOURCE_BYTES} bytes")
    if any(part in ("", ".", "..") for part in segments) or "\\" in path or "\0" in path:
        raise InvalidArchive(_shorten(path), "it could leave its folder")
    return path


class ArchiveNames:
    """The names of an archive so far; names that some system cannot distinguish are refused.

    Refused are a name given twice, a name that differs from another only by case or Unicode form,
    and a file that is also a folder.
    """

    def __init__(self, fold: Callable[[str], str] = casefold_name) -> None:
        self._fold = fold
        self._files: dict[str, str] = {}  # the name by its folded form
        self._folders: dict[str, str] = {}

    def add(self, path: str) -> None:
        """Add the path of a file with its folders, or raise `InvalidArchive`."""
        segments = path.split("/")
        for count in range(1, len(segments)):
            folder = "/".join(segments[:count])
            _refuse_twin(folder, self._folders.setdefault(self._fold(folder), folder))
            if self._fold(folder) in self._files:
                raise InvalidArchive(_shorten(folder), "it is a file and a folder")
        key = self._fold(path)
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
    """Cut a name for a message, so that a hostile name does not fill the message."""
    return path if len(path) <= 120 else f"{path[:120]}…"


@value
class PathRules:
    """The rules for the names of an archive: `check` for each, and `fold` to compare two."""

    check: Callable[..., str]
    fold: Callable[[str], str]


BUNDLE_PATHS = PathRules(check_archive_path, casefold_name)
SOURCE_PATHS = PathRules(check_source_path, str)  # a source may come from a system that knows case
