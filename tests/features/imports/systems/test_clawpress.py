"""Files of clawpress as pages and days."""

from __future__ import annotations

from pathlib import Path

from looseleaf.features.bundles.source_tree import SourceFolder
from looseleaf.features.imports.systems import clawpress
from tests.features.imports.sources import CLAWPRESS, compute_fingerprint, write_tree


def test_the_layout_is_recognized(tmp_path: Path) -> None:
    """By the name of a day, which has its year at the end."""
    assert clawpress.detect(SourceFolder(str(write_tree(tmp_path / "a", CLAWPRESS)))) == (
        "memory-01032026.md"
    )
    other = write_tree(tmp_path / "b", {"memory-31022026.md": "x\n"})
    assert clawpress.detect(SourceFolder(str(other))) == ""


def test_days_and_pages(tmp_path: Path) -> None:
    """A day that does not exist stays a page of its name."""
    write_tree(tmp_path, CLAWPRESS)
    before = compute_fingerprint(tmp_path)
    content = clawpress.read(SourceFolder(str(tmp_path)))
    assert compute_fingerprint(tmp_path) == before
    pages = {page.filename: page for page in content.pages}
    assert set(pages) == {
        "MEMORY.md",
        "SOUL.md",
        "USER.md",
        "daily/2026/03/01.md",
        "memory-31022026.md",
    }
    assert pages["daily/2026/03/01.md"].text == "# 2026-03-01\n\nSold ten pears.\n"
    assert pages["USER.md"].layer == "user"
