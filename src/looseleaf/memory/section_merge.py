"""Merging two changes of one page by section, and finding merges that were left half done."""

from __future__ import annotations

import re

from looseleaf.memory.deadline import check_deadline
from looseleaf.memory.differences import diff_ranges
from looseleaf.memory.sections import end_line, list_sections
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    Key = tuple[str, int]  # the name of a section, and which of that name it is


# The state of a section: changed by nobody, by one side, by both.
SAME, MINE, THEIRS, BOTH = "same", "mine", "theirs", "both"
CHOICES = (MINE, THEIRS, BOTH)


@value
class SectionMerge:
    """One section in three versions, or None if a version does not have it."""

    title: str  # "" above the first header
    state: str
    base: str | None
    mine: str | None
    theirs: str | None

    @property
    def choice(self) -> str:
        """The default choice, which keeps every change."""
        return MINE if self.state == SAME else self.state

    def text(self, choice: str) -> str:
        """Return the section as chosen; both sides together lose no line that either side added."""
        if choice == MINE:
            return self.mine or ""
        if choice == THEIRS:
            return self.theirs or ""
        return merge_lines(self.base or "", self.mine or "", self.theirs or "")


def compare_sections(base: str | None, mine: str, theirs: str) -> tuple[SectionMerge, ...]:
    """Compare two versions section by section; without a base, both count as changed."""
    my_sections, their_sections = _split_sections(mine), _split_sections(theirs)
    former = _split_sections(base) if base is not None else None
    parts = []
    for key in _order_keys(list(my_sections), list(their_sections)):
        my_text, their_text = my_sections.get(key), their_sections.get(key)
        start = former.get(key) if former is not None else None
        if my_text is None and their_text is None:
            continue
        state = _decide_state(start, my_text, their_text, has_base=former is not None)
        parts.append(SectionMerge(key[0], state, start, my_text, their_text))
    return tuple(parts)


def merge_sections(parts: Sequence[SectionMerge], choices: Mapping[int, str]) -> str:
    """Join the sections of a page, each by the given choice or by its default."""
    part_texts = [part.text(choices.get(place, part.choice)) for place, part in enumerate(parts)]
    texts = [text for text in part_texts if text]
    # The last section of a version may end without a newline, and now another one follows it.
    return "".join(end_line(text) for text in texts[:-1] if text) + (texts[-1] if texts else "")


def merge_lines(base: str, mine: str, theirs: str) -> str:
    """Merge two changes line by line; if both changed the same lines, theirs come first."""
    start, my_lines, their_lines = (split_at_line_feeds(text) for text in (base, mine, theirs))
    edits = sorted(
        [(a, b, 1, my_lines[c:d]) for a, b, c, d in diff_ranges(start, my_lines)]
        + [(a, b, 0, their_lines[c:d]) for a, b, c, d in diff_ranges(start, their_lines)],
        key=lambda edit: edit[:3],
    )
    merged_lines, end = [], 0
    for group in _group_edits(edits):
        merged_lines += start[end : group[0][0]]
        new_lines: list[str] = []
        for _, _, _, lines in group:
            check_deadline()
            known_lines = _strip_line_ends(new_lines)
            new_lines += [line for line in lines if line.rstrip("\n") not in known_lines]
        merged_lines += new_lines
        end = max(end, *(edit[1] for edit in group))
    lines = [*merged_lines, *start[end:]]
    return "".join(end_line(line) for line in lines[:-1] if line) + (lines[-1] if lines else "")


def split_at_line_feeds(text: str) -> list[str]:
    """Return the lines of a text with their ends; a form feed or U+2028 ends no line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    return [*lines[:-1], *([lines[-1][:-1]] if lines[-1] != "\n" else [])]


Edit = tuple[int, int, int, list[str]]


def _group_edits(edits: list[Edit]) -> list[list[Edit]]:
    """Group edits that touch the same lines."""
    groups: list[list[Edit]] = []
    end = -1
    for edit in edits:
        if groups and (edit[0] < end or edit[0] == groups[-1][-1][0] or edit[0] == end):
            groups[-1].append(edit)
        else:
            groups.append([edit])
        end = max(end, edit[1])
    return groups


def _strip_line_ends(lines: list[str]) -> set[str]:
    return {line.rstrip("\n") for line in lines if line.strip()}


def _split_sections(text: str) -> dict[Key, str]:
    """Return the text of each section with its header, and the text above the first one."""
    sections = list_sections(text)
    first = sections[0].start if sections else len(text)
    parts: dict[Key, str] = {("", 0): text[:first]} if text[:first] else {}
    count: dict[str, int] = {}
    for section in sections:
        count[section.name] = count.get(section.name, 0) + 1
        parts[section.name, count[section.name]] = text[section.start : section.end]
    return parts


def _order_keys(my_keys: list[Key], their_keys: list[Key]) -> list[Key]:
    """Return every section once: in my order, and the others after their neighbors."""
    own_keys = set(my_keys)
    followers: dict[Key | None, list[Key]] = {}  # by the section of ours that they come after
    neighbor: Key | None = None
    for key in their_keys:
        if key in own_keys:
            neighbor = key
        else:
            followers.setdefault(neighbor, []).append(key)
    order = followers.get(None, [])
    for key in my_keys:
        order += [key, *followers.get(key, ())]
    return order


def _decide_state(base: str | None, mine: str | None, theirs: str | None, *, has_base: bool) -> str:
    plain = [text.rstrip() if text is not None else None for text in (base, mine, theirs)]
    if plain[1] == plain[2]:
        return SAME
    if has_base and plain[0] == plain[1]:
        return THEIRS
    if has_base and plain[0] == plain[2]:
        return MINE
    return BOTH


# Traces of two edits at once: markers of a merge in a page, and copies beside it.


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
