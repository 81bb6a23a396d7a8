"""A problem that lint finds: its rule, its place, a sentence, and the edit that solves it."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

JOURNAL = "journal"  # as the target of a move: the page of the present day
RULES = {
    "duplicate_line": "the same line twice",
    "near_duplicate": "two lines that differ in one word",
    "contradiction": "two values for one key",
    "stale_entry": "work that was in progress long ago",
    "dead_path": "a path that this machine does not have",
    "dead_link": "a link to a page that does not exist",
    "oversized_section": "a section that should be a page of its own",
    "wrong_page": "tasks in a page about identity",
    "review_due": "a page that nobody has looked at for long",
    "over_budget": "a page with more words or bytes than it should have",
    "model_token": "text that a model left behind",
    "section_case": "two sections whose names differ only in case",
}


@value
class LineChange:
    """Lines of a page, by number from 0, and the lines that take their place."""

    start: int
    end: int
    lines: tuple[str, ...] = ()


@value
class Move:
    """Text that goes to another page: the journal of the day, or a page by name."""

    target: str
    text: str


@value
class PageEdit:
    """A change of one page, and the text that it moves elsewhere."""

    changes: tuple[LineChange, ...]
    moves: tuple[Move, ...] = ()


@value(kw_only=True)
class LintProblem:
    """One problem.

    Fields:
        rule: The rule, one of `RULES`.
        file: The page.
        layer: The layer of the page.
        line: The line, from 1; 0 for the whole page.
        message: What is the matter, in one sentence.
        advice: What the edit does, or what a person should do.
        edit: The edit, or None if only a person can decide.
    """

    rule: str
    file: str
    layer: str
    line: int
    message: str
    advice: str
    edit: PageEdit | None = None


def archive_lines(lines: Sequence[str], start: int, end: int) -> PageEdit:
    """Create an edit that moves lines of a page to the journal."""
    text = "".join(lines[start:end])
    return PageEdit((LineChange(start, end),), (Move(JOURNAL, text),))
