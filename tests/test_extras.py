"""The base install is small, and says in one line how to get the part that is missing."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from looseleaf import extras
from looseleaf.errors import ExtraMissing
from tests.test_architecture import Module, imports, read_package

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]

# What agent frameworks pin or hold back, each in another way; none of it may come with the base.
PINNED_BY_FRAMEWORKS = {
    "anthropic", "fastapi", "google-genai", "httpx", "mcp", "numpy", "openai", "opentelemetry-api",
    "opentelemetry-sdk", "pydantic", "pydantic-core", "pydantic-settings", "pyjwt", "rich",
    "sse-starlette", "starlette", "tiktoken", "tokenizers", "typer", "uvicorn", "websockets",
}  # fmt: skip

# Import names of what is not called as it is distributed; all else has one name.
IMPORT_NAMES = {
    "mcp": {"mcp", "mcp_types"},
    "psycopg": {"psycopg"},
    "pydantic-ai-slim": {"anthropic", "google", "openai", "pydantic", "pydantic_ai"},
}
# Packages whose modules may need an extra at import; every other import must ask first.
PACKAGES_OF_EXTRAS = {
    "server": {"web", "mcp", "endpoints", "views"},
    "models": {"models"},
}

# Stands in for an environment with the base alone: what only an extra brings cannot be imported.
BASE_ALONE = """
import sys
extra = set(sys.argv.pop(1).split(","))
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in extra:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from looseleaf.cli import main
sys.exit(main(sys.argv[1:]))
"""


def name_of(requirement: str) -> str:
    """Return the name of a distribution that a requirement is about."""
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


def closure(requirements: list[str]) -> set[str]:
    """Name the distributions that the requirements bring here, extras of theirs left out."""
    names: set[str] = set()
    waiting = [name_of(entry) for entry in requirements]
    while waiting:
        name = waiting.pop()
        if name in names:
            continue
        try:
            needed = metadata.distribution(name).requires or []
        except metadata.PackageNotFoundError:
            continue  # for another system
        names.add(name)
        waiting += [name_of(entry) for entry in needed if "extra ==" not in entry]
    return names


BASE = closure(PROJECT["dependencies"])


def only_in_extras() -> set[str]:
    """Return the import names that the base does not bring."""
    return {
        name
        for name, distributions in metadata.packages_distributions().items()
        if not {distribution.lower().replace("_", "-") for distribution in distributions}
        & (BASE | {"looseleaf", "pip"})
    }


def test_the_base_brings_nothing_that_a_framework_pins() -> None:
    """Neither itself nor by what it needs; and it sets no upper bounds of its own."""
    assert "sqlalchemy" in BASE
    assert not BASE & PINNED_BY_FRAMEWORKS
    assert not [
        dependency for dependency in PROJECT["dependencies"] if re.search(r"<|==|~=|!=", dependency)
    ]


def test_the_extras_are_those_of_the_package() -> None:
    """The code knows every extra by its name, and `all` is all of them."""
    # An install line of an earlier version still works, though jobs need no package by now.
    assert OPTIONAL["workflows"] == []
    assert {*extras.EXTRAS, "all", "workflows"} == set(OPTIONAL)
    (every,) = OPTIONAL["all"]
    assert every == f"looseleaf[{','.join(extras.EXTRAS)}]"


def run_base(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command where only the base is installed."""
    command = [sys.executable, "-c", BASE_ALONE, ",".join(only_in_extras()), *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_base_alone_remembers(tmp_path: Path) -> None:
    """Pages, prompts, agents, conversations, accounts, jobs and their worker need no extra."""
    for line in (
        "init . --agent ada",
        "memory append Facts fact",
        "memory read",
        "memory search fact",
        "prompt show",
        "prompt explain",
        "agents list",
        "users list",
        "chat --model echo --message hello",
        "mcp install --client cursor --project --yes",
        "tools export",
        'jobs run --step input={"source":"text","text":"hello"}',
        "work --drain",
        "doctor",
    ):
        done = run_base(*line.split(), cwd=tmp_path)
        notice = "No worker runs, so this command runs the job.\n" if "jobs run" in line else ""
        assert (done.returncode, done.stderr) == (0, notice), (line, done.stderr)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["serve"], "server"),
        (["chat", "--model", "anthropic:claude", "--message", "hello"], "models"),
        (["users", "list"], "postgres"),
    ],
)
def test_a_missing_extra_is_said_in_one_line(
    tmp_path: Path, words: list[str], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an exit code of its own and the line that adds it; help needs nothing."""
    assert run_base("init", cwd=tmp_path).returncode == 0
    assert run_base(words[0], "--help", cwd=tmp_path).returncode == 0
    if extra == "postgres":
        monkeypatch.setenv("LOOSELEAF_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    done = run_base(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (7, "")
    assert done.stderr.count("\n") == 1
    assert f"needs the extra '{extra}'" in done.stderr
    assert done.stderr.endswith(f"--editable '{ROOT}[{extra}]'\n")


def test_an_error_of_an_extra_has_a_code(tmp_path: Path) -> None:
    """As every error has, for programs."""
    assert run_base("init", cwd=tmp_path).returncode == 0
    line = "chat --model anthropic:claude --message hello --format json"
    error = json.loads(run_base(*line.split(), cwd=tmp_path).stderr)["error"]
    assert (error["code"], error["extra"]) == ("extra_missing", "models")
    assert error["line"] in error["message"]


def test_an_older_package_counts_as_missing() -> None:
    """Another program may hold back what an extra needs; a fault of ours stays one."""
    with (
        pytest.raises(ExtraMissing, match="mcp is missing or too old"),
        extras.require_extra("server", "It"),
    ):
        raise ImportError("cannot import name", name="mcp.server")
    with pytest.raises(ImportError) as fault, extras.require_extra("server", "It"):
        raise ModuleNotFoundError("No module", name="looseleaf.nothing")
    assert not isinstance(fault.value, ExtraMissing)


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("uv-receipt.toml", "uv tool install --force "),
        ("pipx_metadata.json", "pipx install --force "),
        ("", f"{sys.executable} -m pip install "),
    ],
)
def test_the_line_fits_how_it_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, line: str
) -> None:
    """A tool's environment is made anew with all that it had; elsewhere one part is added."""
    if file:
        (tmp_path / file).touch()
        monkeypatch.setattr(sys, "prefix", str(tmp_path))
    both = "models,postgres,server,tokens" if file else "models"
    assert extras.format_install_line("models").startswith(line)
    assert extras.format_install_line("models").endswith(f"--editable '{ROOT}[{both}]'")


def needed_extra(name: str) -> str | None:
    """Return which extra brings what is imported by that name."""
    top = name.partition(".")[0]
    for extra in extras.EXTRAS:
        for entry in OPTIONAL[extra]:
            if top in IMPORT_NAMES.get(name_of(entry), {name_of(entry).replace("-", "_")}):
                return extra
    return None


def early_imports(module: Module) -> Iterator[str]:
    """Yield what a module imports when it is imported itself."""
    for node in ast.parse(module.text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (name for _, name in imports(module, node))


def modules_of_extras() -> dict[str, str]:
    """Return each module of ours that cannot be imported without an extra, and the extra."""
    modules = {
        "looseleaf."
        + entry.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): entry
        for entry in read_package()
    }
    early = {name: list(early_imports(entry)) for name, entry in modules.items()}
    found: dict[str, str] = {}
    before = -1
    while before < len(found):
        before = len(found)
        for name, imported in early.items():
            for entry in imported:
                extra = (
                    needed_extra(entry) or found.get(entry) or found.get(entry.rpartition(".")[0])
                )
                if extra:
                    found.setdefault(name, extra)
    return found


def test_only_few_packages_need_an_extra() -> None:
    """Whatever else is imported, the base is enough for it."""
    for name, extra in modules_of_extras().items():
        place = name.split(".")[1]
        if place == "features":
            place = name.rpartition(".")[2].rpartition("_")[2]  # such as job_views
        assert place in PACKAGES_OF_EXTRAS[extra], f"{name} needs the extra {extra}"


def asked_first(module: Module) -> set[int]:
    """Return the lines inside of `with require_extra(…)`."""
    return {
        line
        for node in module.nodes
        if isinstance(node, ast.With)
        and any("require_extra" in ast.unparse(item.context_expr) for item in node.items)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }


def unasked(module: Module, of_extras: dict[str, str]) -> Iterator[str]:
    """Name the late imports of a base module that need an extra and do not ask for it.

    The server alone calls functions that register admin pages or endpoints, or follow its start.
    """
    own = "looseleaf." + module.path.removesuffix(".py").replace("/", ".")
    if own in of_extras:
        return
    guarded = asked_first(module)
    for function in module.nodes:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and not re.search(
            r"_(admin_pages|job_pages|endpoints)$|^on_server_started$", function.name
        ):
            for line, name in imports(module, function):
                extra = (
                    needed_extra(name)
                    or of_extras.get(name)
                    or of_extras.get(name.rpartition(".")[0])
                )
                if extra and line not in guarded:
                    yield f"{module.path}:{line}: {name} needs with require_extra({extra!r}, …)"


def test_every_import_of_an_extra_asks_for_it() -> None:
    """So no command can end in a traceback if a part is missing."""
    of_extras = modules_of_extras()
    assert of_extras["looseleaf.web.server"] == "server"
    assert of_extras["looseleaf.models.pydantic_ai"] == "models"
    faults = [fault for module in read_package() for fault in unasked(module, of_extras)]
    assert not faults, "\n" + "\n".join(faults)
    wrong = Module(
        "cli/new.py", "def f():\n    from looseleaf.web import server\n    import tiktoken"
    )
    assert len(list(unasked(wrong, of_extras))) == 2
