"""The mount points of this machine: which file system a folder lies on."""

from __future__ import annotations

import re

MOUNTS = "/proc/self/mountinfo"
# The kernel writes blanks, tabs, line ends and backslashes of a path as three octal digits.
_OCTAL = re.compile(r"\\([0-7]{3})")


def file_system_of(path: str) -> str:
    """Name the file system that a path lies on, or "" if the system has no list of mounts."""
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as mounts:
            lines = mounts.read().splitlines()
    except FileNotFoundError:
        return ""
    return find_file_system(path, lines)


def find_file_system(path: str, lines: list[str]) -> str:
    """Find the file system of a path in the lines of a list of mounts; a later mount wins."""
    innermost, kind = "", ""
    for line in lines:
        mount, _, file_system = line.partition(" - ")
        point = _OCTAL.sub(_decode_octal, mount.split(" ")[4])
        is_inside = path == point or path.startswith(point.rstrip("/") + "/")
        if is_inside and len(point) >= len(innermost):
            innermost, kind = point, file_system.split(" ")[0]
    return kind


def _decode_octal(match: re.Match[str]) -> str:
    return chr(int(match[1], 8))
