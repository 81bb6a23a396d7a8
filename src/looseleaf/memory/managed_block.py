"""A composed file's copy in a file of a project that may hold a human's own text as well."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.memory.sections import end_line, end_paragraph

BEGIN = "<!-- looseleaf:begin (generated; edits inside are replaced) -->"
END = "<!-- looseleaf:end -->"

_BEGINS, _ENDS = "<!-- looseleaf:begin", "<!-- looseleaf:end"
_MARGIN = "\ufeff \t\r"  # Characters that an editor may put before a marker on its line.


def put_block(file_text: str | None, content: str) -> str:
    """Write content into the managed block of a file's text; every byte outside the block stays."""
    if inside := _find_markers(content):
        line = content.count("\n", 0, inside[0][1]) + 1
        raise Invalid(
            f"Line {line} of the content is a marker of a managed block, and would end the block "
            "too early. Change that line where it comes from."
        )
    before, after = _split_around_block(file_text or "")
    inner = end_line(content) if content else ""
    return f"{before}{BEGIN}\n{inner}{END}{after}"


def find_block(text: str) -> str | None:
    """Return the text in the managed block of a file, or None if it has none, or a damaged one."""
    try:
        before, after = _split_around_block(text)
    except Invalid:
        return None
    inside = text[len(before) : len(text) - len(after)]
    first, newline, rest = inside.partition("\n")
    return rest.rpartition("\n")[0] + "\n" if newline and first.startswith(_BEGINS) else None


def remove_block(text: str) -> str:
    """Return the text of a file without its managed block; a damaged block stays."""
    if find_block(text) is None:
        return text
    before, after = _split_around_block(text)
    return before.rstrip("\n") + "\n" + after.removeprefix("\n") if before else after.lstrip("\n")


def _split_around_block(text: str) -> tuple[str, str]:
    markers = _find_markers(text)
    if not markers:
        return end_paragraph(text), "\n"
    kinds = [kind for kind, _ in markers]
    close = text.find("-->", markers[-1][1])
    line_end = text.find("\n", markers[-1][1])
    if kinds != [_BEGINS, _ENDS] or close < 0 or 0 <= line_end < close:
        lines = ", ".join(str(text.count("\n", 0, offset) + 1) for _, offset in markers)
        raise Invalid(
            f"The markers of the managed block are damaged (see line {lines}): there must be one "
            f"{_BEGINS} … --> and, below it, one {END}. Repair them, or take them all out."
        )
    return text[: markers[0][1]], text[close + len("-->") :]


def _find_markers(text: str) -> list[tuple[str, int]]:
    """Find the lines that begin with a marker: the marker and its offset."""
    markers, start = [], 0
    for line in text.split("\n"):
        bare = line.lstrip(_MARGIN)
        if bare.startswith((_BEGINS, _ENDS)):
            marker = _BEGINS if bare.startswith(_BEGINS) else _ENDS
            markers.append((marker, start + len(line) - len(bare)))
        start += len(line) + 1
    return markers
