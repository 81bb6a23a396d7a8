"""Lint: problems in an agent's pages, each with its edit and a button that applies it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.upkeep.lint.problem import RULES
from looseleaf.web.admin.views.upkeep.runs import split_diff_lines

if TYPE_CHECKING:
    from looseleaf.operations.lint import LintFinding, LintFix
    from looseleaf.plugins.admin_pages import Visit

MOST_SHOWN = 100


def show_findings(visit: Visit) -> Document | Redirect:
    """List what lint finds in the pages of an agent."""
    agent = visit.parameters["agent"]
    findings: list[LintFinding] = visit.run("looseleaf/lint-memory", agent=agent)
    data = {
        "agent": agent,
        "findings": [
            (finding, split_diff_lines(finding.diff)) for finding in findings[:MOST_SHOWN]
        ],
        "count": len(findings),
        "fixable": sum(finding.fixable for finding in findings),
        "rules": RULES,
    }
    return Document("upkeep/lint.html", f"Lint of {agent}", data)


def apply_fix(visit: Visit) -> Document | Redirect:
    """Apply the edit of one finding."""
    agent = visit.parameters["agent"]
    fixes: list[LintFix] = visit.run(
        "looseleaf/fix-memory", agent=agent, findings=[visit.form.get("finding", "")]
    )
    address = f"/admin/agents/{quote(agent)}/lint"
    if not fixes:
        return Redirect(address, "Nothing to mend: the page has changed since.")
    targets = ", ".join(dict.fromkeys(target for fix in fixes for target in fix.moved_to))
    notice = f" Lines that left the page are in {targets}." if targets else ""
    return Redirect(address, f"{fixes[0].file} is mended.{notice}")
