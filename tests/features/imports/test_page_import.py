"""Files of a source that become one page are put together on it."""

from __future__ import annotations

from looseleaf.features.bundles.source_tree import SourcePage
from looseleaf.features.imports.page_import import merge_same_pages


def test_files_of_one_page_are_put_together() -> None:
    """No line is lost, every file is named, and other pages stay as they are."""
    pages = [
        SourcePage(filename="a.md", text="# A\n\n- one\n", sources=("AGENTS.md",), note="a remark"),
        SourcePage(filename="b.md", text="- two\r\n", sources=("b.md",)),
        SourcePage(filename="a.md", text="# A\n- three\n", sources=("a.md",), note="a remark"),
        SourcePage(filename="a.md", text="", sources=("empty.md",)),
    ]
    first, second = merge_same_pages(pages, lambda page: page.filename)
    assert first.text == "# A\n\n- one\n- three\n"
    assert first.sources == ("AGENTS.md", "a.md", "empty.md")
    assert first.note == "a remark"
    assert second == pages[1]
