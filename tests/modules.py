"""The modules of the package, as the measures of shape read them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parent.parent / "src"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Module(NamedTuple):
    """A module: its path below `src/looseleaf`, its text, its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def dotted(self) -> str:
        """Return the name as an import spells it."""
        parts = ["looseleaf", *self.path.removesuffix(".py").split("/")]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def is_package(self) -> bool:
        """Return whether the module is the `__init__` of a package."""
        return self.path.rpartition("/")[2] == "__init__.py"

    @property
    def has_code(self) -> bool:
        """Return whether there is more than a docstring."""
        return len(self.tree.body) > 1


def read_modules(source: Path = SOURCE) -> list[Module]:
    """Read every module of the package."""
    package = source / "looseleaf"
    return [_read_module(path, package) for path in sorted(package.rglob("*.py"))]


def _read_module(path: Path, folder: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    return Module(path.relative_to(folder).as_posix(), text, parse_source(text))


def parse_source(text: str) -> ast.Module:
    """Parse the text of a module.

    Python 3.11 can lose count of its depth if a finalizer runs meanwhile, and says SystemError;
    the next try succeeds.
    """
    try:
        return ast.parse(text)
    except SystemError:
        return ast.parse(text)
