"""Texts that nothing can hold are refused by every operation, wherever they stand in its arguments.

The operations and the places come from the catalog, so that a new one is tried without a word here.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.context import Context
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_input_schema
from looseleaf.errors import InvalidArgument, LooseleafError
from looseleaf.web.http.responses import status_of
from tests.operations.test_matrix import ABOUT, SAMPLES, SPECIAL, fresh, template

__all__ = ["fresh", "template"]

Schema = dict[str, Any]
UNWRITABLE = {"lone surrogate": "\ud800", "half a pair inside": "news\udc80.md"}
NUL = "a\0b"
ODD = {"control characters": "a\x1b[2J\r\n\x7f\u202e", "very long": "x" * 70_000, "blank": " \t"}
PAGES = {"content", "message", "new", "old"}  # a page may hold a NUL


def list_places(schema: Schema, text: str) -> Iterator[object]:
    """Yield values for a schema that have a text in each of its places in turn."""
    for option in schema.get("anyOf", (schema,)):
        kind = option.get("type")
        if kind == "string" and "enum" not in option:
            yield text
        elif kind == "array":
            yield from ([value] for value in list_places(option.get("items", {}), text))
        elif kind == "object":
            yield from ({text: "x"}, {"label": text}, {"steps": [{"label": [text]}]})
            for name, part in option.get("properties", {}).items():
                needed = dict.fromkeys(option.get("required", ()), "x")
                yield from ({**needed, name: value} for value in list_places(part, text))
        elif kind is None:
            yield text


def list_calls(name: str, text: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield calls of an operation with a text in each place of each argument."""
    schema = build_input_schema(CATALOG[name])
    needed = {item: SAMPLES.get(item, "ada/news") for item in schema["required"]}
    needed |= SPECIAL.get(name, {})
    for argument, part in schema["properties"].items():
        for value in list_places(part, text):
            yield argument, {**needed, argument: value}


@pytest.fixture(scope="module")
def shared(
    template: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Context]:
    """Yield the context of one workspace for calls that change nothing."""
    root = tmp_path_factory.mktemp("shared") / "workspace"
    shutil.copytree(template[0], root)
    with Workspace.open(root) as workspace:
        yield workspace.context


@pytest.mark.parametrize("name", sorted(ABOUT))
def test_a_text_that_nothing_can_hold_is_refused(name: str, shared: Context) -> None:
    """By one code, before the operation runs; a NUL may stand in the text of a page alone."""
    for text in (*UNWRITABLE.values(), NUL):
        for argument, call in list_calls(name, text):
            if text == NUL and argument in PAGES:
                continue
            problem = attempt(shared, name, call)
            assert isinstance(problem, InvalidArgument), (argument, call, problem)


def attempt(context: Context, name: str, call: dict[str, object]) -> LooseleafError | None:
    """Run an operation; return its refusal."""
    try:
        invoke(context, name, call)
    except LooseleafError as error:
        return error
    return None


@pytest.mark.parametrize("name", sorted(ABOUT))
def test_an_odd_text_is_done_or_refused(
    name: str,
    fresh: Any,  # noqa: ANN401
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Control characters, blanks and 70,000 letters are never a fault of ours."""
    monkeypatch.chdir(tmp_path)  # some texts are paths, such as of a backup
    context = None
    for kind, text in ODD.items():
        for argument, call in list_calls(name, text):
            context = context or fresh().workspace.context
            problem = attempt(context, name, call)
            assert problem is None or 400 <= status_of(problem) < 500, (kind, argument, problem)
