"""A pack is read group by group, and damage of one group leaves the others readable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from looseleaf.stores.disk.history.packs import (
    HEAD,
    MOST_VERSIONS,
    PackFile,
    encode_groups,
    open_pack,
)

VERSIONS = [
    (number, b"# Notes\n\n" + b"- line\n" * number) for number in range(1, 3 * MOST_VERSIONS + 1)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a pack of three groups."""
    (tmp_path / "pack").write_bytes(b"".join(encode_groups(VERSIONS)))
    return tmp_path


def opened(folder: Path) -> PackFile:
    """Open the pack of a folder."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        pack = open_pack(fd)
    finally:
        os.close(fd)
    assert pack is not None
    return pack


def damage(folder: Path, place: int, content: bytes) -> None:
    """Overwrite some bytes of the pack."""
    with (folder / "pack").open("r+b") as file:
        file.seek(place)
        file.write(content)


def readable(pack: PackFile) -> list[int]:
    """Return the numbers of the versions that can be read, and come back as they were."""
    contents = [(number, pack.read(number)) for number, _ in VERSIONS]
    assert all(content in (None, VERSIONS[number - 1][1]) for number, content in contents)
    return [number for number, content in contents if content is not None]


def test_every_version_is_found(folder: Path) -> None:
    """By its number; the tables tell which there are."""
    pack = opened(folder)
    assert readable(pack) == [number for number, _ in VERSIONS]
    assert list(pack.hashes()) == [number for number, _ in VERSIONS]
    assert pack.read(0) is None
    assert pack.read(len(VERSIONS) + 1) is None
    assert pack.inspect() == ({number for number, _ in VERSIONS}, [])
    assert sum(end - start for start, end, _ in pack.segments()) == pack.size


def test_no_pack_is_no_error(tmp_path: Path) -> None:
    """Most pages have none."""
    fd = os.open(tmp_path, os.O_RDONLY)
    assert open_pack(fd) is None
    os.close(fd)


def test_a_damaged_group_leaves_the_others(folder: Path) -> None:
    """And is named with its versions."""
    middle = opened(folder).heads[1]
    damage(folder, middle.offset + middle.size - 2, b"\0\0")
    pack = opened(folder)
    outside = [*range(1, MOST_VERSIONS + 1), *range(2 * MOST_VERSIONS + 1, 3 * MOST_VERSIONS + 1)]
    assert readable(pack) == outside
    numbers, [fault] = pack.inspect()
    assert sorted(numbers) == outside
    assert fault == f"its pack is damaged in revisions {middle.first} to {middle.last}"


@pytest.mark.parametrize("place", range(HEAD.size))
def test_a_damaged_head_leaves_the_others(folder: Path, place: int) -> None:
    """The next group is found even if a length is wrong."""
    middle = opened(folder).heads[1]
    damage(folder, middle.offset + place, b"\xee")
    pack = opened(folder)
    assert len(readable(pack)) == 2 * MOST_VERSIONS
    assert pack.inspect()[1]
    assert sum(end - start for start, end, _ in pack.segments()) == pack.size


def test_a_pack_cut_short_keeps_its_whole_groups(folder: Path) -> None:
    """As after a file system lost its end."""
    os.truncate(folder / "pack", opened(folder).size - 10)
    pack = opened(folder)
    assert len(readable(pack)) == 2 * MOST_VERSIONS
    assert pack.inspect()[1] == [
        f"its pack is damaged at byte {pack.heads[-1].offset + pack.heads[-1].size}"
    ]
