"""`looseleaf backup …` and `looseleaf restore`: the whole workspace as one archive, and back."""

from __future__ import annotations

import os
import shlex
from functools import partial
from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import SharedOptions, require_local, with_shared_options
from looseleaf.cli.command_line import DefaultGroup, command
from looseleaf.cli.derived_commands import Derivation, ResultTable
from looseleaf.cli.formats import print_document
from looseleaf.cli.output import say, show_progress, warn
from looseleaf.files.mounts import choose_unit, format_size
from looseleaf.times import DAY_SECONDS, format_time

if TYPE_CHECKING:
    from typing import Any

    from looseleaf.features.backup.operations import BackupVerdict, NewBackup

_MOST_NAMED = 5


_backups = Derivation("backup", "looseleaf.features.backup.operations")


@_backups.shown("create", "create_backup", "", "/mnt/disk/backups", parameters={"folder": "FOLDER"})
def create(backup: NewBackup) -> None:
    """Write a backup; others may write at the time.

    One tar archive in FOLDER, or in the setting backup_folder, with the pages, their history, the
    agents, the database and the settings. It holds password and token hashes: keep it private.
    """
    say(f"Wrote {backup.path}: {backup.files} files, {format_size(backup.size)}.")
    for name in backup.left_out[:_MOST_NAMED]:
        warn(f"Not as it should be: {name}")
    if len(backup.left_out) > _MOST_NAMED:
        warn(f"And {len(backup.left_out) - _MOST_NAMED} more; LEFT-OUT.txt in the archive has all.")


list_backups = _backups.derive(
    "list",
    "list_backups",
    "",
    "/mnt/disk/backups --format json",
    help="""List the backups, newest first.

    In FOLDER, or in the setting backup_folder. A backup that is not whole was cut off while it was
    written or copied.
    """,
    parameters={"folder": "FOLDER"},
    key="backups",
    show=ResultTable(
        "name created age size workspace whole",
        cells={
            "age": lambda backup: format_age(backup.age),
            "size": lambda backup: format_size(backup.size),
            "workspace": lambda backup: (
                backup.workspace_name or ("this one" if backup.is_own else backup.workspace[:8])
            ),
            "whole": lambda backup: "yes" if backup.is_whole else "NO",
        },
        shrink="NAME",
        empty="There is no backup yet. Make one: looseleaf backup create FOLDER",
    ),
)


def _find_archive(arguments: dict[str, Any], _given: dict[str, Any]) -> None:
    folder, name = os.path.split(os.path.expanduser(arguments["name"]))
    if not folder and os.path.isfile(name):
        folder = os.getcwd()
    arguments.update(name=name, folder=folder)


@_backups.shown(
    "verify",
    "verify_backup",
    "looseleaf-20260417T093000Z.tar",
    "/mnt/disk/backups/looseleaf-20260417T093000Z.tar",
    parameters={
        "name": click.Argument(["name"], metavar="ARCHIVE", type=click.Path()),
        "folder": None,
    },
    prepare=_find_archive,
    failed=lambda verdict: bool(verdict.fault),
)
def verify(verdict: BackupVerdict) -> None:
    """Read a whole backup, and compare every hash.

    ARCHIVE is a path, or a name in the setting backup_folder. Exits with 1 if the backup is not in
    order.
    """
    if verdict.fault:
        say(f"{verdict.name} is not in order: {verdict.fault}.")
    else:
        size = format_size(verdict.content_bytes)
        say(f"{verdict.name} is whole: {verdict.files} files, {size}, of {verdict.created}.")


@command(
    "restore",
    "looseleaf restore backups/looseleaf-20260417T093000Z.tar ~/memory-restored",
    "looseleaf restore looseleaf-20260417T093000Z.tar ~/memory-restored --database sqlite",
)
@click.argument("archive", type=click.Path())
@click.argument("folder", type=click.Path())
@click.option(
    "--database",
    metavar="URL|sqlite",
    default="",
    help="An empty PostgreSQL database, or an SQLite file in FOLDER; else LOOSELEAF_DATABASE_URL.",
)
@with_shared_options("format")
def restore(options: SharedOptions, archive: str, folder: str, database: str) -> None:
    """Restore a backup to a new folder.

    FOLDER must be new or empty; it is created whole, after every hash was compared, or not at all.
    Tokens and passwords of the backup are valid again.
    """
    from looseleaf.features.backup import operations
    from looseleaf.features.backup.restoration import restore_workspace

    require_local(options, "it makes a folder", by_option=True)
    result = restore_workspace(
        archive,
        folder,
        database=database,
        show_progress=operations.in_steps(_show_bytes),
        show_rows=operations.in_steps(partial(show_progress, "Filling the database, in rows")),
    )
    content, path = result.content, result.root
    description = content.description
    if options.json:
        document = {"root": path, "files": content.files, "content_bytes": content.content_bytes}
        document |= {"created": format_time(description.created), "database": result.database}
        print_document({**document, "left_out": list(content.left_out)})
        return
    say(f"Restored {content.files} files of {format_time(description.created)} to {path}.")
    if result.database == operations.POSTGRESQL:
        say("Filled the PostgreSQL database, and compared every row.")
    elif result.database != description.database:
        if result.database == operations.NO_DATABASE:
            warn("The backup has no database: an older Looseleaf left it to pg_dump.")
        else:
            say("Filled a new SQLite database, and compared every row.")
    for name in content.left_out[:_MOST_NAMED]:
        warn(f"When the backup was made: {name}")
    say(f"Check it: looseleaf --root {shlex.quote(path)} doctor --verify")


def _show_bytes(bytes_done: int, total: int) -> None:
    unit, factor = choose_unit(total)
    show_progress(f"Restoring, in {unit}", bytes_done // factor, total // factor)


def format_age(seconds: int) -> str:
    """Write an age for people: 5 minutes, 3 hours, 2 days."""
    for unit, length in (("day", DAY_SECONDS), ("hour", 3_600), ("minute", 60)):
        count = seconds // length
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"


backup_group = DefaultGroup(
    "backup", "Back up the workspace, and see the backups.", create, list_backups, verify
)
