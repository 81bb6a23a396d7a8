"""What every store must do, and every history: test classes to run against any of them.

A test file makes a subclass beside its own fixtures: `store`, `lost_store` (one that cannot answer,
however it came to that) and, if it keeps a history, `history`, `lost_history` and `clock`.
"""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from looseleaf.errors import Conflicted, InvalidName, Unavailable
from looseleaf.errors.pages import RevisionMissing
from looseleaf.memory.history import History
from looseleaf.memory.provenance import Activity, Provenance
from looseleaf.memory.scope import Scope, Shelf
from looseleaf.memory.store import (
    ABSENT,
    Change,
    Conflict,
    Deleted,
    Found,
    Missing,
    Retention,
    Store,
    Written,
    build_precondition,
    hash_content,
)
from looseleaf.values import replace

if TYPE_CHECKING:
    from tests.conftest import Clock

ADA = Shelf("agent", 0, 1)
BOB = Shelf("agent", 0, 2)
SHARED = Shelf("shared")
MEMORY, NOTES = ADA.page("MEMORY.md"), ADA.page("notes.md")
CHANGE = Change(provenance=Provenance("ada", reason="a test"))
STALE = hash_content(b"what nobody ever wrote")

EVERY_SHELF = (ADA, BOB, SHARED, Shelf("network"), Shelf("user", 7), Shelf("user", 8))
AWKWARD = {
    "empty": b"",
    "one newline": b"\n",
    "no final newline": b"# Title\n\nlast line",
    "CRLF": b"# Title\r\n\r\nline\r\n",
    "lone CR": b"a\rb\r",
    "NUL": b"a\0b\0",
    "not UTF-8": b"caf\xe9 \xff\xfe\x80",
    "byte order mark": b"\xef\xbb\xbf# Title\n",
    "trailing blanks": b"a  \n\t\n\n\n",
    "many scripts": "день 日 🙂 é\n".encode(),
    "exactly one chunk": b"x" * 65_536,
    "a chunk and a byte": b"x" * 65_537,
    "1 MB": bytes(range(256)) * 4_096,
}


def advance_days(
    store: Store, clock: Clock, *, days: float, shelf: Shelf = ADA, step: float = 5.0
) -> None:
    """Let days pass with a new page every few of them: time counts as far as changes show it."""
    for _ in range(round(days / step)):
        clock.advance(days=step)
        put(store, shelf.page(f"diary/{clock.now:.0f}.md"), b"another day")


def put(store: Store, scope: Scope, content: bytes) -> Written:
    """Write a page whatever it was, and return what the store answered."""
    outcome = store.write(scope, content, change=CHANGE)
    assert isinstance(outcome, Written)
    return outcome


def read(store: Store, scope: Scope) -> bytes | None:
    """Return a page's bytes, or None if there is none."""
    page = store.read(scope)
    return page.content if isinstance(page, Found) else None


def append_line(line: bytes, store: Store, scope: Scope) -> Written:
    """Append a line by an edit."""
    return store.edit(scope, lambda page: (page or b"") + line, change=CHANGE)


class StoreConformance:
    """The contract of `memory/store.py`, sentence by sentence."""

    def test_a_page_is_read_as_it_was_written(self, store: Store) -> None:
        """What one writes is what one reads, with its hash and its length."""
        outcome = put(store, MEMORY, b"# Memory\n")
        page = store.read(MEMORY)
        assert isinstance(page, Found)
        assert page.content == b"# Memory\n"
        assert page.hash == outcome.hash == hashlib.sha256(b"# Memory\n").hexdigest()
        assert (outcome.bytes, outcome.previous, outcome.changed) == (9, "", True)

    @pytest.mark.parametrize("content", AWKWARD.values(), ids=AWKWARD)
    def test_bytes_are_kept_exactly(self, store: Store, content: bytes) -> None:
        """No byte is added, dropped or changed, whether the page is made, replaced or edited."""
        put(store, MEMORY, content)
        assert read(store, MEMORY) == content
        put(store, MEMORY, b"something else")
        put(store, MEMORY, content)
        assert read(store, MEMORY) == content
        store.edit(MEMORY, lambda page: b"<" + (page or b"") + b">", change=CHANGE)
        assert read(store, MEMORY) == b"<" + content + b">"

    def test_a_write_says_what_it_replaced(self, store: Store) -> None:
        """The answer to a write names the version before it."""
        first = put(store, MEMORY, b"one")
        second = put(store, MEMORY, b"two")
        assert second.previous == first.hash

    def test_writing_the_same_bytes_changes_nothing(self, store: Store) -> None:
        """A write that would change nothing succeeds and says so."""
        first = put(store, MEMORY, b"same")
        second = put(store, MEMORY, b"same")
        assert (second.changed, second.hash, second.previous) == (False, first.hash, first.hash)

    def test_a_missing_page_is_a_value(self, store: Store) -> None:
        """A page that is not there is an answer, not an error."""
        assert store.read(MEMORY) == Missing()
        assert store.exists(MEMORY) is False
        assert store.delete(MEMORY, change=CHANGE) == Missing()

    def test_pages_about_people_are_apart_from_those_of_the_agent(self, store: Store) -> None:
        """Each person has a shelf of each agent, and no list of the agent's pages has theirs."""
        put(store, MEMORY, b"of the agent")
        about = [Scope("principal", user, MEMORY.agent_id, "USER_MEMORY.md") for user in (1, 2)]
        for scope in about:
            put(store, scope, f"of {scope.user_id}".encode())
        assert [read(store, scope) for scope in about] == [b"of 1", b"of 2"]
        names = [entry.filename for entry in store.list_subtree(MEMORY.shelf, "")]
        assert names == ["MEMORY.md"]
        assert store.list_subtree(MEMORY.shelf, "users") == []
        for scope in about:
            [entry] = store.list_layer(scope.shelf)
            assert entry.filename == "USER_MEMORY.md"
        assert isinstance(store.delete(about[0], change=CHANGE), Deleted)
        assert read(store, about[1]) == b"of 2"

    def test_an_empty_page_is_not_a_missing_one(self, store: Store) -> None:
        """Clearing a page leaves an empty page."""
        put(store, MEMORY, b"text")
        put(store, MEMORY, b"")
        assert store.exists(MEMORY)
        assert read(store, MEMORY) == b""
        assert [entry.bytes for entry in store.list_layer(ADA)] == [0]

    def test_a_deleted_page_is_missing(self, store: Store) -> None:
        """Deleting takes the page away and names the version that went."""
        outcome = put(store, MEMORY, b"text")
        deleted = store.delete(MEMORY, change=CHANGE)
        assert isinstance(deleted, Deleted)
        assert deleted.previous == outcome.hash
        assert store.read(MEMORY) == Missing()
        assert store.list_layer(ADA) == []

    def test_a_deleted_page_can_be_written_again(self, store: Store) -> None:
        """A name is free again after its page was deleted."""
        put(store, MEMORY, b"one")
        store.delete(MEMORY, change=CHANGE)
        assert put(store, MEMORY, b"two").previous == ""
        assert read(store, MEMORY) == b"two"

    def test_the_right_version_may_be_replaced(self, store: Store) -> None:
        """A writer who names the current version writes."""
        first = put(store, MEMORY, b"one")
        second = store.write(MEMORY, b"two", if_match=first.hash, change=CHANGE)
        assert isinstance(second, Written)
        assert read(store, MEMORY) == b"two"

    def test_a_wrong_version_writes_nothing_and_says_both(self, store: Store) -> None:
        """A writer who names another version gets both hashes, and the page stays as it is."""
        first = put(store, MEMORY, b"one")
        outcome = store.write(MEMORY, b"two", if_match=STALE, change=CHANGE)
        assert outcome == Conflict(STALE, first.hash)
        assert read(store, MEMORY) == b"one"

    def test_a_version_of_a_missing_page_conflicts(self, store: Store) -> None:
        """A writer who read a page that is now gone does not bring it back unawares."""
        assert store.write(MEMORY, b"two", if_match=STALE, change=CHANGE) == Conflict(STALE, "")
        assert store.read(MEMORY) == Missing()

    def test_absent_writes_where_there_is_no_page(self, store: Store) -> None:
        """`ABSENT` creates a page, once."""
        first = store.write(MEMORY, b"one", if_match=ABSENT, change=CHANGE)
        assert isinstance(first, Written)
        assert store.write(MEMORY, b"two", if_match=ABSENT, change=CHANGE) == Conflict(
            "", first.hash
        )
        assert read(store, MEMORY) == b"one"

    def test_a_conflict_comes_even_where_the_bytes_are_the_same(self, store: Store) -> None:
        """A wrong version is a conflict, whatever the writer wants to write."""
        first = put(store, MEMORY, b"one")
        outcome = store.write(MEMORY, b"one", if_match=STALE, change=CHANGE)
        assert outcome == Conflict(STALE, first.hash)

    def test_delete_keeps_to_the_version_too(self, store: Store) -> None:
        """Deleting a version that is not current does nothing and gives both hashes."""
        first = put(store, MEMORY, b"one")
        assert store.delete(MEMORY, if_match=STALE, change=CHANGE) == Conflict(STALE, first.hash)
        assert read(store, MEMORY) == b"one"
        assert isinstance(store.delete(MEMORY, if_match=first.hash, change=CHANGE), Deleted)
        assert store.delete(MEMORY, if_match=first.hash, change=CHANGE) == Conflict(first.hash, "")

    def test_an_edit_sees_the_current_bytes(self, store: Store) -> None:
        """An edit gets None if there is no page, then what the last writer left."""
        contents: list[bytes | None] = []

        def note(page: bytes | None) -> bytes:
            contents.append(page)
            return (page or b"") + b"+"

        store.edit(MEMORY, note, change=CHANGE)
        put(store, MEMORY, b"other")
        outcome = store.edit(MEMORY, note, change=CHANGE)
        assert contents == [None, b"other"]
        assert outcome.hash == hash_content(b"other+")
        assert outcome.previous == hash_content(b"other")

    def test_an_edit_keeps_the_precondition_of_its_change(self, store: Store) -> None:
        """A store that says so refuses a version that the change must not replace, unasked."""
        if not store.capabilities.preconditions:
            return  # then `MemoryPages` compares the versions
        first = put(store, MEMORY, b"one")
        for version, scope in ((hash_content(b"two"), MEMORY), (ABSENT, MEMORY), ("x", NOTES)):
            change = replace(CHANGE, precondition=build_precondition(version))
            with pytest.raises(Conflicted) as conflict:
                store.edit(scope, lambda _page: b"lost", change=change)
            assert conflict.value.code == "conflict"
        assert read(store, MEMORY) == b"one"
        assert read(store, NOTES) is None
        change = replace(CHANGE, precondition=build_precondition(first.hash))
        store.edit(MEMORY, lambda page: (page or b"") + b"+", change=change)
        store.edit(
            NOTES,
            lambda _page: b"new",
            change=replace(CHANGE, precondition=build_precondition(ABSENT)),
        )
        assert (read(store, MEMORY), read(store, NOTES)) == (b"one+", b"new")

    def test_an_edit_that_fails_leaves_the_page(self, store: Store) -> None:
        """An error inside an edit comes out unchanged, nothing is written, the page is free."""

        def fail(_page: bytes | None) -> bytes:
            raise KeyError("no such section")

        put(store, MEMORY, b"one")
        with pytest.raises(KeyError):
            store.edit(MEMORY, fail, change=CHANGE)
        assert read(store, MEMORY) == b"one"
        put(store, MEMORY, b"two")

    def test_edits_at_the_same_time_all_survive(self, store: Store) -> None:
        """Threads that append to one page lose no line."""
        lines = [f"line {number}\n".encode() for number in range(64)]
        start = threading.Barrier(8)

        def append(part: list[bytes]) -> None:
            start.wait()
            for line in part:
                append_line(line, store, MEMORY)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(append, [lines[number::8] for number in range(8)]))
        assert sorted((read(store, MEMORY) or b"").splitlines(keepends=True)) == sorted(lines)

    def test_one_of_many_writers_of_a_version_wins(self, store: Store) -> None:
        """Of threads that all replace the same version, exactly one does."""
        first = put(store, MEMORY, b"start")
        start = threading.Barrier(8)

        def swap(number: int) -> Written | Conflict:
            start.wait()
            mine = f"writer {number}".encode()
            return store.write(MEMORY, mine, if_match=first.hash, change=CHANGE)

        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(swap, range(8)))
        (winner,) = [outcome for outcome in outcomes if isinstance(outcome, Written)]
        losers = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
        assert losers == [Conflict(first.hash, winner.hash)] * 7
        assert hash_content(read(store, MEMORY) or b"") == winner.hash

    def test_ids_that_mean_nothing_in_a_layer_are_dropped(self, store: Store) -> None:
        """A shared page written with ids 7 and 42 is the one read with 8 and 43."""
        put(store, Scope("shared", 7, 42, "RULES.md"), b"shared")
        assert read(store, Scope("shared", 8, 43, "RULES.md")) == b"shared"
        put(store, Scope("user", 7, 42, "USER.md"), b"user")
        assert read(store, Scope("user", 7, 99, "USER.md")) == b"user"
        put(store, Scope("agent", 7, 1, "SOUL.md"), b"agent")
        assert read(store, Scope("agent", 9, 1, "SOUL.md")) == b"agent"
        assert [entry.filename for entry in store.list_layer(Shelf("shared", 1, 1))] == ["RULES.md"]

    def test_shelves_are_apart(self, store: Store) -> None:
        """The same filename on different shelves is a page of its own on each."""
        for number, shelf in enumerate(EVERY_SHELF):
            put(store, shelf.page("notes/page.md"), str(number).encode())
        contents = [read(store, shelf.page("notes/page.md")) for shelf in EVERY_SHELF]
        assert contents == [str(number).encode() for number in range(len(EVERY_SHELF))]
        store.delete(ADA.page("notes/page.md"), change=CHANGE)
        assert [store.exists(shelf.page("notes/page.md")) for shelf in EVERY_SHELF[1:]] == [
            True
        ] * 5

    def test_pages_in_folders_are_pages(self, store: Store) -> None:
        """A name with folders in it is written, read, edited, listed and deleted as any other."""
        day = ADA.page("daily/2026/04/17.md")
        put(store, day, b"# 2026-04-17\n")
        append_line(b"- noted\n", store, day)
        assert read(store, day) == b"# 2026-04-17\n- noted\n"
        assert [entry.filename for entry in store.list_subtree(ADA, "daily")] == [day.filename]
        assert isinstance(store.delete(day, change=CHANGE), Deleted)
        assert store.list_subtree(ADA, "daily") == []

    def test_a_layer_lists_its_own_pages_sorted(self, store: Store) -> None:
        """A layer's listing has the pages that stand directly on the shelf, by name."""
        for name in ("b.md", "a.md", "Z.md", "é.md", "notes/inner.md", "c.txt"):
            put(store, ADA.page(name), name.encode())
        put(store, BOB.page("other.md"), b"")
        entries = store.list_layer(ADA)
        assert [entry.filename for entry in entries] == ["Z.md", "a.md", "b.md", "c.txt", "é.md"]
        assert [entry.bytes for entry in entries] == [4, 4, 4, 5, 5]

    def test_a_subtree_lists_full_names_sorted(self, store: Store) -> None:
        """A subtree's listing has every page below the folder, under its full name."""
        names = [
            "daily/2026/04/17.md",
            "daily/2025/12/31.md",
            "daily/index.md",
            "dailyx.md",
            "a.md",
        ]
        for name in names:
            put(store, ADA.page(name), b"x")
        filenames = [entry.filename for entry in store.list_subtree(ADA, "daily")]
        assert filenames == sorted(names[:3])
        assert [e.filename for e in store.list_subtree(ADA, "daily/2026")] == [names[0]]
        assert [e.filename for e in store.list_subtree(ADA, "")] == sorted(names)

    def test_listing_what_is_not_there_is_empty(self, store: Store) -> None:
        """An empty shelf and a folder that does not exist have no pages."""
        assert store.list_layer(Shelf("user", 99)) == []
        assert store.list_subtree(ADA, "daily") == []
        assert store.list_subtree(ADA, "") == []

    @pytest.mark.parametrize(
        "prefix", ["..", "../bob", "/", "a/../..", "a//b", "daily/", ".x", "a\0"]
    )
    def test_a_prefix_is_checked_as_names_are(self, store: Store, prefix: str) -> None:
        """A listing cannot be led out of its shelf."""
        put(store, BOB.page("secret.md"), b"x")
        with pytest.raises(InvalidName):
            store.list_subtree(ADA, prefix)

    def test_every_method_says_when_the_store_cannot_answer(self, lost_store: Store) -> None:
        """A store that cannot answer says so, and never "missing"."""
        with pytest.raises(Unavailable):
            lost_store.read(MEMORY)
        with pytest.raises(Unavailable):
            lost_store.exists(MEMORY)
        for if_match in (None, ABSENT, STALE):
            with pytest.raises(Unavailable):
                lost_store.write(MEMORY, b"x", if_match=if_match, change=CHANGE)
        with pytest.raises(Unavailable):
            lost_store.edit(MEMORY, lambda page: page or b"", change=CHANGE)
        with pytest.raises(Unavailable):
            lost_store.delete(MEMORY, change=CHANGE)
        with pytest.raises(Unavailable):
            lost_store.list_layer(ADA)
        with pytest.raises(Unavailable):
            lost_store.list_subtree(ADA, "daily")


class HistoryConformance:
    """The contract of `memory/history.py`, for stores that keep what pages were."""

    def test_every_change_is_a_revision(self, store: Store, history: History, clock: Clock) -> None:
        """A history tells who made which change when, how and why, oldest first."""
        activity = Activity("request", "r1")
        provenance = Provenance("user:1", "person", "rest", activity, "tool", "because")
        outcome = store.write(MEMORY, b"one", change=Change("append", provenance))
        clock.advance(seconds=1.5)
        store.delete(MEMORY, change=Change("delete", Provenance("user:2", surface="cli")))
        creation, deletion = history.revisions(MEMORY)
        assert isinstance(outcome, Written)
        assert (creation.number, creation.hash, creation.bytes) == (
            outcome.revision,
            outcome.hash,
            3,
        )
        assert (creation.operation, creation.actor, creation.surface, creation.reason) == (
            ("append", "user:1", "rest", "because")
        )
        assert creation.provenance == provenance
        assert deletion.provenance == Provenance("user:2", surface="cli")
        assert creation.time == clock.now - 1.5
        assert (deletion.operation, deletion.actor, deletion.hash, deletion.bytes) == (
            "delete",
            "user:2",
            "",
            0,
        )
        assert deletion.number == creation.number + 1

    def test_a_page_that_never_was_has_no_history(self, store: Store, history: History) -> None:
        """Nothing is told of a page that nobody wrote."""
        assert history.revisions(MEMORY) == []
        with pytest.raises(RevisionMissing):
            history.content(MEMORY, 1)
        put(store, BOB.page("MEMORY.md"), b"bob's")
        assert history.revisions(MEMORY) == []

    def test_each_version_can_be_read_again(self, store: Store, history: History) -> None:
        """Every version's bytes are there exactly, with the hash the history gives."""
        contents = [*AWKWARD.values(), *AWKWARD.values()]
        numbers = [put(store, MEMORY, content).revision for content in contents]
        revisions = history.revisions(MEMORY)
        assert [entry.number for entry in revisions] == numbers == list(range(1, len(contents) + 1))
        assert [entry.hash for entry in revisions] == [hash_content(entry) for entry in contents]
        assert all(entry.kept for entry in revisions)
        assert [history.content(MEMORY, number) for number in numbers] == contents

    def test_a_write_that_changes_nothing_is_no_revision(
        self, store: Store, history: History
    ) -> None:
        """Writing the same bytes again, or in conflict, adds nothing to the history."""
        put(store, MEMORY, b"same")
        put(store, MEMORY, b"same")
        store.write(MEMORY, b"other", if_match=STALE, change=CHANGE)
        store.delete(MEMORY, if_match=STALE, change=CHANGE)
        assert [revision.hash for revision in history.revisions(MEMORY)] == [hash_content(b"same")]

    def test_a_deleted_page_keeps_its_history(self, store: Store, history: History) -> None:
        """Deleting keeps what the page was; the deletion itself has no bytes."""
        first = put(store, MEMORY, b"text")
        deleted = store.delete(MEMORY, change=CHANGE)
        assert isinstance(deleted, Deleted)
        assert history.content(MEMORY, first.revision) == b"text"
        assert history.content(MEMORY, deleted.revision) is None
        assert history.pages(ADA) == ["MEMORY.md"]
        second = put(store, MEMORY, b"back")
        assert second.revision == deleted.revision + 1
        assert history.content(MEMORY, second.revision) == b"back"

    def test_pages_with_a_history_are_named(self, store: Store, history: History) -> None:
        """A shelf names its pages that have a history, in folders too, by name."""
        for name in ("b.md", "daily/2026/04/17.md", "a.md"):
            put(store, ADA.page(name), b"x")
        put(store, SHARED.page("SITE.md"), b"x")
        store.delete(ADA.page("a.md"), change=CHANGE)
        assert history.pages(ADA) == ["a.md", "b.md", "daily/2026/04/17.md"]
        assert history.pages(SHARED) == ["SITE.md"]
        assert history.pages(BOB) == []

    def test_a_purged_version_cannot_be_read(
        self, store: Store, history: History, clock: Clock
    ) -> None:
        """Purging removes the bytes of one version, says who did it, and leaves the others."""
        for content in (b"one", b"two", b"three"):
            put(store, MEMORY, content)
        clock.advance(days=1)
        history.purge(
            MEMORY,
            2,
            change=Change("purge", Provenance("user:1", surface="cli", reason="a password")),
        )
        first, second, third = history.revisions(MEMORY)
        assert (first.kept, second.kept, third.kept) == (True, False, True)
        assert "user:1" in second.purged
        assert "a password" in second.purged
        assert not first.purged
        with pytest.raises(RevisionMissing, match="a password"):
            history.content(MEMORY, 2)
        assert history.content(MEMORY, 1) == b"one"
        assert history.content(MEMORY, 3) == b"three"
        assert put(store, MEMORY, b"four").revision == 4
        assert history.content(MEMORY, 3) == b"three"

    def test_what_is_current_or_unknown_cannot_be_purged(
        self, store: Store, history: History
    ) -> None:
        """Purging the present version or one that never was is refused."""
        put(store, MEMORY, b"one")
        put(store, MEMORY, b"two")
        for number in (0, 2, 3):
            with pytest.raises(RevisionMissing):
                history.purge(MEMORY, number, change=CHANGE)
        assert read(store, MEMORY) == b"two"

    def test_old_versions_are_pruned(self, store: Store, history: History, clock: Clock) -> None:
        """Versions replaced longer ago than a retention's days go; the present one never."""
        for content in (b"one", b"two", b"three"):
            put(store, MEMORY, content)
            advance_days(store, clock, days=10, step=1)
        assert history.prune(ADA, Retention(days=25)) == 0
        assert history.prune(ADA, Retention(days=15)) == 1
        assert [revision.number for revision in history.revisions(MEMORY)] == [2, 3]
        with pytest.raises(RevisionMissing):
            history.content(MEMORY, 1)
        advance_days(store, clock, days=2, step=0.1)
        assert history.prune(ADA, Retention(days=1)) == 1
        assert [revision.number for revision in history.revisions(MEMORY)] == [3]
        assert read(store, MEMORY) == b"three"
        assert put(store, MEMORY, b"four").revision == 4

    def test_versions_past_the_count_are_pruned_after_their_grace(
        self, store: Store, history: History, clock: Clock
    ) -> None:
        """A burst of writes pushes nothing out before the grace is over, then what is too many."""
        for number in range(10):
            put(store, MEMORY, str(number).encode())
        retention = Retention(days=90, versions=4, grace_days=1)
        assert history.prune(ADA, retention) == 0
        advance_days(store, clock, days=2, step=0.1)
        assert history.prune(ADA, retention) == 5
        assert [revision.number for revision in history.revisions(MEMORY)] == [6, 7, 8, 9, 10]
        assert history.content(MEMORY, 6) == b"5"

    @pytest.mark.parametrize("pruning", ["by writing", "by prune"])
    def test_a_clock_set_a_year_ahead_drops_nothing(
        self, store: Store, history: History, clock: Clock, pruning: str
    ) -> None:
        """Neither at once nor when it is set right again; the order of changes still counts."""
        for number in range(6):
            put(store, MEMORY, b"before %d" % number)
            clock.advance(days=1)
        clock.advance(days=365)
        if pruning == "by writing":
            for number in range(64):
                put(store, MEMORY, b"after %d" % number)
        assert history.prune(ADA, Retention()) == 0
        clock.advance(days=-365)
        put(store, MEMORY, b"the right time again")
        assert history.prune(ADA, Retention()) == 0
        assert history.content(MEMORY, 1) == b"before 0"
        advance_days(store, clock, days=95)
        assert history.prune(ADA, Retention()) == (70 if pruning == "by writing" else 6)

    def test_a_deleted_page_keeps_its_last_word(
        self, store: Store, history: History, clock: Clock
    ) -> None:
        """Pruning leaves at least the record that a page was deleted."""
        put(store, MEMORY, b"one")
        store.delete(MEMORY, change=CHANGE)
        advance_days(store, clock, days=95)
        assert history.prune(ADA, Retention()) == 1
        assert [(revision.number, revision.hash) for revision in history.revisions(MEMORY)] == [
            (2, "")
        ]

    def test_pruning_keeps_to_its_shelf(self, store: Store, history: History, clock: Clock) -> None:
        """Pruning one shelf leaves the histories of the others."""
        for shelf in (ADA, BOB):
            put(store, shelf.page("a.md"), b"one")
            put(store, shelf.page("a.md"), b"two")
            advance_days(store, clock, days=95, shelf=shelf)
        assert history.prune(ADA, Retention()) == 1
        assert len(history.revisions(BOB.page("a.md"))) == 2

    def test_a_history_says_when_it_cannot_answer(self, lost_history: History) -> None:
        """A history that cannot be read says so, and never "no revisions"."""
        with pytest.raises(Unavailable):
            lost_history.revisions(MEMORY)
        with pytest.raises(Unavailable):
            lost_history.content(MEMORY, 1)
        with pytest.raises(Unavailable):
            lost_history.purge(MEMORY, 1, change=CHANGE)
        with pytest.raises(Unavailable):
            lost_history.pages(ADA)
        with pytest.raises(Unavailable):
            lost_history.prune(ADA, Retention())
