"""The journal from the command line, in the shapes of Data Machine."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.cli.fixtures import Run


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


@pytest.fixture
def journal(root: Path) -> Path:
    """Return the folder of an agent's journal with three days in it."""
    folder = root / "agents" / "main" / "daily"
    for day, text in {
        "2026/03/01": "march",
        "2026/03/16": "deploy",
        "2026/02/27": "Deploy",
    }.items():
        file = folder / f"{day}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {day}\n\n- {text}\n")
    return folder


def test_list_shows_the_days_newest_first(run: Run, journal: Path) -> None:
    """With their number; an empty journal is no error."""
    assert journal.exists()
    assert run("memory", "daily", "list").text == (
        "DATE        MONTH\n"
        "2026-03-16  2026/03\n"
        "2026-03-01  2026/03\n"
        "2026-02-27  2026/02\n"
        "\n"
        "3 days.\n"
    )  # fmt: skip
    assert run("memory", "daily", "list", "--format=json").json == {
        "days": [
            {"date": "2026-03-16", "month": "2026/03"},
            {"date": "2026-03-01", "month": "2026/03"},
            {"date": "2026-02-27", "month": "2026/02"},
        ],
        "total": 3,
    }


def test_an_empty_journal_says_how_to_begin(run: Run) -> None:
    """And a program gets an empty list."""
    answer = run("memory", "daily", "list")
    assert (answer.code, "looseleaf memory daily append" in answer.text) == (0, True)
    assert run("memory", "daily", "list", "--format", "json").json == {"days": [], "total": 0}


def test_read_prints_a_day(run: Run, journal: Path) -> None:
    """Exactly; a day without a page is not found."""
    assert run("memory", "daily", "read", "2026-03-16").out == b"# 2026/03/16\n\n- deploy\n"
    document = run("memory", "daily", "read", "2026-03-16", "--format", "json").json
    assert document.keys() == {"date", "file", "content", "hash"}
    assert document["file"] == "daily/2026/03/16.md"
    missing = run("memory", "daily", "read")
    assert (missing.code, missing.out) == (3, b"")
    assert missing.err == f"looseleaf: There is no page {today()} in the journal.\n"
    assert run("memory", "daily", "read", "2026-02-30").code == 2
    (journal / "2026/03/16.md").write_text("new")
    assert run("memory", "daily", "read", "2026-03-16", "--as-of", "2000-01-01").code == 3


def test_append_begins_a_day_with_its_date(run: Run, root: Path) -> None:
    """Today without a date; the day that is told with one."""
    day = today()
    assert run("memory", "daily", "append", "- now").text.startswith(
        f"Appended to {day} (revision 1,"
    )
    run("memory", "daily", "append", "-", stdin=b"- piped\n")
    assert run("memory", "daily", "read", day).text == f"# {day}\n\n- now\n- piped\n"
    run("memory", "daily", "append", "2026-04-17", "- then")
    page = root / "agents" / "main" / "daily" / "2026" / "04" / "17.md"
    assert page.read_text() == "# 2026-04-17\n\n- then\n"


def test_one_argument_is_content_even_if_it_looks_like_a_date(run: Run) -> None:
    """As the seeds have it."""
    run("memory", "daily", "append", "2026-04-17")
    assert run("memory", "daily", "read").text.endswith("\n\n2026-04-17\n")


def test_write_replaces_a_day(run: Run, journal: Path) -> None:
    """Whole and exactly; with --if-match only the version one has read."""
    run("memory", "daily", "write", "2026-03-16", "all new")
    assert (journal / "2026/03/16.md").read_text() == "all new"
    Path("day.md").write_text("from a file")
    run("memory", "daily", "write", "2026-03-01", "--from-file", "day.md")
    assert (journal / "2026/03/01.md").read_text() == "from a file"
    run("memory", "daily", "write", "today's")
    assert run("memory", "daily", "read").text == "today's"
    assert run("memory", "daily", "write", "2026-03-16", "x", "--if-match", "absent").code == 5


def test_delete_needs_the_date(run: Run, journal: Path) -> None:
    """And keeps the text in the history."""
    assert run("memory", "daily", "delete").code == 2
    assert run("memory", "daily", "delete", "2026-03-16").text == (
        "Deleted 2026-03-16 (revision 2; its text stays in the history).\n"
    )
    assert not (journal / "2026/03/16.md").exists()
    assert run("memory", "daily", "delete", "2026-03-16").code == 3
    document = run("memory", "daily", "delete", "2026-03-01", "--format", "json").json
    assert document.keys() == {"date", "previous", "revision"}


def test_search_finds_lines_newest_day_first(run: Run, journal: Path) -> None:
    """Whatever the case; both ends of the range are included."""
    assert journal.exists()
    text = run("memory", "daily", "search", "deploy", "--context", "0").text
    assert text.startswith(
        "--- [2026-03-16] line 3 ---\n- deploy\n\n--- [2026-02-27] line 3 ---\n- Deploy\n\n"
        "2 matches on 2 pages.\n"
    )
    words = ("memory", "daily", "search", "deploy", "--format", "json")
    document = run(*words, "--from", "2026-03-16", "--to=2026-03-16").json
    assert [match["file"] for match in document["matches"]] == ["daily/2026/03/16.md"]
    assert run(*words, "--from", "yesterday").code == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["append"], 2),
        (["append", "2026-04-17", "a", "b"], 2),
        (["append", "2026-04-17", "x", "--from-file", "y"], 2),
        (["append", "2026-04-31", "x"], 2),
        (["append", "x", "--layer", "shared"], 2),
    ],
)
def test_a_wrong_shape_is_refused(words: list[str], code: int, run: Run, root: Path) -> None:
    """And nothing is written."""
    assert run("memory", "daily", *words).code == code
    assert not (root / "agents" / "main" / "daily").exists()


def test_the_journal_of_a_user_is_that_of_the_user_s_agent(run: Run) -> None:
    """If there is one; several are ambiguous."""
    run("agents", "create", "ada", "--owner", "7")
    run("memory", "daily", "append", "- seven", "--user", "7")
    assert "- seven" in run("memory", "daily", "read", "--agent", "ada").text
    assert run("memory", "daily", "list", "--user", "9").code == 3
    run("agents", "create", "bob", "--owner", "7")
    answer = run("memory", "daily", "list", "--user", "7")
    assert (answer.code, "ada, bob" in answer.err) == (3, True)


def test_the_operator_writes_though_agents_may_not(run: Run, root: Path) -> None:
    """daily_memory_enabled is off, and that binds agents only."""
    assert "daily_memory_enabled = true" not in (root / "looseleaf.toml").read_text()
    assert run("memory", "daily", "append", "- x").code == 0
