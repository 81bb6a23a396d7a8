"""No modules import each other, and the measures of shape find what they should find."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import shape
from tests.modules import Module, read_modules


def module(text: str, path: str = "memory/pages.py") -> Module:
    """Make a module of a text."""
    return Module(path, text, ast.parse(text))


def test_modules_import_one_way() -> None:
    """No modules import each other, not even for their types."""
    assert not shape.find_cycles(read_modules())


@pytest.mark.parametrize(
    "text",
    [
        "from looseleaf.memory.scope import Scope",
        "from .scope import x",
        "from . import scope",
        "if TYPE_CHECKING:\n    from .scope import Scope",
        "def f():\n    import looseleaf.memory.scope",
    ],
)
def test_a_cycle_is_found(text: str) -> None:
    """However two modules import each other, the cycle is found."""
    other = module("import looseleaf.memory.pages", "memory/scope.py")
    apart = module("import looseleaf.memory.pages", "memory/daily.py")
    package = module('"""Memory."""', "memory/__init__.py")
    assert shape.find_cycles([module(text), other, apart, package]) == [
        "looseleaf.memory.pages ↔ looseleaf.memory.scope"
    ]
    assert not shape.find_cycles([module("import os"), other, apart, package])


def test_header_lines_are_counted() -> None:
    """The header ends above the first statement, with its decorators, that is no import."""
    header = (
        '"""Pages."""\n\nimport os\nTYPE_CHECKING = False\nif TYPE_CHECKING:\n    import re\n\n'
    )
    body = '@cache\ndef f():\n    """Text."""\n    import json\n'
    assert shape.count_header_lines(module(header + body)) == 7
    assert shape.count_header_lines(module(body)) == 0
    assert shape.count_header_lines(module('"""Memory."""\n')) == 1


def test_sizes_are_judged() -> None:
    """A module of 801 lines and a package of 26 entries are found, sub-packages counted."""
    many = [module("x = 1\n", f"memory/part{number}.py") for number in range(25)]
    assert not shape.find_large_packages([*many, module("", "memory/__init__.py")])
    assert shape.find_large_packages([*many, module("", "memory/text/diff.py")]) == [
        "memory: 26 entries"
    ]
    long_module = module("x = 1\n" * 801)
    assert shape.find_long_modules([long_module, module("x = 1\n" * 800, "a.py")]) == [
        "memory/pages.py: 801 lines"
    ]


def test_repeated_names_are_found() -> None:
    """Classes and modules of one name are named with their places; packages are left alone."""
    modules = [
        module("class Entry: ..."),
        module("class Entry: ...\nclass Page: ...", "web/pages.py"),
        module("", "web/__init__.py"),
        module("", "memory/__init__.py"),
    ]
    assert shape.find_repeated_classes(modules) == ["Entry: memory/pages.py, web/pages.py"]
    assert shape.find_repeated_modules(modules) == ["pages.py: memory/pages.py, web/pages.py"]


def test_importers_are_counted() -> None:
    """A module with one importer is found, and no longer once another imports it."""
    modules = [
        module("x = 1", "features/chat/model.py"),
        module("from .model import x", "features/chat/turn.py"),
    ]
    assert shape.find_sole_importers(modules) == [
        "looseleaf.features.chat.model ← looseleaf.features.chat.turn"
    ]
    core = module("from looseleaf.features.chat.model import x")
    assert not shape.find_sole_importers([*modules, core])


def test_habits_are_found() -> None:
    """Openings count at the start of a sentence of a docstring, and nowhere else."""
    text = '"""Give a page. Say whether it is new where one is. Return it."""\nx = "Give it."'
    place = "memory/pages.py:1"
    assert list(shape.find_habits([module(text)]).values()) == [
        [f"{place}: Give a page."],
        [f"{place}: Say whether it is new where one is."],
        [f"{place}: Say whether it is new where one is."],
    ]


def test_the_figures_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each figure has a line, with its share; --list names the findings."""
    package = tmp_path / "src" / "looseleaf"
    package.mkdir(parents=True)
    (package / "pages.py").write_text('"""Give pages."""\n\nx = 1\n')
    assert shape.main([str(package.parent), "--list"]) == 0
    printed = capsys.readouterr().out
    for line in ("header lines", "modules with one importer", "cycles of modules", "Give pages."):
        assert line in printed
    with pytest.raises(SystemExit):
        shape.main([str(tmp_path)])
