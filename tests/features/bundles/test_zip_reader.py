"""The zip reader gives what ordinary programs packed, and refuses everything that could do harm."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors.features import InvalidArchive
from looseleaf.features.bundles.zip_archive import ZipArchive, ZipLimits
from tests.features.bundles.zip_parts import Part, build_zip, deflate

SMALL = ZipLimits(archive_bytes=10_000, files=3, file_bytes=5_000, total_bytes=8_000, depth=4)


def unpack(content: bytes, limits: ZipLimits | None = None) -> dict[str, bytes]:
    archive = ZipArchive(io.BytesIO(content), limits)
    return {entry.path: archive.read(entry) for entry in archive.entries}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_of_another_program_is_read(method: int) -> None:
    """Files that Python's own library packed come out the same, in order; folders are no files."""
    files = {"b/two.md": b"# Two\n" * 50_000, "a.json": b"{}", "b/empty.md": b"", "ä.md": b"\xff"}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as writer:
        writer.mkdir("b")
        for name, content in files.items():
            writer.writestr(name, content)
    unpacked = unpack(buffer.getvalue())
    assert unpacked == files
    assert list(unpacked) == sorted(files)


def test_an_archive_written_to_a_stream_is_read() -> None:
    """Files whose sizes stand after their bytes, as in archives written to a pipe, are read."""

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_position: int) -> int:
            raise io.UnsupportedOperation

        def tell(self) -> int:
            raise io.UnsupportedOperation

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as writer:
        writer.writestr("a.md", b"a" * 70_000)
        writer.writestr("b.md", b"b")
    assert unpack(pipe.getvalue()) == {"a.md": b"a" * 70_000, "b.md": b"b"}


def test_a_comment_of_the_archive_is_ignored() -> None:
    """A comment after the end record changes nothing."""
    assert unpack(build_zip(Part("a.md"), comment=b"made by hand")) == {"a.md": b"x"}


HOSTILE = {
    "no archive": b"# A page, no archive",
    "empty file": b"",
    "cut off": build_zip(Part("a.md"))[:-9],
    "parent folder": build_zip(Part("../a.md")),
    "parent folder inside": build_zip(Part("memory/../../a.md")),
    "absolute": build_zip(Part("/etc/a.md")),
    "drive": build_zip(Part("C:/a.md")),
    "backslash": build_zip(Part("memory\\..\\a.md")),
    "NUL": build_zip(Part("a\0.md")),
    "empty part": build_zip(Part("memory//a.md")),
    "empty name": build_zip(Part("")),
    "dot": build_zip(Part("./a.md")),
    "hidden": build_zip(Part(".git/config")),
    "device": build_zip(Part("memory/agent/nul.md")),
    "percent-encoded": build_zip(Part("%2e%2e/a.md")),
    "trailing dot": build_zip(Part("memory./a.md")),
    "invisible": build_zip(Part("a\u202e.md")),
    "not NFC": build_zip(Part("memory/agent/a\u0308.md")),
    "not UTF-8": build_zip(Part(b"\xff\xfe.md")),
    "long": build_zip(Part("a" * 600)),
    "deep": build_zip(Part("/".join("abcdefghijklmnopqr"))),
    "link": build_zip(Part("a.md", b"/etc/passwd", mode=0o120777)),
    "device file": build_zip(Part("a.md", b"", mode=0o020600)),
    "pipe": build_zip(Part("a.md", b"", mode=0o010600)),
    "twice": build_zip(Part("a.md", b"1"), Part("a.md", b"2")),
    "case": build_zip(Part("a.md"), Part("A.md")),
    "case of a folder": build_zip(Part("memory/a.md"), Part("Memory/b.md")),
    "file and folder": build_zip(Part("a.md"), Part("a.md/b.md")),
    "folder and file": build_zip(Part("a.md/b.md"), Part("a.md")),
    "encrypted": build_zip(Part("a.md", flags=1)),
    "other method": build_zip(Part("a.md", method=12, packed=b"x")),
    "bomb": build_zip(Part("a.md", bytes(10_000_000))),
    "more than declared": build_zip(Part("a.md", b"abcdef", size=3)),
    "fewer than declared": build_zip(Part("a.md", b"abc", size=6)),
    "checksum": build_zip(Part("a.md", b"abc", checksum=1)),
    "damaged": build_zip(Part("a.md", b"abc", packed=b"\xff\xff\xff")),
    "bytes after the end": build_zip(Part("a.md", b"abc", packed=deflate(b"abc") + b"hidden")),
    "two sizes": build_zip(Part("a.md", b"abc", method=0, size=2)),
    "two names": build_zip(Part("a.md", local_name="b.md")),
    "overlap": build_zip(Part("a.md"), Part("b.md"), Part("a.md2", offset=0, local_name="a.md")),
    "same bytes": build_zip(Part("a.md"), Part("a.md", offset=0)),
    "points nowhere": build_zip(Part("a.md", offset=4_000_000_000)),
    "bytes before": b"#!/bin/sh\n" + build_zip(Part("a.md")),
    "folder with content": build_zip(Part("a/", b"abc")),
    "count too high": build_zip(Part("a.md"), end={"count": 2}),
    "count too low": build_zip(Part("a.md"), Part("b.md"), end={"count": 1}),
    "zip64": build_zip(Part("a.md"), end={"count": 0xFFFF}),
    "wrong start": build_zip(Part("a.md"), end={"start": 1}),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_archive_is_refused(content: bytes) -> None:
    """Each is refused by one error that names the file or the archive, and gives no content."""
    with pytest.raises(InvalidArchive) as refusal:
        unpack(content)
    assert refusal.value.code == "invalid_archive"
    assert str(refusal.value).count("\n") == 0
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    "content",
    [
        build_zip(*(Part(f"{number}.md") for number in range(4))),
        build_zip(Part("a.md", b"ab" * 2_501)),
        build_zip(Part("a.md", b"ab" * 2_100), Part("b.md", b"ab" * 2_100)),
        build_zip(Part("a/b/c/d/e.md")),
        build_zip(Part("a.md"), comment=bytes(10_000)),
    ],
    ids=["files", "file", "total", "depth", "archive"],
)
def test_a_limit_holds(content: bytes) -> None:
    """What the limits allow by default is refused if they are smaller."""
    unpack(content)
    with pytest.raises(InvalidArchive):
        unpack(content, SMALL)


def test_a_bomb_is_not_unpacked_past_its_declared_size() -> None:
    """A file that declares a small size stops being unpacked there, whatever its bytes hold."""
    packed = deflate(bytes(50_000_000))
    archive = ZipArchive(io.BytesIO(build_zip(Part("a.md", size=4_000, packed=packed))))
    parts = archive.stream(archive.entries[0])
    with pytest.raises(InvalidArchive, match="more bytes than it declares"):
        next(parts)


@given(place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_changed_byte_gives_the_same_files_or_a_refusal(place: int, byte: int) -> None:
    """Whatever byte of an archive is changed, its files come out as they were, or none."""
    files = {"a.md": b"alpha " * 40, "memory/b.md": b"beta"}
    content = bytearray(build_zip(*(Part(name, text) for name, text in files.items())))
    content[place % len(content)] = byte
    try:
        unpacked = unpack(bytes(content))
    except InvalidArchive:
        return
    assert list(unpacked.values()) == list(files.values())
