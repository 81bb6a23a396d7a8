"""An archive is used only if every byte of it is what a backup writes."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from looseleaf.errors.features import BackupMissing, InvalidBackup
from looseleaf.features.backup.archive import END, FOLDER, open_archive
from looseleaf.features.backup.restoration import restore_workspace
from tests.features.backup.archives import DESCRIPTION, SETTINGS, build, build_member, close, write

SOUND = build(SETTINGS, ("shared/RULES.md", b"Be kind.\n"))
MANIFEST_START = SOUND.index(b"SHA256SUMS")


def foreign(kind: bytes = tarfile.REGTYPE, *, name: str = "shared/x", link: str = "") -> bytes:
    """Return a member as another program writes it."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, link
    return entry.tobuf(tarfile.USTAR_FORMAT)


def zipped() -> bytes:
    """Return an archive of another format."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("looseleaf.toml", "")
    return out.getvalue()


def extended(records: bytes) -> bytes:
    """Return a member whose extended header says this."""
    return build_member("././@PaxHeader", records, kind=b"x") + build_member("shared/x")


def flipped(place: int) -> bytes:
    """Return the sound archive with one bit changed."""
    raw = bytearray(SOUND)
    raw[place] ^= 1
    return bytes(raw)


def long_number() -> bytes:
    """Return a member whose size is written as only GNU tar does."""
    raw = bytearray(build_member("shared/x"))
    raw[124:136] = b"\x80" + bytes(10) + b"\x01"
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw[:512])
    return bytes(raw)


HOSTILE = {
    "a symbolic link": build(SETTINGS, members=foreign(tarfile.SYMTYPE, link="/etc/passwd")),
    "a hard link": build(SETTINGS, members=foreign(tarfile.LNKTYPE, link="looseleaf.toml")),
    "a device": build(SETTINGS, members=foreign(tarfile.CHRTYPE)),
    "a pipe": build(SETTINGS, members=foreign(tarfile.FIFOTYPE)),
    "a sparse file": build(SETTINGS, members=foreign(tarfile.GNUTYPE_SPARSE)),
    "a name of GNU tar": build(SETTINGS, members=foreign(tarfile.GNUTYPE_LONGNAME)),
    "a size of GNU tar": build(SETTINGS, members=long_number()),
    "an absolute path": build(SETTINGS, ("/shared/x", b"x")),
    "a path upwards": build(SETTINGS, ("shared/../../x", b"x")),
    "a path that begins upwards": build(SETTINGS, ("../x", b"x")),
    "a path with a dot": build(SETTINGS, ("shared/./x", b"x")),
    "a path with an empty part": build(SETTINGS, ("shared//x", b"x")),
    "a name that is too long": build(SETTINGS, ("shared/" + "x" * 300, b"x")),
    "a path of another program": build(SETTINGS, ("bin/sh", b"x")),
    "a home of another program": build(SETTINGS, (".ssh/authorized_keys", b"x")),
    "the same path twice": build(SETTINGS, ("shared/x", b"x"), ("shared/x", b"x")),
    "a file as a folder": build(SETTINGS, ("shared/x", b"x"), ("shared/x/y", b"y")),
    "a folder with a content": build(SETTINGS, members=build_member("shared/x", b"x", kind=FOLDER)),
    "a file that no manifest has": build(SETTINGS, ("shared/x", b"x"), unlisted=True),
    "a foreign field": build(SETTINGS, members=extended(b"19 linkpath=/etc/x\n")),
    "a damaged extension": build(SETTINGS, members=extended(b"99 path=x\n")),
    "an endless extension": build(SETTINGS, members=build_member("x", bytes(70_000), kind=b"x")),
    "two extensions": build(SETTINGS, members=build_member("x", b"9 path=x\n", kind=b"x") * 2),
    "a newer format": build(SETTINGS, description={**DESCRIPTION, "format": 2}),
    "a description that is no JSON": build(SETTINGS, description=b"{"),
    "a description without a time": build(SETTINGS, description={**DESCRIPTION, "created": "x"}),
    "no description": close(build_member(*SETTINGS) + build_member("SHA256SUMS")),
    "no manifest": close(SOUND[:MANIFEST_START]),
    "no checksum": SOUND[: SOUND.index(b"ARCHIVE-SHA256")] + END,
    "a cut in a header": SOUND[: MANIFEST_START + 100],
    "a cut in a file": SOUND[: SOUND.index(b"Be kind") + 3],
    "a cut at the end": SOUND[:-1],
    "something after the end": SOUND + b"x",
    "a bit of a page": flipped(SOUND.index(b"Be kind")),
    "a bit of a header": flipped(SOUND.index(b"shared/RULES.md")),
    "a bit of the manifest": flipped(MANIFEST_START + 600),
    "a bit between two files": flipped(SOUND.index(b"Be kind") + 400),
    "a bit of the checksum": flipped(SOUND.index(b"ARCHIVE-SHA256") + 520),
    "nothing": b"",
    "zeros": bytes(10_240),
    "a zip": zipped(),
    "a compressed archive": gzip.compress(SOUND),
    "a size beyond the archive": SOUND[:MANIFEST_START].replace(
        b"00000000011\0", b"00007777777\0", 1
    ),
}


def test_a_sound_archive_is_read(tmp_path: Path) -> None:
    """The archive from which the others are made differs from them in nothing else."""
    with open_archive(write(tmp_path, SOUND)) as reader:
        content = reader.read_all(lambda _header, _chunks: None)
    assert (content.files, content.content_bytes) == (2, 9)
    assert content.description.workspace == "abc"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused(name: str, tmp_path: Path) -> None:
    """With one clear error, and no file is written."""
    archive = write(tmp_path, HOSTILE[name])
    with pytest.raises(InvalidBackup, match=r"^The archive cannot be used as a backup: .*\.$"):
        restore_workspace(archive, str(tmp_path / "restored"))
    assert [path.name for path in tmp_path.iterdir()] == ["hostile.tar"]
    if name == "a file as a folder":
        return  # its hashes are right; only a file system says that it cannot be
    with open_archive(archive) as reader, pytest.raises(InvalidBackup):
        reader.read_all(lambda _header, _chunks: None)


def test_every_byte_counts(tmp_path: Path) -> None:
    """Whichever bit of an archive is changed, it is noticed."""
    for place in range(0, len(SOUND), 37):
        path = write(tmp_path, flipped(place))
        with open_archive(path) as reader, pytest.raises(InvalidBackup):
            reader.read_all(lambda _header, _chunks: None)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """So that one knows what is lost."""
    path = write(tmp_path, HOSTILE["a bit of a page"])
    with (
        open_archive(path) as reader,
        pytest.raises(InvalidBackup, match=r"shared/RULES\.md in it is not what was written"),
    ):
        reader.read_all(lambda _header, _chunks: None)


def test_long_names_and_line_ends_are_read_back(tmp_path: Path) -> None:
    """A name of 255 bytes, a path of many folders, and a line end in a name."""
    paths = ["shared/" + "n" * 255, "shared/" + "f/" * 150 + "x", "shared/a\nb\\c", "shared/ü"]
    raw = build(SETTINGS, *((path, path.encode()) for path in paths))
    seen: dict[bytes, bytes] = {}
    with open_archive(write(tmp_path, raw)) as reader:
        reader.read_all(lambda header, chunks: seen.update({header.path: b"".join(chunks)}))
    assert {path.encode() for path in paths} < seen.keys()
    with tarfile.open(tmp_path / "hostile.tar") as archive:
        assert set(paths) < set(archive.getnames())


def test_what_is_no_file_is_no_backup(tmp_path: Path) -> None:
    """A folder is refused, and a missing file is named."""
    with pytest.raises(InvalidBackup, match="no file"):
        open_archive(str(tmp_path))
    with pytest.raises(BackupMissing, match="gone"):
        open_archive(str(tmp_path / "gone.tar"))


def test_the_checksum_can_be_checked_by_hand(tmp_path: Path) -> None:
    """It is the hash of so many bytes from the beginning."""
    text = SOUND[SOUND.index(b"ARCHIVE-SHA256") + 512 :].partition(b"\n")[0].decode()
    digest, _, rest = text.partition("  ")
    assert digest == sha256(SOUND[: int(rest.split()[2])]).hexdigest()
    assert tmp_path.exists()


def test_a_compressed_backup_is_called_so(tmp_path: Path) -> None:
    """The next step is in the message."""
    path = tmp_path / "looseleaf.tar.gz"
    path.write_bytes(gzip.compress(b"anything"))
    with (
        pytest.raises(InvalidBackup, match="uncompress it first"),
        open_archive(str(path)) as reader,
    ):
        reader.read_description()


def test_a_missing_backup_is_named_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if only a name was given."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BackupMissing, match=re.escape(f"'none.tar' in {tmp_path}")):
        open_archive("none.tar")
