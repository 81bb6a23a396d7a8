"""Matches: an answer is bounded whatever a page holds, and says what it leaves out."""

from __future__ import annotations

from looseleaf.memory.search.results import BOUNDS, Bounds
from looseleaf.memory.search.substring import MatchCollector


def collect(
    text: str, *, limit: int = 50, context: int = 2, bounds: Bounds = BOUNDS
) -> MatchCollector:
    collected = MatchCollector(b"a", "", limit, context, bounds)
    assert collected.add("page.md", text.encode()) == sum("a" in line for line in text.split("\n"))
    return collected


def size(collected: MatchCollector) -> int:
    return sum(len((item.content + item.context).encode()) for item in collected.matches)


def test_a_page_of_matches_gives_a_bounded_answer() -> None:
    """20 KB of matching lines, asked for with all the context there is: once 301 MB."""
    collected = collect("a\n" * 10_000, limit=10**9, context=10**9)
    assert len(collected.matches) == BOUNDS.matches
    assert size(collected) < 20_000
    notice = collected.notice(10_000)
    assert f"At most {BOUNDS.matches} matches" in notice
    assert f"At most {BOUNDS.context} lines" in notice
    lines = collect("a" * 1000 + "\n" + "b" * 100_000 + "\n" + "a\n" * 500, limit=400, context=20)
    assert size(lines) <= BOUNDS.bytes


def test_wide_windows_do_not_repeat_each_other() -> None:
    """A match that is shown already brings two lines; one that is not brings all of them."""
    text = "\n".join(f"{n} {'a' if n in (0, 1, 5, 40) else 'b'}" for n in range(60))
    wide = [item.context.split("\n") for item in collect(text, context=10).matches]
    assert [len(window) for window in wide] == [11, 4, 5, 21]
    assert wide[2] == ["3 b", "4 b", "5 a", "6 b", "7 b"]
    text = "\n".join(f"{n} a" for n in range(30))
    near = collect(text, context=2).matches
    assert [len(item.context.split("\n")) for item in near[2:5]] == [5, 5, 5]


def test_the_bytes_of_an_answer_are_bounded() -> None:
    """First without context, then the answer ends; a single line too long is cut."""
    bounds = Bounds(bytes=1000)
    text = "\n".join(["a" * 200, "b" * 500, "a" * 200, "b" * 500, "a" * 200, "a" * 200])
    collected = collect(text, bounds=bounds)
    assert size(collected) <= 1000
    assert 0 < len(collected.matches) < 4
    assert "1,000 bytes" in collected.notice(4)
    collected = collect("ä" * 10 + "a" * 5000, bounds=bounds)
    assert size(collected) <= 1000
    assert collected.matches[0].content.startswith("ä")
    assert "cut" in collected.notice(1)


def test_nothing_left_out_needs_no_notice() -> None:
    """Neither does a limit that one asked for oneself."""
    assert collect("a\nb\na\n").notice(2) == ""
    assert collect("a\n" * 60).notice(60) == ""
