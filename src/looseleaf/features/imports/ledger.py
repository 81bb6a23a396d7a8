"""The decision of an import about each page, the ledger of imports, and their report."""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from shlex import quote

from looseleaf.features.bundles.source_tree import NotImported
from looseleaf.features.imports.systems.shared_layout import NOT_IN_PROMPTS
from looseleaf.memory.section_merge import (
    BOTH,
    compare_sections,
    merge_sections,
    split_at_line_feeds,
)
from looseleaf.memory.sections import end_line, list_sections, newline_of
from looseleaf.memory.store import hash_content
from looseleaf.values import as_dict, field_names, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any, Final, Protocol

    from looseleaf.features.bundles.source_tree import SourcePage
    from looseleaf.memory.section_merge import SectionMerge

    class Records(Protocol):
        """Records of a workspace, each a JSON object by name."""

        def names(self) -> list[str]:
            """List the names of the records."""

        def read(self, name: str) -> dict[str, Any] | None:
            """Read a record, or None if there is none of that name."""

        def write(self, name: str, record: Mapping[str, Any]) -> None:
            """Write a record durably."""

        def lock(self) -> AbstractContextManager[None]:
            """Keep every other process out, for as long as the block runs."""


# The decision of an import about one page: create, replace, merge, or change nothing.
# A page that changed here since the last import is merged with the source by section: lines
# that are new in the source are added, and no line that was written here is removed.


CREATE: Final = "create"
REPLACE: Final = "replace"
MERGE: Final = "merge"
UNCHANGED: Final = "unchanged"
LEFT_OUT: Final = "left out"
FAILED: Final = "failed"
CHANGES = (CREATE, REPLACE, MERGE)
_DIGEST_LENGTH = 16


@value
class ImportedPage:
    """A page at its last import, as the ledger keeps it.

    Fields:
        source: The hash of the text of the source.
        page: The hash of the page after the import.
        lines: Short hashes of the lines of the source, in place of the lines themselves.
    """

    source: str
    page: str
    lines: frozenset[str]


@value
class ImportDecision:
    """The outcome for one page: an action, its reason, and the new text of the page."""

    action: str
    reason: str
    text: str


def decide(
    current: str | None,
    source: str,
    former: ImportedPage | None,
    *,
    is_starter: bool = False,
) -> ImportDecision:
    """Decide what an import does with a page; `current` is None if there is no page.

    `former` is the last import of the same page from the same source; `is_starter` says that the
    page has the text that every new agent starts with.
    """
    if current is None:
        if former is not None:
            return ImportDecision(LEFT_OUT, "the page was deleted here after the last import", "")
        return ImportDecision(CREATE, "", source)
    if current == source:
        return ImportDecision(UNCHANGED, "the page has this text already", current)
    if former is not None and former.source == hash_content(source.encode()):
        return ImportDecision(
            UNCHANGED, "the source has not changed since the last import", current
        )
    if former is not None and former.page == hash_content(current.encode()):
        return ImportDecision(REPLACE, "the source has changed, and the page has not", source)
    if is_starter:
        return ImportDecision(REPLACE, "the page had only its starter text", source)
    text = merge_texts(current, source, former)
    if text == current:
        return ImportDecision(UNCHANGED, "the page has every line of the source", current)
    return ImportDecision(MERGE, "new lines of the source are added, and no line is removed", text)


def merge_texts(current: str, source: str, former: ImportedPage | None) -> str:
    """Add the new lines of a source to a page, each to its section; remove no line of the page.

    A line of the last import that is no longer in the page was removed here, and is not added.
    """
    lines = former.lines if former is not None else frozenset()
    source = _match_line_ends(source, current)
    if not _has_new_line(current, source, lines):
        return current
    if _can_end_with_section(current):
        base, merge_source = _drop_old_lines(current, source, lines)
        parts = compare_sections(base if former is not None else None, current, merge_source)
        text = merge_sections([_swap_sides(part) for part in parts], {})
        is_repeatable = not _has_new_line(text, merge_source, lines)
        if is_repeatable and _strip_lines(current) <= _strip_lines(text):
            return text
    return _append_new_lines(current, source, lines)


def _can_end_with_section(text: str) -> bool:
    """Return whether a heading that is added at the end of a page would begin a section.

    Behind a code fence that never ends it would not, and would be added again at every import.
    """
    return len(list_sections(f"{text}\n## End\n")) > len(list_sections(text))


def _drop_old_lines(current: str, source: str, lines: frozenset[str]) -> tuple[str, str]:
    """Return the text that the page and its source have in common, and the source to merge.

    A line of the last import that the page lacks in this section was removed or moved here, or the
    source has moved it: it is not added again. Headings and fences stay around new lines.
    """
    page_lines = _list_section_lines(current)
    common_lines, source_lines = [], []
    for section, part in _split_sections(source):
        part_lines, kept_lines = split_at_line_feeds(part), []
        for line in part_lines:
            is_common = digest_line(line) in lines and (section, line.rstrip()) in page_lines
            if is_common or digest_line(line) not in lines or _is_structure(line):
                kept_lines.append(line)
                common_lines += [line] if is_common else []
        if kept_lines == part_lines or not all(_is_structure(line) for line in kept_lines):
            source_lines += kept_lines
    return "".join(common_lines), "".join(source_lines)


def _is_structure(line: str) -> bool:
    """Return whether a line only structures others: a heading, a fence, or no word at all."""
    text = line.strip()
    return text.startswith(("#", "```", "~~~")) or not any(sign.isalnum() for sign in text)


def _match_line_ends(source: str, page: str) -> str:
    """Return a source the line ends of the page that it is merged into."""
    plain = source.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if "\r\n" in page else plain


def _swap_sides(part: SectionMerge) -> SectionMerge:
    """Swap the sides of a section that both changed, so that the lines of the page come first."""
    if part.state != BOTH:
        return part
    return replace(part, mine=part.theirs, theirs=part.mine)


def digest_lines(text: str) -> frozenset[str]:
    """Return the short hashes of the lines of a text."""
    return frozenset(digest_line(line) for line in _strip_lines(text))


def digest_line(line: str) -> str:
    """Return the short hash of one line, whatever its end."""
    return hashlib.sha256(line.rstrip().encode()).hexdigest()[:_DIGEST_LENGTH]


def record_import(source: str, page: str) -> ImportedPage:
    """Return the entry of the ledger for a page that now has the text `page`."""
    page_hash = hash_content(page.encode())
    return ImportedPage(hash_content(source.encode()), page_hash, digest_lines(source))


def _has_new_line(current: str, source: str, lines: frozenset[str]) -> bool:
    """Return whether a section of the source has a line missing from the page and from `lines`."""
    new_lines = _list_section_lines(source) - _list_section_lines(current)
    return any(digest_line(line) not in lines for _, line in new_lines)


def _list_section_lines(text: str) -> set[tuple[str, str]]:
    """Return the lines of a text, each with the name of its section."""
    return {(name, line) for name, part in _split_sections(text) for line in _strip_lines(part)}


def _split_sections(text: str) -> list[tuple[str, str]]:
    """Return the text above the first section, and each section with its name."""
    sections = list_sections(text)
    first = sections[0].start if sections else len(text)
    parts = [(section.name, text[section.start : section.end]) for section in sections]
    return [("", text[:first]), *parts]


def _strip_lines(text: str) -> set[str]:
    return {line.rstrip() for line in text.split("\n") if line.strip()}


def _append_new_lines(current: str, source: str, lines: frozenset[str]) -> str:
    """Add the new lines of a source to the end of a page: if sections cannot be merged."""
    present = _strip_lines(current)
    new_lines = [
        line
        for line in split_at_line_feeds(source)
        if line.strip() and line.rstrip() not in present and digest_line(line) not in lines
    ]
    if not new_lines:
        return current
    newline = newline_of(current)
    head = end_line(current) if current else ""
    return head + newline + "".join(end_line(line, newline) for line in new_lines)


# The ledger of imports: what each source brought last, so that a later import adds only the
# rest.
# It keeps hashes and no text, so that purging a page leaves nothing of it behind.


_NAME_LENGTH = 32


class NoRecords:
    """Records that keep nothing: for a source without a path, which cannot be recognized again."""

    def names(self) -> list[str]:
        """Return no names."""
        return []

    def read(self, _name: str) -> None:
        """Find nothing."""

    def write(self, _name: str, _record: Mapping[str, Any]) -> None:
        """Keep nothing."""

    def lock(self) -> AbstractContextManager[None]:
        """Keep nobody out."""
        return nullcontext()


@value
class ImportedPart:
    """A pipeline, flow or uploaded file at its last import.

    Fields:
        source: The hash of the part in the source.
        target: The hash of the part here after the import.
        agent: The slug of the agent that has it here.
        slug: Its slug here, or the name of the file.
        pipeline_slug: For a flow: the slug of its pipeline here.
    """

    source: str
    target: str
    agent: str
    slug: str
    pipeline_slug: str = ""


class ImportLedger:
    """The ledger of one source: its kind, and its path or address."""

    def __init__(self, records: Records, kind: str, location: str) -> None:
        self._records, self._kind, self._location = records, kind, location
        digest = hashlib.sha256(f"{kind}\n{location}".encode(errors="surrogateescape"))
        self._name = digest.hexdigest()[:_NAME_LENGTH]
        record = records.read(self._name) or {}
        self._pages: dict[str, Any] = dict(record.get("pages", {}))
        self._parts: dict[str, Any] = dict(record.get("parts", {}))
        self._is_changed = False

    def lock(self) -> AbstractContextManager[None]:
        """Keep other imports out, for as long as the block runs."""
        return self._records.lock()

    def find(self, key: str) -> ImportedPage | None:
        """Find the last import of a page by the key of its scope."""
        entry = self._pages.get(key)
        if not isinstance(entry, dict):
            return None
        lines = frozenset(entry.get("lines", ()))
        return ImportedPage(entry.get("source", ""), entry.get("page", ""), lines)

    def add(self, key: str, page: ImportedPage) -> None:
        """Record the import of a page; `save` writes it."""
        if self.find(key) == page:
            return
        self._pages[key] = {
            "source": page.source,
            "page": page.page,
            "lines": sorted(page.lines),
        }
        self._is_changed = True

    def find_part(self, key: str) -> ImportedPart | None:
        """Find the last import of a part by its key, such as pipeline:3."""
        return _read_part(self._parts.get(key))

    def add_part(self, key: str, part: ImportedPart) -> None:
        """Record the import of a part; `save` writes it."""
        if self.find_part(key) != part:
            self._parts[key] = as_dict(part)
            self._is_changed = True

    def save(self) -> None:
        """Write the ledger, if it has changed."""
        if self._is_changed:
            record = {"kind": self._kind, "location": self._location, "pages": self._pages}
            if self._parts:
                record["parts"] = self._parts
            self._records.write(self._name, record)
            self._is_changed = False


def find_parts(records: Records, kind: str, key: str) -> list[ImportedPart]:
    """Find a part in the ledgers of all sources of a kind, such as pipeline 3 of every site."""
    parts = []
    for name in records.names():
        record = records.read(name) or {}
        if record.get("kind") == kind:
            part = _read_part(record.get("parts", {}).get(key))
            parts += [part] if part is not None else []
    return parts


def _read_part(entry: object) -> ImportedPart | None:
    if not isinstance(entry, dict):
        return None
    fields = {name: str(entry.get(name, "")) for name in field_names(ImportedPart)}
    return ImportedPart(**fields)


# The report of an import: everything that was taken, mapped and left out, and why.


@value(kw_only=True)
class PageReport:
    """One page of an import.

    Fields:
        action: create, replace, merge, unchanged or failed.
        layer: The layer of the page here.
        owner: The agent or the id of the user whose page it is here; "" for a shared page.
        file: The name of the page here.
        sources: The files of the source that the page is from.
        bytes: The size of the text of the source.
        reason: The reason of the action.
        note: A remark about the page.
        next: The command that points to a page that is not in prompts by itself.
    """

    action: str
    layer: str
    owner: str
    file: str
    sources: tuple[str, ...]
    bytes: int
    reason: str
    note: str = ""
    next: str = ""


@value
class WorkflowReport:
    """A pipeline, flow or uploaded file of an import.

    Fields:
        action: create, replace, unchanged or failed.
        kind: pipeline, flow or file.
        owner: The agent that has it here.
        name: Its slug here, or its place and name.
        source: What it is in the source.
        reason: The reason of the action.
    """

    action: str
    kind: str
    owner: str
    name: str
    source: str
    reason: str = ""


@value(kw_only=True)
class ImportReport:
    """The result of an import: the pages and workflows, the files left out, and the reasons.

    Fields:
        kind: The short name of the system.
        title: The name of the system for people.
        location: The path or address of the source.
        is_preview: Whether nothing was written.
        new_agents: The agents that the import creates.
        pages: The pages of the source.
        left_out: The files of the source that were not imported.
        changed: The number of pages that were or would be changed.
        failed: The number of pages, pipelines, flows and uploaded files that could not be written.
        workflows: The pipelines, flows and uploaded files of the source.
        workflows_changed: The number of these that were or would be changed.
    """

    kind: str
    title: str
    location: str
    is_preview: bool
    new_agents: tuple[str, ...]
    pages: tuple[PageReport, ...]
    left_out: tuple[NotImported, ...]
    changed: int
    failed: int
    workflows: tuple[WorkflowReport, ...] = ()
    workflows_changed: int = 0


def report_page(page: SourcePage, owner: str, decision: ImportDecision) -> PageReport:
    """Return the report of one page."""
    return PageReport(
        action=decision.action,
        layer=page.layer,
        owner=owner,
        file=page.filename,
        sources=page.sources,
        bytes=len(page.text.encode()),
        reason=decision.reason,
        note=page.note,
        next=_build_pointer(page, owner) if decision.action in CHANGES else "",
    )


def _build_pointer(page: SourcePage, owner: str) -> str:
    """Build the command that names a page in MEMORY.md, which is in prompts."""
    if NOT_IN_PROMPTS not in page.note or page.layer != "agent":
        return ""
    line = quote(f"- {page.filename}: what it is about")
    return f"looseleaf memory append Pages {line} --agent {owner}"


def build_report(
    names: tuple[str, str, str],
    pages: Iterable[PageReport],
    left_out: Iterable[NotImported],
    *,
    is_preview: bool,
    new_agents: Iterable[str],
    workflows: Iterable[WorkflowReport] = (),
) -> ImportReport:
    """Build the report of a source, by its kind, title and location (`names`).

    Pages and workflows that are left out join the files that are.
    """
    reports, workflow_reports = tuple(pages), tuple(workflows)
    refusals = [
        NotImported(source, report.reason)
        for report in reports
        if report.action == LEFT_OUT
        for source in report.sources
    ]
    refusals += [
        NotImported(report.source, report.reason)
        for report in workflow_reports
        if report.action == LEFT_OUT
    ]
    kind, title, location = names
    return ImportReport(
        kind=kind,
        title=title,
        location=location,
        is_preview=is_preview,
        new_agents=tuple(new_agents),
        pages=tuple(report for report in reports if report.action != LEFT_OUT),
        left_out=tuple(sorted((*left_out, *refusals), key=lambda entry: entry.source)),
        changed=sum(report.action in CHANGES for report in reports),
        failed=sum(report.action == FAILED for report in reports)
        + sum(report.action == FAILED for report in workflow_reports),
        workflows=tuple(report for report in workflow_reports if report.action != LEFT_OUT),
        workflows_changed=sum(report.action in CHANGES for report in workflow_reports),
    )
