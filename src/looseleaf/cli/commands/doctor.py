"""`looseleaf doctor`: checks of a workspace, and advice for each fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import SharedOptions, require_local, with_shared_options
from looseleaf.cli.colors import paint
from looseleaf.cli.escapes import escape_line
from looseleaf.cli.formats import print_document
from looseleaf.cli.groups import command
from looseleaf.cli.output import FAILED, print_text, say
from looseleaf.errors import LooseleafError, WorkspaceMissing
from looseleaf.operations.doctor import check_workspace
from looseleaf.upkeep.finding import Finding
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from collections.abc import Iterable

_STATUSES = {"ok": "ok", "warning": "WARNING", "fault": "FAULT"}
_COLORS = {"ok": "green", "warning": "yellow", "fault": "red"}


@command("doctor", "looseleaf doctor", "looseleaf doctor --verify --format json")
@click.option("--verify", is_flag=True, help="Read every page and version, check every hash.")
@with_shared_options("format")
def doctor(options: SharedOptions, *, verify: bool) -> None:
    """Check the workspace, and say what to do.

    Checks the folder, its disk and permissions, locks, the index, the database and the agents.
    Exits with 1 if there is a fault, and with 0 if there are only warnings.
    """
    require_local(options, "it looks at the disk; run it on the machine of the workspace")
    try:
        findings = check_workspace(options.open(), verify=verify)
    except WorkspaceMissing:
        raise
    except LooseleafError as error:
        findings = [
            Finding("opening", "fault", str(error), "Repair this first, then run the doctor again.")
        ]
    faults = sum(finding.status == "fault" for finding in findings)
    if options.json:
        print_document(
            {"healthy": not faults, "findings": [as_dict(finding) for finding in findings]}
        )
    else:
        _print_findings(findings)
        say("There are faults." if faults else "Everything is in order.")
    if faults:
        raise click.exceptions.Exit(FAILED)


def _print_findings(findings: Iterable[Finding]) -> None:
    for finding in findings:
        status = paint(f"{_STATUSES[finding.status]:<7}", _COLORS[finding.status])
        print_text(f"{status}  {escape_line(f'{finding.check}: {finding.detail}')}\n")
        if finding.advice:
            say(f"         {finding.advice}")
