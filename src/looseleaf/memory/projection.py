"""A composed file's copy in a file of a project that may hold a human's own text as well."""

from __future__ import annotations

from looseleaf.errors import Invalid

BEGIN = "<!-- looseleaf:begin (generated; edits inside are replaced) -->"
END = "<!-- looseleaf:end -->"

_BEGINS, _ENDS = "<!-- looseleaf:begin", "<!-- looseleaf:end"
_MARGIN = "\ufeff \t\r"  # What an editor may put before a marker on its line.


def project(existing: str | None, content: str) -> str:
    """Put content into the managed block of a file's text; every byte outside it stays."""
    if inside := _markers(content):
        line = content.count("\n", 0, inside[0][1]) + 1
        raise Invalid(
            f"Line {line} of the content is a marker of a managed block, and would end the block "
            "too early. Change that line where it comes from."
        )
    before, after = _around_block(existing or "")
    newline = "" if not content or content.endswith("\n") else "\n"
    return f"{before}{BEGIN}\n{content}{newline}{END}{after}"


def managed_block(text: str) -> str | None:
    """Give what stands in the managed block of a file; None where it has none, or a damaged one."""
    try:
        before, after = _around_block(text)
    except Invalid:
        return None
    inside = text[len(before) : len(text) - len(after)]
    first, newline, rest = inside.partition("\n")
    return rest.rpartition("\n")[0] + "\n" if newline and first.startswith(_BEGINS) else None


def _around_block(text: str) -> tuple[str, str]:
    found = _markers(text)
    if not found:
        return text + _gap(text), "\n"
    kinds = [kind for kind, _ in found]
    close = text.find("-->", found[-1][1])
    line_end = text.find("\n", found[-1][1])
    if kinds != [_BEGINS, _ENDS] or close < 0 or 0 <= line_end < close:
        lines = ", ".join(str(text.count("\n", 0, offset) + 1) for _, offset in found)
        raise Invalid(
            f"The markers of the managed block are damaged (see line {lines}): there must be one "
            f"{_BEGINS} … --> and, below it, one {END}. Repair them, or take them all out."
        )
    return text[: found[0][1]], text[close + len("-->") :]


def _gap(text: str) -> str:
    """Make a blank line between what is there and what is added."""
    if not text or text in ("\n", "\r\n") or text.endswith(("\n\n", "\n\r\n")):
        return ""
    return "\n" if text.endswith("\n") else "\n\n"


def _markers(text: str) -> list[tuple[str, int]]:
    """Find the lines that begin with a marker, which one and where; words about one are none."""
    found, start = [], 0
    for line in text.split("\n"):
        bare = line.lstrip(_MARGIN)
        if bare.startswith((_BEGINS, _ENDS)):
            marker = _BEGINS if bare.startswith(_BEGINS) else _ENDS
            found.append((marker, start + len(line) - len(bare)))
        start += len(line) + 1
    return found
