"""Names, numbers, paths and quotations that must survive."""

from __future__ import annotations

import pytest

from looseleaf.features.upkeep.daily_task.gates import find_identifiers


@pytest.mark.parametrize(
    ("line", "identifier"),
    [
        ("see https://example.com/a?b=1.", "https://example.com/a?b=1"),
        ("it lies at /var/www/example.com,", "/var/www/example.com"),
        ("in C:\\Users\\ada\\notes.txt", "C:\\Users\\ada\\notes.txt"),
        ("write to ada@example.com!", "ada@example.com"),
        ("ask @ada (soon)", "@ada"),
        ("closed by owner/repo#12", "owner/repo#12"),
        ("on 2026-02-15 it moved", "2026-02-15"),
        ("plugin v0.9.11;", "v0.9.11"),
        ("costs 1,250.50 a month", "1,250.50"),
        ("commit 4d77ac9", "4d77ac9"),
        ("the snake_case name", "snake_case"),
        ("a CamelCase name", "CamelCase"),
        ("the HTTP port", "HTTP"),
        ("the slug flow-7b runs", "flow-7b"),
        ("run `wp --allow-root` there", "wp --allow-root"),
        ('the category "Reviews of books" is old', "Reviews of books"),
        ("die Kategorie „alte Dinge“ bleibt", "alte Dinge"),
        ("owned by Ada Lovelace", "Lovelace"),
        ("版本 3.2 发布", "3.2"),
    ],
)
def test_an_identifier_is_found(line: str, identifier: str) -> None:
    """Each kind, without the punctuation around it."""
    assert identifier in find_identifiers(line)


def test_plain_words_are_none() -> None:
    """A sentence without names has no identifier."""
    assert find_identifiers("it is better to ask first, then act") == set()


def test_a_fenced_block_counts_as_a_whole() -> None:
    """One changed character inside makes it another."""
    text = "```sh\nrun fast\n  # twice\n```\nand\n~~~\nopen\n"
    assert {"run fast\n  # twice", "open"} <= find_identifiers(text)
