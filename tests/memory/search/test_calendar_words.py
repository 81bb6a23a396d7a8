"""Calendar words: the dates that a question names."""

from __future__ import annotations

import pytest

from looseleaf.memory.search.words import build_day_terms, parse_question_dates


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("in March", "§m03"),
        ("on May 7th, 2023", "§m05 §d0507 §y2023"),
        ("the 3rd of June", "§m06 §d0603"),
        ("2026-04-17", "§y2026 §m04 §d0417"),
        ("2026/04", "§y2026 §m04"),
        ("2026-13-40", "§y2026"),
        ("last Tuesday", "§w1"),
        ("am 3. März", "§m03 §d0303"),
        ("el 7 de mayo", "§m05 §d0507"),
        ("mardi dernier en août", "§w1 §m08"),
        ("в июле", "§m07"),
        ("2026年4月17日", "§y2026 §m04 §d0417"),
        ("上星期二", "§w1"),
        ("5 Sep", "§m09 §d0905"),
        ("may I march on", ""),
        ("who may come", ""),
        ("call Marco in 12345", ""),
        ("99 bottles", ""),
    ],
)
def test_dates_are_found_in_questions(question: str, terms: str) -> None:
    """In several languages; a word that is a month and something else needs a hint."""
    assert parse_question_dates(question) == tuple(terms.split())


def test_a_day_has_the_terms_that_questions_ask_for() -> None:
    """Year, month, day and weekday."""
    assert set(parse_question_dates("Friday, 17 April 2026")) == set(build_day_terms(2026, 4, 17))
