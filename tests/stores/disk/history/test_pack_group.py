"""Groups of a pack: bounded, self-contained, and never read if they are damaged."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import Unavailable
from looseleaf.stores.disk.history import packs
from looseleaf.stores.disk.history.packs import (
    MOST_BYTES,
    MOST_VERSIONS,
    PackDamage,
    encode_groups,
    open_group,
    parse_head,
)

TEXT = b"# Notes\n\n" + b"".join(b"- fact number %d\n" % number for number in range(400))


def texts(count: int) -> list[tuple[int, bytes]]:
    """Return versions of a page that grows by a line each time."""
    return [(number, TEXT + b"- line\n" * number) for number in range(1, count + 1)]


@given(contents=st.lists(st.binary(max_size=400), min_size=1, max_size=20))
def test_every_version_comes_back(contents: list[bytes]) -> None:
    """In order, backwards, and whatever the bytes are."""
    versions = list(enumerate(contents, 5))
    [group] = encode_groups(versions)
    opened = open_group(group)
    assert list(opened.versions()) == versions
    assert [opened.read(number) for number, _ in reversed(versions)] == contents[::-1]


def test_a_group_is_bounded() -> None:
    """By versions, and by bytes before compression, so that reading one costs little."""
    groups = list(encode_groups(texts(MOST_VERSIONS * 2 + 1)))
    heads = [parse_head(group, 0) for group in groups]
    assert [head.count for head in heads if head] == [MOST_VERSIONS, MOST_VERSIONS, 1]
    chance = random.Random(1)
    noise = [(number, chance.randbytes(MOST_BYTES // 3)) for number in range(1, 8)]
    heads = [parse_head(group, 0) for group in encode_groups(noise)]
    assert all(head and head.raw_size <= MOST_BYTES for head in heads)
    assert sum(head.count for head in heads if head) == 7


def test_a_version_larger_than_a_group_has_one_of_its_own() -> None:
    """Pages may have 10 MB."""
    large = random.Random(2).randbytes(2 * MOST_BYTES)
    [first, second] = encode_groups([(1, large), (2, large[::-1])])
    assert open_group(first).read(1) == large
    assert open_group(second).read(2) == large[::-1]


def test_growing_text_takes_little_room() -> None:
    """A version costs its number, its hash and what it adds."""
    versions = texts(MOST_VERSIONS)
    [group] = encode_groups(versions)
    assert len(group) < 0.02 * sum(len(content) for _, content in versions)


def test_every_flipped_bit_is_noticed() -> None:
    """In the head, in the table and in the compressed part."""
    [group] = encode_groups(texts(3))
    for place in range(len(group)):
        damaged = bytearray(group)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(PackDamage):
            open_group(bytes(damaged))
    with pytest.raises(PackDamage):
        open_group(group[:-1])


def test_a_group_that_does_not_read_back_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes that will be on disk are decompressed and compared before anything is removed."""
    monkeypatch.setattr(packs, "apply_hunks", lambda _content, _hunks: None)
    with pytest.raises(PackDamage, match="version 1"):
        list(encode_groups(texts(2)))


def test_a_python_without_lzma_still_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """By zlib; a pack of another Python is reported as not available, not as damaged."""
    [usual] = encode_groups(texts(3))
    monkeypatch.setitem(sys.modules, "lzma", None)
    [group] = encode_groups(texts(3))
    assert list(open_group(group).versions()) == texts(3)
    with pytest.raises(Unavailable, match="lzma"):
        open_group(usual)
