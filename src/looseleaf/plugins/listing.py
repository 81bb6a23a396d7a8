"""What each plugin registered, for people who want to know whose something is."""

from __future__ import annotations

from looseleaf.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.memory.templates import PageStarters
    from looseleaf.operations.registry import Operations
    from looseleaf.plugins.hooks import Plugin
    from looseleaf.prompt.chain import Chain
    from looseleaf.upkeep.schedules import Schedules

    Owned = list[tuple[str, str]]  # who registered it, and its name


def described(
    plugins: Iterable[Plugin],
    pages: tuple[FileRegistry, ComposedSections, PageStarters],
    chain: Chain,
    operations: Operations,
    schedules: Schedules,
) -> tuple[Plugin, ...]:
    """Give the plugins with the names of what each registered, by kind."""
    files, sections, starters = pages
    furniture = chain.furniture
    kinds: dict[str, Owned] = {
        "files": [(one.owner, one.filename) for one in files.files()],
        "composed sections": [
            (one.owner, f"{file.filename}: {one.slug}")
            for file in files.files()
            for one in sections.for_file(file.filename)
        ],
        "starters": _named(starters.all()),
        "directives": _named(chain.directives),
        "content filters": _named(furniture.content_filters.all()),
        "file filters": _named(furniture.file_filters.all()),
        "scoped file filters": _named(furniture.scoped_file_filters.all()),
        "site context": _named(furniture.site_filters.all()),
        "operations": _named(operations.all()),
        "schedules": _named(schedules.all()),
    }

    def of(plugin: str) -> dict[str, tuple[str, ...]]:
        own = {
            kind: tuple(name for owner, name in listed if owner == plugin)
            for kind, listed in kinds.items()
        }
        return {kind: names for kind, names in own.items() if names}

    return tuple(changed(plugin, registered=of(plugin.name)) for plugin in plugins)


def _named(entries: Iterable[Any]) -> Owned:
    return [(one.owner, one.name) for one in entries]
