"""Sections: the `## ` grammar of a page, as pure functions over its text."""

from __future__ import annotations

from looseleaf.errors.pages import (
    InvalidSectionName,
    SectionAmbiguous,
    SectionMissing,
    SectionTaken,
    UnclosedBlock,
)
from looseleaf.values import value

# The markers of the reference product, to read its folders; a number may stand before `-->`.
_OPENING = "<!-- datamachine-section-body"
_CLOSING = "<!-- /datamachine-section-body"
# The indents before a block: a fourth column would make it code, or part of a deeper list.
_INDENTS = ("", " ", "  ", "   ")
_LIST_MARKS = (*"-*+", *(digit + end for digit in "0123456789" for end in ".)"))


@value
class Section:
    """One section of a page: its name and its place."""

    name: str
    position: int  # 1-based, among all sections of the page.
    line: int  # 1-based, of the header.
    start: int  # Offset of the header in the text of the page.
    end: int  # Offset of the next header, or of the end of the page.
    bytes: int  # UTF-8 size of what `read_section` returns.


# Name, then offsets: of the header, of the body, of an opaque body's end marker (else 0). Plain
# tuples, since a value for each of them would take longer than the whole scan.
_Header = tuple[str, int, int, int]


@value
class _Page:
    text: str
    headers: list[_Header]
    unclosed_at: int  # Offset of the line that opens a block which never ends, else -1.


def list_sections(text: str) -> tuple[Section, ...]:
    """List every section of the page, in order, duplicates included."""
    return _list_sections(_scan(text))


def _list_sections(page: _Page) -> tuple[Section, ...]:
    sections, line, counted_to, text = [], 1, 0, page.text
    for index, (name, start, _, _) in enumerate(page.headers):
        line += text.count("\n", counted_to, start)
        counted_to = start
        size = len(_body_of(page, index).strip("\r\n").encode("utf-8", "surrogatepass"))
        sections.append(Section(name, index + 1, line, start, _end_of(page, index), size))
    return tuple(sections)


def find_section(text: str, name: str | None, *, position: int | None = None) -> Section | None:
    """Return the section that an append would go to, or None if it would be added."""
    page = _scan(text)
    index = _locate(page, name, position, create=True)
    return _list_sections(page)[index] if index < len(page.headers) else None


def is_body_marker(line: str) -> bool:
    """Return whether a line is only a marker of an opaque body, which a search skips."""
    return bool(_parse_marker(line, 0, _OPENING) or _parse_marker(line, 0, _CLOSING))


def read_section(text: str, name: str | None, *, position: int | None = None) -> str:
    """Return the text of a section, without the newlines around it."""
    page = _scan(text)
    return _body_of(page, _locate(page, name, position)).strip("\r\n")


def set_section(text: str, name: str | None, body: str, *, position: int | None = None) -> str:
    """Return the page with the text of a section replaced, or with a new section at its end."""
    page, index = _ensure_section(text, name, position)
    body = body.strip("\r\n")
    # What was appended can be taken out again, to the last byte.
    is_last = index == len(page.headers) - 1
    keeps_end = is_last and bool(body and _split_body(_body_of(page, index))[1])
    return _write(page, index, body, keeps_end=keeps_end)


def append_to_section(
    text: str, name: str | None, addition: str, *, position: int | None = None
) -> str:
    """Return the page with text added on a new line at the end of a section, made if missing."""
    page, index = _ensure_section(text, name, position)
    core = _split_body(_body_of(page, index))[1]
    new_body = core + newline_of(text) + addition if core else addition.lstrip("\r\n")
    # An appended text can be taken out again: then the page is as before, to the last byte.
    keeps_end = index == len(page.headers) - 1
    return _write(page, index, new_body.rstrip("\r\n"), keeps_end=keeps_end)


def append_lines(text: str, addition: str) -> str:
    """Return the page with text added on new lines at its end, with the page's kind of line end."""
    newline = newline_of(text)
    above = end_line(text) if text else ""
    if newline != "\n" and addition.endswith("\n") and not addition.endswith(newline):
        addition = addition[:-1]
    return above + end_line(addition, newline)


def end_paragraph(text: str) -> str:
    """Return the text with an empty line at its end, unless it is empty or has one."""
    above = end_line(text) if text else ""
    is_apart = not above or ("\n" + above[-3:]).endswith(("\n\n", "\n\r\n"))
    return above if is_apart else above + newline_of(above)


def end_line(text: str, newline: str = "") -> str:
    """End a text with its own kind of line end; a lone carriage return there gets a line feed."""
    if text.endswith("\n"):
        return text
    return text + ("\n" if text.endswith("\r") else newline or newline_of(text))


def newline_of(text: str) -> str:
    """Return the line end of a text, by its first line."""
    return "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"


def delete_section(text: str, name: str | None, *, position: int | None = None) -> str:
    """Return the page without the header and body of a section, every other byte as it was."""
    page = _scan(text)
    index = _locate(page, name, position)
    return text[: page.headers[index][1]] + text[_end_of(page, index) :]


def _scan(text: str) -> _Page:
    """Scan the few lines that can matter once, so that the cost is linear in the page's size."""
    lines = _find_candidates(text)
    closings = _collect_closings(text, lines) if "<" in text and _OPENING in text else {}
    headers: list[_Header] = []
    fence, in_list, fence_start, unclosed_start, resume = "", False, -1, -1, 0
    for start in lines:
        if start < resume:
            continue
        stop = text.find("\n", start) + 1 or len(text)
        line = text[start:stop].strip(" \t\r\n")
        name = line[2:].strip() if line[0] == "#" else ""
        # A header ends the list item before it, and with the item the fence inside.
        if fence and not (in_list and name):
            fence = "" if line.startswith(fence) and not line.strip(fence[0]) else fence
        elif name:
            fence, end_marker = "", _find_closing(text, stop, closings) if closings else 0
            headers.append((name, start, stop, end_marker))
            resume = _skip_line(text, end_marker) if end_marker else stop
        elif line[0] == "<":
            end = text.find("-->", start)
            unclosed_start, resume = (start, len(text)) if end < 0 else (-1, _skip_line(text, end))
        elif line[0] != "#":
            fence, fence_start, in_list = _find_fence(line), start, line[0] not in "`~"
    return _Page(text, headers, fence_start if fence and not in_list else unclosed_start)


def _find_candidates(text: str) -> list[int]:
    """Find, at the speed of `str.find`, the lines that may be headers or open or close a block."""
    headers = []
    # Finding one character is fifty times as fast as finding several; most pages have no blocks.
    at = text.find("#")
    while at >= 0:
        if text.startswith("## ", at) and (not at or text[at - 1] == "\n"):
            headers.append(at)
        at = text.find("#", _skip_line(text, at))
    needles = [needle for needle in ("```", "~~~", "<!--") if needle[0] in text]
    blocks = [start for needle in needles for start in _find_block_lines(text, needle)]
    return sorted(headers + blocks) if blocks else headers


def _find_block_lines(text: str, needle: str) -> list[int]:
    lines = []
    at = text.find(needle)
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        indent = text[start:at] if at - start <= 3 else needle
        # A fence may open behind a list mark; if it were missed, its end would look like a start.
        in_list = indent[-1:] == " " and indent.strip(" ") in _LIST_MARKS and needle != "<!--"
        if in_list or indent in _INDENTS:
            lines.append(start)
        at = text.find(needle, _skip_line(text, at))
    return lines


def _find_fence(line: str) -> str:
    """Return the run of characters that opens a fence; empty when the line is inline code."""
    run = line.lstrip("-*+0123456789.) ")
    info = run.lstrip(run[0])
    return "" if run[0] == "`" and "`" in info else run[: len(run) - len(info)]


def _collect_closings(text: str, lines: list[int]) -> dict[str, list[int]]:
    """Collect the end markers by their tail, last first, so that no search is done twice."""
    closings: dict[str, list[int]] = {}
    for start in reversed(lines):
        closings.setdefault(_parse_marker(text, start, _CLOSING), []).append(start)
    return closings


def _find_closing(text: str, body: int, closings: dict[str, list[int]]) -> int:
    """Find the end marker of the opaque body that begins here, or 0 when it is an ordinary body."""
    tail = _parse_marker(text, body, _OPENING)
    later = closings.get(tail, []) if tail else []
    while later and later[-1] < body:
        later.pop()
    return later[-1] if later else 0


def _parse_marker(text: str, at: int, marker: str) -> str:
    """Return the end of a marker line, ` -->` or ` 2 -->`, or "" for any other line."""
    if not text.startswith(marker, at):
        return ""
    tail = text[at + len(marker) : _skip_line(text, at)].rstrip(" \t\r\n")
    number = tail[1:-4]
    is_numbered = tail == f" {number} -->" and number.isascii() and number.isdigit()
    return tail if tail == " -->" or is_numbered else ""


def _skip_line(text: str, at: int) -> int:
    return text.find("\n", at) + 1 or len(text)


def _locate(page: _Page, name: str | None, position: int | None, *, create: bool = False) -> int:
    """Return the index of a section, or the next free index if it may be created."""
    names = tuple([header[0] for header in page.headers])
    if name is None and position is None:
        raise InvalidSectionName(name, "neither a name nor a position was given")
    # An exact match comes first, so that every name in the list of sections works.
    exact = name if name is None else name.strip()
    title = exact if exact is None or exact in names else _check_title(exact)
    hits = [i for i, header in enumerate(names) if title is None or header == title]
    if position is not None:
        hits = [position - 1] if position - 1 in hits else []
    if len(hits) > 1:
        raise SectionAmbiguous(names[hits[0]], tuple(hit + 1 for hit in hits))
    if not hits and (position is not None or not create):
        raise SectionMissing(position if name is None else name, names)
    variants = [] if hits else [name for name in names if name.casefold() == str(title).casefold()]
    if variants:
        raise SectionTaken(str(title), variants[0])
    return hits[0] if hits else len(names)


def _check_title(name: str) -> str:
    """Return the name as a header shows it, or refuse a name that no header can hold."""
    title = f"{name.strip()} ".removeprefix("## ").strip()
    if not title:
        raise InvalidSectionName(name, "it is empty")
    if any(c < " " or "\x7f" <= c <= "\x9f" or c in "\u2028\u2029" for c in title):
        raise InvalidSectionName(name, "it has a line break or another control character")
    return title


def _end_of(page: _Page, index: int) -> int:
    return page.headers[index + 1][1] if index + 1 < len(page.headers) else len(page.text)


def _body_of(page: _Page, index: int) -> str:
    """Return the body of a section without the lines that guard it."""
    text, (_, _, body, end_marker), end = page.text, page.headers[index], _end_of(page, index)
    if not end_marker:
        return text[body:end]
    return text[_skip_line(text, body) : end_marker] + text[_skip_line(text, end_marker) : end]


def _split_body(content: str) -> tuple[str, str, str, str]:
    """Split a body: the blank lines above, the text, its line end, the blank lines below."""
    finish = len(content.rstrip("\r\n"))
    if not finish:
        return "", "", "", content
    # The text begins on a line of its own, else a header or marker put there would not count.
    start = content.rfind("\n", 0, len(content) - len(content.lstrip("\r\n"))) + 1
    stop = _skip_line(content, finish)
    return content[:start], content[start:finish], content[finish:stop], content[stop:]


def _ensure_section(text: str, name: str | None, position: int | None) -> tuple[_Page, int]:
    """Find the section to write to; add it to a page that lacks it."""
    page = _scan(text)
    index = _locate(page, name, position, create=True)
    if index < len(page.headers):
        return page, index
    if page.unclosed_at >= 0:
        comment = text[page.unclosed_at :].lstrip(" ").startswith("<")
        raise _build_error(page, page.unclosed_at, "HTML comment" if comment else "code fence")
    above = end_paragraph(text)
    return _scan(f"{above}## {_check_title(name or '')}{newline_of(above)}"), index


def _write(page: _Page, index: int, body: str, *, keeps_end: bool = False) -> str:
    """Replace a body; `keeps_end` keeps the end of a page that has no final newline."""
    text, (_, start, after, _), newline = page.text, page.headers[index], newline_of(page.text)
    above, _, line_end, below = _split_body(_body_of(page, index))
    start_marker, end_marker = _choose_markers(page, index, body)
    body_lines = end_line(body + line_end, newline) if body else ""
    header = end_line(text[start:after], newline)
    new_section = end_line(header + start_marker + above + body_lines + end_marker + below, newline)
    if keeps_end and not end_marker and not page.text.endswith(("\n", "\r")):
        new_section = new_section.removesuffix(newline)
    return text[:start] + new_section + text[_end_of(page, index) :]


def _choose_markers(page: _Page, index: int, body: str) -> tuple[str, str]:
    """Choose the marker lines of a body; both are empty if the body needs none."""
    body_page, newline = _scan(body), newline_of(page.text)
    opaque = body_page.headers or body_page.unclosed_at >= 0 or _parse_marker(body, 0, _OPENING)
    if not opaque and _CLOSING not in body:
        return "", ""
    inside = {piece[: piece.find(">") + 1] for piece in body.split(_CLOSING)[1:]}
    # A start marker above that lacks its end would be completed by an end written here.
    strays = {
        tail: start
        for _, _, start, end_marker in page.headers[:index]
        if not end_marker and (tail := _parse_marker(page.text, start, _OPENING))
    }
    offsets = [offset for tail, offset in strays.items() if tail in inside]
    if offsets:
        raise _build_error(page, offsets[0], "section body marker")
    tail, number = " -->", 1
    while tail in inside or tail in strays:
        number += 1
        tail = f" {number} -->"
    return (_OPENING + tail + newline, _CLOSING + tail + newline) if opaque else ("", "")


def _build_error(page: _Page, offset: int, kind: str) -> UnclosedBlock:
    return UnclosedBlock(page.text.count("\n", 0, offset) + 1, kind)
