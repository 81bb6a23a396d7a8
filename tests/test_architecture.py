"""The rules of the house, as data: who may import whom, and what may be done where.

A rule is a function that looks at one module and yields what is wrong with it. The first test runs
every rule over the package; the others prove that each rule bites.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "looseleaf"

# A line may import only the lines above it; rooms on one line do not import each other.
LINES = (
    "errors values version",
    "settings atomic extras mounts",
    "folders",
    "root",
    "memory models",
    "agents",
    "prompt",
    "chat workflows",
    "upkeep stores",
    "operations",
    "plugins",
    "workspace",
    "__init__",
    "mcp_server dialects remote",
    "web",
    "cli",
    "__main__",
)
HEIGHT = {room: height for height, line in enumerate(LINES) for room in line.split()}

STANDARD_LIBRARY_ONLY = {
    "errors",
    "values",
    "atomic",
    "folders",
    "root",
    "mounts",
    "extras",
    "memory",
    "agents",
    "operations",
}

# Packages that one room keeps from the others, so that it alone changes when they do.
KEPT_IN = {
    "alembic": {"stores"},
    "httpx2": {"models", "remote"},
    "mcp": {"mcp_server"},
    "pluggy": {"plugins", "workspace"},
    "pydantic_ai": {"models"},
    "sqlalchemy": {"stores"},
    "starlette": {"web"},
}

# In models/ a library that knows only event loops is hidden behind a synchronous contract.
ASYNC_ROOMS = {"web", "mcp_server", "dialects", "models"}
PRINTING_ROOMS = {"cli"}
ENVIRONMENT_READERS = {"settings.py"}

# Paths, or patterns of them, of the modules that may write files.
FILE_WRITERS = {"atomic.py"}

# Imports inside functions: (module, what it imports), both as patterns, and the reason.
LAZY_IMPORTS: dict[tuple[str, str], str] = {
    ("atomic.py", "ctypes"): "3 ms that only a writing process pays",
    ("stores/shelves.py", "ctypes"): "the same, and one that reads many pages",
    ("memory/pages.py", "looseleaf.memory.characters.*"): "most pages are plain",
    ("memory/pages.py", "looseleaf.memory.replacement.*"): "reading a page replaces nothing",
    ("extras.py", "*"): "only where a part is missing: how this installation was made",
    ("stores/history.py", "looseleaf.stores.verification.*"): "only the doctor verifies",
    ("stores/log_line.py", "binascii.*"): "a library to load, and reading a page needs no log",
    ("memory/store.py", "hashlib"): "a quarter of a cold start, and reading a page needs no hash",
    ("memory/scope.py", "looseleaf.memory.characters.*"): "only names that are not plain need it",
    ("agents/record.py", "looseleaf.memory.characters.*"): "only a change of a name needs it",
    ("agents/directory.py", "looseleaf.agents.*"): "only a change of the agents needs it",
    ("agents/*.py", "json"): "a fifth of a cold start; a plain record is read without it",
    ("stores/revisions.py", "json"): "the same: reading a page needs no history",
    ("stores/log_line.py", "json"): "the same",
    ("stores/revisions.py", "datetime.*"): "the same: 2 ms that a time takes, and a page has none",
    ("operations/moment.py", "datetime.*"): "the same",
    ("plugins/defaults.py", "looseleaf.*"): "a plain read enters neither prompt/ nor the catalog",
    ("plugins/rooms.py", "looseleaf.*"): "rooms that most commands do not enter",
    ("plugins/loader.py", "*"): "a plugin is imported by the name that someone gave it",
    ("plugins/opening.py", "looseleaf.plugins.loader.*"): "pluggy, only where there is a plugin",
    ("prompt/tokens.py", "tiktoken"): "an extra",
    ("models/opening.py", "looseleaf.models.compatible.*"): "0.15 s, and echo needs no HTTP",
    ("models/opening.py", "looseleaf.models.providers.*"): "an extra, and a second to import",
    ("operations/door.py", "base64.*"): "only an upload needs it",
    ("operations/memory.py", "base64.*"): "only an upload needs it, and it is no part of a read",
    ("stores/database.py", "alembic.*"): "longer to import than to open a database; rarely needed",
    ("settings.py", "json"): "only a new workspace needs it",
    ("settings.py", "tomllib"): "as large as the rest of a cold start; comments need no parser",
    ("__init__.py", "*looseleaf*"): "a command imports only the names it uses",
    ("workspace.py", "looseleaf.*"): "rooms that most commands do not enter",
    ("cli/__init__.py", "looseleaf.cli.*"): "a plain read needs no click, and --help no workspace",
    ("cli/groups.py", "*looseleaf.cli.*"): "a command is imported when it is run",
    ("cli/groups.py", "difflib"): "only a misspelled word needs it",
    ("cli/*.py", "click.shell_completion.*"): "only a shell that completes needs it",
    ("cli/arguments.py", "looseleaf.*"): "--help needs no workspace",
    ("remote/answers.py", "*"): "what only annotations name is imported by its name",
    ("cli/talk.py", "readline"): "it changes how a terminal is read, and some Pythons have none",
    ("cli/mcp.py", "looseleaf.mcp_server.stdio.*"): "--help needs no server",
    ("operations/prompt.py", "looseleaf.*"): "a server over stdio lists tools before it composes",
    ("operations/prompt.py", "shlex"): "the same",
    ("operations/search.py", "looseleaf.memory.*"): "the same: it lists tools before it searches",
    ("operations/daily.py", "looseleaf.memory.daily.*"): "the same",
    ("operations/catalog.py", "looseleaf.operations.page_access.*"): "only agents have a policy",
    ("stores/audit_chain.py", "hashlib"): "the same: settings are read before an entry is added",
    ("mcp_server/answers.py", "traceback"): "only a fault of ours needs it",
    (
        "operations/registry.py",
        "inspect",
    ): "a start of Python, and only a plugin's function needs it",
    ("stores/open_database.py", "looseleaf.stores.*"): "SQLAlchemy, ten times as long as a start",
    ("cli/serve.py", "looseleaf.*"): "--help needs no web framework and no database",
    ("cli/output.py", "looseleaf.cli.formats.*"): "a plain read needs no JSON",
}

EMPTY_NAMES = {"base", "common", "core", "helpers", "misc", "utils"}
EMPTY_ENDINGS = ("Factory", "Helper", "Impl", "Manager", "Service", "Util", "Utils")
MOST_LINES = 320
LONGER: dict[str, str] = {"errors.py": "one file tells every failure"}

WRITING_FLAGS = {"O_APPEND", "O_CREAT", "O_RDWR", "O_TRUNC", "O_WRONLY"}
WRITING_METHODS = {"touch", "write_bytes", "write_text"}
WRITING_CALLS = {
    "os": {"link", "pwrite", "pwritev", "rename", "renames", "replace", "symlink", "truncate"}
    | {"ftruncate", "write", "writev"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move"},
    "tempfile": {"NamedTemporaryFile", "TemporaryFile", "mkstemp"},
}
DYNAMIC = {"__import__", "import_module"}
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}


class Module(NamedTuple):
    """One source file, named by its path inside the package."""

    path: str
    text: str

    @property
    def room(self) -> str:
        return self.path.split("/")[0].removesuffix(".py")

    @property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(ast.parse(self.text, self.path)))


Fault = tuple[int, str]
Rule = Callable[[Module], Iterator[Fault]]


def imports(module: Module, tree: ast.AST | None = None) -> Iterator[Fault]:
    """Give line and full dotted name of everything a module, or a part of it, imports."""
    for node in ast.walk(tree) if tree else module.nodes:
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                package = ["looseleaf", *module.path.split("/")[:-1]]
                start = package[: len(package) - level + 1] if level else []
                base = ".".join([*start, *([source] if source else [])])
                yield from ((node.lineno, f"{base}.{alias.name}") for alias in names)
            case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)) if name in DYNAMIC:
                yield node.lineno, ast.unparse(node.args[0]).strip("'\"")


def calls(module: Module) -> Iterator[tuple[ast.Call, str, str]]:
    """Give every call with what it is called on ("" for a plain name) and its name."""
    for node in module.nodes:
        match node:
            case ast.Call(func=ast.Name(name)):
                yield node, "", name
            case ast.Call(func=ast.Attribute(owner, name)):
                yield node, ast.unparse(owner), name


def imports_run_one_way(module: Module) -> Iterator[Fault]:
    if module.room not in HEIGHT:
        yield 1, f"the room {module.room!r} is new: give it its place in LINES"
        return
    for line, name in imports(module):
        top, _, rest = name.partition(".")
        if top != "looseleaf":
            continue
        first, _, inner = rest.partition(".")
        room = first if first in HEIGHT or inner else "__init__"
        if room not in HEIGHT:
            yield line, f"the room {room!r} is new: give it its place in LINES"
        elif room != module.room and HEIGHT[room] >= HEIGHT[module.room]:
            yield line, f"{module.room} may not import {room}: move the shared thing further down"


def the_core_is_plain(module: Module) -> Iterator[Fault]:
    if module.room in STANDARD_LIBRARY_ONLY:
        for line, name in imports(module):
            top = name.split(".")[0]
            if top != "looseleaf" and top not in sys.stdlib_module_names:
                yield line, f"{top} is not in the standard library: use it in a room above"


def packages_stay_in_their_room(module: Module) -> Iterator[Fault]:
    for line, name in imports(module):
        rooms = KEPT_IN.get(name.split(".")[0])
        if rooms and module.room not in rooms:
            yield line, f"{name} belongs to {', '.join(sorted(rooms))}: go through its contract"


def imports_stand_at_the_top(module: Module) -> Iterator[Fault]:
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for line, name in imports(module, node):
                if not lazy_reason(module.path, name):
                    yield line, f"import {name} at the top, or give LAZY_IMPORTS a reason"


def lazy_reason(path: str, name: str) -> str | None:
    return next(
        (why for (m, n), why in LAZY_IMPORTS.items() if fnmatch(path, m) and fnmatch(name, n)), None
    )


def settings_alone_read_the_environment(module: Module) -> Iterator[Fault]:
    if module.path in ENVIRONMENT_READERS:
        return
    for node in module.nodes:
        match node:
            case ast.Attribute(ast.Name("os"), name) if name in ENVIRONMENT:
                yield node.lineno, f"os.{name}: let settings.py read it and take it as a value"
            case ast.ImportFrom(module="os", names=names):
                for name in {alias.name for alias in names} & ENVIRONMENT:
                    yield node.lineno, f"os.{name}: let settings.py read it and take it as a value"


def one_place_writes_files(module: Module) -> Iterator[Fault]:
    if any(fnmatch(module.path, writer) for writer in FILE_WRITERS):
        return
    advice = "write through atomic.py, or add the module to FILE_WRITERS if it must"
    for call, owner, name in calls(module):
        if (
            (name in {"open", "ZipFile", "fdopen"} and opens_to_write(call))
            or name in WRITING_METHODS
            or (name in WRITING_CALLS.get(owner, ()) and not writes_to_the_terminal(call))
        ):
            yield call.lineno, f"{owner}{'.' if owner else ''}{name} writes a file: {advice}"
    for node in module.nodes:
        match node:
            case ast.Attribute(attr=name) if name in WRITING_FLAGS:
                yield node.lineno, f"{name} opens a file to write: {advice}"
            case ast.ImportFrom(module=str(source), names=names):
                writers = WRITING_CALLS.get(source, set())
                writers = writers | (WRITING_FLAGS if source == "os" else set())
                for name in {alias.name for alias in names} & writers:
                    yield node.lineno, f"{source}.{name} writes a file: {advice}"


def opens_to_write(call: ast.Call) -> bool:
    """Tell by its mode, wherever among the first two arguments that stands."""
    modes = [*call.args[:2], *(k.value for k in call.keywords if k.arg == "mode")]
    return any(
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and re.fullmatch(r"[rwaxbt+]{1,4}", mode.value)
        and set(mode.value) & set("wax+")
        for mode in modes
    )


def writes_to_the_terminal(call: ast.Call) -> bool:
    return (
        bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value in {1, 2}
    )


def the_core_is_synchronous(module: Module) -> Iterator[Fault]:
    if module.room not in ASYNC_ROOMS:
        for node in module.nodes:
            if isinstance(node, ast.AsyncFunctionDef):
                yield (
                    node.lineno,
                    f"async def {node.name}: the core is synchronous; await at the edge",
                )


def only_the_command_line_prints(module: Module) -> Iterator[Fault]:
    if module.room not in PRINTING_ROOMS:
        for call, owner, name in calls(module):
            if (owner, name) == ("", "print"):
                yield call.lineno, "print: return the text and let cli/ show it"


def names_say_something(module: Module) -> Iterator[Fault]:
    for part in module.path.removesuffix(".py").split("/"):
        if part.lstrip("_") in EMPTY_NAMES:
            yield 1, f"{part!r} says nothing: name the module after its noun"
    for node in module.nodes:
        if isinstance(node, ast.ClassDef) and node.name.endswith(EMPTY_ENDINGS):
            yield node.lineno, f"class {node.name}: name it after what it is, not what it does"


def modules_say_their_role(module: Module) -> Iterator[Fault]:
    if not ast.get_docstring(ast.parse(module.text)):
        yield 1, "no docstring: begin with one sentence that says the module's role"


def modules_stay_small(module: Module) -> Iterator[Fault]:
    lines = module.text.count("\n")
    if lines >= MOST_LINES and module.path not in LONGER:
        yield lines, f"{lines} lines: split it by noun, below {MOST_LINES}"


def nothing_is_left_for_later(module: Module) -> Iterator[Fault]:
    for line, text in enumerate(module.text.splitlines(), 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b", text):
            yield line, "a note for later: do it now, or write it down outside the code"


RULES: tuple[Rule, ...] = (
    imports_run_one_way,
    the_core_is_plain,
    packages_stay_in_their_room,
    imports_stand_at_the_top,
    settings_alone_read_the_environment,
    one_place_writes_files,
    the_core_is_synchronous,
    only_the_command_line_prints,
    names_say_something,
    modules_say_their_role,
    modules_stay_small,
    nothing_is_left_for_later,
)


def package() -> list[Module]:
    return [
        Module(path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Rule) -> None:
    """No module of the package breaks the rule."""
    faults = {f"{m.path}:{line}: {what}": None for m in package() for line, what in rule(m)}
    assert not faults, "\n" + "\n".join(faults)


def test_every_lazy_import_is_still_used() -> None:
    """LAZY_IMPORTS allows nothing that the package no longer does."""
    done = [(m.path, name) for m in package() for _, name in imports(m)]
    stale = [
        f"{path}: {name}"
        for path, name in LAZY_IMPORTS
        if not any(fnmatch(p, path) and fnmatch(n, name) for p, n in done)
    ]
    assert not stale, f"take out of LAZY_IMPORTS: {stale}"


BROKEN: tuple[tuple[Rule, str, str], ...] = (
    (imports_run_one_way, "memory/pages.py", "from looseleaf.agents import records"),
    (imports_run_one_way, "memory/pages.py", "from looseleaf import agents"),
    (imports_run_one_way, "memory/pages.py", "from ..agents.records import Agent"),
    (imports_run_one_way, "memory/pages.py", "from .. import stores"),
    (imports_run_one_way, "memory/pages.py", "import looseleaf.stores.disk"),
    (imports_run_one_way, "memory/pages.py", "import looseleaf"),
    (imports_run_one_way, "memory/pages.py", "from looseleaf import Workspace"),
    (imports_run_one_way, "memory/pages.py", "if TYPE_CHECKING:\n    import looseleaf.agents"),
    (imports_run_one_way, "memory/pages.py", "import_module('looseleaf.agents')"),
    (imports_run_one_way, "chat/turn.py", "from looseleaf.workflows import jobs"),
    (imports_run_one_way, "errors.py", "from looseleaf.values import value"),
    (imports_run_one_way, "settings.py", "from looseleaf import atomic"),
    (imports_run_one_way, "novelty/new.py", ""),
    (imports_run_one_way, "cli/main.py", "from looseleaf.novelty import new"),
    (the_core_is_plain, "memory/pages.py", "import click"),
    (the_core_is_plain, "operations/pages.py", "def f():\n    from pydantic import BaseModel"),
    (the_core_is_plain, "values.py", "if TYPE_CHECKING:\n    import typing_extensions"),
    (packages_stay_in_their_room, "agents/records.py", "import sqlalchemy as sa"),
    (packages_stay_in_their_room, "cli/serve.py", "from starlette.requests import Request"),
    (imports_stand_at_the_top, "memory/pages.py", "def f():\n    import json"),
    (
        imports_stand_at_the_top,
        "agents/a.py",
        "class A:\n    def f(self):\n        from os import x",
    ),
    (imports_stand_at_the_top, "agents/a.py", "async def f():\n    importlib.import_module('x')"),
    (settings_alone_read_the_environment, "atomic.py", "os.environ['HOME']"),
    (settings_alone_read_the_environment, "cli/main.py", "home = os.getenv('HOME')"),
    (settings_alone_read_the_environment, "cli/main.py", "from os import environ"),
    (one_place_writes_files, "stores/disk.py", "open(path, 'w')"),
    (one_place_writes_files, "stores/disk.py", "open(path, mode='ab')"),
    (one_place_writes_files, "stores/disk.py", "path.open('x')"),
    (one_place_writes_files, "stores/disk.py", "io.open(path, 'r+')"),
    (one_place_writes_files, "stores/disk.py", "path.write_text('')"),
    (one_place_writes_files, "stores/disk.py", "os.open(path, os.O_WRONLY)"),
    (one_place_writes_files, "stores/disk.py", "FLAGS = os.O_CREAT"),
    (one_place_writes_files, "stores/disk.py", "os.write(descriptor, b'')"),
    (one_place_writes_files, "stores/disk.py", "os.replace(a, b)"),
    (one_place_writes_files, "stores/disk.py", "from os import rename"),
    (one_place_writes_files, "stores/disk.py", "shutil.copy2(a, b)"),
    (the_core_is_synchronous, "memory/pages.py", "async def f(): ..."),
    (only_the_command_line_prints, "memory/pages.py", "print('x')"),
    (names_say_something, "memory/utils.py", ""),
    (names_say_something, "helpers/pages.py", ""),
    (names_say_something, "memory/pages.py", "class PageManager: ..."),
    (modules_say_their_role, "memory/pages.py", "x = 1"),
    (modules_stay_small, "memory/pages.py", "\n" * 320),
    (nothing_is_left_for_later, "memory/pages.py", "x = 1  # TO" + "DO later"),
)

FINE: tuple[tuple[Rule, str, str], ...] = (
    (imports_run_one_way, "memory/pages.py", "from .scope import Scope\nimport looseleaf.errors"),
    (imports_run_one_way, "atomic.py", "from looseleaf.errors import Locked"),
    (imports_run_one_way, "cli/main.py", "from looseleaf import Workspace"),
    (imports_run_one_way, "__main__.py", "from looseleaf.cli import main"),
    (the_core_is_plain, "memory/pages.py", "from __future__ import annotations\nimport os"),
    (packages_stay_in_their_room, "stores/sql.py", "import sqlalchemy"),
    (imports_stand_at_the_top, "memory/pages.py", "if TYPE_CHECKING:\n    import json"),
    (settings_alone_read_the_environment, "settings.py", "os.environ"),
    (one_place_writes_files, "atomic.py", "os.replace(a, b)"),
    (one_place_writes_files, "cli/main.py", "os.write(1, b'')\ntext.replace('a', 'b')"),
    (
        one_place_writes_files,
        "stores/disk.py",
        "open(path)\nopen(path, 'rb')\nos.open(p, os.O_RDONLY)",
    ),
    (the_core_is_synchronous, "web/app.py", "async def f(): ..."),
    (only_the_command_line_prints, "cli/main.py", "print('x')"),
    (names_say_something, "memory/pages.py", "class Pages: ..."),
    (modules_say_their_role, "memory/pages.py", '"""Pages."""'),
    (modules_stay_small, "memory/pages.py", "\n" * 319),
)


@pytest.mark.parametrize(("rule", "path", "text"), BROKEN)
def test_a_broken_rule_is_noticed(rule: Rule, path: str, text: str) -> None:
    """The rule finds fault with a module that breaks it."""
    assert list(rule(Module(path, text)))


@pytest.mark.parametrize(("rule", "path", "text"), FINE)
def test_what_is_allowed_passes(rule: Rule, path: str, text: str) -> None:
    """The rule finds no fault with a module that keeps it."""
    assert not list(rule(Module(path, text)))


def test_each_rule_is_proved() -> None:
    """No rule stands without a module that breaks it."""
    assert {rule for rule, _, _ in BROKEN} == set(RULES)
