"""Archives of bundles: the same files give the same bytes, which every program can read."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors.features import InvalidArchive
from looseleaf.features.bundles.zip_archive import ZipLimits, find_excess, pack_files, unpack_files

NAMES = st.from_regex(r"[a-z]{4,8}(/[a-z]{4,8}){0,3}\.(md|json)", fullmatch=True)


@given(files=st.dictionaries(NAMES, st.binary(max_size=300), max_size=8))
def test_what_is_packed_comes_out(files: dict[str, bytes]) -> None:
    """Our reader and Python's agree with what went in, in whatever order it went."""
    packed = pack_files({"manifest.json": b"{}", **files})
    expected = {"manifest.json": b"{}", **files}
    assert unpack_files(packed) == expected
    assert pack_files(dict(reversed(expected.items()))) == packed
    archive = zipfile.ZipFile(io.BytesIO(packed))
    assert archive.testzip() is None
    assert {name: archive.read(name) for name in archive.namelist()} == expected


@given(files=st.dictionaries(NAMES, st.binary(max_size=300), min_size=1, max_size=8))
def test_an_excess_is_what_the_reader_refuses(files: dict[str, bytes]) -> None:
    """By the bytes of the archive, the number of files and the bytes of one, each to the last."""
    files = {"manifest.json": b"{}", **files}
    packed, longest = pack_files(files), max(map(len, files.values()))
    exact = {"archive_bytes": len(packed), "files": len(files), "file_bytes": longest}
    assert find_excess(files, ZipLimits(**exact)) == ""
    assert unpack_files(packed, ZipLimits(**exact)) == files
    for name, most in exact.items():
        limits = ZipLimits(**{**exact, name: most - 1})
        assert find_excess(files, limits)
        with pytest.raises(InvalidArchive):
            unpack_files(packed, limits)


def test_a_folder_around_the_bundle_is_left_out() -> None:
    """An archive of a folder is read as the folder."""
    packed = pack_files({"ada/manifest.json": b"{}", "ada/memory/agent/SOUL.md": b"x"})
    assert set(unpack_files(packed)) == {"manifest.json", "memory/agent/SOUL.md"}


def test_an_archive_without_a_manifest_is_no_bundle() -> None:
    """Neither at the top nor in the only folder."""
    for files in ({"a.md": b""}, {"a/manifest.json": b"{}", "b/manifest.json": b"{}"}):
        with pytest.raises(InvalidArchive, match=r"manifest\.json"):
            unpack_files(pack_files(files))
