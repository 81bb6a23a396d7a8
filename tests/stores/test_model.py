"""The disk store against a model of it: whatever happens to a page, in whatever order."""

from __future__ import annotations

import os
import shutil

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from looseleaf.errors.pages import RevisionMissing
from looseleaf.memory.store import ABSENT, Conflict, Deleted, Missing, Written, hash_content
from looseleaf.stores.disk.history.page_history import DiskHistory
from tests.conftest import FULL
from tests.stores.conformance import CHANGE, MEMORY, STALE, read
from tests.stores.scenes import (
    history_folder_of,
    move_over,
    open_store,
    pack_now,
    page_file_of,
    save_in_place,
    staged_file_of,
)
from tests.stores.state import list_leftovers
from tests.stores.tree import create_memory_folder

contents = (
    st.sampled_from([b"", b"one\n", b"one\ntwo\n", b"caf\xc3\xa9\n", b"\xff\0"]) | st.binary()
)
saves = st.sampled_from([move_over, save_in_place])


class Page(RuleBasedStateMachine):
    """One page: what it says, and the states that its history must tell, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = create_memory_folder()
        self.root = self.folder / "root"
        (self.root / "agents/ada").mkdir(parents=True)
        self.page: bytes | None = None
        self.told: list[bytes | None] = []
        self.purged: set[int] = set()
        self.left = False
        self.start()

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def changed_outside(self) -> bool:
        """Return whether the page is not what the log says."""
        return self.page != (self.told[-1] if self.told else None)

    def tell(self, page: bytes | None) -> None:
        """Record a change of ours, and before it what happened outside."""
        self.note()
        self.told.append(page)
        self.page = page

    def note(self) -> None:
        """Record what happened outside."""
        self.left = False
        if self.changed_outside():
            self.told.append(self.page)

    @rule()
    def start(self) -> None:
        """Begin as a process that has just started."""
        self.store = open_store(self.root)
        self.history = DiskHistory(self.store)

    @rule(content=contents)
    def write(self, content: bytes) -> None:
        """Write the page, whatever it was."""
        written = self.store.write(MEMORY, content, change=CHANGE)
        assert isinstance(written, Written)
        assert written.changed == (content != self.page)
        self.left = False
        if written.changed:
            self.tell(content)
            assert written.revision == len(self.told)

    @rule(content=contents)
    def write_what_was_read(self, content: bytes) -> None:
        """Write the page, naming the version it has."""
        expected = ABSENT if self.page is None else hash_content(self.page)
        written = self.store.write(MEMORY, content, if_match=expected, change=CHANGE)
        assert isinstance(written, Written)
        self.left = False
        if content != self.page:
            self.tell(content)

    @rule(content=contents)
    def write_stale(self, content: bytes) -> None:
        """Write the page, naming a version it does not have."""
        actual = "" if self.page is None else hash_content(self.page)
        outcome = self.store.write(MEMORY, content, if_match=STALE, change=CHANGE)
        assert outcome == Conflict(STALE, actual)

    @rule(line=st.binary(min_size=1, max_size=20))
    def append(self, line: bytes) -> None:
        """Add to the page."""
        self.store.edit(MEMORY, lambda page: (page or b"") + line, change=CHANGE)
        self.tell((self.page or b"") + line)

    @rule()
    def delete(self) -> None:
        """Delete the page, if there is one."""
        outcome = self.store.delete(MEMORY, change=CHANGE)
        if self.page is None:
            assert outcome == Missing()
        else:
            assert isinstance(outcome, Deleted)
            self.tell(None)

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """Write the page as it once was."""
        number = data.draw(st.integers(1, len(self.told)))
        content = self.told[number - 1]
        if number not in self.purged and content is not None:
            assert self.history.content(MEMORY, number) == content
            self.write(content)

    @precondition(lambda self: len(self.told) > 1)
    @rule(data=st.data())
    def purge(self, data: st.DataObject) -> None:
        """Remove a prior version for good."""
        number = data.draw(st.integers(1, len(self.told) - 1))
        self.history.purge(MEMORY, number, change=CHANGE)
        self.note()
        self.purged.add(number)

    @rule()
    def pack(self) -> None:
        """Pack the settled versions, which changes nothing that anyone reads."""
        pack_now(self.store)

    @rule()
    def recover(self) -> None:
        """Clear up."""
        self.store.recover()
        self.left = False

    @rule(content=contents, save=saves)
    def save_outside(self, content: bytes, save: object) -> None:
        """Have someone save the page."""
        assert callable(save)
        save(self.root, content)
        self.page = content

    @precondition(lambda self: self.page is not None)
    @rule()
    def remove_outside(self) -> None:
        """Have someone remove the page."""
        page_file_of(self.root).unlink()
        self.page = None

    @precondition(lambda self: self.told and self.page is not None and not self.left)
    @rule(content=contents, swapped=st.booleans())
    def crash(self, content: bytes, *, swapped: bool) -> None:
        """Leave what a write leaves that dies before or after it swaps, and a torn line."""
        if self.changed_outside():
            return
        page, staged = page_file_of(self.root), staged_file_of(self.root)
        kept = history_folder_of(self.root) / str(len(self.told))
        kept.unlink(missing_ok=True)
        os.link(page, kept)
        if swapped:
            page.rename(staged)
            page.write_bytes(content)
            self.page = content
        else:
            staged.with_name(staged.name + ":making").write_bytes(content[: len(content) // 2])
        with (history_folder_of(self.root) / "log").open("ab") as log:
            log.write(b'{"revision":')
        self.left = True

    @invariant()
    def page_is_right(self) -> None:
        """The page says what the model says."""
        assert read(self.store, MEMORY) == self.page

    @invariant()
    def history_is_right(self) -> None:
        """The history tells every state in order, and gives the bytes of all but the purged."""
        states = [*self.told, self.page] if self.changed_outside() else self.told
        revisions = self.history.revisions(MEMORY)
        hashes = ["" if state is None else hash_content(state) for state in states]
        assert [revision.hash for revision in revisions] == hashes
        assert [revision.number for revision in revisions] == list(range(1, len(states) + 1))
        for number, state in enumerate(states, 1):
            try:
                assert self.history.content(MEMORY, number) == state
                assert state is None or number not in self.purged
            except RevisionMissing:
                assert number in self.purged

    @invariant()
    def nothing_is_left(self) -> None:
        """After a write or a recovery, staging is empty and the page has one name."""
        if not self.left:
            assert not list_leftovers(self.root)
            assert self.page is None or page_file_of(self.root).stat().st_nlink == 1


TestPage = Page.TestCase
TestPage.settings = settings(
    max_examples=400 if FULL else 100, stateful_step_count=60 if FULL else 30, deadline=None
)
