"""Items: how they are known again, and how long their texts are."""

from __future__ import annotations

from looseleaf.features.workflows.sources import LONGEST_TEXT, create_item, cut_text


def test_an_item_is_known_by_its_identity_then_its_address_then_its_text() -> None:
    """The same entry has the same key, even if its text was edited."""
    named = create_item(identity="urn:1", title="a", content="x")
    assert named.key == create_item(identity="urn:1", title="b", content="y").key
    assert create_item(url="u", title="a").key == create_item(url="u", title="b").key
    assert create_item(title="a").key != create_item(title="b").key


def test_the_data_of_a_packet_leaves_out_what_is_empty() -> None:
    """A packet has its content always."""
    assert create_item(identity="1").to_data() == {"content": "", "id": "1"}


def test_texts_are_cut_visibly() -> None:
    """A cut text ends in an ellipsis and is no longer than its limit."""
    assert cut_text("abc", 3) == "abc"
    assert cut_text("abcd", 3) == "ab…"
    assert len(create_item(title="x" * 5000).title) == LONGEST_TEXT


def test_a_title_stays_on_its_line() -> None:
    """A title cannot become a heading of its own."""
    assert create_item(title="a\n## b").title == "a ## b"
