"""A second opinion on conservation: it shares no code with the task that it judges."""

from __future__ import annotations

import re
from collections import Counter

IDENTIFIER = re.compile(
    r"https?://\S+|`[^`\n]+`|@\w+|[\w./-]*/[\w./#-]+|[\w.-]*\d[\w.-]*|\b[A-Z]\w+|\w+_\w+"
)
OWN_LINES = ("# 2", "### Archived from", "<!-- looseleaf upkeep", "#### From: ")
POINTER = ("## Archived Memory Overflow", "Sections of this page were moved verbatim")


def list_lines(text: str) -> Counter[str]:
    """Count the lines that are not blank."""
    return Counter(line.rstrip() for line in text.split("\n") if line.strip())


def without_own(text: str) -> str:
    """Leave out the lines that the program wrote itself."""
    return "\n".join(
        line for line in text.split("\n") if not line.startswith((*OWN_LINES, *POINTER))
    )


def find_violations(old: str, new: str, archive: str) -> list[str]:
    """Return what a compaction lost, doubled or invented."""
    old_own, new_own, kept = without_own(old), without_own(new), without_own(archive)
    before, after = list_lines(old_own), list_lines(new_own) + list_lines(kept)
    problems = [f"lost: {line}" for line in (before - after)]
    surplus = after - before
    problems += [f"new or twice: {line}" for line in surplus if re.search(r"\w", line)]
    identifiers = set(IDENTIFIER.findall(new_own)) | set(IDENTIFIER.findall(kept))
    known = set(IDENTIFIER.findall(old_own))
    problems += [f"identifier lost: {item}" for item in known - identifiers]
    problems += [f"identifier invented: {identifier}" for identifier in identifiers - known]
    position = -1
    old_lines = [line.rstrip() for line in old.split("\n")]
    for line in new_own.split("\n"):
        if line.strip():
            try:
                position = old_lines.index(line.rstrip(), position + 1)
            except ValueError:
                problems.append(f"out of order: {line}")
                break
    return problems
