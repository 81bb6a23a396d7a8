"""HTML comments that stand on lines of their own: notes for people, which prompts leave out.

The scanner follows the block structure of CommonMark as far as needed to recognize code: lists,
fences, indented code and other HTML. In doubt, a comment stays.
"""

from __future__ import annotations

import re
from functools import lru_cache

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)?")
_LINE_TEXT = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")  # as str.splitlines
_COMMENTS = re.compile(r"[ \t]*(?:<!--(?:(?!-->).)*-->[ \t]*)*")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*$")
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_ITEM = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|$)")
_CODE_COLUMNS = 4
# How other blocks of HTML begin and end. The last two kinds end at a blank line.
_BLANK = re.compile(r"[ \t]*$")
_TAG = r"[A-Za-z][A-Za-z0-9-]*"
_ATTRIBUTE = r"""\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?"""
_BLOCK_NAMES = (
    "address article aside base basefont blockquote body caption center col colgroup dd details "
    "dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 "
    "head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option "
    "p param search section source summary table tbody td tfoot th thead title tr track ul"
).replace(" ", "|")
_HTML = (
    (
        re.compile(r"<(?:script|pre|style|textarea)(?:\s|>|$)", re.IGNORECASE),
        re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{_BLOCK_NAMES})(?:\s|/?>|$)", re.IGNORECASE), _BLANK),
)
_OTHER_TAG = re.compile(rf"(?:<{_TAG}(?:{_ATTRIBUTE})*\s*/?>|</{_TAG}\s*>)[ \t]*$")


@lru_cache(maxsize=32)
def without_comments(text: str) -> str:
    """Return a page without the lines that hold only comments; every other byte stays."""
    # Cached, since the pages that all agents share are in every prompt.
    if "<!--" not in text:
        return text
    parts, at = [], 0
    for start, end in _CommentScanner(text).comments():
        parts.append(text[at:start])
        at = end
    return "".join(parts) + text[at:] if at else text


def blank_comments(text: str) -> str:
    """Return a page with an empty line for each comment line; the others keep their numbers."""
    if "<!--" not in text:
        return text
    parts, at = [], 0
    for start, end in _CommentScanner(text).comments():
        parts += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end
    return "".join(parts) + text[at:]


def is_unwritten(text: str) -> bool:
    """Return whether a page without its comments has only headings (`#` lines), or nothing."""
    # Line by line, since the first line of prose decides about a long page.
    lines = (match.group() for match in _LINE_TEXT.finditer(text))
    return all(not line.strip() or _HEADING.match(line.lstrip(" ")) is not None for line in lines)


class _CommentScanner:
    """A scan of the lines of a page, which tracks the open list items and the open block."""

    def __init__(self, text: str) -> None:
        self.lines: list[tuple[int, str, str]] = []  # offset, the line, the line without its end
        for match in _LINE.finditer(text):
            if match.group():
                self.lines.append((match.start(), match.group(), match.group().rstrip("\r\n")))
        self.items: list[int] = []  # the column at which the text of each open list item begins
        self.fence = ""
        self.html: re.Pattern[str] | None = None  # the end of the open block of HTML
        self.paragraph = False
        self.empty_item = False  # the line before opened an item, and nothing else

    def comments(self) -> list[tuple[int, int]]:
        """Find the lines of comments, as offsets of their beginning and end."""
        ranges, number = [], 0
        while number < len(self.lines):
            last, removable = self._read_line(number)
            if removable:
                start, (offset, full_line, _) = self.lines[number][0], self.lines[last]
                ranges.append((start, offset + len(full_line)))
            number = last + 1
        return ranges

    def _read_line(self, number: int) -> tuple[int, bool]:
        """Read a line, or all lines of a comment; return the last, and whether to remove them."""
        line = self.lines[number][2]
        column, at = _measure_indent(line)
        if at == len(line):
            self._read_blank(column)
            return number, False
        was_empty, self.empty_item = self.empty_item, False
        inside = [offset for offset in self.items if column >= offset]
        if len(inside) < len(self.items):
            if self._continues_lazily(line[at:], column - (inside[-1] if inside else 0)):
                return number, False
            self.items, self.fence, self.html, self.paragraph = inside, "", None, False
        elif was_empty:
            self.paragraph = False
        if self.fence or self.html:
            self._read_inside(line[at:], column - self._base)
            return number, False
        return self._read_start(number, column, at)

    @property
    def _base(self) -> int:
        return self.items[-1] if self.items else 0

    def _read_blank(self, column: int) -> None:
        if self.fence:
            # A fence in a list item goes on over blank lines.
            return
        if self.html is _BLANK or (self.html and self.items and column < self._base):
            self.html = None
        if self.empty_item:
            self.items.pop()
        self.paragraph = self.empty_item = False

    def _continues_lazily(self, rest: str, indent: int) -> bool:
        """Return whether a line outside a list item's indent still belongs to its paragraph."""
        if not self.paragraph or self.fence or self.html:
            return False
        if indent >= _CODE_COLUMNS:
            return True
        return not (
            rest.startswith((">", "<!--"))
            or _HEADING.match(rest)
            or _RULE.match(rest)
            or _FENCE.match(rest)
            or _ITEM.match(rest)
            or any(begin.match(rest) for begin, _ in _HTML)
        )

    def _read_inside(self, rest: str, indent: int) -> None:
        if self.fence:
            run = rest.rstrip(" \t")
            ends = indent < _CODE_COLUMNS and len(run) >= len(self.fence)
            if ends and not run.strip(self.fence[0]):
                self.fence = ""
        elif self.html and self.html is not _BLANK and self.html.search(rest):
            self.html = None

    def _read_start(self, number: int, column: int, at: int) -> tuple[int, bool]:
        """Read the start of a line: list items, then the block in the last of them."""
        line, is_alone = self.lines[number][2], True
        while True:
            rest, indent = line[at:], column - self._base
            if indent >= _CODE_COLUMNS:
                return number, False  # code, or a paragraph that goes on
            if rest.startswith("<!--"):
                self.paragraph = False
                return self._read_comment(number, at, is_alone=is_alone)
            item = self._match_item(rest)
            if item is None:
                self._open_block(rest)
                return number, False
            is_alone, self.paragraph = False, False
            after = at + len(item.group())
            marker_end = column + len(item.group())
            column, at = _measure_indent(line, after, marker_end)
            blank = at == len(line)
            is_code = column - marker_end > _CODE_COLUMNS
            self.items.append(marker_end + 1 if blank or is_code else column)
            if blank:
                self.empty_item = True
                return number, False

    def _match_item(self, rest: str) -> re.Match[str] | None:
        if _RULE.match(rest) or (self.paragraph and _UNDERLINE.match(rest)):
            return None
        item = _ITEM.match(rest)
        if item is None or not self.paragraph:
            return item
        # Within a paragraph, "14. " or a lone "*" is text.
        is_first = item.group(1) is None or int(item.group(1)) == 1
        return item if is_first and rest[len(item.group()) :].strip(" \t") else None

    def _open_block(self, rest: str) -> None:
        fence = _FENCE.match(rest)
        if fence:
            self.fence, self.paragraph = fence.group(1) or fence.group(2), False
            return
        for begin, end in _HTML:
            if begin.match(rest):
                self.paragraph = False
                self.html = None if end is not _BLANK and end.search(rest) else end
                return
        if not self.paragraph and _OTHER_TAG.match(rest):
            self.html = _BLANK
            return
        is_text = not (_HEADING.match(rest) or _RULE.match(rest) or rest.startswith(">"))
        self.paragraph = is_text and not (self.paragraph and _UNDERLINE.match(rest))

    def _read_comment(self, number: int, at: int, *, is_alone: bool) -> tuple[int, bool]:
        """Find the last line of a comment; a comment that never ends is plain text."""
        base, last, is_certain = self._base, number, True
        end = self.lines[number][2].find("-->", at)
        while end < 0:
            last += 1
            if last == len(self.lines):
                return last - 1, False
            line = self.lines[last][2]
            column, start = _measure_indent(line)
            if base and column < base:
                if start < len(line):
                    return last - 1, False  # the list item ends here, and the comment with it
                is_certain = False  # Markdown readers differ on whether a blank line ends it
            end = line.find("-->")
        rest = self.lines[last][2][end + len("-->") :]
        return last, is_alone and is_certain and _COMMENTS.fullmatch(rest) is not None


def _measure_indent(line: str, at: int = 0, column: int = 0) -> tuple[int, int]:
    """Return the column and the offset of the first character that is no space or tab."""
    while at < len(line) and line[at] in " \t":
        column += 1 if line[at] == " " else 4 - column % 4
        at += 1
    return column, at
