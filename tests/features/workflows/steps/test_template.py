"""Templates: names are filled in once, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors.features import InvalidStep
from looseleaf.features.workflows.steps.texts import fill_template, list_names


def test_names_are_filled_in() -> None:
    """Blanks inside the braces do not count."""
    filled = fill_template("- {{title}} ({{ date }})", {"title": "T", "date": "D"}, step="s")
    assert filled == "- T (D)"


def test_a_text_is_not_filled_in_again() -> None:
    """A packet whose text holds a place brings nothing in by it."""
    texts = {"content": "{{secret}}", "secret": "hunter2"}
    assert fill_template("{{content}}", texts, step="s") == "{{secret}}"


def test_a_name_without_a_text_is_refused() -> None:
    """The error names those there are."""
    with pytest.raises(InvalidStep, match=r"\{\{titel\}\}; there are: content, title"):
        fill_template("{{titel}}", {"title": "", "content": ""}, step="s")


@pytest.mark.parametrize("text", ["{title}", "{{}}", "{{ }}", "{{1a}}", "{{a b}}", "{{", "}}"])
def test_other_braces_stay(text: str) -> None:
    """Only a name in double braces is a place."""
    assert fill_template(text, {}, step="s") == text


@given(st.text(), st.text(), st.text())
def test_a_filled_text_holds_the_given_text_once(before: str, text: str, after: str) -> None:
    """Filling is one pass: whatever a text holds stands in the result as it is."""
    before, after = (part.replace("{", "").replace("}", "") for part in (before, after))
    filled = fill_template(f"{before}{{{{name}}}}{after}", {"name": text}, step="s")
    assert filled == f"{before}{text}{after}"


@given(st.text())
def test_a_template_without_names_is_itself(template: str) -> None:
    """Nothing but places changes."""
    if not list_names(template):
        assert fill_template(template, {}, step="s") == template
