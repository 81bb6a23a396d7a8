"""Front matter is read as far as importers need it, and nothing is evaluated."""

from __future__ import annotations

import pytest

from looseleaf.features.imports.systems.shared_layout import split_front_matter


def test_fields_and_text() -> None:
    """Plain, quoted, nested and folded fields; the text below is exact."""
    text = (
        '---\ntitle: "Pear Trees"\nmetadata:\n  type: user\ndescription: >\n'
        "  First line\n  and second\ntags: [a, b]\n---\n\n# Text\n\n---\n"
    )
    fields, body = split_front_matter(text)
    assert fields["title"] == "Pear Trees"
    assert fields["metadata.type"] == "user"
    assert fields["description"] == "First line and second"
    assert body == "# Text\n\n---\n"


@pytest.mark.parametrize("text", ["# No\n", "---\nnever: closed\n", "", "--- \n", "a\n---\n"])
def test_a_file_without_front_matter(text: str) -> None:
    """It is all text."""
    assert split_front_matter(text) == ({}, text)
