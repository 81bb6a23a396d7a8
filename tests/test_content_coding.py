"""Compressed answers: unpacked whole, or refused."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.http_client import BodyTooLarge, BodyUnreadable, read_body


@given(st.binary(max_size=2000), st.sampled_from(["", "identity", "gzip", "GZIP", "deflate"]))
def test_a_body_comes_back_as_it_was(body: bytes, coding: str) -> None:
    """In every known coding, in any pieces."""
    packed = body
    if coding.lower() == "gzip":
        packed = gzip.compress(body)
    elif coding == "deflate":
        packed = zlib.compress(body)
    parts = [packed[start : start + 7] for start in range(0, len(packed), 7)]
    assert read_body(parts, coding, 2100) == body


def test_the_limit_counts_unpacked_bytes() -> None:
    """A body of exactly the limit passes, and one byte more does not."""
    assert len(read_body([gzip.compress(bytes(1000))], "gzip", 1000)) == 1000
    with pytest.raises(BodyTooLarge):
        read_body([gzip.compress(bytes(1001))], "gzip", 1000)
    with pytest.raises(BodyTooLarge):
        read_body([bytes(600), bytes(600)], "", 1000)


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "x"])
def test_an_unknown_coding_is_refused(coding: str) -> None:
    """What was not asked for and is not known is no answer."""
    with pytest.raises(BodyUnreadable):
        read_body([b"abc"], coding, 1000)


def test_a_body_that_breaks_off_is_refused() -> None:
    """Half a packed answer is not taken for a whole one."""
    with pytest.raises(BodyUnreadable):
        read_body([gzip.compress(b"x" * 1000)[:-5]], "gzip", 10_000)
    with pytest.raises(BodyUnreadable):
        read_body([b"no gzip at all"], "gzip", 10_000)
