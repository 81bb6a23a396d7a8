"""Lint: problems in an agent's pages, found without a model, each with the edit that mends it."""

from __future__ import annotations

import os

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import require_outcome, scope_of, shelf_of
from looseleaf.errors import Forbidden, InvalidArgument, LooseleafError
from looseleaf.memory.day import Day, is_in_journal, parse_date
from looseleaf.memory.page_text import MAIN
from looseleaf.memory.pages import decode_text
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.memory.sections import end_line, end_paragraph
from looseleaf.memory.store import Missing, hash_content
from looseleaf.memory.text.line_diff import diff_lines
from looseleaf.times import format_date
from looseleaf.upkeep.lint.edits import apply_edits
from looseleaf.upkeep.lint.linter import lint_pages
from looseleaf.upkeep.lint.page import LintPage
from looseleaf.upkeep.lint.problem import JOURNAL, RULES
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.catalog.context import Context
    from looseleaf.memory.scope import Layer, Scope
    from looseleaf.upkeep.lint.problem import LintProblem, Move

_LAYERS: tuple[Layer, ...] = ("agent", "user", "shared")
_ROUNDS = 5  # edits that touch the same lines are applied one after the other
_MOST_PAGE_BYTES = 1_000_000


@value(kw_only=True)
class LintFinding:
    """A problem in a page, and the edit that mends it.

    Fields:
        id: The id of the finding; the same while the page says the same.
        rule: The rule that found it.
        file: The page.
        layer: The layer of the page.
        line: The line, from 1; 0 for the whole page.
        text: The line.
        message: What is the matter, in one sentence.
        advice: What the edit does, or what a person should do.
        fixable: Whether there is an edit.
        diff: The edit, as a unified diff of the page.
    """

    id: str
    rule: str
    file: str
    layer: str
    line: int
    text: str
    message: str
    advice: str
    fixable: bool
    diff: str


@value
class LintFix:
    """A page that was mended: which findings, and where moved text went."""

    file: str
    layer: str
    findings: tuple[str, ...]
    moved_to: tuple[str, ...]
    hash: str


@operation(
    "looseleaf/lint-memory", permission="read", categories=("memory", "lint"), read_only=True
)
def lint_memory(
    context: Context, *, file: str = "", rule: str = "", where: Where = DEFAULT_WHERE
) -> list[LintFinding]:
    """Find problems in an agent's pages without a model, each with a proposed edit.

    Arguments:
        file: The only page to look at; without it, all pages of the agent, its user and the
            workspace, but not the journal.
        rule: The only rule to follow, such as duplicate_line; without it, all rules.
        agent: The agent whose pages are looked at, by id or slug; without it, the token's or the
            default agent.
        user: The user whose pages are looked at, too, by id; without it, the user who acts.
        layer: The only layer that is looked at: shared, agent or user; without it, all of them.
    """
    _check_rule(rule)
    findings = []
    for page, problem in _find(context, where, file=file, rule=rule):
        diff = ""
        if problem.edit is not None:
            result = apply_edits(page.lines, [problem]).text
            diff = diff_lines(
                _split_lines(page.text), _split_lines(result), (page.file, page.file)
            ).text
        findings.append(_describe(page, problem, diff))
    return findings


@operation("looseleaf/fix-memory", permission="write", categories=("memory", "lint"))
def fix_memory(
    context: Context,
    *,
    file: str = "",
    rule: str = "",
    findings: tuple[str, ...] = (),
    where: Where = DEFAULT_WHERE,
) -> list[LintFix]:
    """Apply the proposed edits of lint; text that leaves a page goes to the journal or its page.

    Arguments:
        file: The only page to mend; without it, all pages that lint looks at.
        rule: The only rule whose findings are mended; without it, all rules.
        findings: The ids of the findings to mend; without any, all that have an edit.
        agent: The agent whose pages are mended, by id or slug; without it, the token's or the
            default agent.
        user: The user whose pages are mended, too, by id; without it, the user who acts.
        layer: The only layer that is mended: shared, agent or user; without it, all of them.
    """
    _check_rule(rule)
    place = Where(where.agent, where.user, where.layer or "agent")
    scope_of(context, file or MAIN, place)  # refuses a principal who may not write there
    reader = context.with_permission("read")
    fixes: list[LintFix] = []
    for _round in range(_ROUNDS):
        by_page: dict[tuple[str, str], tuple[LintPage, list[LintProblem]]] = {}
        for page, problem in _find(reader, where, file=file, rule=rule):
            is_chosen = not findings or _identify(page, problem) in findings
            if problem.edit is not None and is_chosen:
                by_page.setdefault((page.layer, page.file), (page, []))[1].append(problem)
        round_fixes = [
            _mend(context, where, page, problems)
            for page, problems in by_page.values()
            if where.layer is not None or _may_write(context, where, page)
        ]
        if not round_fixes:
            break
        fixes += round_fixes
    return fixes


def _may_write(context: Context, where: Where, page: LintPage) -> bool:
    """Return whether the principal may change a page."""
    try:
        scope_of(context, page.file, Where(where.agent, where.user, page.layer))
    except Forbidden:
        return False
    return True


def _check_rule(rule: str) -> None:
    if rule and rule not in RULES:
        raise InvalidArgument("rule", f"{rule!r} is no rule; the rules are {', '.join(RULES)}")


def _find(
    context: Context, where: Where, *, file: str, rule: str
) -> Iterable[tuple[LintPage, LintProblem]]:
    now = context.clock()
    # Only the operator of this machine learns whether a file exists on it.
    path_exists = os.path.exists if context.principal.is_local else None
    for layer in _LAYERS:
        if where.layer not in (None, layer):
            continue
        pages = {page.file: page for page in _read_pages(context, where, layer)}
        problems = lint_pages(pages.values(), context.pages.registry, now, path_exists=path_exists)
        for problem in problems:
            if file in ("", problem.file) and rule in ("", problem.rule):
                yield pages[problem.file], problem


def _read_pages(context: Context, where: Where, layer: Layer) -> Iterable[LintPage]:
    shelf = shelf_of(context, Where(where.agent, where.user, layer), layer)
    for entry in context.pages.list(shelf):
        if is_in_journal(entry.filename) or entry.bytes > _MOST_PAGE_BYTES:
            continue
        try:
            page = context.pages.read(shelf.page(entry.filename))
            if not isinstance(page, Missing):
                text = decode_text(entry.filename, page.content)
                yield LintPage(entry.filename, layer, text, page.updated or entry.updated)
        except LooseleafError:
            continue  # the doctor names pages that cannot be read


def _mend(
    context: Context, where: Where, page: LintPage, problems: Iterable[LintProblem]
) -> LintFix:
    """Write what moves to other pages first, then the page, if it still is what was read."""
    result = apply_edits(page.lines, problems)
    scope = scope_of(context, page.file, Where(where.agent, where.user, page.layer))
    version = hash_content(page.text.encode())
    targets = [_move(context, where, page, move) for move in result.moves]
    rules = ", ".join(sorted({problem.rule for problem in result.problems}))
    change = context.change("lint", if_match=version, allow_shrink=True, reason=f"lint: {rules}")
    page_after = require_outcome(page.file, context.pages.write(scope, result.text, change=change))
    ids = tuple(_identify(page, problem) for problem in result.problems)
    return LintFix(page.file, page.layer, ids, tuple(dict.fromkeys(targets)), page_after.hash)


def _move(context: Context, where: Where, page: LintPage, move: Move) -> str:
    """Append text to the page it moves to, once, however often a fix is tried again."""
    target, text = move.target, move.text
    if target == JOURNAL:
        day = _read_today(context)
        target, text = day.filename, f"### Moved from {page.file}\n\n{move.text}"
    scope = _resolve_target(context, where, target)

    def add(present: str) -> str:
        head = present or (day.title if move.target == JOURNAL else "")
        is_there = move.text.strip("\n") in present
        return present if is_there and present else f"{end_paragraph(head)}{end_line(text)}"

    context.pages.edit(scope, add, change=context.change("lint", reason=f"moved from {page.file}"))
    return target


def _resolve_target(context: Context, where: Where, file: str) -> Scope:
    return scope_of(context, file, Where(where.agent, where.user, "agent"))


def _read_today(context: Context) -> Day:
    day = parse_date(format_date(context.clock()))
    if day is None:
        raise InvalidArgument("date", "the clock of this machine is not set")
    return day


def _identify(page: LintPage, problem: LintProblem) -> str:
    text = page.lines[problem.line - 1] if problem.line else ""
    return hash_content(f"{problem.rule}\n{page.layer}\n{page.file}\n{text}".encode())[:12]


def _describe(page: LintPage, problem: LintProblem, diff: str) -> LintFinding:
    text = page.lines[problem.line - 1].rstrip() if problem.line else ""
    return LintFinding(
        id=_identify(page, problem),
        rule=problem.rule,
        file=page.file,
        layer=page.layer,
        line=problem.line,
        text=text,
        message=problem.message,
        advice=problem.advice,
        fixable=problem.edit is not None,
        diff=diff,
    )


def _split_lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines
