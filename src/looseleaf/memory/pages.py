"""Pages and their sections by the registry's rules: read, write, append, clear, delete, start."""

from __future__ import annotations

from looseleaf.errors import Conflicted
from looseleaf.errors.pages import (
    AgentMissing,
    NotEditable,
    NotText,
    PageMissing,
    Protected,
    TooLarge,
)
from looseleaf.memory import sections
from looseleaf.memory.store import (
    ABSENT,
    COMPOSE,
    Conflict,
    Deleted,
    Found,
    Missing,
    Written,
    delete_version,
    hash_content,
    require_condition,
    require_version,
    with_version,
)
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    from looseleaf.memory.registry import FileRegistry, RegisteredFile
    from looseleaf.memory.repeats import Addition
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.sections import Section
    from looseleaf.memory.store import Change, PageEntry, Store

    Listener = Callable[["Changed"], None]

    TextEdit = Callable[[str], str]
else:
    TypedDict = dict


MAX_PAGE_BYTES = 10_000_000
_ALIKE = 0.7  # the least likeness of a page's name to a misspelled one
_MOST_COMPARED = (
    500  # names; each costs some microseconds, and anyone may ask for what is not there
)
_PLAIN = bytes((9, 10, 13, *range(32, 127)))  # visible characters of ASCII, tabs and line ends


@value(kw_only=True)
class Saved:
    """A page after a change; `changed` is False if the page had this text before."""

    filename: str
    hash: str
    bytes: int
    revision: int
    previous: str
    changed: bool
    warnings: tuple[str, ...] = ()


@value
class Changed:
    """The event for listeners once a change is durable; `hash` is "" if a page was deleted."""

    scope: Scope
    change: Change
    hash: str
    previous: str
    bytes: int
    revision: int


class MemoryPages:
    """The pages of a workspace; every surface reads and writes them through this class."""

    def __init__(
        self,
        store_for: Callable[[Scope | Shelf], Store],
        registry: FileRegistry,
        *,
        report: Callable[[str, Exception], None],
        max_bytes: int = MAX_PAGE_BYTES,
        name_agent: Callable[[int], str] = str,
    ) -> None:
        self.store_for = store_for
        self.registry = registry
        self.max_bytes = max_bytes
        self._report, self._name_agent = report, name_agent
        self._listeners: list[tuple[str, Listener]] = []

    def on_change(self, listener: Listener, *, owner: str = "") -> None:
        """Add a listener that is called after every change from now on."""
        self._listeners.append((owner or getattr(listener, "__name__", "a listener"), listener))

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page; create nothing."""
        return self.store_for(scope).read(scope)

    def require(self, scope: Scope) -> Found:
        """Read a page, or raise `PageMissing`."""
        page = self.read(scope)
        if isinstance(page, Missing):
            raise self.build_missing_error(scope)
        return page

    def build_missing_error(self, scope: Scope) -> PageMissing:
        """Build the error for a missing page, with the pages of the shelf that are spelled like it.

        Registered pages are among them, even if they stand on another shelf.
        """
        entries = self.store_for(scope).list_layer(scope.shelf)
        names = {entry.filename for entry in entries} | {
            file.filename for file in self.registry.files() if file.layer != scope.layer
        }
        by_stem = {_stem_of(name): name for name in sorted(names) if name != scope.filename}
        alike: list[str] = []
        if len(by_stem) <= _MOST_COMPARED:
            from difflib import get_close_matches

            alike = get_close_matches(_stem_of(scope.filename), by_stem, 2, _ALIKE)
        candidates = tuple(by_stem[stem] for stem in alike)
        return PageMissing(scope.filename, self.name_shelf(scope.shelf), candidates)

    def name_shelf(self, shelf: Shelf) -> str:
        """Name a shelf in words for a message, an agent by its slug."""
        if not shelf.agent_id:
            user_pages = f"the pages of user {shelf.user_id}"
            return user_pages if shelf.user_id else f"the {shelf.layer} pages"
        try:
            name = self._name_agent(shelf.agent_id)
        except AgentMissing:
            name = str(shelf.agent_id)  # only its pages are left
        if shelf.user_id:
            return f"what agent {name} knows about user {shelf.user_id}"
        return f"the pages of agent {name}"

    def text(self, scope: Scope) -> str:
        """Read a page's text, or raise `PageMissing`."""
        return decode_text(scope.filename, self.require(scope).content)

    def exists(self, scope: Scope) -> bool:
        """Return whether there is such a page."""
        return self.store_for(scope).exists(scope)

    def list(self, shelf: Shelf, prefix: str = "") -> list[PageEntry]:
        """List every page on a shelf, or below one of its folders."""
        return self.store_for(shelf).list_subtree(shelf, prefix)

    def write(
        self, scope: Scope, text: str | bytes, *, change: Change, if_match: str | None = None
    ) -> Saved | Conflict:
        """Replace or create a page; with `if_match`, only that version (or `ABSENT`)."""
        content = self._check(scope, text)
        guarded_change = with_version(change, if_match)
        require_version(scope, guarded_change)
        try:
            return self._edit(scope, lambda _page: content, guarded_change, replacement=content)
        except Conflicted as conflict:
            return Conflict(conflict.expected, conflict.actual)

    def append(self, scope: Scope, text: str, *, change: Change) -> Saved:
        """Add lines to the end of a page, but for those that its last section says already.

        The journal takes every line: what happened twice is told twice.
        """
        from looseleaf.memory.day import is_in_journal
        from looseleaf.memory.repeats import screen_page_addition

        if is_in_journal(scope.filename):

            def add(page: str) -> str:
                return sections.append_lines(page, text)

            addition = replace(change, operation="append")
            return self.edit(scope, add, change=addition, replacement=text)

        def screen(page: str) -> Addition:
            return screen_page_addition(page, text)

        return self._add(
            scope, text, screen, sections.append_lines, replace(change, operation="append")
        )

    def clear(
        self, scope: Scope, *, change: Change, if_match: str | None = None
    ) -> Saved | Conflict:
        """Empty a page; its text stays in the history."""
        clear_change = with_version(replace(change, operation="clear"), if_match)
        if not self.exists(scope):
            if clear_change.precondition is None or clear_change.precondition.holds(""):
                raise self.build_missing_error(scope)
            return Conflict(clear_change.precondition.expected, "")
        return self.write(scope, b"", change=clear_change)

    def delete(
        self, scope: Scope, *, change: Change, if_match: str | None = None
    ) -> Deleted | Conflict:
        """Remove a page that is not a core page; its text stays in the history."""
        if self.registry.is_protected(scope.filename):
            raise Protected(scope.filename)
        self._require_editable(scope, change)
        deletion = with_version(replace(change, operation="delete"), if_match)
        require_version(scope, deletion)
        outcome = delete_version(self.store_for(scope), scope, deletion)
        if isinstance(outcome, Missing):
            raise self.build_missing_error(scope)
        if isinstance(outcome, Deleted):
            self._tell(Changed(scope, deletion, "", outcome.previous, 0, outcome.revision))
        return outcome

    def scaffold(self, scope: Scope, starter: str, *, change: Change) -> bool:
        """Create a page from its starter text unless it exists; return whether it was created."""
        content = self._check(scope, starter)
        creation = replace(change, operation="scaffold")
        outcome = self.store_for(scope).write(scope, content, if_match=ABSENT, change=creation)
        if isinstance(outcome, Conflict):
            return False
        self._finish(scope, outcome, creation, content)
        return True

    def sections(self, scope: Scope) -> tuple[Section, ...]:
        """List the sections of a page."""
        return sections.list_sections(self.text(scope))

    def read_section(self, scope: Scope, name: str | None, *, position: int | None = None) -> str:
        """Read the text of one section."""
        return sections.read_section(self.text(scope), name, position=position)

    def set_section(
        self,
        scope: Scope,
        name: str | None,
        text: str,
        *,
        change: Change,
        position: int | None = None,
    ) -> Saved:
        """Replace the text of one section, or add the section; touch no other byte."""

        def put(page: str) -> str:
            return sections.set_section(page, name, text, position=position)

        edit_change = replace(change, operation="set section")
        require_version(scope, edit_change)
        return self.edit(scope, put, change=edit_change, replacement=text)

    def append_to_section(
        self,
        scope: Scope,
        name: str | None,
        text: str,
        *,
        change: Change,
        position: int | None = None,
    ) -> Saved:
        """Add lines to the end of one section, but for those that it says already.

        A section that is missing is added; no other byte is touched.
        """
        from looseleaf.memory.repeats import screen_page_addition

        def screen(page: str) -> Addition:
            return screen_page_addition(page, text, name, position=position)

        def add(page: str, new_text: str) -> str:
            return sections.append_to_section(page, name, new_text, position=position)

        return self._add(scope, text, screen, add, replace(change, operation="append to section"))

    def _add(
        self,
        scope: Scope,
        text: str,
        screen: Callable[[str], Addition],
        add: Callable[[str, str], str],
        change: Change,
    ) -> Saved:
        """Add what is new of a text, and return what is not with the warnings."""
        notes: tuple[str, ...] = ()

        def edit(page: str) -> str:
            nonlocal notes
            addition = screen(page)
            notes = addition.notes
            return page if addition.text is None else add(page, addition.text)

        saved = self.edit(scope, edit, change=change, replacement=text)
        return replace(saved, warnings=(*notes, *saved.warnings)) if notes else saved

    def delete_section(
        self, scope: Scope, name: str | None, *, change: Change, position: int | None = None
    ) -> Saved:
        """Remove one section with its header."""
        edit_change = replace(change, operation="delete section")
        require_version(scope, edit_change)
        if not self.exists(scope):
            require_condition(scope, edit_change, "")
            raise self.build_missing_error(scope)

        def cut(page: str) -> str:
            return sections.delete_section(page, name, position=position)

        return self.edit(scope, cut, change=edit_change)

    def edit(
        self, scope: Scope, edit: TextEdit, *, change: Change, replacement: str | None = None
    ) -> Saved:
        """Change a page by a function of its text ("" for a new page), under its lock.

        `replacement` is the text that a caller gave for a page or section, which must be complete.
        """
        content = None if replacement is None else _encode(scope.filename, replacement)

        def edit_bytes(page: bytes | None) -> bytes:
            return self._check(scope, edit(decode_text(scope.filename, page or b"")))

        return self._edit(scope, edit_bytes, change, replacement=content)

    def _edit(
        self,
        scope: Scope,
        edit: Callable[[bytes | None], bytes],
        change: Change,
        *,
        replacement: bytes | None = None,
    ) -> Saved:
        """Change a page under its lock, where every condition of the change is checked."""
        file = self._require_editable(scope, change)
        store = self.store_for(scope)
        needs_check = change.precondition is not None and not store.capabilities.preconditions
        if needs_check and not store.exists(scope):
            # Before the lock, so that no file is created if the page must exist and does not.
            require_condition(scope, change, "")
        new_content = b""

        def rewrite(current: bytes | None) -> bytes:
            nonlocal new_content
            if needs_check:
                actual = hash_content(current) if current is not None else ""
                require_condition(scope, change, actual)
            new_content = edit(current)
            # An edit that only adds loses nothing, and most edits add.
            may_lose = replacement is not None or len(new_content) < len(current or b"")
            if may_lose and current and not change.allow_shrink:
                from looseleaf.memory.replacement import Replacement, refuse_loss

                texts = (current, new_content, replacement)
                is_core = file is not None and file.protected
                refuse_loss(scope.filename, Replacement(*texts, is_core), change)
            return new_content

        outcome = store.edit(scope, rewrite, change=change)
        return self._finish(scope, outcome, change, new_content)

    def _require_editable(self, scope: Scope, change: Change) -> RegisteredFile | None:
        """Return the registered file of a page, or raise if it is not changed by hand."""
        file = self.registry.get(scope.filename)
        if file is not None and file.editable is False and change.operation != COMPOSE:
            raise NotEditable(scope.filename)
        return file

    def _check(self, scope: Scope, text: str | bytes) -> bytes:
        content = text if isinstance(text, bytes) else _encode(scope.filename, text)
        if len(content) > self.max_bytes:
            raise TooLarge(scope.filename, len(content), self.max_bytes)
        if content is text:
            decode_text(scope.filename, content)
        return content

    def _finish(self, scope: Scope, outcome: Written, change: Change, content: bytes) -> Saved:
        if outcome.changed and self._listeners:
            state = (outcome.hash, outcome.previous, outcome.bytes, outcome.revision)
            self._tell(Changed(scope, change, *state))
        warnings = self.registry.save_warnings(scope.filename, scope.layer, content)
        if content.translate(None, _PLAIN):
            from looseleaf.memory.hidden_characters import build_hidden_warnings

            warnings += build_hidden_warnings(scope.filename, content)
        return Saved(
            filename=scope.filename,
            hash=outcome.hash,
            bytes=outcome.bytes,
            revision=outcome.revision,
            previous=outcome.previous,
            changed=outcome.changed,
            warnings=warnings,
        )

    def _tell(self, event: Changed) -> None:
        for owner, listener in self._listeners:
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - the change is done; a listener cannot undo it
                self._report(f"{owner} failed after {event.scope.filename} was changed", error)


def _stem_of(filename: str) -> str:
    return filename.rpartition(".")[0].lower()


def decode_text(filename: str, content: bytes) -> str:
    """Return a page's bytes as text, or raise `NotText`."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise NotText(filename, error.start) from error


def _encode(filename: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise NotText(filename, error.start) from error


# A page as operations return it: its text, or one section of it, and its version.


MAIN = "MEMORY.md"  # the page that is meant if none is named
FACTS = "Facts"  # the section of facts that name none
LIST_MARKS = ("- ", "* ", "+ ")


def format_fact(text: str) -> str:
    """Return a fact as an item of a list."""
    fact = text.strip()
    return fact if fact.startswith(LIST_MARKS) else f"- {fact}"


class PageDocument(TypedDict):
    """A page, or one section of it, as JSON has it; hash, bytes and updated are the page's."""

    file: str
    layer: str
    section: str | None
    content: str
    hash: str
    bytes: int
    updated: float


@value
class PageText:
    """A page, or one section of it, as it was read."""

    file: str
    page: Found
    layer: str
    section: str | None = None
    part: str | None = None

    @property
    def content(self) -> str:
        """The text that was asked for, exactly."""
        return self.part if self.part is not None else decode_text(self.file, self.page.content)

    @property
    def raw(self) -> bytes:
        """The same content as bytes; those of a page may be no valid text."""
        return self.part.encode() if self.part is not None else self.page.content

    @property
    def hash(self) -> str:
        """The version of the whole page."""
        return self.page.hash

    @property
    def size(self) -> int:
        """How many bytes the whole page has."""
        return len(self.page.content)

    @property
    def updated(self) -> float:
        """When the page last changed; 0 for a past version."""
        return self.page.updated

    def document(self) -> PageDocument:
        """Return the JSON document of the result: the text, without the rest of the page."""
        return PageDocument(
            file=self.file,
            layer=self.layer,
            section=self.section,
            content=self.content,
            hash=self.hash,
            bytes=self.size,
            updated=self.updated,
        )
