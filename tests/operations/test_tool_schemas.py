"""The schema of every tool, by the rules of the providers that models come from."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from anthropic import transform_schema
from google.genai import types
from openai.lib._pydantic import _ensure_strict_json_schema

from looseleaf import Workspace
from looseleaf.catalog.operation_tools import SMALL, list_operation_tools
from looseleaf.catalog.tool_access import MODEL_TOOLS

Shape = dict[str, Any]


def as_openai(shape: Shape) -> object:
    """Make a schema strict, as OpenAI's own client does."""
    strict = _ensure_strict_json_schema(shape, path=(), root=shape)
    assert strict["required"] == list(strict["properties"])
    return strict


def as_anthropic(shape: Shape) -> object:
    """Make a schema one that Anthropic takes, with its own client."""
    return transform_schema(shape)


def as_gemini(shape: Shape) -> object:
    """Make a schema one of Gemini's, and let nothing be left out silently."""
    return types.Schema.from_json_schema(
        json_schema=types.JSONSchema.model_validate(shape),
        api_option="GEMINI_API",
        raise_error_on_unsupported_field=True,
    )


def shapes(workspace: Workspace) -> Iterator[tuple[str, Shape]]:
    """Yield every tool's schema, for one agent and for all, of both sets and of the chat."""
    for full in (True, False):
        for tool in list_operation_tools(workspace.context, full=full):
            for scoped in (True, False):
                yield tool.name, tool.parameters(is_scoped=scoped)
    for chat_tool in MODEL_TOOLS.values():
        yield chat_tool.name, chat_tool.parameters


def parts(shape: object) -> Iterator[Shape]:
    """Yield a schema and every schema in it."""
    if isinstance(shape, dict):
        yield shape
        for part in shape.values():
            yield from parts(part)
    elif isinstance(shape, list):
        for part in shape:
            yield from parts(part)


@pytest.mark.parametrize("provider", [as_openai, as_anthropic, as_gemini])
def test_every_provider_takes_every_tool(
    workspace: Workspace, provider: Callable[[Shape], object]
) -> None:
    """By its own client, which refuses what its models would not understand."""
    for name, shape in shapes(workspace):
        assert provider(copy.deepcopy(shape)), name


def test_a_type_is_one_word(workspace: Workspace) -> None:
    """Several frameworks refuse a list of types: what may be null says so by anyOf."""
    for name, shape in shapes(workspace):
        for part in parts(shape):
            assert not isinstance(part.get("type"), list), (name, part)


def test_an_argument_that_is_needed_is_never_null(workspace: Workspace) -> None:
    """The call would refuse it: null counts as left out."""
    needed = 0
    for name, shape in shapes(workspace):
        for argument in shape["required"]:
            needed += 1
            assert '"null"' not in json.dumps(shape["properties"][argument]), (name, argument)
    assert needed > len(SMALL)


def test_the_small_set_has_no_choice_of_layer(workspace: Workspace) -> None:
    """A page has one place where prompts and searches look for it."""
    for tool in list_operation_tools(workspace.context, full=False):
        assert "layer" not in tool.parameters(is_scoped=True)["properties"], tool.name
    by_name = {tool.name: tool for tool in list_operation_tools(workspace.context)}
    assert "layer" in by_name["append_agent_memory"].parameters(is_scoped=True)["properties"]


def test_a_prompt_is_for_a_chat_unless_a_model_says_otherwise(workspace: Workspace) -> None:
    """Over MCP alone: an operation has its mode named."""
    by_name = {tool.name: tool for tool in list_operation_tools(workspace.context)}
    for name in ("compose_prompt", "explain_prompt", "check_prompt", "diff_prompts"):
        shape = by_name[name].parameters(is_scoped=True)
        assert "mode" not in shape["required"]
        assert shape["properties"]["mode"]["default"] == "chat"
