"""If shelves lie in several stores, each is asked for its own pages, history and index."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Change, Retention, Shelf, Store
from looseleaf.errors import Unavailable
from looseleaf.memory.history import History
from looseleaf.memory.provenance import Provenance
from looseleaf.memory.routing import HistoryByShelf, IndexByShelf, Shelves
from looseleaf.memory.search.ranking import parse_question
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from looseleaf.stores.index.search_index import SearchIndex
from looseleaf.values import replace

HERE, THERE, NOWHERE = Shelf("shared"), Shelf("user", 1), Shelf("user", 2)
BY = Change(provenance=Provenance("test"))


class Remembering(DiskStore):
    """A store that brings the history of its pages."""

    capabilities = replace(DiskStore.capabilities, history=True)
    history: History


@pytest.fixture
def other(tmp_path: Path) -> Remembering:
    """Return a second store, with a history."""
    folder = tmp_path / "other"
    folder.mkdir()
    made = Remembering(str(folder), agent_folder=str)
    made.history = DiskHistory(made)
    return made


@pytest.fixture
def forgetful(tmp_path: Path) -> DiskStore:
    """Return a third one, without."""
    folder = tmp_path / "forgetful"
    folder.mkdir()
    return DiskStore(str(folder), agent_folder=str)


@pytest.fixture
def shelves(
    store: DiskStore, history: DiskHistory, other: Remembering, forgetful: DiskStore
) -> Shelves:
    """Put one shelf into each store, with a page that was changed once."""
    homes: dict[Shelf, Store] = {HERE: store, THERE: other, NOWHERE: forgetful}
    for shelf, home in homes.items():
        for content in (b"old", shelf.name.encode()):
            home.write(shelf.page("page.md"), content, change=BY)
    return Shelves(store, history, homes.__getitem__)


def test_a_page_is_asked_of_the_store_of_its_shelf(
    shelves: Shelves, store: DiskStore, other: Remembering
) -> None:
    """By page and by shelf alike."""
    assert shelves.store_for(HERE) is shelves.store_for(HERE.page("page.md")) is store
    assert shelves.store_for(THERE.page("page.md")) is other
    assert [shelves.is_own(shelf) for shelf in (HERE, THERE, NOWHERE)] == [
        True,
        False,
        False,
    ]


def test_a_page_has_the_history_that_its_store_keeps(shelves: Shelves) -> None:
    """A store without one is not replaced by another's."""
    history = HistoryByShelf(shelves.history_for, shelves.own_history)
    for shelf in (HERE, THERE):
        page = shelf.page("page.md")
        assert [history.content(page, revision.number) for revision in history.revisions(page)] == [
            b"old",
            shelf.name.encode(),
        ]
        latest = history.latest(page)
        assert latest is not None
        assert latest.number == 2
        assert history.pages(shelf) == ["page.md"]
        history.purge(page, 1, change=BY)
        assert not history.revisions(page)[0].kept
        assert history.prune(shelf, Retention()) == 0
    lost = NOWHERE.page("page.md")
    assert (history.latest(lost), history.pages(NOWHERE)) == (None, [])
    assert history.prune(NOWHERE, Retention()) == 0
    for asked in (
        lambda: history.revisions(lost),
        lambda: history.content(lost, 1),
        lambda: history.purge(lost, 1, change=BY),
    ):
        with pytest.raises(Unavailable, match=r"The history of page.md .* keeps none"):
            asked()


def test_an_index_answers_for_its_own_shelves_only(
    shelves: Shelves, store: DiskStore, tmp_path: Path
) -> None:
    """For the others it has no answer, and they are scanned."""
    own = SearchIndex(store, str(tmp_path / "index"), fewest_files=0)
    index = IndexByShelf(own, shelves.is_own)
    found = index.matching(HERE, "", "shared")
    assert found is not None
    assert dict(found[0]) == {"page.md": 1}
    assert index.rank_pages(HERE, parse_question("shared"), 5)
    assert index.matching(THERE, "", "user") is None
    assert index.rank_pages(THERE, ("user",), 5) is None
    index.forget(HERE)
    assert index.rank_pages(HERE, parse_question("shared"), 5)
