"""The import of single pages: read the page here, decide, and write under the page's lock."""

from __future__ import annotations

from looseleaf.errors import Invalid, Refused
from looseleaf.errors.pages import HistoryMissing, LossRefused
from looseleaf.features.imports.ledger import (
    CHANGES,
    FAILED,
    LEFT_OUT,
    REPLACE,
    ImportDecision,
    decide,
    merge_texts,
    record_import,
)
from looseleaf.files.folders import casefold_name
from looseleaf.memory.pages import decode_text
from looseleaf.memory.replacement import Replacement, refuse_loss
from looseleaf.memory.store import Missing, hash_content
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from looseleaf.features.bundles.source_tree import SourcePage
    from looseleaf.features.imports.ledger import ImportLedger
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.store import Change

_TWIN = "it differs from {} only by case or Unicode form, and has no name of its own here"
SCAFFOLD = "scaffold"  # the operation that gives a new page its starter text


class PageNames:
    """The names of pages on each shelf: of existing pages, and of those that an import brings."""

    def __init__(self, pages: MemoryPages) -> None:
        self._pages = pages
        self._names: dict[Shelf | str, dict[str, str]] = {}  # each page and folder, folded

    def find_twin(self, place: Shelf | str, filename: str) -> str:
        """Find a page or folder that differs only by case or Unicode form, or "" if none does.

        A name without a twin is taken from then on. The place is a shelf, or the name of an agent
        that does not exist yet.
        """
        if place not in self._names:
            self._names[place] = {}
            for entry in () if isinstance(place, str) else self._pages.list(place):
                self._add(place, entry.filename)
        names = self._names[place]
        for path in _list_parts(filename):
            twin = names.get(casefold_name(path), path)
            if twin != path:
                return twin
        self._add(place, filename)
        return ""

    def _add(self, place: Shelf | str, filename: str) -> None:
        for path in _list_parts(filename):
            self._names[place].setdefault(casefold_name(path), path)


def _list_parts(filename: str) -> list[str]:
    """Return the folders of a page from the top, and the page itself."""
    segments = filename.split("/")
    return ["/".join(segments[: count + 1]) for count in range(len(segments))]


@value
class PageImport:
    """Imports pages one by one into a workspace.

    Fields:
        pages: The pages of the workspace.
        history: The history of these pages.
        ledger: The ledger of the source.
        names: The names that are taken.
        starter: Gives the text that a page of a new agent starts with; None for most pages.
        change: Gives the change of a page, with its provenance.
    """

    pages: MemoryPages
    history: History
    ledger: ImportLedger
    names: PageNames
    starter: Callable[[str, str], str | None]
    change: Callable[[SourcePage], Change]

    def preview(self, scope: Scope, page: SourcePage) -> ImportDecision:
        """Decide about a page and write nothing."""
        return self._decide(scope, page)[0]

    def preview_new(self, agent: str, page: SourcePage) -> ImportDecision:
        """Decide about a page of an agent that a run would create first."""
        refusal = self._find_refusal(agent, page)
        if refusal:
            return ImportDecision(LEFT_OUT, refusal, "")
        return decide(self.starter(page.filename, agent), page.text, None, is_starter=True)

    def apply(self, scope: Scope, page: SourcePage) -> ImportDecision:
        """Write a page as decided, and note it in the ledger."""
        decision, starter_hash = self._decide(scope, page)
        if decision.action in CHANGES:
            try:
                decision = self._write(scope, page, decision, starter_hash)
            except (Invalid, Refused) as error:
                return ImportDecision(FAILED, str(error), "")
        if decision.action not in (LEFT_OUT, FAILED):
            self.ledger.add(scope.key, record_import(page.text, decision.text))
        return decision

    def _decide(self, scope: Scope, page: SourcePage) -> tuple[ImportDecision, str]:
        """Decide about a page; return also its hash, if it still has its starter text."""
        refusal = self._find_refusal(scope.shelf, page)
        if refusal:
            return ImportDecision(LEFT_OUT, refusal, ""), ""
        former = self.ledger.find(scope.key)
        current = self.pages.read(scope)
        if isinstance(current, Missing):
            return decide(None, page.text, former), ""
        try:
            text = decode_text(scope.filename, current.content)
        except Invalid as error:
            return ImportDecision(FAILED, str(error), ""), ""
        is_starter = former is None and self._is_starter(scope, current.hash)
        decision = decide(text, page.text, former, is_starter=is_starter)
        if decision.action == REPLACE and not is_starter:
            reason = self._find_loss(scope, current.content, page)
            decision = ImportDecision(FAILED, reason, "") if reason else decision
        return decision, current.hash if is_starter else ""

    def _find_loss(self, scope: Scope, content: bytes, page: SourcePage) -> str:
        """Return why a page is not replaced by a source that was likely cut, or "" if it is."""
        source = page.text.encode()
        is_core = self.pages.registry.is_protected(scope.filename)
        try:
            refuse_loss(
                scope.filename, Replacement(content, source, source, is_core), self.change(page)
            )
        except LossRefused as loss:
            return f"{loss.why}; write the page itself if the source is right"
        return ""

    def _write(
        self, scope: Scope, page: SourcePage, preview: ImportDecision, starter_hash: str
    ) -> ImportDecision:
        """Decide again under the lock of the page: another writer may have been there first."""
        decision = preview
        former = self.ledger.find(scope.key)

        def edit(current: str) -> str:
            nonlocal decision
            if current:
                is_starter = hash_content(current.encode()) == starter_hash
                decision = decide(current, page.text, former, is_starter=is_starter)
            return decision.text

        # A starter text is nobody's work; a source that shrank may have been cut by mistake.
        change = replace(self.change(page), allow_shrink=bool(starter_hash))
        self.pages.edit(scope, edit, change=change)
        return decision

    def _find_refusal(self, place: Shelf | str, page: SourcePage) -> str:
        """Return why a page of this name or size is not imported, or "" if it is."""
        twin = self.names.find_twin(place, page.filename)
        if twin:
            return _TWIN.format(twin)
        registered_file = self.pages.registry.get(page.filename)
        if registered_file is not None and registered_file.editable is False:
            return f"{page.filename} is generated here"
        if not page.text.strip():
            return "it is empty"
        size = len(page.text.encode())
        if size > self.pages.max_bytes:
            return f"it has {size:,} bytes, and a page has at most {self.pages.max_bytes:,}"
        return ""

    def _is_starter(self, scope: Scope, page_hash: str) -> bool:
        """Return whether a page still has the text that it was started with."""
        try:
            revision = self.history.latest(scope)
        except HistoryMissing:
            return False
        return (
            revision is not None and revision.operation == SCAFFOLD and revision.hash == page_hash
        )


def merge_same_pages(
    pages: Iterable[SourcePage], find_place: Callable[[SourcePage], Hashable]
) -> list[SourcePage]:
    """Return each page once, by its place here; the text of a later one is added to the first.

    If each were written by itself, the later text would replace the first one at every import.
    """
    places: dict[Hashable, SourcePage] = {}
    for page in pages:
        place = find_place(page)
        first = places.get(place)
        places[place] = page if first is None else _merge_pages(first, page)
    return list(places.values())


def _merge_pages(first: SourcePage, second: SourcePage) -> SourcePage:
    notes = dict.fromkeys(note for note in (first.note, second.note) if note)
    return replace(
        first,
        text=merge_texts(first.text, second.text, None),
        sources=tuple(dict.fromkeys((*first.sources, *second.sources))),
        note="; ".join(notes),
    )
