"""The shape of the code in figures: sizes, cycles, names, sentences and tests beside modules.

`python3 dev.py shape` prints the figures, `--list` also every finding. A path as argument measures
another checkout (its `src` folder, with `docs` and `tests` beside it). `tests/test_shape.py` holds
the limits. Standard library only, so that the script runs on any checkout.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.clause_subjects import (
    find_clause_subjects,
    list_docstring_sentences,
    read_docs_sentences,
)
from tests.function_names import find_functions_without_verb
from tests.modules import SOURCE, Module, read_modules, read_scripts
from tests.tested_in import TESTED_IN
from tests.unclear_names import find_unclear_names, split_words

MOST_LINES = 800
MOST_MODULES = 25

# Packages that are plain lists of nouns: they may hold any number of modules.
LISTS_OF_NOUNS = {"operations", "cli/commands"}

# Module names that tell a stranger nothing, or show a picture instead of the thing.
EMPTY_MODULE_NAMES = split_words(
    """
    base common core helpers misc utils util shared stuff things various other general basics
    manager handler service lib answers beginnings bridge characters compatible desk differences
    door elsewhere failures find freshness furniture held home hot moment named native offer
    opening patient projection provided reception recent rooms swap talk talking watching
    whole_body wire
    """
)


def find_long_modules(modules: Iterable[Module]) -> list[str]:
    """Name the modules over the limit."""
    lengths = {module.path: module.text.count("\n") for module in modules}
    return [f"{path}: {length} lines" for path, length in lengths.items() if length > MOST_LINES]


def measure_median(modules: Iterable[Module]) -> int:
    """Give the median number of lines of the modules that hold code."""
    return round(statistics.median(m.text.count("\n") for m in modules if m.has_code))


def find_large_packages(modules: Iterable[Module]) -> list[str]:
    """Name the packages that hold too many modules directly."""
    counts: dict[str, int] = {}
    for module in modules:
        if not module.is_package:
            folder = module.path.rpartition("/")[0]
            counts[folder] = counts.get(folder, 0) + 1
    return [
        f"{folder or '.'}: {count} modules"
        for folder, count in counts.items()
        if count > MOST_MODULES and folder not in LISTS_OF_NOUNS
    ]


def find_empty_names(modules: Iterable[Module]) -> list[str]:
    """Name the modules and packages whose names tell nothing."""
    return [
        module.path
        for module in modules
        if any(
            part.lstrip("_") in EMPTY_MODULE_NAMES
            for part in module.path.removesuffix(".py").split("/")
        )
    ]


def find_cycles(modules: Iterable[Module]) -> list[str]:
    """Name every group of modules that import each other, type imports and late ones included."""
    graph = build_import_graph(modules)
    reach = {name: _find_reachable(graph, name) for name in graph}
    groups = {
        tuple(sorted(n for n in reach[name] if name in reach[n]))
        for name in graph
        if name in reach[name]
    }
    return [" ↔ ".join(group) for group in sorted(groups)]


def build_import_graph(modules: Iterable[Module]) -> dict[str, set[str]]:
    """Give for each module the modules that it imports."""
    by_name = {module.dotted: module for module in modules}
    graph: dict[str, set[str]] = {}
    for name, module in by_name.items():
        targets = {_find_module(target, by_name) for target in _list_imports(module)}
        graph[name] = {target for target in targets if target} - {name}
    return graph


def _list_imports(module: Module) -> Iterator[str]:
    package = module.dotted.split(".") if module.is_package else module.dotted.split(".")[:-1]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _find_module(target: str, by_name: dict[str, Module]) -> str | None:
    """Give the module that an import reaches: the target, or the module that defines the name."""
    if target in by_name:
        return target
    parent = target.rpartition(".")[0]
    return parent if parent in by_name else None


def _find_reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    names_reached: set[str] = set()
    queue = list(graph[start])
    while queue:
        name = queue.pop()
        if name not in names_reached:
            names_reached.add(name)
            queue += graph[name]
    return names_reached


def find_untested(
    modules: Iterable[Module], source: Path, places: Mapping[str, object]
) -> list[str]:
    """Name the modules that have neither a test of their name nor a stated place."""
    tests = source.parent / "tests"
    return [
        module.path
        for module in modules
        if module.has_code
        and module.path not in places
        and not (tests / test_path_of(module.path)).is_file()
    ]


def test_path_of(path: str) -> str:
    """Give the test file of a module: `tests/memory/test_daily.py` for `memory/daily.py`."""
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts = [*parts[:-1], parts[-2]] if len(parts) > 1 else ["public_names"]
    return "/".join([*parts[:-1], f"test_{parts[-1].strip('_')}.py"])


def main(arguments: list[str]) -> int:
    """Print the figures of a checkout."""
    parser = argparse.ArgumentParser(prog="python3 dev.py shape", description=main.__doc__)
    parser.add_argument("source", nargs="?", type=Path, default=SOURCE, help="a src folder")
    parser.add_argument("--list", action="store_true", help="print every finding")
    options = parser.parse_args(arguments)
    source = options.source.resolve()
    if not (source / "looseleaf").is_dir():
        parser.error(f"{source} holds no package looseleaf")
    modules = read_modules(source)
    unclear, names = find_unclear_names(modules)
    verbless, functions = find_functions_without_verb(modules)
    scripts = read_scripts(source)
    unclear_in_scripts, script_names = find_unclear_names(scripts)
    verbless_in_scripts, script_functions = find_functions_without_verb(scripts)
    clauses, sentences = find_clause_subjects(read_docs_sentences(source))
    in_docstrings, docstrings = find_clause_subjects(list_docstring_sentences(modules))
    modules_with_code = [module for module in modules if module.has_code]
    modules_without_test = find_untested(modules, source, TESTED_IN)
    print(
        f"modules                          {len(modules)}, median {measure_median(modules)} lines"
    )
    rows = (
        (f"modules over {MOST_LINES} lines", find_long_modules(modules), 0),
        (f"packages over {MOST_MODULES} modules", find_large_packages(modules), 0),
        ("module names that say nothing", find_empty_names(modules), len(modules)),
        ("cycles of modules", find_cycles(modules), 0),
        ("participles and pronouns", unclear, names),
        ("functions without a verb", verbless, functions),
        ("participles, benchmarks, dev.py", unclear_in_scripts, script_names),
        ("no verb, benchmarks and dev.py", verbless_in_scripts, script_functions),
        ("clauses as subject, docs", clauses, sentences),
        ("clauses as subject, docstrings", in_docstrings, docstrings),
        ("modules without a test", modules_without_test, len(modules_with_code)),
    )
    for title, hits, total in rows:
        share = f" of {total} ({100 * len(hits) / total:.2f} %)" if total else ""
        print(f"{title:<32} {len(hits)}{share}")
        if options.list:
            print("".join(f"    {hit}\n" for hit in hits), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
