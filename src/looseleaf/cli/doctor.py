"""`looseleaf doctor`: is everything in order, and if not, what is to be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import Asked, local, shared
from looseleaf.cli.colors import paint
from looseleaf.cli.formats import print_document
from looseleaf.cli.groups import command
from looseleaf.cli.output import FAILED, escaped_line, print_text, say
from looseleaf.errors import LooseleafError, WorkspaceMissing
from looseleaf.operations.doctor import check_workspace
from looseleaf.stores.condition import Finding
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from collections.abc import Iterable

_STATUSES = {"ok": "ok", "warning": "WARNING", "fault": "FAULT"}
_COLORS = {"ok": "green", "warning": "yellow", "fault": "red"}


@command("doctor", "looseleaf doctor", "looseleaf doctor --verify --format json")
@click.option("--verify", is_flag=True, help="Read every page and version, check every hash.")
@shared("format")
def doctor(asked: Asked, *, verify: bool) -> None:
    """Check the workspace, and say what to do.

    The folder, its disk and permissions, locks, index, database, agents. Exits with 1 where there
    is a fault; warnings alone are no failure.
    """
    local(asked, "it looks at the disk; run it where the workspace lies")
    try:
        found = check_workspace(asked.open(), verify=verify)
    except WorkspaceMissing:
        raise
    except LooseleafError as error:
        found = [Finding("opening", "fault", str(error), "Mend this first, then ask again.")]
    faults = sum(one.status == "fault" for one in found)
    if asked.json:
        print_document({"healthy": not faults, "findings": [as_dict(one) for one in found]})
    else:
        _tell(found)
        say("There are faults." if faults else "Everything is in order.")
    if faults:
        raise click.exceptions.Exit(FAILED)


def _tell(found: Iterable[Finding]) -> None:
    for one in found:
        status = paint(f"{_STATUSES[one.status]:<7}", _COLORS[one.status])
        print_text(f"{status}  {escaped_line(f'{one.check}: {one.detail}')}\n")
        if one.advice:
            say(f"         {one.advice}")
