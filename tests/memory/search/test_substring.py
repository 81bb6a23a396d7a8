"""Search over pages as they are: lines, order, limits, ranges, sections and ranking."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import InvalidDate, InvalidName
from looseleaf.errors.pages import InvalidQuery, PageMissing
from looseleaf.memory.scope import Shelf
from looseleaf.memory.search.ranking import rank_pages
from looseleaf.memory.search.results import SearchResults, count_lines, fold_content
from looseleaf.memory.search.substring import Query, search
from looseleaf.stores.disk.store import DiskStore

SHELF = Shelf("agent", agent_id=1)


class Agent:
    """An agent whose pages are written as an editor would."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "agents" / "alpha"
        self.folder.mkdir(parents=True)
        self.store = DiskStore(str(root), agent_folder=lambda _: "alpha")

    def page(self, filename: str, content: str | bytes) -> None:
        path = self.folder / filename
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def search(self, text: str, **where: object) -> SearchResults:
        return search(self.store, SHELF, Query(text=text, **where))  # type: ignore[arg-type]

    def found(self, text: str, **where: object) -> list[tuple[str, int]]:
        return [(m.filename, m.line) for m in self.search(text, **where).matches]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """An agent without pages."""
    return Agent(tmp_path)


def test_case_does_not_matter_and_accents_do(agent: Agent) -> None:
    """ALPHA finds alpha but not Álpha, and ÄB finds äb."""
    agent.page("A.md", "alpha\nÁlpha\näb\n")
    assert agent.found("ALPHA") == [("A.md", 1)]
    assert agent.found("ÄB") == [("A.md", 3)]


@pytest.mark.parametrize(
    ("text", "line"),
    [("STRASSE", "Hauptstraße 1"), ("straße", "HAUPTSTRASSE"), ("İ", "İstanbul"), ("ς", "ΣΟΦΟΣ")],
)
def test_letters_are_folded_as_unicode_says(agent: Agent, text: str, line: str) -> None:
    """A text and a line that differ only by case match, in any script."""
    agent.page("A.md", f"nothing\n{line}\n")
    assert agent.found(text) == [("A.md", 2)]


def test_a_match_says_where_it_stands(agent: Agent) -> None:
    """Each match has its page, line, whole content, the lines around it and its section."""
    agent.page("A.md", "# Title\n\n## Plans\none\ntwo hit\nthree\nfour\n\n## hit list\nx")
    first, second = agent.search("HIT").matches
    assert (first.filename, first.line, first.content, first.section) == (
        "A.md",
        5,
        "two hit",
        "Plans",
    )
    assert first.context == "## Plans\none\ntwo hit\nthree\nfour"
    assert (second.line, second.section) == (9, "hit list")
    assert agent.search("title").matches[0].section == ""


def test_context_is_cut_at_the_ends_of_the_page(agent: Agent) -> None:
    """A match on the first line has lines 1 to 3 around it, one on the last line the last three."""
    agent.page("A.md", "first\nb\nc\nd\nlast\n")
    assert agent.search("first").matches[0].context == "first\nb\nc"
    assert agent.search("last").matches[0].context == "c\nd\nlast"
    assert agent.search("c", context=0).matches[0].context == "c"


def test_lines_end_at_newlines_only(agent: Agent) -> None:
    """Other separators belong to the line; a line's own end is not part of its content."""
    agent.page("A.md", "one\x0btwo\u2028three\x85four\r\nfive\r\n")
    (match,) = agent.search("four").matches
    assert (match.line, match.content) == (1, "one\x0btwo\u2028three\x85four")
    assert agent.search("five").matches[0].line == 2


def test_the_total_counts_every_line_and_the_matches_stop_at_the_limit(agent: Agent) -> None:
    """Sixty lines give fifty matches and a total of sixty; a line with two hits counts once."""
    agent.page("A.md", "hit hit\n" * 60)
    results = agent.search("hit")
    assert (len(results.matches), results.total, results.files) == (50, 60, 1)


def test_the_limit_runs_over_pages(agent: Agent) -> None:
    """Forty-nine and ten matching lines give fifty matches and a total of fifty-nine."""
    agent.page("A.md", "hit\n" * 49)
    agent.page("B.md", "hit\n" * 10)
    results = agent.search("hit")
    assert (len(results.matches), results.total, results.files) == (50, 59, 2)
    assert agent.search("hit", limit=0).matches == ()
    assert agent.search("hit", limit=0).total == 59


def test_pages_come_by_name_and_days_newest_first(agent: Agent) -> None:
    """Pages stand before days; a stray page in the journal's folder is a page."""
    names = ["b.md", "a.md", "daily/2026/03/01.md", "daily/2026/03/16.md", "daily/2025/12/31.md"]
    for name in [*names, "daily/notes.md", "daily/2026/4/1.md"]:
        agent.page(name, "hit")
    assert [name for name, _ in agent.found("hit")] == [
        "a.md",
        "b.md",
        "daily/2026/4/1.md",
        "daily/notes.md",
        "daily/2026/03/16.md",
        "daily/2026/03/01.md",
        "daily/2025/12/31.md",
    ]
    assert agent.found("hit", prefix="daily/2025") == [("daily/2025/12/31.md", 1)]


def test_a_range_of_days_includes_both_ends(agent: Agent) -> None:
    """Since and until a day finds that day, and no page that is not a day."""
    for day in (27, 28, 29):
        agent.page(f"daily/2026/04/{day}.md", "hit")
    agent.page("A.md", "hit")
    assert agent.found("hit", since="2026-04-28", until="2026-04-28") == [
        ("daily/2026/04/28.md", 1)
    ]
    assert len(agent.found("hit", since="2026-04-28")) == 2
    assert len(agent.found("hit", until="2026-04-28")) == 2


def test_one_page_can_be_searched(agent: Agent) -> None:
    """A named page is searched alone, and a missing one is an error that names it."""
    agent.page("A.md", "hit")
    agent.page("B.md", "hit\nhit")
    assert agent.found("hit", filename="B.md") == [("B.md", 1), ("B.md", 2)]
    assert agent.search("nothing", filename="B.md").total == 0
    with pytest.raises(PageMissing):
        agent.search("hit", filename="C.md")


def test_one_section_can_be_searched(agent: Agent) -> None:
    """A section is named exactly; its header belongs to it."""
    agent.page("A.md", "hit\n## Hit\nhit\n## hit\nhit\nhit\n")
    assert agent.found("hit", section="Hit", filename="A.md") == [("A.md", 2), ("A.md", 3)]
    results = agent.search("hit", section="hit", limit=1)
    assert (len(results.matches), results.total) == (1, 3)


def test_markers_of_opaque_bodies_are_not_text(agent: Agent) -> None:
    """The lines that guard an opaque body are passed over and still counted as lines."""
    agent.page(
        "A.md",
        "## S\n<!-- datamachine-section-body -->\nbody\n<!-- /datamachine-section-body -->\nbody\n",
    )
    assert agent.found("body") == [("A.md", 3), ("A.md", 5)]


def test_bytes_that_are_not_text_do_not_break_a_search(agent: Agent) -> None:
    """A page that is not UTF-8 is searched for what can be read of it."""
    agent.page("A.md", b"\xff\xfe hit \x80\nhit\n")
    agent.page("B.md", "hit")
    assert agent.search("hit").total == 3


def test_links_and_other_files_are_no_pages(agent: Agent, tmp_path: Path) -> None:
    """A link, a hidden file, a hidden folder and a file with another ending are not searched."""
    agent.page("A.md", "hit")
    agent.page(".hidden.md", "hit")
    agent.page(".git/x.md", "hit")
    agent.page("data.json", "hit")
    (tmp_path / "outside.md").write_text("hit")
    (agent.folder / "link.md").symlink_to(tmp_path / "outside.md")
    (agent.folder / "twin.md").hardlink_to(tmp_path / "outside.md")
    (agent.folder / "folder").symlink_to(tmp_path, target_is_directory=True)
    assert agent.found("hit") == [("A.md", 1)]


@pytest.mark.parametrize(
    "query",
    [
        Query(text=""),
        Query(text="a\nb"),
        Query(text="a", limit=-1),
        Query(text="a", context=-1),
        Query(text="\udc80"),
    ],
    ids=["empty", "two lines", "limit", "context", "surrogate"],
)
def test_a_query_that_cannot_be_answered_is_refused(agent: Agent, query: Query) -> None:
    """Nothing is searched, and the error says why."""
    with pytest.raises(InvalidQuery):
        search(agent.store, SHELF, query)


def test_bounds_and_folders_must_be_such(agent: Agent) -> None:
    """A bound is a day and a prefix a folder of the shelf."""
    for bound in ("yesterday", "2026-4-1", "2026-04-28T", "2026/04/28"):
        with pytest.raises(InvalidDate):
            agent.search("a", since=bound)
    with pytest.raises(InvalidName):
        agent.search("a", prefix="../beta")


def test_a_shelf_without_pages_has_no_matches(agent: Agent) -> None:
    """Nothing found is an answer, and it says how it is known."""
    results = agent.search("a")
    assert (results.matches, results.total, results.files) == ((), 0, 0)
    assert results.freshness.startswith("0 files read at 2")


def test_agents_are_not_mixed(tmp_path: Path) -> None:
    """A search of one agent never shows a line of another."""
    store = DiskStore(str(tmp_path), agent_folder=lambda number: f"agent{number}")
    for number in (1, 2):
        folder = tmp_path / "agents" / f"agent{number}"
        folder.mkdir(parents=True)
        (folder / "A.md").write_text(f"secret {number}")
    found = search(store, Shelf("agent", agent_id=2), Query(text="secret")).matches
    assert [match.content for match in found] == ["secret 2"]


@given(st.text("aAßÄä\n ", max_size=40), st.text("aAßÄä", min_size=1, max_size=3))
def test_counting_agrees_with_looking_at_each_line(text: str, needle: str) -> None:
    """The count is the number of lines whose folded form holds the folded text."""
    slow = sum(needle.casefold() in line.casefold() for line in text.split("\n"))
    assert count_lines(fold_content(text.encode()), needle.casefold().encode()) == slow


def test_the_page_about_the_words_comes_first(agent: Agent) -> None:
    """A page with all the words beats those with one, and shows the line that has them."""
    agent.page("a.md", "# Servers\n\nthe gateway is up\n")
    agent.page("b.md", "intro\n- rolled back the Payment gateway\nend\n")
    agent.page("c.md", "nothing of it\n")
    hits = rank_pages(agent.store, SHELF, "payment gateway?")
    assert [hit.filename for hit in hits] == ["b.md", "a.md"]
    assert hits[0].score > hits[1].score > 0
    assert hits[0].snippet == "intro\n- rolled back the Payment gateway\nend"


def test_ranking_knows_filenames_and_scripts_without_spaces(agent: Agent) -> None:
    """A word of the name counts, and a word inside a run of characters is found."""
    agent.page("brand-guidelines.md", "colors")
    agent.page("b.md", "今日は会議がありました")
    assert [h.filename for h in rank_pages(agent.store, SHELF, "guidelines")] == [
        "brand-guidelines.md"
    ]
    assert [h.filename for h in rank_pages(agent.store, SHELF, "会議")] == ["b.md"]
    assert len(rank_pages(agent.store, SHELF, "colors 会議", limit=1)) == 1


def test_ranking_needs_a_word(agent: Agent) -> None:
    """A question without words is refused."""
    with pytest.raises(InvalidQuery):
        rank_pages(agent.store, SHELF, " ?! ")
    with pytest.raises(InvalidQuery):
        rank_pages(agent.store, SHELF, "word", limit=-1)
    assert rank_pages(agent.store, SHELF, "word", limit=0) == []


def test_several_words_that_no_line_has_are_answered_with_the_pages_about_them(
    agent: Agent,
) -> None:
    """In a field of their own, with a notice; if nothing is found, the notice says that."""
    agent.page("daily/2026/04/16.md", "- We moved into the new studio.\n")
    agent.page("daily/2026/04/17.md", "- lunch with Tom\n")
    agent.page("plans.md", "the studio needs a move\n")
    results = agent.search("When did she move to the new studio?", prefix="daily")
    assert (results.matches, results.total, results.files) == ((), 0, 0)
    assert [hit.filename for hit in results.ranked] == ["daily/2026/04/16.md"]
    assert "moved into" in results.ranked[0].snippet
    assert "ranked" in results.notice
    assert len(agent.search("where did they move the studio").ranked) == 2
    late = agent.search("where did they move the studio", since="2026-04-17")
    nothing = "No line has this exact text, and no page is about its words."
    assert (late.ranked, late.notice) == ((), nothing)
    for exact, notice in (("xylophone", "No line has this text."), ("new studio", "")):
        results = agent.search(exact)
        assert (results.ranked, results.notice) == ((), notice), exact


def test_search_and_journal_agree_on_what_a_day_is(agent: Agent) -> None:
    """A file that looks like a day, and is none, is neither a day nor a page."""
    agent.page("daily/2026/04/30.md", "hit")
    for stray in ("daily/2026/04/31.md", "daily/2026/13/01.md", "daily/0000/01/01.md"):
        path = agent.folder / stray
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("hit", "utf-8")
    for other in ("daily/2026-04-29.md", "daily/2026/04/notes.md"):
        agent.page(other, "hit")
    assert [name for name, _ in agent.found("hit", since="0001-01-01")] == ["daily/2026/04/30.md"]
    everywhere = [name for name, _ in agent.found("hit")]
    assert everywhere == ["daily/2026-04-29.md", "daily/2026/04/notes.md", "daily/2026/04/30.md"]


def test_importing_search_stays_light() -> None:
    """The core search needs neither SQLite nor regular expressions."""
    code = "import sys, looseleaf.memory.search.substring; print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0]={sys.path!r}; {code}"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert not {"sqlite3", "re", "typing", "dataclasses", "enum", "ctypes"} & set(loaded)
