"""What one can do, one can do everywhere: every operation has a command, a tool and a route.

Or it stands on a short list, with the reason.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.operation_tools import (
    NOT_OFFERED,
    find_tool_refusal,
    list_operation_tools,
    tools_of,
)
from looseleaf.web.app import HANDLERS
from looseleaf.web.rest.abilities import ABILITIES, operations_of
from tests.cli.walk import DERIVED

PACKAGE = Path(__file__).parent.parent / "src" / "looseleaf"

_SEED = "another name, by which agents know what `memory` and `memory daily` do"
NO_COMMAND = {
    "datamachine/daily-memory-read": "`daily read` gives the bytes, which need not be text",
    "datamachine/get-agent-file": "`memory read` and `memory files` give the same in two parts",
    "datamachine/scaffold-memory-file": "`init` and `agents create` start what is missing",
    "datamachine/upload-agent-file": "`memory write --from-file` needs no base64",
    "looseleaf/set-settings": "`settings set` makes one setting at a time",
    "memory_long_term_add": _SEED,
    "memory_long_term_delete": _SEED,
    "memory_long_term_read": _SEED,
    "memory_long_term_update": _SEED,
    "memory_short_term_add": _SEED,
    "memory_short_term_delete": _SEED,
    "memory_short_term_read": _SEED,
    "memory_short_term_update": _SEED,
}


def reached(source: str) -> Iterator[str]:
    """Yield everything a module of the command line names: functions of modules, operations."""
    for statement in ast.parse(source).body:
        yield from reached_by(statement)


def reached_by(tree: ast.AST) -> Iterator[str]:
    """Yield everything a function names; each has imports of its own."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("looseleaf."):
            full_names = {
                item.asname or item.name: f"{node.module}.{item.name}" for item in node.names
            }
            modules |= full_names
            yield from full_names.values()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name(module), name) if module in modules:
                yield f"{modules[module]}.{name}"
            case ast.Constant(str(text)) if text in CATALOG:
                yield text


@pytest.fixture(scope="module")
def commanded() -> set[str]:
    """Collect what the command line reaches, by a derived command or by a written one."""
    modules = [*PACKAGE.glob("cli/**/*.py"), *PACKAGE.glob("features/**/*commands.py")]
    written = {name for module in modules for name in reached(module.read_text(encoding="utf-8"))}
    return written | {found.operation.name for _, found in DERIVED}


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_an_operation_has_a_command(name: str, commanded: set[str]) -> None:
    """The command line calls its function, or names it."""
    function = inspect.unwrap(CATALOG[name].run)
    has_one = bool({name, f"{function.__module__}.{function.__name__}"} & commanded)
    assert has_one is not (name in NO_COMMAND), NO_COMMAND.get(name, f"{name} needs a command")


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_an_operation_has_a_tool(name: str, workspace: Workspace) -> None:
    """Or there is a reason why models do not get one."""
    tools = tools_of(CATALOG[name])
    listed = {tool.name for tool in list_operation_tools(workspace.context)}
    assert {tool.name for tool in tools} <= listed
    assert bool(tools) is (find_tool_refusal(CATALOG[name]) is None)


def test_an_operation_has_a_route(workspace: Workspace) -> None:
    """All of them by their own names, at the address that runs abilities."""
    assert f"{ABILITIES}/{{name:path}}/run" in HANDLERS
    assert {item.name for item in operations_of(workspace.context)} >= set(CATALOG)


def test_no_reason_is_stale() -> None:
    """What stands on a list is an operation."""
    assert set(NO_COMMAND) | set(NOT_OFFERED) <= set(CATALOG)
    assert all((*NO_COMMAND.values(), *NOT_OFFERED.values()))


def test_a_command_that_calls_no_operation_is_noticed() -> None:
    """The scan sees all three ways to reach one, and no other."""
    ways = (
        "from looseleaf.operations.memory import read_memory",
        "def f():\n    from looseleaf.operations import memory as m\n    m.read_memory()",
        "invoke(context, 'datamachine/get-agent-memory', {})",
    )
    names = {"looseleaf.operations.memory.read_memory", "datamachine/get-agent-memory"}
    assert all(names & set(reached(way)) for way in ways)
    assert not set(reached("import looseleaf\nmemory.read_memory()"))
