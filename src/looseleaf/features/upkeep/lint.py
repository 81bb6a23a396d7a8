"""Lint: the rules, the problems that they find in pages, and the edits that solve them."""

from __future__ import annotations

import os
import posixpath
import re
from functools import cached_property

from looseleaf.memory.day import parse_date
from looseleaf.memory.deadline import check_deadline
from looseleaf.memory.repeats import LEAST_CHARACTERS, SaidLines
from looseleaf.memory.sections import list_sections
from looseleaf.memory.units import split_lines
from looseleaf.times import DAY_SECONDS, format_date
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence, Set

    from looseleaf.memory.registry import FileRegistry
    from looseleaf.memory.repeats import Repeat
    from looseleaf.memory.sections import Section


# A problem that lint finds: its rule, its place, a sentence, and the edit that solves it.


JOURNAL = "journal"  # as the target of a move: the page of the present day
LINT_RULES = {
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


# A page as lint reads it: its lines, which of them are code, and the section of each.


class LintPage:
    """One page: its name and layer, its text, and the time of its last change."""

    def __init__(self, file: str, layer: str, text: str, updated: float = 0.0) -> None:
        self.file, self.layer, self.text, self.updated = file, layer, text, updated

    @cached_property
    def lines(self) -> list[str]:
        """The lines, with their ends."""
        return split_lines(self.text)

    @cached_property
    def bare_lines(self) -> list[str]:
        """The lines without their ends, as a diff shows them."""
        return [line.removesuffix("\n") for line in self.lines]

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The `## ` sections."""
        return list_sections(self.text)

    @cached_property
    def code_lines(self) -> frozenset[int]:
        """The numbers of lines that are inside a block of code, from 0."""
        numbers: set[int] = set()
        if "```" not in self.text and "~~~" not in self.text:
            return frozenset()
        fence = ""
        for number, line in enumerate(self.lines):
            mark = line.strip()
            if fence:
                numbers.add(number)
                if mark.startswith(fence) and not mark.strip(fence[0]):
                    fence = ""
            elif mark.startswith(("```", "~~~")):
                numbers.add(number)
                fence = mark[:3]
        return frozenset(numbers)

    @cached_property
    def section_of(self) -> list[str]:
        """The name of the section of each line; "" above the first."""
        names = [""] * len(self.lines)
        bounds = [section.line - 1 for section in self.sections] + [len(self.lines)]
        for section, start, end in zip(self.sections, bounds, bounds[1:], strict=False):
            names[start:end] = [section.name] * (end - start)
        return names

    @cached_property
    def prose(self) -> list[tuple[int, str]]:
        """The lines that are neither code nor headings nor blank, with their numbers."""
        code = self.code_lines
        return [
            (number, text)
            for number, line in enumerate(self.lines)
            if (text := line.strip()) and text[0] not in "#|" and number not in code
        ]

    def section_lines(self, position: int) -> tuple[int, int]:
        """Return the line of the header of a section, by its position, and the line after it."""
        start = self.sections[position].line - 1
        is_last = position + 1 == len(self.sections)
        return start, len(self.lines) if is_last else self.sections[position + 1].line - 1


# Facts that no longer hold, contradict each other, or stand in the wrong page.


STALE_DAYS = 90
MEMORY = "MEMORY.md"
_IDENTITY = ("SOUL.md", "USER.md", "RULES.md")
_KEY = re.compile(
    r"(?:[-*+]\s+)?(?:\*\*|__)?([^:*`\[\]|<>]{2,60}?)(?:\*\*|__)?:(?:\*\*|__)?\s+(\S.*)"
)
_DATE = re.compile(r"\b(\d{4}-\d{2}-\d{2})\b")
_PROGRESS = re.compile(
    r"\b(in progress|ongoing|wip|to-?do|pending|blocked|waiting|due|deadline|upcoming|tomorrow|"
    r"this week|next week|today|in arbeit|en cours|en curso|em andamento)\b|\[ \]",
    re.IGNORECASE,
)
_TASK_TITLE = re.compile(
    r"(current )?(tasks?|to-?dos?|next steps|in progress|this week|state|deadlines?)", re.IGNORECASE
)


def find_contradictions(page: LintPage) -> Iterator[LintProblem]:
    """Find `key: value` lines of one section that give a key two values."""
    values: dict[tuple[str, str], tuple[int, str]] = {}
    for number, text in page.prose:
        match = _KEY.match(text) if ": " in text else None
        if match is None or "//" in match[1] or len(match[1].split()) > 6:
            continue
        key = (page.section_of[number], match[1].strip().casefold())
        value = " ".join(match[2].casefold().split())
        earlier = values.get(key)
        values[key] = (number, value)
        if earlier is None or earlier[1] == value:
            continue
        yield LintProblem(
            rule="contradiction",
            file=page.file,
            layer=page.layer,
            line=number + 1,
            message=f"{match[1].strip()!r} has another value in line {earlier[0] + 1}",
            advice="Keep the later line, and move the earlier one to the journal.",
            edit=archive_lines(page.lines, earlier[0], earlier[0] + 1),
        )


def find_stale_entries(page: LintPage, now: float) -> Iterator[LintProblem]:
    """Find lines that speak of work in progress, with a date long ago."""
    if "20" not in page.text:
        return
    limit = format_date(now - STALE_DAYS * DAY_SECONDS)
    for number, text in page.prose:
        if "20" not in text:
            continue
        dates = [date for date in _DATE.findall(text) if parse_date(date) is not None]
        if dates and max(dates) < limit and _PROGRESS.search(text):
            yield LintProblem(
                rule="stale_entry",
                file=page.file,
                layer=page.layer,
                line=number + 1,
                message=f"was in progress on {max(dates)}, more than {STALE_DAYS} days ago",
                advice="Move the line to the journal.",
                edit=archive_lines(page.lines, number, number + 1),
            )


def find_misplaced_tasks(page: LintPage) -> Iterator[LintProblem]:
    """Find sections of tasks in pages about identity; they belong in MEMORY.md."""
    if page.file not in _IDENTITY:
        return
    for position, section in enumerate(page.sections):
        start, end = page.section_lines(position)
        body = "".join(page.lines[start + 1 : end])
        has_facts = any(line.strip() and not line.startswith("<!--") for line in body.split("\n"))
        if not _TASK_TITLE.fullmatch(section.name.strip()) or not has_facts:
            continue
        text = "".join(page.lines[start:end])
        message = f"the section {section.name!r} is about work, and {page.file} is about identity"
        yield LintProblem(
            rule="wrong_page",
            file=page.file,
            layer=page.layer,
            line=section.line,
            message=message,
            advice=f"Move the section to {MEMORY}.",
            edit=PageEdit((LineChange(start, end),), (Move(MEMORY, text),)),
        )


# Text that a model left behind: special tokens, and sentences around an answer.


_TOKEN = re.compile(
    r"<\|[a-zA-Z_]{2,30}\|>|</?(?:think|thinking|tool_call|function_calls|assistant)>|"
    r"\[/?INST\]|<</?SYS>>|</?s>(?=\s|$)|<(?:start|end)_of_turn>"
)
_CODE_SPAN = re.compile(r"`[^`]*`")
_PHRASE = re.compile(
    r"(?:As an AI language model\b.*|Sure[,!] here(?: is|'s) .*:|Here(?: is|'s) the updated .*:|"
    r"I hope this helps[.!]?|\[(?:rest|remainder) unchanged\])",
    re.IGNORECASE,
)


def find_model_tokens(page: LintPage) -> Iterator[LintProblem]:
    """Find tokens and phrases of models outside of code; the edit takes them out."""
    for number, text in page.prose:
        phrase = _PHRASE.fullmatch(text)
        bare = _CODE_SPAN.sub("", text) if "`" in text else text
        if phrase is None and not ("<" in bare or "[" in bare):
            continue
        token = phrase or _TOKEN.search(bare)
        if token is None:
            continue
        line = page.lines[number]
        clean = "" if phrase else _TOKEN.sub("", line)
        lines = (clean,) if clean.strip() else ()
        yield LintProblem(
            rule="model_token",
            file=page.file,
            layer=page.layer,
            line=number + 1,
            message=f"has {token[0][:40]!r}, which a model left behind",
            advice="Take it out.",
            edit=PageEdit((LineChange(number, number + 1, lines),)),
        )


# References that lead nowhere: links to pages, and paths of this machine.


_LINK = re.compile(r"\]\(\s*<?([^()<>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PATH = re.compile(r"(?<![\w./:@~-])(~?/[\w.@+-]+(?:/[\w.@+-]+)+)/?(?![\w*{<$?/])")
_PAGE_SUFFIXES = (".md", ".markdown", ".txt")


def find_dead_links(page: LintPage, files: Set[str]) -> Iterator[LintProblem]:
    """Find links to pages that do not exist; addresses of other servers are not looked at."""
    if "](" not in page.text:
        return
    for number, text in page.prose:
        for target in _LINK.findall(text) if "](" in text else ():
            path = target.partition("#")[0]
            if not path or _SCHEME.match(path) or path.startswith("/"):
                continue
            name = posixpath.normpath(posixpath.join(posixpath.dirname(page.file), path))
            if name.lower().endswith(_PAGE_SUFFIXES) and name not in files:
                yield _build_problem(
                    page, number, "dead_link", f"links to {name}, which does not exist"
                )
                break


def find_dead_paths(page: LintPage, exists: Callable[[str], bool]) -> Iterator[LintProblem]:
    """Find absolute paths that this machine does not have."""
    for number, text in page.prose:
        if "/" not in text:
            continue
        for path in _PATH.findall(text):
            if not exists(os.path.expanduser(path.rstrip("."))):
                yield _build_problem(
                    page, number, "dead_path", f"{path} does not exist on this machine"
                )
                break


def _build_problem(page: LintPage, number: int, rule: str, message: str) -> LintProblem:
    return LintProblem(
        rule=rule,
        file=page.file,
        layer=page.layer,
        line=number + 1,
        message=message,
        advice="Correct the line, or move it to the journal.",
        edit=archive_lines(page.lines, number, number + 1),
    )


# Repetition: duplicate lines, nearly equal lines, and sections of nearly the same name.


def find_duplicates(page: LintPage) -> Iterator[LintProblem]:
    """Find lines that occur twice in one section, and lines that differ in one plain word."""
    said: dict[str, SaidLines] = {}
    for number, text in page.prose:
        if len(text) < LEAST_CHARACTERS:
            continue
        repeat = said.setdefault(page.section_of[number], SaidLines()).add(number, text)
        if repeat is not None and not repeat.word:
            yield _build_duplicate(page, number, repeat.first)
        elif repeat is not None:
            yield _build_near_duplicate(page, number, repeat)


def _build_duplicate(page: LintPage, number: int, first: int) -> LintProblem:
    return LintProblem(
        rule="duplicate_line",
        file=page.file,
        layer=page.layer,
        line=number + 1,
        message=f"says the same as line {first + 1}",
        advice="Remove the second of the two.",
        edit=PageEdit((LineChange(number, number + 1),)),
    )


def _build_near_duplicate(page: LintPage, number: int, repeat: Repeat) -> LintProblem:
    swap = f"{repeat.word!r} instead of {repeat.earlier_word!r}"
    return LintProblem(
        rule="near_duplicate",
        file=page.file,
        layer=page.layer,
        line=number + 1,
        message=f"differs from line {repeat.first + 1} only in {swap}",
        advice="Keep the newer line, and move the older one to the journal.",
        edit=archive_lines(page.lines, repeat.first, repeat.first + 1),
    )


def find_sections_alike(page: LintPage) -> Iterator[LintProblem]:
    """Find sections whose names differ only in case; the second is merged into the first."""
    first: dict[str, int] = {}
    for position, section in enumerate(page.sections):
        earlier = first.setdefault(section.name.casefold(), position)
        name = page.sections[earlier].name
        if earlier == position or name == section.name:
            continue
        start, end = page.section_lines(position)
        _, target = page.section_lines(earlier)
        body = tuple(page.lines[start + 1 : end])
        changes = (LineChange(target, target, body), LineChange(start, end))
        yield LintProblem(
            rule="section_case",
            file=page.file,
            layer=page.layer,
            line=section.line,
            message=f"the sections {name!r} and {section.name!r} differ only in case",
            advice=f"Merge both under {name!r}.",
            edit=PageEdit(changes),
        )


# Sizes and ages: sections that should be pages, pages over their budget or past their review.


LARGE_SECTION = 50  # lines
REVIEW_DAYS = {"SOUL.md": 92, "MEMORY.md": 31}  # quarterly and monthly
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def find_large_sections(page: LintPage) -> Iterator[LintProblem]:
    """Find sections of MEMORY.md that should be a page of their own."""
    if page.file != "MEMORY.md":
        return
    for position, section in enumerate(page.sections):
        start, end = page.section_lines(position)
        body = page.lines[start + 1 : end]
        count = sum(1 for line in body if line.strip())
        if count < LARGE_SECTION:
            continue
        name = f"{_NOT_SLUG.sub('-', section.name.lower()).strip('-') or 'section'}.md"
        pointer = ("\n", f"- See [{name}]({name}).\n", "\n")
        edit = PageEdit(
            (LineChange(start + 1, end, pointer),), (Move(name, "".join(page.lines[start:end])),)
        )
        yield LintProblem(
            rule="oversized_section",
            file=page.file,
            layer=page.layer,
            line=section.line,
            message=f"the section {section.name!r} has {count} lines",
            advice=f"Move the section to {name}, and leave a link.",
            edit=edit,
        )


def find_over_budget(page: LintPage, registry: FileRegistry) -> Iterator[LintProblem]:
    """Find pages with more words or bytes than the registry allows."""
    if registry.get(page.file) is None:
        return
    for warning in registry.size_warnings(page.file, page.text.encode()):
        advice = "Prune the page, or let looseleaf upkeep run move what is old to the journal."
        message = warning.removeprefix(f"{page.file} ")
        yield LintProblem(
            rule="over_budget",
            file=page.file,
            layer=page.layer,
            line=0,
            message=message,
            advice=advice,
        )


def find_review_due(page: LintPage, now: float) -> Iterator[LintProblem]:
    """Find core pages that nobody changed since their review was due."""
    days = REVIEW_DAYS.get(page.file, 0)
    age = int((now - page.updated) / DAY_SECONDS)
    if days and page.updated and age > days:
        message = f"was last changed {age} days ago; a review is due every {days} days"
        advice = "Read the page, and correct or confirm what it says."
        yield LintProblem(
            rule="review_due",
            file=page.file,
            layer=page.layer,
            line=0,
            message=message,
            advice=advice,
        )


def lint_pages(
    pages: Iterable[LintPage],
    registry: FileRegistry,
    now: float,
    *,
    files: frozenset[str] | None = None,
    path_exists: Callable[[str], bool] | None = None,
) -> Iterator[LintProblem]:
    """Find the problems of pages of a shelf; without `path_exists`, paths are not checked.

    `files` names all pages of the shelf; without it, the given ones are all. Generated pages are
    left out, since an edit would be overwritten.
    """
    if files is None:
        pages = list(pages)
        files = frozenset(page.file for page in pages)
    for page in pages:
        file = registry.get(page.file)
        if file is not None and file.composable:
            continue
        yield from lint_page(page, files, registry, now)
        if path_exists is not None:
            yield from find_dead_paths(page, path_exists)


def lint_page(
    page: LintPage, files: frozenset[str], registry: FileRegistry, now: float
) -> Iterator[LintProblem]:
    """Find the problems of one page among others."""
    for problems in (
        find_model_tokens(page),
        find_duplicates(page),
        find_contradictions(page),
        find_stale_entries(page, now),
        find_misplaced_tasks(page),
        find_dead_links(page, files),
        find_sections_alike(page),
        find_large_sections(page),
        find_over_budget(page, registry),
        find_review_due(page, now),
    ):
        check_deadline()
        yield from problems


# Applying the edits of problems to a page; of edits that overlap, the first is applied.


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
    changes = [change for problem in selection if problem.edit for change in problem.edit.changes]
    result: list[str] = []
    end = 0
    for change in sorted(changes, key=lambda change: (change.start, change.end)):
        result += lines[end : change.start]
        result += change.lines
        end = max(end, change.end)
    result += lines[end:]
    moves = tuple(move for problem in selection if problem.edit for move in problem.edit.moves)
    return EditedPage("".join(result), moves, tuple(selection))
