"""Figures of the code's shape: sizes, headers, importers, names, cycles and docstrings.

`python3 dev.py shape` prints the figures, `--list` also every finding. A path as argument measures
another checkout by its `src` folder. The figures are advice; `tests/test_shape.py` holds only that
no modules import each other. Standard library only, so that the script runs on any checkout.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.modules import FUNCTIONS, SOURCE, Module, read_modules

LONG_MODULE = 800  # lines
LARGE_PACKAGE = 25  # entries

# Our habits that other projects do not have, counted in 1,000 sentences of docstrings.
HABITS = {
    'docstrings that open with "Give"': re.compile(r"Give\b"),
    'docstrings that open with "Say whether"': re.compile(r"Say whether\b"),
    'sentences of docstrings with "where"': re.compile(r".* where "),
}


def count_lines(module: Module) -> int:
    """Return the number of lines of a module."""
    return module.text.count("\n")


def count_header_lines(module: Module) -> int:
    """Return the number of lines above the first statement that is no docstring and no import."""
    for position, node in enumerate(module.tree.body):
        if position == 0 and ast.get_docstring(module.tree) is not None:
            continue
        if not ast.unparse(node).startswith(("import ", "from ", "if TYPE_CH", "TYPE_CHECKING = ")):
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            return (decorators[0] if decorators else node).lineno - 1
    return count_lines(module)


def find_long_modules(modules: Iterable[Module]) -> list[str]:
    """Name the modules of more than LONG_MODULE lines."""
    lengths = {module.path: count_lines(module) for module in modules}
    return [f"{path}: {length} lines" for path, length in lengths.items() if length > LONG_MODULE]


def find_large_packages(modules: Iterable[Module]) -> list[str]:
    """Name the packages that list more than LARGE_PACKAGE modules and packages."""
    entries: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        parts = module.path.split("/")
        for depth, entry in enumerate(parts):
            if entry != "__init__.py":
                entries["/".join(parts[:depth]) or "."].add(entry)
    return [
        f"{folder}: {len(names)} entries"
        for folder, names in sorted(entries.items())
        if len(names) > LARGE_PACKAGE
    ]


def find_repeated_classes(modules: Iterable[Module]) -> list[str]:
    """Name the classes of one name that stand in several modules."""
    return _find_repeated(
        (node.name, module.path)
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    )


def find_repeated_modules(modules: Iterable[Module]) -> list[str]:
    """Name the modules of one name that stand in several packages."""
    return _find_repeated(
        (module.path.rpartition("/")[2], module.path) for module in modules if not module.is_package
    )


def _find_repeated(places: Iterable[tuple[str, str]]) -> list[str]:
    paths: dict[str, list[str]] = defaultdict(list)
    for name, path in places:
        paths[name].append(path)
    return [f"{name}: {', '.join(group)}" for name, group in sorted(paths.items()) if group[1:]]


def find_habits(modules: Iterable[Module]) -> dict[str, list[str]]:
    """List, by title, the sentences of docstrings with a habit of ours that others do not have."""
    sentences = [item for module in modules for item in list_sentences(module)]
    return {
        title: [f"{place}: {text}" for place, text in sentences if pattern.match(text)]
        for title, pattern in HABITS.items()
    }


def list_sentences(module: Module) -> Iterator[tuple[str, str]]:
    """Yield place and text of every sentence of the module's docstrings."""
    for node in ast.walk(module.tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)):
            place = f"{module.path}:{getattr(node, 'lineno', 1)}"
            for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                text = " ".join(paragraph.split())
                for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`\"])", text):
                    if " " in sentence:
                        yield place, sentence


def find_sole_importers(modules: Iterable[Module]) -> list[str]:
    """Name the modules that one module alone imports, and that module."""
    importers: dict[str, list[str]] = defaultdict(list)
    for name, targets in build_import_graph(modules).items():
        for target in targets:
            importers[target].append(name)
    return [f"{name} ← {group[0]}" for name, group in sorted(importers.items()) if not group[1:]]


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
    """Return for each module the modules that it imports."""
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
    """Return the module that an import reaches: the target, or the one that defines the name."""
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
    lines = sum(map(count_lines, modules))
    sentences = sum(1 for module in modules for _ in list_sentences(module))
    kinds = Counter(module.is_package for module in modules)
    median = statistics.median(count_lines(m) for m in modules if m.has_code)
    header_share = 100 * sum(map(count_header_lines, modules)) / lines
    figures = {
        "modules": f"{kinds[False]} in {kinds[True]} packages",
        "lines": f"{lines}, median {median:.0f} a module",
        "header lines": f"{header_share:.1f} %",
    }
    for title, figure in figures.items():
        print(f"{title:<44} {figure}")
    findings = {
        f"modules over {LONG_MODULE} lines": find_long_modules(modules),
        f"packages over {LARGE_PACKAGE} entries": find_large_packages(modules),
        "modules with one importer": find_sole_importers(modules),
        "class names used more than once": find_repeated_classes(modules),
        "module names used more than once": find_repeated_modules(modules),
        "cycles of modules": find_cycles(modules),
        **find_habits(modules),
    }
    for title, hits in findings.items():
        share = f" ({1000 * len(hits) / sentences:.0f} in 1,000)" if title in HABITS else ""
        print(f"{title:<44} {len(hits)}{share}")
        if options.list:
            print("".join(f"    {hit}\n" for hit in hits), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
