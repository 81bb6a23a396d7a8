"""The list of plugins with the entries that each registered."""

from __future__ import annotations

from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from looseleaf.catalog.registry import Operations
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.memory.templates import PageStarters
    from looseleaf.plugins.hooks import Plugin
    from looseleaf.prompt.chain import Chain

    OwnedNames = Sequence[tuple[str, str]]  # owner and name of each entry


def list_plugins(
    plugins: Iterable[Plugin],
    pages: tuple[FileRegistry, ComposedSections, PageStarters],
    chain: Chain,
    operations: Operations,
    feature_entries: Mapping[str, OwnedNames],
) -> tuple[Plugin, ...]:
    """List the plugins with the names of their entries, by kind."""
    files, sections, starters = pages
    parts = chain.parts
    kinds: dict[str, OwnedNames] = {
        "files": [(file.owner, file.filename) for file in files.files()],
        "composed sections": [
            (section.owner, f"{file.filename}: {section.slug}")
            for file in files.files()
            for section in sections.for_file(file.filename)
        ],
        "starters": _list_owned_names(starters.all()),
        "directives": _list_owned_names(chain.directives),
        "content filters": _list_owned_names(parts.content_filters.all()),
        "file filters": _list_owned_names(parts.file_filters.all()),
        "scoped file filters": _list_owned_names(parts.scoped_file_filters.all()),
        "site context": _list_owned_names(parts.site_filters.all()),
        "operations": _list_owned_names(operations.all()),
        **feature_entries,
    }

    def entries_of(plugin: str) -> dict[str, tuple[str, ...]]:
        by_kind = {
            kind: tuple(name for owner, name in entries if owner == plugin)
            for kind, entries in kinds.items()
        }
        return {kind: names for kind, names in by_kind.items() if names}

    return tuple(replace(plugin, registered=entries_of(plugin.name)) for plugin in plugins)


def _list_owned_names(entries: Iterable[Any]) -> OwnedNames:
    return [(entry.owner, entry.name) for entry in entries]
