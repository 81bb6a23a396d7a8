"""Each rule of lint: what it finds, and what it leaves alone."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.features.upkeep.lint import (
    LINT_RULES,
    LintPage,
    LintProblem,
    apply_edits,
    lint_pages,
)
from looseleaf.memory.registry import FileRegistry
from looseleaf.plugins.defaults import register_core_files
from looseleaf.times import parse_time

NOW = parse_time("2026-11-17")
FACTS = "".join(f"- fact number {number} is a different one\n" for number in range(50))
OLD_CACHE = "- the cache lives in the main cluster\n- the cache lives in the old cluster\n"


def registry() -> FileRegistry:
    """Return the core pages."""
    files = FileRegistry()
    register_core_files(files)
    return files


def problems(text: str, file: str = "MEMORY.md", updated: float = NOW) -> list[LintProblem]:
    """Lint one page beside another."""
    pages = [LintPage(file, "agent", text, updated), LintPage("plan.md", "agent", "# Plan\n", NOW)]
    return list(lint_pages(pages, registry(), NOW, path_exists=lambda path: path == "/etc/hosts"))


def found(text: str, file: str = "MEMORY.md") -> list[tuple[str, int]]:
    """Return rules and lines."""
    return [(problem.rule, problem.line) for problem in problems(text, file)]


def mended(text: str, file: str = "MEMORY.md") -> str:
    """Apply every edit."""
    page = LintPage(file, "agent", text, NOW)
    return apply_edits(page.lines, problems(text, file)).text


@pytest.mark.parametrize(
    ("rule", "text", "line"),
    [
        ("duplicate_line", "# M\n\n- WordPress at the root\n- wordpress  at the root\n", 4),
        ("near_duplicate", OLD_CACHE, 2),
        ("contradiction", "## Site\n- Theme: flavor\n- other\n- theme: plain\n", 4),
        ("stale_entry", "- SEO audit in progress (2026-02-20)\n", 1),
        ("dead_path", "- WordPress at /var/www/nowhere/html\n", 1),
        ("dead_link", "- see [the brief](brief.md)\n", 1),
        ("oversized_section", f"# M\n\n## Big\n\n{FACTS}", 3),
        ("model_token", "- fact<|im_end|>\n", 1),
        ("model_token", "Here is the updated memory:\n", 1),
        ("section_case", "## State\n\n- a\n\n## STATE\n\n- b\n", 5),
        ("over_budget", "word " * 2001, 0),
    ],
)
def test_a_problem_is_found(rule: str, text: str, line: int) -> None:
    """Where it is."""
    assert (rule, line) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "- port 8080 is used by the api service\n- port 8081 is used by the api service\n",
        "- do not deploy the api on a friday\n- do always deploy the api on a friday\n",
        "## A\n- the same fact here\n## B\n- the same fact here\n",
        "## A\n- Theme: flavor\n## B\n- Theme: plain\n",
        "- Switched to weekly publishing (2020-02-15)\n",
        "- SEO audit in progress (2026-11-01)\n",
        "- hosts in /etc/hosts, a glob /var/www/*/x, see https://example.com/a/b\n",
        "- see [the plan](plan.md), [web](https://example.com/x.md) and [here](#state)\n",
        "```\n- same line of code\n- same line of code\n<|im_end|>\n```\n",
        "- the token `<|im_end|>` ends a turn\n",
        "| a | b |\n| a | b |\n",
        "## State\n\n- a\n\n## State\n\n- b\n",
    ],
)
def test_what_is_fine_is_left_alone(text: str) -> None:
    """Numbers, negations, other sections, code and tables are no repetition."""
    assert found(text) == []


def test_tasks_belong_into_memory() -> None:
    """In SOUL.md they are moved; in MEMORY.md they are at home."""
    text = "# Soul\n\n## Identity\n\nI am Ada.\n\n## Current Tasks\n\n- finish the draft\n"
    [problem] = problems(text, "SOUL.md")
    assert problem.rule == "wrong_page"
    assert problem.edit is not None
    assert problem.edit.moves[0].target == "MEMORY.md"
    assert mended(text, "SOUL.md") == "# Soul\n\n## Identity\n\nI am Ada.\n\n"
    assert found(text) == []


@pytest.mark.parametrize(
    ("file", "days", "is_due"),
    [
        ("SOUL.md", 93, True),
        ("MEMORY.md", 32, True),
        ("MEMORY.md", 30, False),
        ("x.md", 900, False),
    ],
)
def test_a_review_is_due_by_the_cadence_of_the_seeds(file: str, days: int, *, is_due: bool) -> None:
    """SOUL.md quarterly, MEMORY.md monthly, other pages never."""
    rules = [item.rule for item in problems("# X\n", file, NOW - days * 86_400.0)]
    assert rules == (["review_due"] if is_due else [])


def test_edits_mend_what_was_found() -> None:
    """After them there is nothing left of it, and no fact is gone."""
    text = (
        "# M\n\n## State\n\n- one fact stands here\n- one fact stands here\n\n## Other\n\n- x\n\n"
        "## STATE\n\n- two<|end|>\n"
    )
    again = mended(mended(text))
    assert found(again) == []
    assert again.count("- one fact stands here") == 1
    assert "## STATE" not in again
    assert again.index("- two\n") < again.index("## Other")


def test_generated_pages_are_left_alone(workspace: Workspace) -> None:
    """An edit of them would be overwritten."""
    page = LintPage("SITE.md", "shared", "- the same fact here\n- the same fact here\n", NOW)
    assert list(lint_pages([page], workspace.registry, NOW)) == []


def test_every_rule_says_what_it_finds() -> None:
    """For people, in a few words."""
    assert len(LINT_RULES) == 12
    assert all(LINT_RULES.values())
