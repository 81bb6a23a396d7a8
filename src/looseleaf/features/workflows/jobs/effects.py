"""Changes of pages that happen once for a job and step, also if the process dies at any moment.

A change has the key of its effect in its provenance, so that the history of the page shows whether
it was made. A process that dies after the page was replaced and before the history was written
leaves a change without a key; therefore the hash of the new text is noted before the page changes.
A later run finds the key or the hash, and changes nothing.

The tools of a model change pages by operations, which know nothing of jobs. Their changes are noted
by a store (`NotingStore`), so that a later run can tell whether a call has changed its page.
"""

from __future__ import annotations

from contextlib import suppress
from copy import copy

from looseleaf.errors import Unavailable
from looseleaf.errors.pages import HistoryMissing
from looseleaf.features.workflows.jobs.job import MemoryWrite
from looseleaf.memory.provenance import JOB, Activity
from looseleaf.memory.store import Missing, has_paths, hash_content
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.features.workflows.step import EffectIntents, Intent, StepRun, StepServices
    from looseleaf.memory.history import Revision
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.store import (
        Capabilities,
        Change,
        Conflict,
        Deleted,
        Found,
        PageEntry,
        Store,
        Written,
    )


class _NotEdited(Exception):
    """The page was left as it is."""


def edit_once(
    run: StepRun,
    scope: Scope,
    edit: Callable[[str], str],
    *,
    change: Change,
    part: str = "",
    replacement: str | None = None,
) -> MemoryWrite:
    """Change a page by a function of its text, once for the job, the step and the part.

    A step that changes the same page several times names each part, such as the number of the
    packet. Two processes that run the same step at once change the page once. A missing page
    counts as empty. `replacement` is the new text of a section, if `edit` replaces one.
    """
    key = f"{run.effect_key}/{part}" if part else run.effect_key
    keyed_change = replace(
        change, provenance=replace(change.provenance, activity=Activity(JOB, key))
    )
    while True:
        intent = run.parts.intents.find(key, scope.key)
        if intent is not None:
            _wait_for_writers(run.parts, scope, keyed_change)
        revision = _find_effect(run.parts, scope, key, intent)
        if revision is None:
            revision = _try_edit(
                run.parts, scope, edit, keyed_change, intent, replacement=replacement
            )
        if revision is not None:
            return MemoryWrite(
                scope.layer,
                scope.user_id,
                scope.agent_id,
                scope.filename,
                revision,
                change.operation,
            )


def find_effect(parts: StepServices, scope: Scope, key: str, change: Change) -> int | None:
    """Return the revision that an effect made on a page, or None if it is still to be done."""
    intent = parts.intents.find(key, scope.key)
    if intent is not None:
        _wait_for_writers(parts, scope, change)
    return _find_effect(parts, scope, key, intent)


def _wait_for_writers(parts: StepServices, scope: Scope, change: Change) -> None:
    """Wait until the process that noted an intent has changed the page and its history, or died."""

    def leave(_text: str) -> str:
        raise _NotEdited

    with suppress(_NotEdited):
        parts.pages.edit(scope, leave, change=change)


def _try_edit(
    parts: StepServices,
    scope: Scope,
    edit: Callable[[str], str],
    change: Change,
    intent: Intent | None,
    *,
    replacement: str | None,
) -> int | None:
    """Edit the page and return its revision, or None if another process noted an intent since."""
    key = change.provenance.activity.id

    def edit_unless_overtaken(text: str) -> str:
        nonlocal intent
        if parts.intents.find(key, scope.key) != intent:
            raise _NotEdited
        new_text = edit(text)
        parts.intents.note(key, scope.key, hash_content(new_text.encode()))
        # The store calls again if the page was edited outside in the meantime.
        intent = parts.intents.find(key, scope.key)
        return new_text

    try:
        return parts.pages.edit(
            scope, edit_unless_overtaken, change=change, replacement=replacement
        ).revision
    except _NotEdited:
        return None


def _find_effect(parts: StepServices, scope: Scope, key: str, intent: Intent | None) -> int | None:
    """Return the revision that an effect made, or None if the effect is still to be done."""
    revisions = _list_revisions(parts, scope)
    for revision in reversed(revisions):
        if revision.activity == JOB and revision.activity_id == key:
            return revision.number
    if intent is None:
        return None
    for revision in reversed(revisions):
        if revision.hash == intent.content_hash:
            return revision.number
    if not revisions:
        page = parts.pages.read(scope)
        return 0 if not isinstance(page, Missing) and page.hash == intent.content_hash else None
    return None


def _list_revisions(parts: StepServices, scope: Scope) -> list[Revision]:
    try:
        return parts.history.revisions(scope)
    except HistoryMissing:
        return []


def note_changes(pages: MemoryPages, intents: EffectIntents, key: str) -> MemoryPages:
    """Return the same pages, whose changes are noted under a key before they happen."""
    noting_pages = copy(pages)
    noting_pages.store_for = lambda place: NotingStore(pages.store_for(place), intents, key)
    return noting_pages


class NotingStore:
    """A store that notes each new text of a page before the page changes."""

    def __init__(self, store: Store, intents: EffectIntents, key: str) -> None:
        self._store, self._intents, self._key = store, intents, key

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the store, without the history, which is not reached through it."""
        return replace(self._store.capabilities, history=False)

    def path(self, scope: Scope) -> str:
        """Return the path of the file that a page is."""
        if not has_paths(self._store):
            raise Unavailable(scope.filename, "its store has no files")
        return self._store.path(scope)

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page."""
        return self._store.read(scope)

    def exists(self, scope: Scope) -> bool:
        """Return whether there is such a page."""
        return self._store.exists(scope)

    def list_layer(self, shelf: Shelf) -> list[PageEntry]:
        """List the pages directly on a shelf."""
        return self._store.list_layer(shelf)

    def list_subtree(self, shelf: Shelf, prefix: str) -> list[PageEntry]:
        """List the pages below a folder of a shelf."""
        return self._store.list_subtree(shelf, prefix)

    def delete(
        self, scope: Scope, *, if_match: str | None = None, change: Change
    ) -> Deleted | Missing | Conflict:
        """Delete a page; there is no new text to note."""
        return self._store.delete(scope, if_match=if_match, change=change)

    def write(
        self, scope: Scope, content: bytes, *, if_match: str | None = None, change: Change
    ) -> Written | Conflict:
        """Record the new text, and write the page."""
        self._intents.note(self._key, scope.key, hash_content(content))
        return self._store.write(scope, content, if_match=if_match, change=change)

    def edit(
        self, scope: Scope, edit: Callable[[bytes | None], bytes], *, change: Change
    ) -> Written:
        """Record the new text, and change the page."""

        def edit_and_note(current: bytes | None) -> bytes:
            content = edit(current)
            self._intents.note(self._key, scope.key, hash_content(content))
            return content

        return self._store.edit(scope, edit_and_note, change=change)
