"""The rules of the architecture, as data: allowed imports, and the modules that may do an act.

A rule is a function that checks one module and yields its faults. The first test runs
every rule over the package; the others prove that each rule bites.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "looseleaf"

# A line may import only the lines above it; packages on one line do not import each other.
LINES = (
    "errors values version times schema_check",
    "settings extras schema_fields",
    "files allow_list",
    "http_client",
    "memory models",
    "access",
    "agents",
    "prompt",
    "stores",
    "catalog",
    "operations",
    "plugins",
    "workspace",
    "agent_memory",
    "aio",
    "__init__",
    "mcp adapters remote",
    "web",
    "cli",
    "__main__ features",
    "chat",
    "workflows",
    "upkeep",
    "bundles",
    "imports",
    "backup",
    "review",
)
HEIGHT = {name: height for height, line in enumerate(LINES) for name in line.split()}

# Each is a folder in features/; one may use those before it.
FEATURES = ("chat", "workflows", "upkeep", "bundles", "imports", "backup", "review")
# The modules of a feature that use a surface; nothing else of it does.
SURFACES = {"mcp", "remote", "web", "cli"}
SURFACE_MODULES = ("plugin.py", "*commands.py", "*views.py", "*endpoints.py", "remote.py")

STANDARD_LIBRARY_ONLY = {
    "access",
    "agents",
    "catalog",
    "errors",
    "extras",
    "files",
    "memory",
    "operations",
    "schema_check",
    "schema_fields",
    "times",
    "values",
}

# Libraries that only these packages and modules import, so that they alone change with the library.
LIBRARY_USERS = {
    "alembic": {"stores"},
    "cronsim": {"workflows"},
    "httpcore2": {"http_client"},
    "httpx2": {"http_client", "models", "remote"},
    "jinja2": {"web"},
    "markdown_it": {"web"},
    "mcp": {"mcp"},
    "nh3": {"web"},
    "pluggy": {"plugins", "workspace"},
    "pydantic_ai": {"models"},
    "sqlalchemy": {
        "stores",
        "features/*/tables.py",
        "features/*/sql_*.py",
        "features/backup/database_copies.py",
    },
    "starlette": {"web", "features/*endpoints.py"},
}

# In models/ a library that knows only event loops is hidden behind a synchronous contract.
ASYNC_PACKAGES = {"aio", "web", "mcp", "models", "features/*endpoints.py"}
PRINTING_PACKAGES = {"cli", "features/*commands.py"}
ENVIRONMENT_READERS = {"settings.py"}

# Paths, or patterns of them, of the modules that may write files.
FILE_WRITERS = {"files/atomic.py"}

# Imports inside functions: (module, what it imports), both as patterns, and the reason.
LAZY_IMPORTS: dict[tuple[str, str], str] = {
    ("files/atomic.py", "ctypes"): "3 ms that only a writing process pays",
    ("stores/disk/shelf_folders.py", "ctypes"): "the same, and one that reads many pages",
    ("memory/pages.py", "looseleaf.memory.hidden_characters.*"): "most pages are plain",
    ("memory/pages.py", "looseleaf.memory.replacement.*"): "reading a page replaces nothing",
    ("memory/pages.py", "looseleaf.memory.repeats.*"): "and adds nothing",
    ("memory/pages.py", "looseleaf.memory.day.*"): "the same",
    ("memory/pages.py", "difflib.*"): "only a misspelled name needs it",
    (
        "memory/search/ranking.py",
        "looseleaf.memory.comments.*",
    ): "patterns for pages with notes",
    ("extras.py", "*"): "only where a part is missing: how this installation was made",
    (
        "features/workflows/resources.py",
        "looseleaf.http_client.*",
    ): "0.15 s, and most jobs ask no other server",
    (
        "features/workflows/resources.py",
        "looseleaf.features.workflows.sql_definitions.*",
    ): "SQLAlchemy, and most workflows take no items",
    ("stores/disk/store.py", "looseleaf.stores.disk.*"): "a read changes nothing, and opens no log",
    ("stores/disk/history/page_history.py", "looseleaf.stores.disk.*"): "the same",
    ("stores/disk/history/page_history.py", "looseleaf.memory.blame.*"): "only blame needs it",
    ("prompt/directive.py", "inspect"): "half a start, and plain functions need none of it",
    (
        "catalog/resolution.py",
        "looseleaf.catalog.generated_pages.*",
    ): "most operations make no page from others",
    ("operations/history.py", "looseleaf.memory.blame.*"): "the same, and hashes to load",
    (
        "features/workflows/parts.py",
        "looseleaf.*",
    ): "listing tools needs neither steps nor schedules",
    ("files/folders.py", "unicodedata"): "a library to load, and most names are plain",
    ("memory/scope.py", "unicodedata"): "the same",
    ("cli/output.py", "unicodedata"): "the same: most output is plain",
    ("prompt/outputs.py", "re"): "2 ms to compile two patterns that few texts need",
    ("web/app.py", "looseleaf.mcp.http.*"): "half of the server's start, behind it",
    (
        "stores/disk/history/log_line.py",
        "binascii.*",
    ): "a library to load, and reading a page needs no log",
    (
        "stores/disk/history/revisions.py",
        "looseleaf.stores.disk.history.packs.*",
    ): "3 ms, and most writes come upon no pack",
    (
        "stores/disk/page_changes.py",
        "looseleaf.stores.disk.history.*",
    ): "the same: one write of 64 prunes",
    (
        "stores/disk/history/packs.py",
        "zlib*",
    ): "libraries to load, and only a history with packs needs them",
    (
        "stores/disk/history/packs.py",
        "lzma*",
    ): "the same; and some Pythons are built without it",
    ("memory/store.py", "hashlib"): "a quarter of a cold start, and reading a page needs no hash",
    (
        "memory/scope.py",
        "looseleaf.memory.hidden_characters.*",
    ): "only names that are not plain need it",
    (
        "agents/record.py",
        "looseleaf.memory.hidden_characters.*",
    ): "only a change of a name needs it",
    (
        "stores/disk/agents.py",
        "looseleaf.stores.disk.agent_changes*",
    ): "only a change of the agents needs it",
    (
        "stores/disk/agents.py",
        "looseleaf.agents.config.*",
    ): "the same",
    ("agents/*.py", "json"): "a fifth of a cold start; a plain record is read without it",
    ("agents/record.py", "looseleaf.agents.config.*"): "most agents have no configuration",
    ("stores/disk/history/revisions.py", "json"): "the same: reading a page needs no history",
    ("stores/disk/history/log_line.py", "json"): "the same",
    ("times.py", "zoneinfo.*"): "only a site in another time zone needs it",
    ("times.py", "datetime.*"): "the same: 2 ms that parsing a time takes, and a page has none",
    ("memory/scope.py", "looseleaf.memory.day.*"): "only a page of the journal needs it",
    ("memory/history.py", "looseleaf.memory.day.*"): "only reading the past needs it",
    ("plugins/features.py", "*"): "a feature is loaded by its name",
    ("*/plugin.py", "looseleaf.*"): "a hook loads what it registers, and no more",
    ("plugins/defaults.py", "looseleaf.*"): "a plain read enters neither prompt/ nor the catalog",
    ("plugins/registries.py", "looseleaf.*"): "packages that most commands do not use",
    ("plugins/loader.py", "*"): "a plugin is imported by the name that someone gave it",
    (
        "plugins/discovery.py",
        "looseleaf.catalog.plugin_settings.*",
    ): "only a file with a setting of a plugin needs it",
    ("plugins/discovery.py", "looseleaf.plugins.loader.*"): "pluggy, only where there is a plugin",
    ("prompt/outputs.py", "tiktoken"): "an extra",
    ("prompt/chain.py", "looseleaf.prompt.excerpts.*"): "most prompts fit",
    ("prompt/outputs.py", "looseleaf.extras.*"): "only an extra needs it",
    ("catalog/json_values.py", "base64.*"): "only an upload needs it",
    ("models/by_name.py", "looseleaf.models.openai.*"): "0.15 s, and echo needs no HTTP",
    (
        "models/by_name.py",
        "looseleaf.models.pydantic_ai.*",
    ): "an extra, and a second to import",
    ("catalog/resolution.py", "looseleaf.errors.operations.*"): "a millisecond, for a rare error",
    ("plugins/hooks.py", "looseleaf.errors.operations.*"): "the same",
    ("catalog/dispatch.py", "base64.*"): "only an upload needs it",
    ("catalog/context.py", "looseleaf.memory.history.*"): "only reading the past needs it",
    ("catalog/prompt_assembly.py", "looseleaf.memory.history.*"): "the same",
    ("catalog/context.py", "looseleaf.access.audit.*"): "reading leaves no entry in the audit",
    (
        "catalog/tool_access.py",
        "looseleaf.access.accounts.*",
    ): "only a job acts for a user who is absent",
    ("operations/memory.py", "looseleaf.catalog.json_values.*"): "the same, and no part of a read",
    (
        "stores/database/database.py",
        "alembic.*",
    ): "longer to import than to open a database; rarely needed",
    (
        "features/backup/source.py",
        "looseleaf.features.backup.database_copies.*",
    ): "a backup of SQLite needs no SQLAlchemy",
    ("features/backup/restoration.py", "looseleaf.*"): "nor does a restore of one",
    (
        "features/workflows/jobs/sql_jobs.py",
        "sqlalchemy.dialects.*",
    ): "each database has an insert of its own",
    (
        "features/workflows/jobs/runtime.py",
        "looseleaf.*",
    ): "a page command opens no job, and a list no worker",
    ("settings.py", "tomllib"): "as large as the rest of a cold start; comments need no parser",
    ("__init__.py", "*looseleaf*"): "a command imports only the names it uses",
    ("workspace.py", "looseleaf.*"): "packages that most commands do not use",
    ("cli/__init__.py", "looseleaf.cli.*"): "a plain read needs no click, and --help no workspace",
    ("cli/command_line.py", "module"): "a command is imported when it is run, by its name",
    ("cli/derived_commands.py", "module"): "the same: an operation is imported when it is run",
    ("cli/derived_commands.py", "looseleaf.*"): "a list of commands needs no operation",
    ("cli/command_line.py", "looseleaf.*"): "a command of the core needs no feature and no plugin",
    ("cli/commands/*.py", "looseleaf.*"): "--help needs no workspace, no server and no operation",
    ("features/*commands.py", "looseleaf.*"): "the same",
    ("catalog/tool_access.py", "difflib.*"): "only a misspelled word needs it",
    ("cli/*.py", "click.shell_completion.*"): "only a shell that completes needs it",
    ("cli/arguments.py", "looseleaf.*"): "--help needs no workspace",
    ("cli/commands/memory.py", "tempfile"): "hashes and random numbers, only to edit a page",
    ("cli/commands/workspace.py", "http.client"): "e-mail and ssl, for one line of the status",
    (
        "features/chat/commands.py",
        "readline",
    ): "it changes how a terminal is read, and some Pythons have none",
    (
        "features/chat/operations.py",
        "looseleaf.features.chat.remote*",
    ): "only a conversation on a server needs it",
    ("operations/prompt*.py", "looseleaf.*"): "a server over stdio lists tools before it composes",
    ("catalog/prompt_assembly.py", "looseleaf.prompt.*"): "the same",
    ("catalog/prompt_assembly.py", "shlex"): "the same",
    (
        "features/backup/operations.py",
        "looseleaf.*",
    ): "the same: hashes and databases, for a rare act",
    (
        "features/imports/export_operations.py",
        "looseleaf.features.imports.git.*",
    ): "the same: other programs",
    ("mcp/stdio.py", "looseleaf.mcp.*"): "the same: it lists tools by itself",
    (
        "features/workflows/documents.py",
        "looseleaf.features.workflows.schedules.*",
    ): "the same: a parser of cron",
    ("operations/settings.py", "difflib.*"): "only a misspelled name needs it",
    ("operations/settings.py", "looseleaf.stores.disk.create.*"): "a parser, for a rare change",
    ("operations/search.py", "looseleaf.memory.*"): "the same: it lists tools before it searches",
    ("operations/daily.py", "looseleaf.memory.daily.*"): "the same",
    ("catalog/declaration.py", "looseleaf.catalog.page_access.*"): "only agents have a policy",
    (
        "stores/database/audit_chain.py",
        "hashlib",
    ): "the same: settings are read before an entry is added",
    ("mcp/methods.py", "traceback"): "only a fault of ours needs it",
    ("web/http/workers.py", "ctypes"): "only a read that looks at no deadline needs it",
    (
        "catalog/registry.py",
        "inspect",
    ): "a start of Python, and only a plugin's function needs it",
    ("stores/database/tables.py", "name"): "a database opens without features, by their names",
    (
        "stores/database/open_database.py",
        "looseleaf.stores.*",
    ): "SQLAlchemy, ten times as long as a start",
    ("cli/output.py", "json"): "a plain read needs no JSON",
}

# A time is formatted, parsed and asked for in times.py; a clock may be passed on as `time.time`.
TIME_MODULES = {"calendar", "datetime"}
TIME_CALLS = {"asctime", "ctime", "gmtime", "localtime", "mktime", "time"}
# Texts that are a rule: the pattern, the one module that has it, and what it is.
OWNED_TEXTS = {
    r"(?<!/files/agent/)\bdaily/": ("memory/day.py", "the name of a day's page"),
    r"/proc/.*mount": ("files/mounts.py", "the list of mount points"),
    r"^(per_page|x-wp-total.*)$": ("web/rest/calls.py", "how a list is divided into pages"),
}
PAGE_PACKAGES = {"memory", "operations", "stores", "upkeep", "bundles", "workflows", "review"}

# Modules that ask objects of other libraries, or of plugins, for what they may have.
FOREIGN_OBJECTS: dict[str, str] = {
    "catalog/signature.py": "a result of a plugin may bring the document it leaves as",
    "cli/output.py": "any stream can stand in for standard output",
    "extras.py": "an attribute of some Pythons",
    "files/atomic.py": "functions that only some systems have",
    "files/mounts.py": "the same",
    "memory/policy.py": "any mapping, without importing what says that it is one",
    "models/retries.py": "a stream of the library",
    "models/pydantic_ai.py": "errors and clients of the library",
    "plugins/hooks.py": "the check of what a plugin has given",
    "plugins/loader.py": "the marks that pluggy leaves on functions",
    "stores/database/database.py": "errors of drivers",
    "stores/index/search_index.py": "errors of the driver",
    "values.py": "a class may have a method that normalizes its fields",
    "web/admin/views/editor.py": "the state of the application",
    "web/admin/site.py": "errors of the web framework",
    "web/app.py": "the state of the application",
    "web/http/responses.py": "errors of the web framework",
    "features/chat/endpoints.py": "the state of the application",
}

EMPTY_NAMES = {"base", "common", "core", "helpers", "misc", "utils"}
EMPTY_ENDINGS = ("Factory", "Helper", "Impl", "Manager", "Service", "Util", "Utils")

MOST_POSITIONAL = 6
# Calls that take a list of things of one kind: columns of a table, modules with operations.
LISTING_CALLS = {"Table", "add_declared", "create_table"}

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
    def package(self) -> str:
        """The package below `looseleaf`, or the feature."""
        parts = self.path.removesuffix(".py").split("/")
        return parts[1] if parts[0] == "features" and len(parts) > 2 else parts[0]

    @property
    def nodes(self) -> list[ast.AST]:
        return parsed(self)


@cache
def parsed(module: Module) -> list[ast.AST]:
    """Return every node of a module; each rule looks at the same ones."""
    return list(ast.walk(ast.parse(module.text, module.path)))


Fault = tuple[int, str]
Rule = Callable[[Module], Iterator[Fault]]


def imports(module: Module, tree: ast.AST | None = None) -> Iterator[Fault]:
    """Yield line and full dotted name of everything a module, or a part of it, imports."""
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
    """Yield every call with what it is called on ("" for a plain name) and its name."""
    for node in module.nodes:
        match node:
            case ast.Call(func=ast.Name(name)):
                yield node, "", name
            case ast.Call(func=ast.Attribute(owner, name)):
                yield node, ast.unparse(owner), name


def place_import(name: str) -> str:
    """Return the package or feature that an imported name of Looseleaf belongs to."""
    parts = name.split(".")[1:]
    if parts[:1] == ["features"]:
        return parts[1]
    return parts[0] if parts and (parts[0] in HEIGHT or len(parts) > 1) else "__init__"


def imports_run_one_way(module: Module) -> Iterator[Fault]:
    place = module.package
    if place not in HEIGHT:
        yield 1, f"the package {place!r} is new: give it its place in LINES"
        return
    is_surface = any(fnmatch(module.path.rpartition("/")[2], name) for name in SURFACE_MODULES)
    for line, name in imports(module):
        if name.partition(".")[0] != "looseleaf":
            continue
        target = place_import(name)
        if target not in HEIGHT:
            yield line, f"the package {target!r} is new: give it its place in LINES"
        elif target != place and HEIGHT[target] >= HEIGHT[place]:
            yield line, f"{place} may not import {target}: move the shared thing further down"
        elif place in FEATURES and target in SURFACES and not is_surface:
            yield line, f"{module.path} may not import {target}: only views and commands do"


def the_core_is_plain(module: Module) -> Iterator[Fault]:
    if module.package in STANDARD_LIBRARY_ONLY:
        for line, name in imports(module):
            top = name.split(".")[0]
            if top != "looseleaf" and top not in sys.stdlib_module_names:
                yield line, f"{top} is not in the standard library: use it in a package above"


def is_any(module: Module, places: set[str]) -> bool:
    """Return whether a module lies in a package, or has a path of a pattern, of those named."""
    return module.package in places or any(fnmatch(module.path, place) for place in places)


def libraries_stay_in_their_packages(module: Module) -> Iterator[Fault]:
    for line, name in imports(module):
        users = LIBRARY_USERS.get(name.split(".")[0])
        if users and not is_any(module, users):
            yield line, f"{name} belongs to {', '.join(sorted(users))}: go through its contract"


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
    advice = "write through files/atomic.py, or add the module to FILE_WRITERS if it must"
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
    """Decide by its mode, wherever among the first two arguments that stands."""
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
    if not is_any(module, ASYNC_PACKAGES):
        for node in module.nodes:
            if isinstance(node, ast.AsyncFunctionDef):
                yield (
                    node.lineno,
                    f"async def {node.name}: the core is synchronous; await at the edge",
                )


def only_the_command_line_prints(module: Module) -> Iterator[Fault]:
    if not is_any(module, PRINTING_PACKAGES):
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


def one_module_knows_times(module: Module) -> Iterator[Fault]:
    if module.path == "times.py":
        return
    advice = "format, parse and ask for times through times.py"
    for line, name in imports(module):
        if name.split(".")[0] in TIME_MODULES:
            yield line, f"{name}: {advice}"
    for call, owner, name in calls(module):
        if (owner == "time" and name in TIME_CALLS) or name in {"strftime", "strptime"}:
            yield call.lineno, f"{owner}.{name}: {advice}"
    for line, text in texts(module):
        if re.search(r"%[HM]:%[MS]|%Y-%m", text):
            yield line, f"{text!r} is a format of times: {advice}"
    for node in module.nodes:
        if isinstance(node, ast.Constant) and node.value == 86_400:
            yield node.lineno, "86_400 is DAY_SECONDS of times.py"


def one_module_knows_rules(module: Module) -> Iterator[Fault]:
    """A rule that is written as a text stands in one module: how a day's page is called, …"""
    for line, text in texts(module):
        for pattern, (owner, what) in OWNED_TEXTS.items():
            if module.path != owner and re.search(pattern, text):
                yield line, f"{text!r}: {what} stands in {owner}"


def texts(module: Module) -> Iterator[Fault]:
    """Yield line and value of every text that is no docstring, the parts of f-strings too."""
    documented = {
        id(node.body[0].value)
        for node in module.nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in module.nodes:
        match node:
            case ast.Constant(value=str(text)) if id(node) not in documented:
                yield node.lineno, text


def one_module_ends_lines(module: Module) -> Iterator[Fault]:
    if module.package not in PAGE_PACKAGES or module.path == "memory/sections.py":
        return
    for node in module.nodes:
        match node:
            case ast.IfExp(
                body=ast.Constant(value=str(one)), orelse=ast.Constant(value=str(other))
            ):
                if {one, other} & {"\n", "\r\n"} and not one.strip() + other.strip():
                    advice = "end_line, end_paragraph and newline_of of memory/sections.py know it"
                    yield node.lineno, f"what ends a line of a page: {advice}"


def abilities_are_declared(module: Module) -> Iterator[Fault]:
    if module.path in FOREIGN_OBJECTS:
        return
    for call, _owner, name in calls(module):
        if name not in {"getattr", "hasattr"} or len(call.args) < 2:
            continue
        attribute = call.args[1]
        if isinstance(attribute, ast.Constant) and not str(attribute.value).startswith("__"):
            yield call.lineno, f"{name}: declare the ability in a protocol, never look for it"


def configurations_are_read_in_one_place(module: Module) -> Iterator[Fault]:
    if module.package == "agents":
        return
    for node in module.nodes:
        match node:
            case ast.Attribute(ast.Attribute(attr="config"), "get"):
                yield node.lineno, "config.get: read record.configuration (agents/config.py)"
            case ast.Subscript(ast.Attribute(attr="config")):
                yield node.lineno, "config[…]: read record.configuration (agents/config.py)"


def operations_hold_nothing_else(module: Module) -> Iterator[Fault]:
    if module.package != "operations" or module.path.endswith("__init__.py"):
        return
    decorators = (
        decorator
        for node in module.nodes
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    )
    if not any(ast.unparse(decorator).startswith("operation(") for decorator in decorators):
        yield 1, "it declares no operation: its place is catalog/ or job_runtime/"


def modules_say_their_role(module: Module) -> Iterator[Fault]:
    if not ast.get_docstring(ast.parse(module.text)):
        yield 1, "no docstring: begin with one sentence that says the module's role"


def nothing_is_left_for_later(module: Module) -> Iterator[Fault]:
    for line, text in enumerate(module.text.splitlines(), 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b", text):
            yield line, "a note for later: do it now, or write it down outside the code"


def arguments_cannot_be_mixed_up(module: Module) -> Iterator[Fault]:
    for call, _owner, name in calls(module):
        if len(call.args) > MOST_POSITIONAL and name not in LISTING_CALLS:
            yield call.lineno, f"{name}: {len(call.args)} positional arguments; pass them by name"


RULES: tuple[Rule, ...] = (
    imports_run_one_way,
    the_core_is_plain,
    libraries_stay_in_their_packages,
    imports_stand_at_the_top,
    settings_alone_read_the_environment,
    one_place_writes_files,
    the_core_is_synchronous,
    only_the_command_line_prints,
    names_say_something,
    one_module_knows_times,
    one_module_knows_rules,
    one_module_ends_lines,
    abilities_are_declared,
    configurations_are_read_in_one_place,
    operations_hold_nothing_else,
    modules_say_their_role,
    nothing_is_left_for_later,
    arguments_cannot_be_mixed_up,
)


def read_package() -> list[Module]:
    return [
        Module(path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Rule) -> None:
    """No module of the package breaks the rule."""
    faults = {f"{m.path}:{line}: {what}": None for m in read_package() for line, what in rule(m)}
    assert not faults, "\n" + "\n".join(faults)


def test_every_lazy_import_is_still_used() -> None:
    """LAZY_IMPORTS allows nothing that the package no longer does."""
    done = [(m.path, name) for m in read_package() for _, name in imports(m)]
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
    (imports_run_one_way, "memory/pages.py", "import looseleaf.stores.disk.store"),
    (imports_run_one_way, "memory/pages.py", "import looseleaf"),
    (imports_run_one_way, "memory/pages.py", "from looseleaf import Workspace"),
    (imports_run_one_way, "memory/pages.py", "if TYPE_CHECKING:\n    import looseleaf.agents"),
    (imports_run_one_way, "memory/pages.py", "import_module('looseleaf.agents')"),
    (imports_run_one_way, "features/chat/turn.py", "from looseleaf.features.workflows import jobs"),
    (imports_run_one_way, "errors.py", "from looseleaf.values import value"),
    (imports_run_one_way, "settings.py", "from looseleaf import files"),
    (imports_run_one_way, "novelty/new.py", ""),
    (imports_run_one_way, "cli/main.py", "from looseleaf.novelty import new"),
    (the_core_is_plain, "memory/pages.py", "import click"),
    (the_core_is_plain, "operations/pages.py", "def f():\n    from pydantic import BaseModel"),
    (the_core_is_plain, "values.py", "if TYPE_CHECKING:\n    import typing_extensions"),
    (libraries_stay_in_their_packages, "agents/records.py", "import sqlalchemy as sa"),
    (
        libraries_stay_in_their_packages,
        "cli/commands/serve.py",
        "from starlette.requests import Request",
    ),
    (imports_stand_at_the_top, "memory/pages.py", "def f():\n    import json"),
    (
        imports_stand_at_the_top,
        "agents/a.py",
        "class A:\n    def f(self):\n        from os import x",
    ),
    (imports_stand_at_the_top, "agents/a.py", "async def f():\n    importlib.import_module('x')"),
    (settings_alone_read_the_environment, "files/atomic.py", "os.environ['HOME']"),
    (settings_alone_read_the_environment, "cli/main.py", "home = os.getenv('HOME')"),
    (settings_alone_read_the_environment, "cli/main.py", "from os import environ"),
    (one_place_writes_files, "stores/disk/store.py", "open(path, 'w')"),
    (one_place_writes_files, "stores/disk/store.py", "open(path, mode='ab')"),
    (one_place_writes_files, "stores/disk/store.py", "path.open('x')"),
    (one_place_writes_files, "stores/disk/store.py", "io.open(path, 'r+')"),
    (one_place_writes_files, "stores/disk/store.py", "path.write_text('')"),
    (one_place_writes_files, "stores/disk/store.py", "os.open(path, os.O_WRONLY)"),
    (one_place_writes_files, "stores/disk/store.py", "FLAGS = os.O_CREAT"),
    (one_place_writes_files, "stores/disk/store.py", "os.write(descriptor, b'')"),
    (one_place_writes_files, "stores/disk/store.py", "os.replace(a, b)"),
    (one_place_writes_files, "stores/disk/store.py", "from os import rename"),
    (one_place_writes_files, "stores/disk/store.py", "shutil.copy2(a, b)"),
    (the_core_is_synchronous, "memory/pages.py", "async def f(): ..."),
    (only_the_command_line_prints, "memory/pages.py", "print('x')"),
    (names_say_something, "memory/utils.py", ""),
    (names_say_something, "helpers/pages.py", ""),
    (names_say_something, "memory/pages.py", "class PageManager: ..."),
    (one_module_knows_times, "memory/pages.py", "from datetime import UTC"),
    (one_module_knows_times, "memory/pages.py", "def f():\n    import calendar"),
    (one_module_knows_times, "memory/pages.py", "time.strftime('%Y')"),
    (one_module_knows_times, "memory/pages.py", "moment.strftime('x')"),
    (one_module_knows_times, "memory/pages.py", "now = time.time()"),
    (one_module_knows_times, "memory/pages.py", "f'{now:%Y-%m-%d}'"),
    (one_module_knows_times, "memory/pages.py", "f'{now:%H:%M}'"),
    (one_module_knows_times, "memory/pages.py", "since = now - 7 * 86_400"),
    (one_module_knows_rules, "operations/files.py", "name.startswith('daily/')"),
    (one_module_knows_rules, "operations/files.py", "f'daily/{day}.md'"),
    (one_module_knows_rules, "stores/disk/store.py", "open('/proc/self/mountinfo')"),
    (one_module_knows_rules, "web/rest/pages.py", "query['per_page']"),
    (one_module_ends_lines, "memory/pages.py", "'' if text.endswith('\\n') else '\\n'"),
    (one_module_ends_lines, "memory/pages.py", "'\\r\\n' if '\\r\\n' in text else '\\n'"),
    (abilities_are_declared, "memory/pages.py", "path = getattr(store, 'path', None)"),
    (operations_hold_nothing_else, "operations/slices.py", "def cut(): ..."),
    (abilities_are_declared, "operations/files.py", "if hasattr(store, 'path'): ..."),
    (configurations_are_read_in_one_place, "features/chat/turn.py", "agent.config.get('chat')"),
    (configurations_are_read_in_one_place, "features/chat/turn.py", "agent.config['chat']"),
    (modules_say_their_role, "memory/pages.py", "x = 1"),
    (nothing_is_left_for_later, "memory/pages.py", "x = 1  # TO" + "DO later"),
    (arguments_cannot_be_mixed_up, "memory/pages.py", "Saved(a, b, c, d, e, f, g)"),
    (arguments_cannot_be_mixed_up, "memory/pages.py", "pages.save(a, b, c, d, e, f, *rest)"),
)

FINE: tuple[tuple[Rule, str, str], ...] = (
    (imports_run_one_way, "memory/pages.py", "from .scope import Scope\nimport looseleaf.errors"),
    (imports_run_one_way, "files/atomic.py", "from looseleaf.errors import Locked"),
    (imports_run_one_way, "cli/main.py", "from looseleaf import Workspace"),
    (imports_run_one_way, "__main__.py", "from looseleaf.cli import main"),
    (the_core_is_plain, "memory/pages.py", "from __future__ import annotations\nimport os"),
    (libraries_stay_in_their_packages, "stores/sql.py", "import sqlalchemy"),
    (imports_stand_at_the_top, "memory/pages.py", "if TYPE_CHECKING:\n    import json"),
    (settings_alone_read_the_environment, "settings.py", "os.environ"),
    (one_place_writes_files, "files/atomic.py", "os.replace(a, b)"),
    (one_place_writes_files, "cli/main.py", "os.write(1, b'')\ntext.replace('a', 'b')"),
    (
        one_place_writes_files,
        "stores/disk/store.py",
        "open(path)\nopen(path, 'rb')\nos.open(p, os.O_RDONLY)",
    ),
    (the_core_is_synchronous, "web/app.py", "async def f(): ..."),
    (only_the_command_line_prints, "cli/main.py", "print('x')"),
    (names_say_something, "memory/pages.py", "class Pages: ..."),
    (one_module_knows_times, "times.py", "from datetime import UTC\ntime.gmtime(86_400)"),
    (one_module_knows_times, "memory/pages.py", "def f(clock=time.time): time.monotonic()"),
    (one_module_knows_rules, "memory/day.py", "'daily/'"),
    (one_module_knows_rules, "web/app.py", "'/datamachine/v1/files/agent/daily/append'"),
    (one_module_knows_rules, "memory/pages.py", '"""Pages, daily/2026/04/17.md too."""'),
    (one_module_ends_lines, "memory/sections.py", "'' if text.endswith('\\n') else '\\n'"),
    (operations_hold_nothing_else, "operations/a.py", "@operation('x/y')\ndef f(): ..."),
    (operations_hold_nothing_else, "catalog/slices.py", "def cut(): ..."),
    (abilities_are_declared, "memory/pages.py", "getattr(value, name)"),
    (configurations_are_read_in_one_place, "features/chat/turn.py", "agent.configuration.chat"),
    (modules_say_their_role, "memory/pages.py", '"""Pages."""'),
    (arguments_cannot_be_mixed_up, "memory/pages.py", "Saved(a, b, c, d, e, f, hash=g)"),
    (arguments_cannot_be_mixed_up, "stores/t.py", "sa.Table('t', m, a, b, c, d, e)"),
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


REPOSITORY = PACKAGE.parent.parent
PLAN = REPOSITORY / "docs" / "architecture.md"


def _is_path(name: str) -> bool:
    """Return whether a name is the end of a path of a source file, a test, a page or a folder."""
    tail = "/" + name.rstrip("/")
    folders = (PACKAGE, REPOSITORY / "tests", REPOSITORY / "docs")
    return any(path.as_posix().endswith(tail) for folder in folders for path in folder.rglob("*"))


def test_the_page_of_the_plan_names_modules_that_exist() -> None:
    """Every path in docs/architecture.md is a file or folder of the repository."""
    names = set(re.findall(r"`([a-z_]+(?:/[\w]+)*(?:/|\.py|\.md))`", PLAN.read_text()))
    missing = {name for name in names if not _is_path(name)}
    planned = {f"{word}/" for line in LINES for word in line.split()}
    assert not missing - planned


def test_the_page_of_reasons_follows_the_plan() -> None:
    """Sections of docs/why.md are packages, each once, in their order; reasons are questions."""
    lines = (REPOSITORY / "docs" / "why.md").read_text().splitlines()
    sections = [line[3:] for line in lines if line.startswith("## ")]
    places = [name.removesuffix(".py").partition("/")[0] for name in sections[1:]]
    heights = [HEIGHT[place] for place in places if place not in FEATURES]
    assert sections[0] == "The installation"
    assert heights == sorted(heights)
    assert len(set(sections)) == len(sections)
    assert not [line for line in lines if line.startswith("### ") and not line.endswith("?")]


def _plan_rows() -> dict[str, str]:
    """Return the rows of the table of packages, each by every name in its first column."""
    rows = [line.split("|") for line in PLAN.read_text().splitlines() if line.startswith("| `")]
    return {name: row[2] for row in rows for name in re.findall(r"`([^`]+)`", row[1])}


def test_the_page_of_the_plan_names_every_package() -> None:
    """Every package and top-level module has a row in docs/architecture.md, or is in its parent's.

    Whoever adds a package adds its row, with one line that says what the package holds.
    """
    rows = _plan_rows()
    packages = {path.parent.relative_to(PACKAGE) for path in PACKAGE.glob("*/**/__init__.py")}
    unnamed_packages = [
        f"{path.as_posix()}/"
        for path in sorted(packages)
        if f"{path.as_posix()}/" not in rows
        and f"`{path.name}/`" not in rows.get(f"{path.parent.as_posix()}/", "")
    ]
    modules = {path.name for path in PACKAGE.glob("*.py")}
    assert not [*unnamed_packages, *sorted(modules - rows.keys())]
    assert all(len(text.split()) > 2 for text in rows.values())


def test_the_page_of_the_plan_has_the_direction_of_imports() -> None:
    """The order in docs/architecture.md is the order that the rules hold."""
    block = re.search(r"```text\n(.*?)```", PLAN.read_text(), re.DOTALL)
    assert block is not None
    order = [" ".join(line.split(" · ")) for line in block[1].splitlines()]
    assert order == [line for line in LINES if not line.startswith("__")]
