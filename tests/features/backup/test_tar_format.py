"""Headers are those of POSIX: what is written is read back, by us and by Python's own reader."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors.features import InvalidBackup
from looseleaf.features.backup.archive import (
    BLOCK,
    EXTENDED,
    FILE,
    FOLDER,
    Header,
    apply_extension,
    build_padding,
    check_path,
    encode_header,
    parse_header,
)

SEGMENT = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=80
).filter(lambda text: text not in (".", "..") and len(text.encode()) <= 255)
PATHS = st.lists(SEGMENT, min_size=1, max_size=12).map("/".join).map(str.encode)


def decode(raw: bytes) -> Header:
    """Read a header back, with its extension."""
    header = parse_header(raw[:BLOCK])
    if header.kind != EXTENDED:
        return header
    end = BLOCK + header.size
    return apply_extension(parse_header(raw[-BLOCK:]), raw[BLOCK:end])


@given(PATHS, st.integers(0, 2**40), st.integers(0, 0o777), st.integers(0, 2**33 - 1))
def test_a_header_is_read_back(path: bytes, size: int, mode: int, mtime: int) -> None:
    """Whatever the name and however large the file."""
    header = Header(path, size, mode, mtime, FILE)
    raw = encode_header(header)
    assert decode(raw) == header
    check_path(path)
    entry = tarfile.TarFile(fileobj=io.BytesIO(raw)).firstmember  # type: ignore[attr-defined]
    assert (entry.name.encode("utf-8", "surrogateescape"), entry.size) == (path, size)


def test_a_folder_ends_with_a_slash() -> None:
    """As every tar writes it."""
    raw = encode_header(Header(b"shared/empty", 0, 0o700, 0, FOLDER))
    assert decode(raw).path == b"shared/empty/"


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513])
def test_a_content_fills_whole_blocks(size: int) -> None:
    """With zeros after it, and none if it fits."""
    assert (size + len(build_padding(size))) % BLOCK == 0
    assert not build_padding(size).strip(b"\0")


@pytest.mark.parametrize("path", [b"", b"/a", b"a/", b"a//b", b"./a", b"a/..", b"a\0b", b"x" * 256])
def test_a_path_that_leads_elsewhere_is_refused(path: bytes) -> None:
    """Before anything is opened by it."""
    with pytest.raises(InvalidBackup):
        check_path(path)
