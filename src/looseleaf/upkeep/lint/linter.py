"""The linter: every rule over the pages of a shelf."""

from __future__ import annotations

from looseleaf.upkeep.lint.facts import (
    find_contradictions,
    find_misplaced_tasks,
    find_stale_entries,
)
from looseleaf.upkeep.lint.model_tokens import find_model_tokens
from looseleaf.upkeep.lint.references import find_dead_links, find_dead_paths
from looseleaf.upkeep.lint.repetition import find_duplicates, find_sections_alike
from looseleaf.upkeep.lint.sizes import find_large_sections, find_over_budget, find_review_due

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from looseleaf.memory.registry import FileRegistry
    from looseleaf.upkeep.lint.page import LintPage
    from looseleaf.upkeep.lint.problem import LintProblem


def lint_pages(
    pages: Iterable[LintPage],
    registry: FileRegistry,
    now: float,
    *,
    path_exists: Callable[[str], bool] | None = None,
) -> Iterator[LintProblem]:
    """Find the problems of the pages of a shelf; without `path_exists`, paths are not checked.

    Generated pages are left out, since an edit would be overwritten.
    """
    pages = list(pages)
    files = frozenset(page.file for page in pages)
    for page in pages:
        file = registry.get(page.file)
        if file is not None and file.composable:
            continue
        yield from lint_page(page, files, registry, now)
        if path_exists is not None:
            yield from find_dead_paths(page, path_exists)


def lint_page(
    page: LintPage, files: frozenset[str], registry: FileRegistry, now: float
) -> Iterator[LintProblem]:
    """Find the problems of one page among others."""
    yield from find_model_tokens(page)
    yield from find_duplicates(page)
    yield from find_contradictions(page)
    yield from find_stale_entries(page, now)
    yield from find_misplaced_tasks(page)
    yield from find_dead_links(page, files)
    yield from find_sections_alike(page)
    yield from find_large_sections(page)
    yield from find_over_budget(page, registry)
    yield from find_review_due(page, now)
