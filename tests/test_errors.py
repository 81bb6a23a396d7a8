"""Errors: each has a code of its own, a sentence, and a place in the tree that the module draws."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module

import pytest

from looseleaf import errors
from looseleaf.errors import LooseleafError
from looseleaf.errors.pages import AgentMissing
from looseleaf.remote.connection import build_error

MODULES = [f"{errors.__name__}.{module.name}" for module in pkgutil.iter_modules(errors.__path__)]
for name in MODULES:
    import_module(name)


def descendants(kind: type[LooseleafError]) -> list[type[LooseleafError]]:
    """List the errors of the package that are of a kind, at any depth."""
    places = {errors.__name__, *MODULES}
    children = [child for child in kind.__subclasses__() if child.__module__ in places]
    return [*children, *(error for child in children for error in descendants(child))]


ERRORS = sorted(
    {error for error in descendants(LooseleafError) if not error.__name__.startswith("_")},
    key=lambda error: error.__name__,
)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_an_error_stands_in_the_tree(error: type[LooseleafError]) -> None:
    """The tree of the docstring names every error, and the class has a sentence of its own."""
    assert re.search(rf"[├└]── {error.__name__}\b", errors.__doc__ or "")
    assert error.__doc__
    assert error.__doc__ != LooseleafError.__doc__


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_a_code_is_stable_text(error: type[LooseleafError]) -> None:
    """A code is lower-case words, so that programs can compare it."""
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", error.code)


def test_the_tree_names_no_other_error() -> None:
    """An error that is gone has left the tree, too."""
    names = re.findall(r"[├└]── (\w+)", errors.__doc__ or "")
    assert sorted(names) == [error.__name__ for error in ERRORS]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_a_server_can_answer_with_every_error(error: type[LooseleafError]) -> None:
    """Whoever asks a server gets the class of the error that was raised there."""
    assert type(build_error(400, error.code, "why", {})) is error


def test_an_agent_that_nobody_named_is_not_called_none() -> None:
    """The message says that none is named, and names those that could be."""
    for agent in (None, ""):
        message = str(AgentMissing(agent, ("ada",)))
        assert message == "No agent is named, and none is active. Available agents: ada."
    assert str(AgentMissing("eve", ("ada",))).startswith("There is no agent 'eve'.")
