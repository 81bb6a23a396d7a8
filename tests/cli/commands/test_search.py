"""Search from the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.fixtures import Run


def test_a_match_is_shown_with_its_place_and_the_lines_around(run: Run, page: Path) -> None:
    """Then how many there are, and how that is known."""
    assert page.exists()
    lines = run(
        "memory", "search", "TWO", "--file", "MEMORY.md", "--context", "1"
    ).text.splitlines()
    assert lines[:6] == [
        "--- [MEMORY.md: Lessons] line 9 ---",
        "",
        "- two",
        "",
        "",
        "1 match on 1 page.",
    ]
    assert lines[6].startswith("1 file read at ")
    assert lines[6].endswith("Z.")


def test_a_match_above_the_first_section_names_only_the_page(run: Run, page: Path) -> None:
    """There is no section to name."""
    assert page.exists()
    assert "--- [MEMORY.md] line 1 ---\n" in run("memory", "search", "# memory").text


def test_only_the_first_matches_are_shown(run: Run, page: Path) -> None:
    """The total is true all the same."""
    page.write_text("- x\n" * 60)
    text = run("memory", "search", "- x", "--file", "MEMORY.md").text
    assert text.count("- x\n") == 52  # and the two lines after the last match, each of them once
    assert text.count("---\n") == 1
    assert "60 matches on 1 page; the first 50 are shown." in text
    assert "the first 2 are shown" in run("memory", "search", "- x", "--limit", "2").text


def test_lines_around_adjacent_matches_are_shown_once(run: Run, page: Path) -> None:
    """One window for matches that follow each other, with the number of each, across sections."""
    page.write_text(
        "# M\n\n## A\n\n- x 1\n- x 2\n- y\n- x 3\n\n## B\n\n- x 4\n" + "- y\n" * 9 + "- x 5\n"
    )
    text = run("memory", "search", "- x").text
    assert [line for line in text.splitlines() if line.startswith("---")] == [
        "--- [MEMORY.md: A, MEMORY.md: B] lines 5, 6, 8, 12 ---",
        "--- [MEMORY.md: B] line 22 ---",
    ]
    for line in ("- x 1", "- x 2", "- x 3", "- x 4", "- x 5"):
        assert text.count(f"{line}\n") == 1
    assert "5 matches on 1 page." in text
    assert len(run("memory", "search", "- x", "--format", "json").json["matches"]) == 5


def test_no_match_is_an_answer(run: Run) -> None:
    """Not an error."""
    answer = run("memory", "search", "nowhere to be found")
    assert (answer.code, answer.text.splitlines()[0]) == (0, "No line has 'nowhere to be found'.")


def test_a_question_that_no_line_has_is_answered_with_pages(run: Run, page: Path) -> None:
    """The pages about its words, and the output says that they are that."""
    assert page.exists()
    run("memory", "write", "shop.md", "--page", "We moved into the new studio.\n")
    question = "When did she move to the new studio?"
    lines = run("memory", "search", question).text.splitlines()
    assert lines[0].startswith("--- [shop.md] score ")
    assert lines[1] == "We moved into the new studio."
    assert (
        f"No line has {question!r}. The pages above are about its words, the best first." in lines
    )
    document = run("memory", "search", question, "--format", "json").json
    assert (document["matches"], document["total"], document["ranked"][0]["file"]) == (
        [],
        0,
        "shop.md",
    )
    assert "ranked" in document["notice"]
    page.write_text("- x\n" * 600)
    assert "At most 500 matches are given." in run("memory", "search", "- x", "--limit", "550").text


def test_a_search_can_be_narrowed(run: Run, page: Path) -> None:
    """To a page, a section, or a time."""
    assert page.exists()
    words = ("memory", "search", "- t", "--format", "json")
    found = run(*words, "--file", "MEMORY.md", "--section", "State").json
    assert [match["content"] for match in found["matches"]] == ["- three"]
    assert run(*words, "--as-of", "2000-01-01").json["total"] == 0
    assert run(*words, "--file", "none.md").code == 3
    assert run(*words, "--context", "-1").code == 2
    assert run("memory", "search", "").code == 2
    assert run("memory", "search").code == 2


def test_a_program_gets_the_same_keys(run: Run, page: Path) -> None:
    """For results and for each match."""
    assert page.exists()
    document = run("memory", "search", "two", "--format", "json").json
    keys = {"query", "matches", "total", "files", "freshness", "ranked", "notice"}
    assert document.keys() == {*keys, "unseen", "unseen_total"}
    assert document["matches"][0].keys() == {
        *("file", "layer", "section", "line", "content", "context")
    }


def test_pages_that_could_not_be_searched_are_named(run: Run, page: Path) -> None:
    """If their versions of that time are gone; the others are searched."""
    assert page.exists()
    run("memory", "write", "plan.md", "--page", "the first plan\n")
    run("memory", "write", "plan.md", "--page", "another one\n")
    revisions = run("memory", "history", "plan.md", "--format", "json").json["revisions"]
    moment = min(revision["time"] for revision in revisions)
    run("memory", "purge", "plan.md", "1", "--yes", "--reason", "a test")
    for words in ((), ("--words",)):
        search = ("memory", "search", "plan", *words, "--as-of", moment)
        assert "no longer kept: plan.md." in run(*search).err
        document = run(*search, "--format", "json").json
        assert (document["unseen"], document["unseen_total"]) == (["plan.md"], 1)


def test_a_query_may_begin_with_a_dash(run: Run, page: Path) -> None:
    """As facts in a list do."""
    assert page.exists()
    assert run("memory", "search", "- two", "--format", "json").json["total"] == 1


def test_words_rank_pages(run: Run, page: Path) -> None:
    """Best first, with the most telling line."""
    assert page.exists()
    run(
        "memory", "write", "shop.md", "--page", "The payment gateway\n\n- rollback of the gateway\n"
    )
    lines = run("memory", "search", "--words", "payment gateway").text.splitlines()
    assert lines[0].startswith("--- [shop.md] score ")
    assert lines[1:3] == ["The payment gateway", "- rollback of the gateway"]
    document = run("memory", "search", "--words", "gateway", "--format", "json").json
    assert document["hits"][0].keys() == {"file", "layer", "score", "snippet"}
    assert run("memory", "search", "--words", "zebra").text == "No page is about 'zebra'.\n"
    assert run("memory", "search", "--words", "x", "--file", "MEMORY.md").code == 2


def test_escape_sequences_in_a_match_are_shown(run: Run, page: Path) -> None:
    """In a pipe too: what search prints is for people."""
    page.write_text("find \x1b[2J me\n")
    assert "find \\x1b[2J me\n" in run("memory", "search", "find").text
