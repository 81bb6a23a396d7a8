"""What `import looseleaf` offers is a tested fact."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import looseleaf

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").rglob("*.md"))

# Names that any module may have.
NOT_OFFERED = {"TYPE_CHECKING", "annotations"}


def offered() -> set[str]:
    return {
        name
        for name in dir(looseleaf)
        if not name.startswith("_")
        and name not in NOT_OFFERED
        and not isinstance(getattr(looseleaf, name), ModuleType)
    }


def test_all_is_sorted_and_says_each_name_once() -> None:
    """The list of public names is easy to read and to merge."""
    assert list(looseleaf.__all__) == sorted(set(looseleaf.__all__))


def test_all_is_what_is_there() -> None:
    """Nothing public is missing from `__all__`, and nothing in it is missing from the package."""
    assert offered() == {name for name in looseleaf.__all__ if not name.startswith("_")}


@pytest.mark.parametrize("name", looseleaf.__all__)
def test_a_public_name_says_what_it_is(name: str) -> None:
    """Every public class and function has a docstring of its own."""
    thing = getattr(looseleaf, name)
    if callable(thing):
        assert thing.__doc__, f"{name} has no docstring"


def test_former_names_stay_importable() -> None:
    """Programs that use a name of earlier docs still run."""
    assert looseleaf.Flow is looseleaf.FlowPart
    assert looseleaf.Pipeline is looseleaf.PipelinePart


@pytest.mark.skipif(not DOCS, reason="there are no docs yet")
def test_every_public_name_is_in_the_docs() -> None:
    """A reader can find each public name in the README or the docs."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *DOCS))
    missing = [name for name in looseleaf.__all__ if name not in text]
    assert not missing, f"write about {', '.join(missing)} in docs/"
