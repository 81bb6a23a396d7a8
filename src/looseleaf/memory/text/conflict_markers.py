"""Traces of two edits at once: markers of a merge in a page, and copies beside it."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_OURS, _MIDDLE, _THEIRS = "<<<<<<< ", "=======", ">>>>>>> "
# The names that programs give to a second version: Dropbox, Nextcloud, Seafile and others (in
# parentheses, in several languages), Syncthing, git's tools.
_COPIES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(.+?) ?\([^()]*(?:conflict|konflikt|conflit|conflitt)[^()]*\)(\.\w+)",
        r"(.+)\.sync-conflict-\d{8}-\d{6}(?:-\w+)?(\.\w+)",
        r"(.+?)[._-]conflict(?:ed)?(?:[._ -][^.]*)?(\.\w+)",
        r"(.+)_(?:BACKUP|BASE|LOCAL|REMOTE)_\d+(\.\w+)",
        r"(.+\.md)\.(?:orig|rej)()",
    )
)
# Names by iCloud and Google Drive look like any other, so the page must lie beside the copy.
_NUMBERED = re.compile(r"(.+?) (?:\d|\(\d\))(\.\w+)")


def find_conflict_line(text: str) -> int:
    """Return the line at which a merge left its markers, counted from 1, or 0 if it left none."""
    if f"\n{_MIDDLE}" not in text:
        return 0
    begin = has_middle = 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(_OURS):
            begin, has_middle = number, 0
        elif begin and line.rstrip("\r") == _MIDDLE:
            has_middle = 1
        elif has_middle and line.startswith(_THEIRS):
            return begin
    return 0


def find_original_page(name: str, siblings: Collection[str]) -> str:
    """Find the page that a file is a second version of, or "" if it is no such copy."""
    for pattern in _COPIES:
        match = pattern.fullmatch(name)
        if match:
            return match.group(1) + match.group(2)
    match = _NUMBERED.fullmatch(name)
    page = match.group(1) + match.group(2) if match else ""
    return page if page in siblings else ""
