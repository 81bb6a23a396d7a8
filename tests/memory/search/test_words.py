"""Words: what two forms of a word have in common, in every script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.memory.search.results import fold_content
from looseleaf.memory.search.words import is_question, parse_question_terms, split_words, stem_lines


@pytest.mark.parametrize(
    "forms",
    [
        "deploy deploys deployed deploying",
        "invoice invoices",
        "study studies studied studying",
        "paint painting painted painter",
        "running run runs",
        "Rechnung Rechnungen",
        "manger mange",
        "trabajo trabajar trabajamos",
        "библиотека библиотеки",
        "Überprüfung UBERPRUFUNG überprüfungen",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    """Endings, case and accents go."""
    assert len({parse_question_terms(form) for form in forms.split()}) == 1


def test_numbers_and_identifiers_are_exact() -> None:
    """Two tickets are not the same because they begin alike."""
    assert parse_question_terms("JOB-1234567 a3f9e01bb") == ("job", "1234567", "a3f9e01bb")
    assert parse_question_terms("2026s v2ing") == ("2026s", "v2ing")


def test_scripts_without_spaces_are_cut_into_pairs() -> None:
    """A page has every sign and pair; a question looks for pairs, or for its only sign."""
    assert stem_lines("会議室A".encode()).split() == ["会", "議", "室", "会議", "議室", "a"]
    assert parse_question_terms("会議室") == ("会議", "議室")
    assert parse_question_terms("会") == ("会",)


@given(st.text(max_size=200))
def test_lines_stay_lines(text: str) -> None:
    """The stems of a line stand in the line of the same number, whatever it holds."""
    folded = fold_content(text.encode("utf-8", "replace"))
    stems = stem_lines(folded).split("\n")
    assert len(stems) == folded.count(b"\n") + 1
    for line in stems:
        assert not line or (line.startswith(" ") and line.endswith(" "))
    if text.isascii():
        assert parse_question_terms(text) or not split_words(text)


def test_several_words_may_be_a_question() -> None:
    """One word, or an identifier, is an exact text."""
    assert is_question("new studio")
    assert is_question("会議室はどこ")
    assert not is_question("studio")
    assert not is_question("?!")


def test_a_page_that_is_one_long_word_is_cut() -> None:
    """In any script; and a question of any length has few terms."""
    for sign in ("x", "会", "ж"):
        assert stem_lines((sign * 200_000).encode()).strip()
        assert len(parse_question_terms(sign * 200_000)) == 1
    assert len(parse_question_terms(" ".join(f"w{n}" for n in range(9000)))) == 32
