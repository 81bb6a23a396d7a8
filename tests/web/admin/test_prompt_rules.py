"""Every rule of a prompt is said in words."""

from __future__ import annotations

import ast
from pathlib import Path

from looseleaf.prompt import outputs
from looseleaf.web.admin.wording import ORDINARY, REASONS, describe_rule, describe_source


def declared_rules() -> set[str]:
    """Read the rules from where they are declared: a type that only the checker sees."""
    tree = ast.parse(Path(outputs.__file__).read_text(encoding="utf-8"))
    (rules,) = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "Rule"
    )
    return {node.value for node in ast.walk(rules) if isinstance(node, ast.Constant)}  # type: ignore[misc]


def test_every_rule_has_words() -> None:
    """No code of a rule reaches a page."""
    assert declared_rules() == set(REASONS)
    assert set(REASONS) >= ORDINARY
    assert not [words for words in REASONS.values() if "_" in words]


def test_a_plugin_s_rule_and_directive_are_said_in_words() -> None:
    """As far as their names go."""
    assert describe_rule("too_old") == "too old"
    assert describe_source("house-rules", is_page=False) == "a text that house rules gives"
