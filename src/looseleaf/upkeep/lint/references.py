"""References that lead nowhere: links to pages, and paths of this machine."""

from __future__ import annotations

import os
import posixpath
import re

from looseleaf.upkeep.lint.problem import LintProblem, archive_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Set

    from looseleaf.upkeep.lint.page import LintPage

_LINK = re.compile(r"\]\(\s*<?([^()<>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PATH = re.compile(r"(?<![\w./:@~-])(~?/[\w.@+-]+(?:/[\w.@+-]+)+)/?(?![\w*{<$?/])")
_PAGE_SUFFIXES = (".md", ".markdown", ".txt")


def find_dead_links(page: LintPage, files: Set[str]) -> Iterator[LintProblem]:
    """Find links to pages that do not exist; addresses of other servers are not looked at."""
    if "](" not in page.text:
        return
    for number, text in page.prose:
        for target in _LINK.findall(text) if "](" in text else ():
            path = target.partition("#")[0]
            if not path or _SCHEME.match(path) or path.startswith("/"):
                continue
            name = posixpath.normpath(posixpath.join(posixpath.dirname(page.file), path))
            if name.lower().endswith(_PAGE_SUFFIXES) and name not in files:
                yield _build_problem(
                    page, number, "dead_link", f"links to {name}, which does not exist"
                )
                break


def find_dead_paths(page: LintPage, exists: Callable[[str], bool]) -> Iterator[LintProblem]:
    """Find absolute paths that this machine does not have."""
    for number, text in page.prose:
        if "/" not in text:
            continue
        for path in _PATH.findall(text):
            if not exists(os.path.expanduser(path.rstrip("."))):
                yield _build_problem(
                    page, number, "dead_path", f"{path} does not exist on this machine"
                )
                break


def _build_problem(page: LintPage, number: int, rule: str, message: str) -> LintProblem:
    return LintProblem(
        rule=rule,
        file=page.file,
        layer=page.layer,
        line=number + 1,
        message=message,
        advice="Correct the line, or move it to the journal.",
        edit=archive_lines(page.lines, number, number + 1),
    )
