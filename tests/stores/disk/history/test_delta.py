"""Replacements between versions: what is found is small, and gives the new bytes exactly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from looseleaf.stores.disk.history.delta import apply_hunks, find_hunks

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"\r\n", b"\x85x\n", b"long line " * 20]))


def applied(old: bytes, new: bytes) -> bytes:
    """Apply what is found."""
    content = bytearray(old)
    apply_hunks(content, find_hunks(old, new))
    return bytes(content)


@given(old=st.binary(max_size=2_000), new=st.binary(max_size=2_000))
def test_any_bytes_come_back(old: bytes, new: bytes) -> None:
    """Whatever the two versions are, text or not."""
    assert applied(old, new) == new


@given(old=LINES, new=LINES, times=st.integers(1, 50))
def test_texts_that_share_lines_come_back(old: list[bytes], new: list[bytes], times: int) -> None:
    """Even if lines repeat, and end in several ways."""
    assert applied(b"".join(old) * times, b"".join(new) * times) == b"".join(new) * times


def test_an_append_is_one_small_replacement() -> None:
    """At the end, without the text before it."""
    old = b"- a line\n" * 10_000
    assert find_hunks(old, old + b"- more\n") == [(len(old), 0, b"- more\n")]
    assert find_hunks(old, old) == []


def test_changes_at_both_ends_do_not_repeat_the_middle() -> None:
    """A date in the first line and an entry at the end are two small replacements."""
    body = b"".join(b"- fact %d\n" % number for number in range(2_000))
    old, new = b"date: 1\n" + body + b"- old\n", b"date: 2\n" + body + b"- new\n"
    assert sum(len(insertion) for _, _, insertion in find_hunks(old, new)) < 40
    assert applied(old, new) == new
