"""A workspace of nanobot as pages, and its log as a journal."""

from __future__ import annotations

from pathlib import Path

from looseleaf.features.bundles.source_tree import SourceFolder
from looseleaf.features.imports.systems import nanobot
from tests.features.imports.sources import (
    NANOBOT,
    NANOBOT_NEW,
    OPENCLAW,
    compute_fingerprint,
    write_tree,
)


def test_the_layout_is_recognized(tmp_path: Path) -> None:
    """By the memory in its folder, also from the folder above; OpenClaw keeps its own elsewhere."""
    assert nanobot.detect(SourceFolder(str(write_tree(tmp_path / "a", NANOBOT))))
    write_tree(tmp_path / "b/workspace", NANOBOT)
    assert nanobot.detect(SourceFolder(str(tmp_path / "b"))).startswith("workspace/memory/")
    assert nanobot.detect(SourceFolder(str(write_tree(tmp_path / "c", OPENCLAW)))) == ""


def test_pages_and_log(tmp_path: Path) -> None:
    """Each entry of the log stands on the page of its day, with the lines below it."""
    write_tree(tmp_path, NANOBOT)
    before = compute_fingerprint(tmp_path)
    content = nanobot.read(SourceFolder(str(tmp_path)))
    assert compute_fingerprint(tmp_path) == before
    pages = {page.filename: page for page in content.pages}
    assert set(pages) == {
        "MEMORY.md",
        "SOUL.md",
        "TOOLS.md",
        "USER.md",
        "daily/2026/03/01.md",
        "daily/2026/03/02.md",
        "operating-instructions.md",
    }
    assert pages["MEMORY.md"].text == NANOBOT["memory/MEMORY.md"]
    assert pages["daily/2026/03/01.md"].text == (
        "# 2026-03-01\n\n[2026-03-01 09:15] Printed the labels.\n\n"
        "[2026-03-01 17:40] Ordered ink.\n\nThe shop had none.\n"
    )
    assert {entry.source for entry in content.left_out} == {"skills/", "sessions/"}


def test_the_log_of_newer_versions(tmp_path: Path) -> None:
    """Lines that are no entry are named by their numbers."""
    content = nanobot.read(SourceFolder(str(write_tree(tmp_path, NANOBOT_NEW))))
    pages = {page.filename: page.text for page in content.pages}
    assert pages["daily/2026/03/02.md"] == "# 2026-03-02\n\n[2026-03-02 08:00] Ink arrived.\n"
    assert {entry.source for entry in content.left_out} == {
        "memory/history.jsonl:3",
        "memory/history.jsonl:4",
    }


def test_entries_without_an_hour_and_the_prompts_folder(tmp_path: Path) -> None:
    """Old logs have entries with a day alone; instructions for the upkeep are no memory."""
    files = {
        "memory/MEMORY.md": "# Memory\n",
        "memory/HISTORY.md": "[2026-03-01] Printed.\n\n[2026-03-02T08:00:00] Ordered.\n",
        "memory/.dream_cursor": "42",
        "prompts/dream.md": "Keep it short.\n",
    }
    content = nanobot.read(SourceFolder(str(write_tree(tmp_path, files))))
    days = {page.filename: page.text for page in content.pages if "daily/" in page.filename}
    assert "[2026-03-01] Printed." in days["daily/2026/03/01.md"]
    assert "Ordered." in days["daily/2026/03/02.md"]
    assert "prompts/" in {entry.source for entry in content.left_out}
    assert not any(page.filename.startswith("prompts/") for page in content.pages)
