"""Lint as an operation and a command: findings, fixes, rights and versions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.errors import Conflicted, Forbidden, InvalidArgument, TookTooLong
from looseleaf.features.upkeep import operations
from looseleaf.features.upkeep.lint import LintPage
from looseleaf.memory.deadline import run_within
from looseleaf.memory.scope import Where
from tests.cli.fixtures import Run

PAGE = """# Memory

## State

- SEO audit in progress (2026-02-20)
- Theme: flavor
- Theme: plain
- WordPress lies in the main folder
- WordPress lies in the main folder
"""


def write(workspace: Workspace, text: str, file: str = "MEMORY.md") -> Path:
    """Write a page of ada by hand."""
    path = Path(workspace.root) / "agents/ada" / file
    path.write_text(text)
    return path


def test_findings_have_a_diff(workspace: Workspace) -> None:
    """And ids by which each can be mended."""
    write(workspace, PAGE)
    findings = operations.lint_memory(workspace.context, file="MEMORY.md")
    assert [
        (finding.rule, finding.line) for finding in findings if finding.rule != "review_due"
    ] == [
        ("duplicate_line", 9),
        ("contradiction", 7),
        ("stale_entry", 5),
    ]
    assert "-- WordPress lies in the main folder" in findings[0].diff
    assert len({finding.id for finding in findings}) == len(findings)
    with pytest.raises(InvalidArgument, match="is no rule"):
        operations.lint_memory(workspace.context, rule="typo")


def test_a_fix_moves_lines_to_the_journal(workspace: Workspace) -> None:
    """Nothing but the doubled line is gone, and the history says why."""
    path = write(workspace, PAGE)
    fixes = operations.fix_memory(workspace.context, file="MEMORY.md")
    assert path.read_text() == (
        "# Memory\n\n## State\n\n- Theme: plain\n- WordPress lies in the main folder\n"
    )
    [journal] = {target for fix in fixes for target in fix.moved_to}
    day = (path.parent / journal).read_text()
    assert "### Moved from MEMORY.md\n\n- Theme: flavor\n" in day
    assert "- SEO audit in progress (2026-02-20)\n" in day
    latest = workspace.history.latest(workspace.agents.resolve("ada").shelf.page("MEMORY.md"))
    assert latest is not None
    assert latest.reason.startswith("lint: ")
    rest = [
        item for item in operations.lint_memory(workspace.context, file="MEMORY.md") if item.fixable
    ]
    assert rest == []
    assert operations.fix_memory(workspace.context, file="MEMORY.md") == []


def test_one_finding_is_mended_by_its_id(workspace: Workspace) -> None:
    """The others stay."""
    path = write(workspace, PAGE)
    [double] = operations.lint_memory(workspace.context, rule="duplicate_line")
    operations.fix_memory(workspace.context, findings=(double.id,))
    assert path.read_text() == PAGE.removesuffix("- WordPress lies in the main folder\n")


def test_a_large_section_becomes_a_page(workspace: Workspace) -> None:
    """With a link in its place."""
    facts = "".join(f"- fact {number} is another one\n" for number in range(60))
    path = write(workspace, f"# Memory\n\n## Site Knowledge\n\n{facts}\n## Rest\n\n- x\n")
    operations.fix_memory(workspace.context, rule="oversized_section")
    assert "- See [site-knowledge.md](site-knowledge.md)." in path.read_text()
    assert (path.parent / "site-knowledge.md").read_text() == f"## Site Knowledge\n\n{facts}\n"
    assert operations.lint_memory(workspace.context, rule="dead_link") == []


def test_an_edit_made_meanwhile_wins(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version that was read is the only one that is replaced."""
    path = write(workspace, PAGE)
    read = operations._read_page

    def read_then_edit(*arguments: object) -> LintPage | None:
        page = read(*arguments)  # type: ignore[arg-type]
        path.write_text(PAGE + "- by hand\n")
        return page

    monkeypatch.setattr(operations, "_read_page", read_then_edit)
    with pytest.raises(Conflicted):
        operations.fix_memory(workspace.context, rule="duplicate_line")
    assert path.read_text() == PAGE + "- by hand\n"


def test_only_the_operator_learns_of_paths(workspace: Workspace) -> None:
    """A viewer could ask for any file of the machine; and a viewer mends nothing."""
    write(workspace, "- the site is in /nowhere/at/all\n")
    assert [item.rule for item in operations.lint_memory(workspace.context, rule="dead_path")]
    viewer = Principal(
        kind="session",
        user_id=4,
        name="someone",
        grants={workspace.agents.resolve("ada").id: "viewer"},
    )
    context = workspace.acting(principal=viewer)
    assert (
        operations.lint_memory(context, rule="dead_path", where=Where("ada", None, "agent")) == []
    )
    write(workspace, PAGE)
    with pytest.raises(Forbidden):
        operations.fix_memory(context, where=Where("ada", None, "agent"))


def test_the_command_has_an_exit_code(run: Run, command_root: Path) -> None:
    """1 while something is left, 0 once all is mended."""
    page = command_root / "agents/main/MEMORY.md"
    page.write_text(PAGE)
    answer = run("memory", "lint", "--diff")
    assert (answer.code, "contradiction" in answer.text) == (1, True)
    assert "-- Theme: flavor" in answer.text
    fixed = run("memory", "lint", "--fix", "--format", "json")
    assert fixed.code == 0, fixed.text
    assert fixed.json["findings"] == []
    assert run("memory", "lint").text == "Nothing to mend.\n"
    assert run("memory", "lint", "--rule", "typo").code == 2


def count_calls(work: Callable[[], object]) -> int:
    """Count the calls of functions that some work makes, ours and those of Python."""
    calls = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("line", ["- the same fact again and again\n", "- Theme: {}\n"])
def test_lint_of_equal_lines_is_linear(workspace: Workspace, line: str) -> None:
    """Four times the lines take four times the work, and the answer does not grow."""
    sizes, works = [], []
    for count in (500, 2000):
        write(workspace, "".join(line.format(number) for number in range(count)))

        def lint() -> None:
            findings = operations.lint_memory(workspace.context, file="MEMORY.md")
            sizes.append(sum(len(finding.diff) + len(finding.message) for finding in findings))

        works.append(count_calls(lint))
    assert works[1] < 5 * works[0]
    assert sizes[1] < 1.1 * sizes[0] < 100_000


def test_a_list_of_findings_that_is_cut_says_so(workspace: Workspace) -> None:
    """The last one tells how many there are beside it; a fix mends them all at once."""
    path = write(workspace, "# Memory\n\n" + "- the same fact again and again\n" * 1001)
    findings = operations.lint_memory(workspace.context, file="MEMORY.md", rule="duplicate_line")
    assert len(findings) == operations.MOST_FINDINGS
    assert "900 more findings of this rule" in findings[-1].message
    operations.fix_memory(workspace.context, file="MEMORY.md", rule="duplicate_line")
    assert path.read_text() == "# Memory\n\n- the same fact again and again\n"


def test_lint_ends_at_its_deadline(workspace: Workspace) -> None:
    """The work itself stops, and no part of its findings is taken for all of them."""
    write(workspace, "- a line\n")
    with pytest.raises(TookTooLong):
        run_within(0.0, lambda: operations.lint_memory(workspace.context))
