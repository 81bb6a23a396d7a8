"""`looseleaf memory lint`: problems in pages, found without a model and fixed by --fix."""

from __future__ import annotations

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import CHANGE, SharedOptions, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import FAILED, say, show
from looseleaf.operations import lint as operations
from looseleaf.upkeep.lint.problem import RULES


@command(
    "lint",
    "looseleaf memory lint",
    "looseleaf memory lint MEMORY.md --rule duplicate_line --fix",
)
@click.argument("file", default="")
@click.option(
    "--rule", type=click.Choice(tuple(RULES)), metavar="RULE", default=None, help="Only this rule."
)
@click.option("--diff", "with_diff", is_flag=True, help="Show the proposed edit of each finding.")
@click.option("--fix", is_flag=True, help="Apply the proposed edits.")
@click.option(
    "--finding", "ids", multiple=True, metavar="ID", help="With --fix: only this finding."
)
@with_shared_options(*CHANGE)
def lint(
    options: SharedOptions,
    file: str,
    rule: str | None,
    ids: tuple[str, ...],
    *,
    with_diff: bool,
    fix: bool,
) -> None:
    """Find problems in pages, and mend them.

    No model is asked. Exits with 1 if problems are left. With --fix the proposed edits are applied;
    text that leaves a page goes to the journal or to the page where it belongs.
    """
    context = options.open()
    fixes = []
    if fix:
        fixes = operations.fix_memory(
            context, file=file, rule=rule or "", findings=ids, where=options.where
        )
    findings = operations.lint_memory(context, file=file, rule=rule or "", where=options.where)
    if options.json:
        print_document({"fixes": to_json_value(fixes), "findings": to_json_value(findings)})
    else:
        for mend in fixes:
            targets = f", moved text to {', '.join(mend.moved_to)}" if mend.moved_to else ""
            count = len(mend.findings)
            noun = "finding" if count == 1 else "findings"
            say(f"Mended {mend.file}: {count} {noun}{targets}.")
        rows = [
            (finding.id, finding.rule, f"{finding.file}:{finding.line}", finding.message)
            for finding in findings
        ]
        if rows:
            print_table(("ID", "RULE", "WHERE", "WHAT"), rows, shrink="WHAT")
        else:
            say("Nothing to mend.")
        for finding in findings if with_diff else ():
            if finding.diff:
                show(f"{finding.id} {finding.advice}\n{finding.diff}\n".encode())
    if findings:
        raise click.exceptions.Exit(FAILED)
