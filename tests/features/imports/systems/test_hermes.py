"""The entries of Hermes as bullets."""

from __future__ import annotations

import json
from pathlib import Path

from looseleaf.features.bundles.source_tree import SourceFolder
from looseleaf.features.imports.systems import hermes
from tests.features.imports.sources import HERMES, compute_fingerprint, write_tree


def test_the_layout_is_recognized(tmp_path: Path) -> None:
    """From its own folder, and from the folder of the memories."""
    write_tree(tmp_path, HERMES)
    assert hermes.detect(SourceFolder(str(tmp_path))) == "memories/MEMORY.md, memories/USER.md"
    assert hermes.detect(SourceFolder(str(tmp_path / "memories"))) == "MEMORY.md, USER.md"
    assert hermes.detect(SourceFolder(str(tmp_path / "skills"))) == ""


def test_entries_become_bullets(tmp_path: Path) -> None:
    """Each entry once; its further lines are indented; lines without text are named."""
    write_tree(tmp_path, HERMES)
    before = compute_fingerprint(tmp_path)
    content = hermes.read(SourceFolder(str(tmp_path)))
    assert compute_fingerprint(tmp_path) == before
    pages = {page.filename: page for page in content.pages}
    assert pages["MEMORY.md"].text == (
        "# Memory\n\n- The house runs Debian 12\n- The router is in the attic\n  beside the clock\n"
    )
    assert pages["USER.md"].text == "# User\n\n- Prefers short answers\n- Works at night\n"
    assert pages["USER.md"].layer == "user"
    assert pages["SOUL.md"].text == HERMES["SOUL.md"]
    assert pages["memory-archive.md"].text == "# Memory archive\n\n- The old router was gray\n"
    reasons = {entry.source: entry.reason for entry in content.left_out}
    assert set(reasons) == {
        "config.yaml",
        "memories/ARCHIVE.jsonl:2",
        "memories/ARCHIVE.jsonl:3",
        "profiles/garden/",
        "skills/",
        "state.db",
    }
    assert str(tmp_path / "profiles/garden") in reasons["profiles/garden/"]


def test_the_archive_says_when_and_why(tmp_path: Path) -> None:
    """Entries about the person go to a page of the user; one that is there twice stands once."""
    records = [
        {"ts": "2026-08-03T10:00:00Z", "store": "memory", "action": "superseded",
         "reason": "moved\nhouse", "entry": "Lives in\nPorto"},
        {"ts": 1_785_750_000, "store": "user", "action": "removed", "entry": "Drinks tea"},
        {"target": "memory", "evicted_at": "2026-08-04", "content": "The attic is dry"},
        {"store": "memory", "entry": "The attic is dry"},
    ]  # fmt: skip
    lines = "".join(json.dumps(record) + "\n" for record in records)
    files = {"memories/MEMORY.md": "A\n", "memories/ARCHIVE.jsonl": lines}
    content = hermes.read(SourceFolder(str(write_tree(tmp_path, files))))
    pages = {page.filename: page for page in content.pages}
    assert pages["memory-archive.md"].text == (
        "# Memory archive\n\n- Lives in\n  Porto\n  (superseded 2026-08-03: moved house)\n"
        "- The attic is dry\n"
    )
    assert pages["user-archive.md"].text == (
        "# User archive\n\n- Drinks tea\n  (removed 2026-08-03)\n"
    )
    assert pages["user-archive.md"].layer == "user"


def test_times_and_texts_that_no_page_can_have(tmp_path: Path) -> None:
    """A time beyond the calendar is left away; half of a surrogate pair leaves its line out."""
    times = ["1e300", "NaN", "Infinity", "-5", "9" * 400, "true"]
    lines = [f'{{"entry": "fact {time[:9]}", "ts": {time}}}' for time in times]
    lines += ['{"entry": "half \\ud800"}', '{"entry": "a pair \\ud83d\\ude00"}']
    write_tree(tmp_path, {"memories/MEMORY.md": "x", "memories/ARCHIVE.jsonl": "\n".join(lines)})
    content = hermes.read(SourceFolder(str(tmp_path)))
    [text] = [page.text for page in content.pages if page.filename == "memory-archive.md"]
    assert text.splitlines()[2:] == [
        *(f"- fact {time[:9]}" for time in times),
        "- a pair \U0001f600",
    ]
    assert [entry.source for entry in content.left_out] == ["memories/ARCHIVE.jsonl:7"]
