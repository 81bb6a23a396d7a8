"""Applying the edits of problems to a page; of edits that overlap, the first is applied."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from looseleaf.upkeep.lint.problem import LintProblem, Move


@value
class EditedPage:
    """A page after its edits: its text, the texts for other pages, and the problems solved."""

    text: str
    moves: tuple[Move, ...]
    problems: tuple[LintProblem, ...]


def apply_edits(lines: Sequence[str], problems: Iterable[LintProblem]) -> EditedPage:
    """Apply the edits of problems to the lines of a page.

    An edit that touches the lines of an earlier edit waits for the next run.
    """
    line_numbers: set[int] = set()
    selection: list[LintProblem] = []
    for problem in problems:
        if problem.edit is None:
            continue
        numbers = {
            number
            for change in problem.edit.changes
            for number in range(change.start, max(change.end, change.start + 1))
        }
        if numbers & line_numbers:
            continue
        line_numbers |= numbers
        selection.append(problem)
    result = list(lines)
    changes = [change for problem in selection if problem.edit for change in problem.edit.changes]
    for change in sorted(changes, key=lambda change: (change.start, change.end), reverse=True):
        result[change.start : change.end] = change.lines
    moves = tuple(move for problem in selection if problem.edit for move in problem.edit.moves)
    return EditedPage("".join(result), moves, tuple(selection))
